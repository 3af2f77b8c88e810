package pmda_test

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// An agent that starts slowly is not ready at first: clients get pdu.ErrAgain and need not wait.
func ExampleAgent_SetReady() {
	var words uint64
	a := &pmda.Agent{Name: "dictionary", Domain: 400, StartsNotReady: true}
	pmda.Register(a, pmda.Metric[uint64]{
		Name:  "dictionary.words",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return words, nil },
	})
	load := func() {
		words = 171476
		a.SetReady(true)
	}
	show(a)
	load() // by a goroutine, while pmda.Main(a) serves
	show(a)
	// Output:
	// dictionary.words PMDA is not yet ready to respond to requests
	// dictionary.words 171476
}

// Functions are called before and after each request of any kind.
func ExampleAgent_OnRequest() {
	a := &pmda.Agent{Name: "cache", Domain: 400}
	open := false
	a.OnRequest(func(ctx context.Context, kind pdu.Kind, r *pmda.Request) error {
		if !open {
			return pdu.ErrAgain
		}
		return nil
	})
	a.OnReply(func(kind pdu.Kind, r *pmda.Request) { fmt.Println(kind, "done") })

	ctx, r := context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}
	_, err := a.Desc(ctx, r, pdu.MakePMID(400, 0, 0))
	fmt.Println(err)
	open = true
	_, err = a.Desc(ctx, r, pdu.MakePMID(400, 0, 0))
	fmt.Println(err)
	// Output:
	// Try again. Information not currently available
	// DESC_REQ done
	// Unknown or illegal metric identifier
}
