package remote_test

import (
	"context"
	"fmt"
	"net"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// An agent serves one end of a connection; the other end asks it.
func Example() {
	a := &pmda.Agent{Name: "cache", Domain: 251}
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "cache.hits",
		Sem:  pdu.SemCounter,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			return 42, nil
		},
	})
	ctx := context.Background()
	near, far := net.Pipe() // a socket, or the pipes to a process
	served := make(chan error)
	go func() { served <- pmda.Serve(ctx, a, far) }()

	agent, err := remote.New(ctx, a.Info(), near, remote.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
	id := pdu.MakePMID(251, 0, 0)
	desc, err := agent.Desc(ctx, r, id)
	fmt.Println(desc.Sem, desc.Type, err)
	var w pdu.ResultWriter
	if err := agent.Fetch(ctx, r, []pdu.PMID{id}, &w); err != nil {
		fmt.Println(err)
	}
	values, err := w.Result()
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := pdu.As[uint64](values.At(0).Atom(0, desc.Type))
	fmt.Println(v, err)

	agent.Close()
	fmt.Println("the agent ended with", <-served)
	// Output:
	// counter U64 <nil>
	// 42 <nil>
	// the agent ended with <nil>
}
