package pmda_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// pipeline does a fetch like a collector: the agent fills its writer, the sets are merged into the
// client's writer, and that is encoded.
type pipeline struct {
	agent      *pmda.Agent
	ids        []pdu.PMID
	own, reply pdu.ResultWriter
	buf        []byte
}

func (p *pipeline) run(ctx context.Context, r *pmda.Request) error {
	p.own.Reset()
	if err := p.agent.Fetch(ctx, r, p.ids, &p.own); err != nil {
		return err
	}
	p.reply.Reset()
	p.reply.CopySets(&p.own, 0, len(p.ids))
	var err error
	p.buf, err = p.reply.Append(p.buf[:pdu.HeaderLen], pdu.FormatLowRes)
	return err
}

// A load is an agent with values to fetch.
type load struct {
	name   string
	values int
	make   func(t testing.TB) *pmda.Agent
}

func names(n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = "i" + strconv.Itoa(i)
	}
	return s
}

func register[T pdu.Scalar](t testing.TB, a *pmda.Agent, m pmda.Metric[T]) {
	t.Helper()
	if err := pmda.Register(a, m); err != nil {
		t.Fatal(err)
	}
}

func loads(insts int) []load {
	value := func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
		return uint64(i.ID) + 1000, nil
	}
	values := func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
		for i := range s.Instances() {
			s.Put(i.ID, uint64(i.ID)+1000)
		}
		return nil
	}
	strs := []string{"red", "green", "blue"}
	return []load{
		{fmt.Sprintf("insts=%d", insts), insts, func(t testing.TB) *pmda.Agent {
			a := &pmda.Agent{Name: "bench", Domain: 251}
			register(t, a, pmda.Metric[uint64]{Name: "bench.value", InDom: a.AddInDom("i", names(insts)...), Value: value})
			return a
		}},
		{fmt.Sprintf("insts=%d/values", insts), insts, func(t testing.TB) *pmda.Agent {
			a := &pmda.Agent{Name: "bench", Domain: 251}
			register(t, a, pmda.Metric[uint64]{Name: "bench.values", InDom: a.AddInDom("i", names(insts)...), Values: values})
			return a
		}},
		{fmt.Sprintf("insts=%d/group", insts), insts, func(t testing.TB) *pmda.Agent {
			a := &pmda.Agent{Name: "bench", Domain: 251}
			all := names(insts)
			d := a.AddInDom("i")
			g := a.Group(func(context.Context, *pmda.Request) error { return setNames(d, all...) })
			d.Group = g
			d.Refresh = func(context.Context, *pmda.Request) error { return setNames(d, all...) }
			register(t, a, pmda.Metric[uint64]{Name: "bench.grouped", InDom: d, Group: g, Value: value})
			return a
		}},
		{"metrics=1000", 1000, func(t testing.TB) *pmda.Agent {
			a := &pmda.Agent{Name: "bench", Domain: 251}
			for i := range 1000 {
				register(t, a, pmda.Metric[uint64]{Name: "bench.m" + strconv.Itoa(i), Value: value})
			}
			return a
		}},
		{"strings=10", 10, func(t testing.TB) *pmda.Agent {
			a := &pmda.Agent{Name: "bench", Domain: 251}
			register(t, a, pmda.Metric[string]{Name: "bench.colour", InDom: a.AddInDom("i", names(10)...),
				Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) {
					return strs[int(i.ID)%3], nil
				}})
			return a
		}},
	}
}

func newPipeline(t testing.TB, l load) *pipeline {
	t.Helper()
	p := &pipeline{agent: l.make(t), buf: make([]byte, pdu.HeaderLen)}
	if err := p.agent.Err(); err != nil {
		t.Fatal(err)
	}
	for _, id := range p.agent.Namespace().All() {
		p.ids = append(p.ids, id)
	}
	return p
}

// BenchmarkAgentFetch measures a fetch through the agent, the merge into the
// client's result and its encoding.
func BenchmarkAgentFetch(b *testing.B) {
	for _, l := range loads(1000) {
		b.Run(l.name, func(b *testing.B) {
			p, r, ctx := newPipeline(b, l), request(), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if err := p.run(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(l.values), "ns/value")
		})
	}
}

// BenchmarkAgentEncode measures the work of an agent in a separate process for a fetch of 1,000
// singular values: the Agent fetches them and encodes a PDU.
func BenchmarkAgentEncode(b *testing.B) {
	for _, l := range loads(1000) {
		if l.name != "metrics=1000" {
			continue
		}
		p, r, ctx := newPipeline(b, l), request(), b.Context()
		b.ReportAllocs()
		for b.Loop() {
			p.own.Reset()
			err := p.agent.Fetch(ctx, r, p.ids, &p.own)
			if err == nil {
				p.buf, err = p.own.Append(p.buf[:pdu.HeaderLen], pdu.FormatLowRes)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(l.values), "ns/value")
	}
}

func request() *pmda.Request { return &pmda.Request{Client: pmda.NewClient(0, 1)} }

// TestFetchAllocs checks that the fetch of BenchmarkAgentFetch allocates nothing in steady state.
func TestFetchAllocs(t *testing.T) {
	for _, l := range loads(100) {
		t.Run(l.name, func(t *testing.T) {
			p, r, ctx := newPipeline(t, l), request(), t.Context()
			n := testing.AllocsPerRun(100, func() {
				if err := p.run(ctx, r); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 && !raceEnabled {
				t.Errorf("%v allocations per fetch, want 0", n)
			}
		})
	}
}
