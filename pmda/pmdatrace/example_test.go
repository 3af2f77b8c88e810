package pmdatrace_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdatrace"
	"github.com/pcp-go/pcp/trace"
)

// A collector hosts the agent. An application sends its data to the agent, and a client of the
// collector reads them.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a := pmdatrace.New(pmdatrace.Options{})
	srv := new(collector.Server)
	defer srv.Close()
	if err := srv.Add(a.PMDA); err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", "localhost:0") // the usual port is 4323
	if err != nil {
		log.Fatal(err)
	}
	go a.Serve(ctx, ln)

	app := &trace.Client{Config: trace.Config{Host: "localhost", Port: ln.Addr().(*net.TCPAddr).Port}}
	app.Observe("basket", 42.5)
	app.Observe("queue", 7)
	if err := app.Close(ctx); err != nil { // returns when the agent has all data
		log.Fatal(err)
	}

	pc, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	defer pc.Close()
	g := pc.Group()
	last := pmapi.AddSet[float64](g, "trace.observe.value")
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	for tag, value := range last.All() {
		fmt.Println(tag.Name, value)
	}
	// Output:
	// basket 42.5
	// queue 7
}

// The rules are those of the option -A of pmdatrace(1): three connections at a time from 10.1.*,
// and no connections from other hosts.
func ExampleParseAccess() {
	rules, err := pmdatrace.ParseAccess("allow:10.1.*:3", "disallow:*")
	if err != nil {
		log.Fatal(err)
	}
	a := pmdatrace.New(pmdatrace.Options{Access: rules})
	fmt.Println(a.PMDA.Err())
	// Output: <nil>
}

// A test of a program that reports data can run an agent. A test that only counts data needs no
// agent: with NoAgent, Stats counts them as Accepted.
func Example_test() {
	checkout := func(ctx context.Context) { trace.FromContext(ctx).Point("cart.full") } // the code to test

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a := pmdatrace.New(pmdatrace.Options{})
	srv := new(collector.Server)
	defer srv.Close()
	if err := srv.Add(a.PMDA); err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go a.Serve(ctx, ln)
	c := &trace.Client{Config: trace.Config{Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port}}
	defer c.Close(ctx)

	checkout(trace.NewContext(ctx, c))
	checkout(trace.NewContext(ctx, c))
	if err := c.Flush(ctx); err != nil { // returns when the agent has the data
		log.Fatal(err)
	}
	pc, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	defer pc.Close()
	g := pc.Group()
	full := pmapi.Add[uint64](g, "trace.point.count", pmapi.Instance("cart.full"), pmapi.Scale("instant")) // not its rate
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(full.Value())
	// Output: 2 <nil>
}
