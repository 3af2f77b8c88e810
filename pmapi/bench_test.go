package pmapi_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
)

// shapes returns an agent with many metrics. The first metric has many instances.
func shapes(t testing.TB, metrics, instances int) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "shape", Domain: 402}
	names := make([]string, instances)
	for i := range names {
		names[i] = fmt.Sprint("i", i)
	}
	in := a.AddInDom("many", names...)
	for i := range metrics {
		m := pmda.Metric[uint64]{
			Name: fmt.Sprintf("shape.m%04d", i), ID: pmda.Item(i/1000, i%1000), Sem: pdu.SemCounter,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) { return uint64(i.ID + 7), nil },
		}
		if i == 0 {
			m.InDom = in
		}
		if err := pmda.Register(a, m); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func shapeNames(from, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("shape.m%04d", from+i)
	}
	return names
}

// tcpContext returns a context on agents, over TCP.
func tcpContext(t testing.TB, agents ...pmda.Handler) *pmapi.Context {
	t.Helper()
	c, err := pmapi.Dial(t.Context(), newDaemon(t, agents...).addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func BenchmarkFetch(b *testing.B) {
	c := tcpContext(b, shapes(b, 11, 1000))
	for _, bb := range []struct {
		name  string
		names []string
	}{{"metrics=1", shapeNames(1, 1)}, {"metrics=10", shapeNames(1, 10)}, {"insts=1000", shapeNames(0, 1)}} {
		b.Run(bb.name, func(b *testing.B) {
			ids, err := c.Lookup(b.Context(), bb.names)
			if err != nil {
				b.Fatal(err)
			}
			var r pdu.Result
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Fetch(b.Context(), ids, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	c := tcpContext(b, shapes(b, 2500, 1))
	names := shapeNames(0, 2500)
	b.Run("names=2500", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Lookup(b.Context(), names); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A thousand idle contexts cost little, although both ends of their connections are in this
// process.
func TestMemoryOfContexts(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	const n, most = 1000, 20 << 10
	srv := newDaemon(t, colours(t))
	contexts := make([]*pmapi.Context, n)
	ids := []pdu.PMID{pdu.MakePMID(400, 0, 0), pdu.MakePMID(400, 0, 1)}
	var r pdu.Result
	start := func(i int) {
		c, err := pmapi.Dial(t.Context(), srv.addr)
		if err == nil {
			err = c.Fetch(t.Context(), ids, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		contexts[i] = c
	}
	start(0) // memory that is needed once
	before := inUse()
	for i := range n - 1 {
		start(1 + i)
	}
	each := (inUse() - before) / (n - 1)
	t.Logf("%d bytes for a context, with its client in the collector", each)
	if each > most {
		t.Errorf("want at most %d", most)
	}
	for _, c := range contexts {
		c.Close()
	}
}

// inUse returns the memory of the heap and of stacks.
func inUse() int64 {
	h := heap()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return h + int64(m.StackInuse)
}
