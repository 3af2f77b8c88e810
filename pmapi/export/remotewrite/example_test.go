package remotewrite_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// One sample of each metric is sent to a receiver, which here prints the headers of the request.
func ExampleExporter_Run() {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Content-Encoding"))
		fmt.Println("version", r.Header.Get("X-Prometheus-Remote-Write-Version"))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	src := &pmapitest.Source{Host: "web1"}
	defer src.Close()
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "mem.util.used"}).Set(8 << 30)
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "mem.util.free"}).Set(2 << 30)

	e := &remotewrite.Exporter{
		Reader:   &export.Reader{Context: src.Context(), Names: []string{"mem"}},
		Endpoint: receiver.URL + "/api/v1/write",
		Samples:  1, // read once; without it, until the context ends
	}
	e.Labels = []export.Label{{Name: "site", Value: "north"}}
	if err := e.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent:", e.Stats().Sent.Messages, "message")
	// Output:
	// POST /api/v1/write snappy
	// version 0.1.0
	// sent: 1 message
}
