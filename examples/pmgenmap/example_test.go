package main

import (
	"context"
	"fmt"
	"log"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

//go:generate sh -c "go run . --go=main testdata/shop.spec >shop.tmp && mv shop.tmp shop_test.go"

// Example fetches the metrics of a group, and finds each by its index.
func Example() {
	a := &pmda.Agent{Name: "shop", Domain: 410}
	for name, v := range map[string]uint32{"shop.sold": 100, "shop.open": 1} {
		pmda.Register(a, pmda.Metric[uint32]{Name: name, Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return v, nil }})
	}
	srv := new(collector.Server)
	if err := srv.Add(a); err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	ctx := context.Background()
	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Lookup(ctx, shop)
	if err != nil {
		log.Fatal(err)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, ids, &r); err != nil {
		log.Fatal(err)
	}
	for _, v := range r.At(Sold).All(pdu.TypeU32) {
		fmt.Println("sold:", v)
	}
	for _, v := range r.At(Open).All(pdu.TypeU32) {
		fmt.Println("open:", v)
	}
	// Output:
	// sold: 100
	// open: 1
}
