package pmda_test

import (
	"context"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// An event queue gives each event once to each client, from the client's first fetch on. The
// parameters of the events are metrics too.
func ExampleEventQueue() {
	a := &pmda.Agent{Name: "web", Domain: 400}
	requests := a.NewEventQueue()
	pmda.Register(a, pmda.Metric[[]byte]{
		Name: "web.requests", Text: "Requests served",
		Type: pdu.TypeEvent, Values: requests.Values,
	})
	path := pmda.RegisterParam(a, pmda.Metric[string]{Name: "web.request.path", Text: "Path of a request"})
	status := pmda.RegisterParam(a, pmda.Metric[uint32]{Name: "web.request.status", Text: "Status of its reply"})

	show(a) // the client's first fetch
	requests.Append(time.Now(), pdu.EventPoint, path.Of("/index.html"), status.Of(200))
	requests.Append(time.Now(), pdu.EventPoint, path.Of("/missing"), status.Of(404))
	show(a)
	fmt.Printf("%+v\n", requests.Stats())
	// Output:
	// web.requests
	// web.request.path
	// web.request.status
	// web.requests [2 event records]
	// web.request.path
	// web.request.status
	// {Events:2 Bytes:92 Clients:1 Memory:0}
}

// A client stores its filter in a control metric. Without a filter it gets no events, because the
// queue is Restricted.
func ExampleEventQueue_SetFilter() {
	a := &pmda.Agent{Name: "web", Domain: 400}
	requests := a.NewEventQueue()
	requests.Restricted = true
	path := pmda.RegisterParam(a, pmda.Metric[string]{Name: "web.request.path"})
	pmda.Register(a, pmda.Metric[[]byte]{Name: "web.requests", Type: pdu.TypeEvent, Values: requests.Values})
	pmda.Register(a, pmda.Metric[string]{
		Name: "web.filter", Text: "Path of the requests that this client wants",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) { return "", nil },
		Store: func(_ context.Context, r *pmda.Request, _ pdu.Instance, want string) error {
			requests.SetFilter(r.Client, func(e pdu.EventRecord) bool {
				for id, v := range e.Params() {
					if id == path.PMID() && string(v.Bytes()) == want {
						return true
					}
				}
				return false
			})
			return nil
		},
	})

	filter, err := a.Namespace().Lookup("web.filter")
	if err != nil {
		panic(err)
	}
	var w pdu.ResultWriter
	w.Begin(filter)
	w.String(pdu.NoInst, "/missing")
	values, _ := w.Result()
	fmt.Println(a.Store(context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}, values))

	show(a)
	requests.Append(time.Now(), pdu.EventPoint, path.Of("/index.html"))
	requests.Append(time.Now(), pdu.EventPoint, path.Of("/missing"))
	show(a)
	// Output:
	// <nil>
	// web.request.path
	// web.requests
	// web.filter ""
	// web.request.path
	// web.requests [1 event record]
	// web.filter ""
}
