package export_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
)

// backfillOnce sends an archive and returns how many samples the receiver accepted.
func backfillOnce(ctx context.Context, archive, receiver, state string) (uint64, error) {
	c, err := pmapi.Open(ctx, archive)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	e := &remotewrite.Exporter{
		Reader:   &export.Reader{Context: c, Names: []string{"sample.bin"}},
		Endpoint: receiver,
	}
	err = e.Backfill(ctx, export.BackfillOptions{State: state})
	return e.Stats().Sent.Points, err
}

// The second run sends nothing, because the file of BackfillOptions.State says that the receiver
// has everything.
func Example_backfill() {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	dir, err := os.MkdirTemp("", "backfill")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		n, err := backfillOnce(context.Background(), "../../archive/testdata/v3",
			receiver.URL, filepath.Join(dir, "v3.sent"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n, "samples sent")
	}
	// Output:
	// 120 samples sent
	// 0 samples sent
}
