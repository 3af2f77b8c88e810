package goexpvar

import (
	"expvar"
	"fmt"
	"net"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestRemote serves the agent over a stream, as for pmcd.
func TestRemote(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"a": integer(1), "m": mapOf("p", integer(2)), "doc": nested(2)})
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- pmda.Serve(t.Context(), b.agent, theirs) }()
	r, err := remote.New(t.Context(), b.agent.Info(), ours, remote.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pmdatest.Run(t, r, pmdatest.Names(b.agent.Namespace()))
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// BenchmarkFetch fetches variables of expvar's own types, and a Func.
func BenchmarkFetch(b *testing.B) {
	vars := map[string]expvar.Var{}
	for i := range 20 {
		vars[fmt.Sprintf("n%d", i)] = integer(int64(i))
	}
	for _, l := range []struct {
		name string
		more map[string]expvar.Var
	}{
		{"vars=20", nil},
		{"vars=20/map=100", map[string]expvar.Var{"m": func() expvar.Var {
			m := new(expvar.Map)
			for i := range 100 {
				m.Add(fmt.Sprintf("k%d", i), 1)
			}
			return m
		}()}},
		{"vars=20/func", map[string]expvar.Var{"f": expvar.Func(func() any { return map[string]int{"a": 1, "b": 2} })}},
	} {
		b.Run(l.name, func(t *testing.B) {
			all := map[string]expvar.Var{}
			for _, from := range []map[string]expvar.Var{vars, l.more} {
				for key, v := range from {
					all[key] = v
				}
			}
			b := newBench(t, all)
			var ids []pdu.PMID
			for _, name := range b.all() {
				ids = append(ids, b.id(name))
			}
			var w pdu.ResultWriter
			r, ctx := request(), t.Context()
			t.ReportAllocs()
			for t.Loop() {
				w.Reset()
				if err := b.agent.Fetch(ctx, r, ids, &w); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
