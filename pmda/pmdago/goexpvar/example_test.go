package goexpvar_test

import (
	"context"
	"expvar"
	"fmt"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdago"
	"github.com/pcp-go/pcp/pmda/pmdago/goexpvar"
)

// PCP's clients see the variables that a program publishes with expvar as metrics.
func Example() {
	requests := expvar.NewMap("shop.requests") // once in a program
	requests.Add("GET", 5)
	requests.Add("POST", 2)

	a := pmdago.New(pmdago.Options{})
	goexpvar.Add(a, "go.expvar")
	srv := &collector.Server{}
	srv.Add(a)
	defer srv.Close()

	ctx := context.Background()
	pc, err := pmapi.Local(ctx, srv)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pc.Close()
	g := pc.Group()
	m := pmapi.AddSet[int64](g, "go.expvar.shop_requests")
	if _, err := g.Fetch(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for i, n := range m.All() {
		fmt.Println(i.Name, n)
	}
	// Output:
	// GET 5
	// POST 2
}
