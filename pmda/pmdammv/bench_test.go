package pmdammv

import (
	"fmt"
	"os"
	"testing"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// manyMetrics returns a Registry of counters, and their PMIDs.
func manyMetrics(name string, cluster, n int) (*mmv.Registry, []pdu.PMID) {
	r := &mmv.Registry{Name: name, Cluster: cluster}
	ids := make([]pdu.PMID, n)
	for i := range n {
		r.Counter(fmt.Sprintf("counter.c%04d", i), mmv.Metric{Text: "a counter", Item: i + 1}).Add(uint64(i))
		ids[i] = pdu.MakePMID(Domain, cluster, i+1)
	}
	return r, ids
}

func (c *client) benchmark(b *testing.B, ids []pdu.PMID, values int) {
	c.Fetch(b.Context(), &c.request, ids, &c.w) // reads all
	b.ReportAllocs()
	for b.Loop() {
		c.w.Reset()
		if err := c.Fetch(b.Context(), &c.request, ids, &c.w); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
}

// BenchmarkFetch measures fetches of metrics and instances from a file and from a Registry.
func BenchmarkFetch(b *testing.B) {
	for _, from := range []string{"file", "process"} {
		for _, n := range []int{1, 1000} {
			b.Run(fmt.Sprintf("from=%s/metrics=%d", from, n), func(b *testing.B) {
				r, ids := manyMetrics("bench", 1, 1000)
				newClient(b, served(b, r, from), defaultLimits).benchmark(b, ids[:n], n)
			})
		}
		for _, n := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("from=%s/instances=%d", from, n), func(b *testing.B) {
				r := &mmv.Registry{Name: "bench", Cluster: 1}
				vec := r.InDom("d", mmv.Domain{}).Counter("c", mmv.Metric{Item: 1})
				for i := range n {
					vec.With(fmt.Sprint(i)).Add(1)
				}
				newClient(b, served(b, r, from), defaultLimits).benchmark(b, []pdu.PMID{pdu.MakePMID(Domain, 1, 1)}, n)
			})
		}
	}
}

// BenchmarkManyFiles has 1000 files of 20 metrics. It measures the first fetch, fetches after a
// change of one file, without a change and of all metrics, and a traversal of the names.
func BenchmarkManyFiles(b *testing.B) {
	const files, metrics = 1000, 20
	dir := b.TempDir()
	var ids []pdu.PMID
	for i := range files {
		r, some := manyMetrics(fmt.Sprintf("app%04d", i), i+1, metrics)
		publish(b, dir, r)
		ids = append(ids, some...)
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := newClient(b, Options{Dir: dir}, defaultLimits)
			c.Fetch(b.Context(), &c.request, ids[:1], &c.w)
			for _, e := range c.dir.entries {
				e.src.close()
			}
			c.dir.entries = nil
		}
	})
	c := newClient(b, Options{Dir: dir}, defaultLimits)
	b.Run("changed", func(b *testing.B) {
		file := c.dir.path + "/more"
		for b.Loop() {
			os.WriteFile(file, nil, 0o644)
			c.w.Reset()
			c.Fetch(b.Context(), &c.request, ids[:1], &c.w)
			os.Remove(file)
		}
	})
	b.Run("one", func(b *testing.B) { c.benchmark(b, ids[500:501], 1) })
	b.Run("all", func(b *testing.B) { c.benchmark(b, ids, len(ids)) })
	b.Run("names", func(b *testing.B) {
		for b.Loop() {
			newSnapshot(c.agent.Name, c.Domain, c.snap.Load().entries, len(ids), c.log()).makeNames()
		}
	})
}
