package push_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A logger sends its archive to a receiver, which keeps the archives of all hosts.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "received")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	// the computer that keeps archives
	rc, err := push.ReceiverOptions{
		Dir: dir,
		Log: slog.New(slog.DiscardHandler), // by default it logs the begin and end of archives
	}.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer rc.Close()
	srv := httptest.NewServer(rc)
	defer srv.Close()

	// the computer that is recorded
	src := &pmapitest.Source{Host: "web1"} // in place of pmapi.Dial or local.Open
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "oven.temperature"}).Set(180)
	c := src.Context()
	defer c.Close()
	o := logger.Options{Config: "log mandatory on 10 msec { oven }", Push: &push.SenderOptions{URL: srv.URL}, EndRecords: 3}
	if err := logger.Run(ctx, c, o); err != nil { // a *push.LostError if the receiver lacks records
		log.Fatal(err)
	}

	pc, err := pmapi.Open(ctx, filepath.Join(dir, "web1")) // all archives of the host
	if err != nil {
		log.Fatal(err)
	}
	defer pc.Close()
	fmt.Println(pc.HostName(ctx))
	g := pc.Group()
	temperature := pmapi.Add[float64](g, "oven.temperature")
	for _, err := range g.Every(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(temperature.Value())
	}
	// Output:
	// web1
	// 180 <nil>
	// 180 <nil>
	// 180 <nil>
}
