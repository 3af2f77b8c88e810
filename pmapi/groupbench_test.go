package pmapi_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// busyCollector serves, over TCP, 100 singular counters and two metrics, a counter
// and a number, of 1,000 instances.
func busyCollector(t testing.TB) *pmapi.Context {
	t.Helper()
	a := &pmda.Agent{Name: "busy", Domain: 401}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("instance%d", i))
	}
	many := a.AddInDom("many", names...)
	n := uint64(0)
	count := func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { n++; return n, nil }
	for i := range 100 {
		pmda.Register(a, pmda.Metric[uint64]{Name: fmt.Sprintf("busy.single%d", i), Sem: pdu.SemCounter, Units: pdu.SpaceByte, Value: count})
	}
	pmda.Register(a, pmda.Metric[uint64]{Name: "busy.counts", InDom: many, Sem: pdu.SemCounter, Units: pdu.SpaceByte, Value: count})
	pmda.Register(a, pmda.Metric[uint32]{Name: "busy.numbers", InDom: many,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) { return uint32(i.ID), nil }})
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	srv := new(collector.Server)
	if err := srv.Add(a); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	c, err := pmapi.Dial(ctx, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return c
}

// load is a group of metrics that a benchmark fetches, and a sum over their values.
type load struct {
	name string
	fill func(g *pmapi.Group) (sum func() (float64, error))
}

var loads = []load{
	{"items=100", func(g *pmapi.Group) func() (float64, error) {
		var items []*pmapi.Item[float64]
		for i := range 100 {
			items = append(items, pmapi.Add[float64](g, fmt.Sprintf("busy.single%d", i), pmapi.Scale("Kbyte/sec")))
		}
		return func() (sum float64, err error) {
			for _, i := range items {
				v, err := i.Value()
				if err != nil {
					return 0, err
				}
				sum += v
			}
			return sum, nil
		}
	}},
	{"rates=1000", func(g *pmapi.Group) func() (float64, error) {
		s := pmapi.AddSet[float64](g, "busy.counts")
		return func() (sum float64, err error) {
			for _, v := range s.All() {
				sum += v
			}
			return sum, s.Err()
		}
	}},
	{"counts=1000", func(g *pmapi.Group) func() (float64, error) {
		s := pmapi.AddSet[uint64](g, "busy.counts", pmapi.Scale("instant"))
		return func() (sum float64, err error) {
			for _, v := range s.All() {
				sum += float64(v)
			}
			return sum, s.Err()
		}
	}},
	{"numbers=1000", func(g *pmapi.Group) func() (float64, error) {
		s := pmapi.AddSet[uint32](g, "busy.numbers")
		return func() (sum float64, err error) {
			for _, v := range s.All() {
				sum += float64(v)
			}
			return sum, s.Err()
		}
	}},
	{"where=1000", func(g *pmapi.Group) func() (float64, error) {
		s := pmapi.AddSet[float64](g, "busy.counts", pmapi.Where(func(l pdu.LabelSet) bool { return l.Inst%2 == 0 }))
		return func() (sum float64, err error) {
			for _, v := range s.All() {
				sum += v
			}
			if s.Len() != 500 {
				return 0, fmt.Errorf("%d instances", s.Len())
			}
			return sum, s.Err()
		}
	}},
	{"tree=102", func(g *pmapi.Group) func() (float64, error) {
		tree := pmapi.AddTree[float64](g, "busy", pmapi.Scale("instant"))
		return func() (sum float64, err error) {
			for _, s := range tree.All() {
				for _, v := range s.All() {
					sum += v
				}
			}
			return sum, tree.Err()
		}
	}},
}

func fetched(t testing.TB, c *pmapi.Context, l load) func() {
	g := c.Group()
	sum := l.fill(g)
	fetch := func() {
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	return func() {
		fetch()
		if v, err := sum(); err != nil || v == 0 {
			t.Fatal(v, err)
		}
	}
}

func TestGroupAllocations(t *testing.T) {
	c := busyCollector(t)
	for _, l := range loads {
		t.Run(l.name, func(t *testing.T) {
			fetch := fetched(t, c, l)
			fetch()
			if raceEnabled {
				return
			}
			if n := testing.AllocsPerRun(100, fetch); n != 0 {
				t.Errorf("%v allocations a fetch", n)
			}
		})
	}
}

func BenchmarkGroupFetch(b *testing.B) {
	c := busyCollector(b)
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			fetch := fetched(b, c, l)
			b.ReportAllocs()
			for b.Loop() {
				fetch()
			}
		})
	}
}
