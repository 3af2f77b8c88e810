package mmvexpvar_test

import (
	"expvar"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/mmv/mmvexpvar"
)

// What a program publishes with expvar, a registry has too.
func Example() {
	requests := expvar.NewMap("shop.requests") // once in a program
	requests.Add("GET", 5)
	requests.Add("POST", 2)

	registry := &mmv.Registry{Name: "shop"}
	mmvexpvar.Add(registry, "vars", nil)
	// registry.Publish("") writes it to a file; pmdammv.Of(registry) is an agent for a collector in
	// this program.

	f, err := mmv.Read(registry.Source())
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := f.Snapshot(time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, method := range []string{"GET", "POST"} {
		fmt.Println(s.Lookup("vars.shop_requests", method))
	}
	// Output:
	// 5 true
	// 2 true
}
