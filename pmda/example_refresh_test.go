package pmda_test

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A slow source is read in the background while the agent is served. All metrics of a fetch see the
// same T.
func ExampleEvery() {
	type statistics struct{ Requests, Errors uint64 }
	read := func(ctx context.Context) (statistics, error) {
		return statistics{Requests: 1000, Errors: 3}, nil // from a server that answers slowly
	}
	a := &pmda.Agent{Name: "web", Domain: 400}
	web := pmda.Every(a, 10*time.Second, read)
	add := func(name string, value func(*statistics) uint64) {
		pmda.Register(a, pmda.Metric[uint64]{
			Name:  name,
			Sem:   pdu.SemCounter,
			Units: pdu.UnitCount,
			Group: web.Group(),
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return value(web.Load()), nil },
		})
	}
	add("web.requests", func(s *statistics) uint64 { return s.Requests })
	add("web.errors", func(s *statistics) uint64 { return s.Errors })
	web.Refresh(context.Background()) // what pmda.Main(a) does every 10 seconds
	show(a)
	web.Register("web.refresh", 0) // adds web.refresh.age, web.refresh.interval and others
	// Output:
	// web.requests 1000
	// web.errors 3
}

// A Polled has further settings. This one is read only when clients fetch it, and its instances
// change.
func ExamplePolled() {
	a := &pmda.Agent{Name: "queue", Domain: 401}
	queues := a.AddInDom("queue")
	lengths := &pmda.Polled[map[string]int64]{
		Read: func(ctx context.Context) (map[string]int64, error) {
			return map[string]int64{"mail": 17, "print": 2}, nil
		},
		Every:    time.Minute, // at most
		OnDemand: true,
		MaxAge:   time.Hour, // older ones are pdu.ErrAgain
		Apply: func(v *map[string]int64) error {
			_, err := queues.SetNames(slices.Sorted(maps.Keys(*v))...)
			return err
		},
	}
	lengths.Attach(a)
	queues.Group = lengths.Group()
	pmda.Register(a, pmda.Metric[int64]{
		Name:  "queue.length",
		InDom: queues,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int64, error) {
			return (*lengths.Load())[i.Name], nil
		},
	})
	lengths.Refresh(context.Background())
	show(a)
	// Output:
	// queue.length [0] 17 [1] 2
}
