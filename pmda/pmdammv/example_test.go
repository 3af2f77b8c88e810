package pmdammv_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// A program with a collector serves its own metrics. With a listener, srv.Serve lets every PCP
// client read them. Here the client is in the same process.
func Example() {
	shop := &mmv.Registry{Name: "shop"}
	waiting := shop.Gauge("waiting", mmv.Metric{Text: "Orders that wait", Units: pdu.UnitCount})

	srv := &collector.Server{}
	srv.Add(pmdammv.Of(shop))
	defer srv.Close()

	waiting.Set(3)
	show(srv, "mmv.shop.waiting")
	// Output: mmv.shop.waiting 3
}

// The collector serves all files in a directory, from any program and at any time.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "mmv")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	srv := &collector.Server{}
	srv.Add(pmdammv.New(pmdammv.Options{Dir: dir}))
	defer srv.Close()

	shop := &mmv.Registry{Name: "shop"} // usually in another program
	if err := shop.Publish(dir); err != nil {
		fmt.Println(err)
		return
	}
	defer shop.Close()
	shop.Gauge("customers", mmv.Metric{}).Set(12)
	show(srv, "mmv.shop.customers")
	// Output: mmv.shop.customers 12
}

// show prints the value of a metric.
func show(srv *collector.Server, metric string) {
	ctx := context.Background()
	pc, err := pmapi.Local(ctx, srv)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pc.Close()
	g := pc.Group()
	m := pmapi.Add[int64](g, metric)
	if _, err := g.Fetch(ctx); err != nil {
		fmt.Println(err)
		return
	}
	n, err := m.Value()
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(metric, n)
}
