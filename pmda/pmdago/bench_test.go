package pmdago

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// idsOf returns the PMIDs of the metrics whose names want accepts.
func idsOf(t testing.TB, a *pmda.Agent, want func(name string) bool) []pdu.PMID {
	t.Helper()
	var ids []pdu.PMID
	for name, id := range a.Namespace().All() {
		if want(name) {
			ids = append(ids, id)
		}
	}
	if err := a.Err(); err != nil || len(ids) == 0 {
		t.Fatalf("%d metrics, %v", len(ids), err)
	}
	return ids
}

// loads are kinds of fetches, with the maximum allocations of each.
var loads = []struct {
	name   string
	want   func(name string) bool
	allocs float64
}{
	{"metrics=one", func(n string) bool { return n == "go.gc.heap.live_bytes" }, 0},
	{"metrics=runtime", func(n string) bool { return !strings.HasPrefix(n, "go.process.") }, 0},
	// One allocation: the path of a file for a system call.
	{"metrics=most", func(n string) bool { return n != "go.process.fd.open" }, 1},
	// Another path, and on kernels before 6.2 the list of open descriptors.
	{"metrics=all", func(string) bool { return true }, math.Inf(1)},
}

func request() *pmda.Request { return &pmda.Request{Client: pmda.NewClient(0, 1)} }

func BenchmarkFetch(b *testing.B) {
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			a := New(Options{})
			ids := idsOf(b, a, l.want)
			var w pdu.ResultWriter
			buf, r, ctx := make([]byte, pdu.HeaderLen), request(), context.Background()
			b.ReportAllocs()
			for b.Loop() {
				w.Reset()
				if err := a.Fetch(ctx, r, ids, &w); err != nil {
					b.Fatal(err)
				}
				var err error
				if buf, err = w.Append(buf[:pdu.HeaderLen], pdu.FormatHighRes); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(ids)), "metrics")
			b.ReportMetric(float64(len(buf)), "bytes")
		})
	}
}
