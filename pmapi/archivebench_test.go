package pmapi_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// benchArchive is the archive of the benchmarks: PCP_BENCH_ARCHIVE of the environment, or a small
// one.
func benchArchive(b *testing.B) (*pmapi.Context, []pdu.PMID) {
	b.Helper()
	path := os.Getenv("PCP_BENCH_ARCHIVE")
	if path == "" {
		path = recordedArchive
	}
	c, err := pmapi.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	names, err := c.Traverse(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	ids, err := c.Lookup(b.Context(), names[:len(names)-2]) // not those of events
	if err != nil {
		b.Fatal(err)
	}
	return c, ids
}

// spread returns n of the metrics, spread evenly over the name space; 0 means all.
func spread(ids []pdu.PMID, n int) []pdu.PMID {
	if n == 0 || n > len(ids) {
		return ids
	}
	var list []pdu.PMID
	for i := range n {
		list = append(list, ids[i*len(ids)/n])
	}
	return list
}

func benchmarkFetch(b *testing.B, c *pmapi.Context, ids []pdu.PMID, mode pmapi.Mode, step time.Duration) {
	b.Helper()
	l, err := c.ArchiveLabel()
	if err != nil {
		b.Fatal(err)
	}
	start := func() {
		if err := c.SetMode(b.Context(), mode, l.Start, step); err != nil {
			b.Fatal(err)
		}
	}
	start()
	var r pdu.Result
	b.ReportAllocs()
	for b.Loop() {
		err := c.Fetch(b.Context(), ids, &r)
		if errors.Is(err, pdu.ErrEOL) {
			start()
		} else if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkArchiveForward(b *testing.B) {
	c, ids := benchArchive(b)
	for _, n := range []int{1, 10, 0} {
		list := spread(ids, n)
		b.Run(fmt.Sprintf("metrics=%d", len(list)), func(b *testing.B) {
			benchmarkFetch(b, c, list, pmapi.ModeForward, 0)
		})
	}
}

func BenchmarkArchiveInterp(b *testing.B) {
	c, ids := benchArchive(b)
	for _, step := range []time.Duration{time.Second, time.Minute} {
		b.Run("step="+step.String(), func(b *testing.B) {
			benchmarkFetch(b, c, spread(ids, 10), pmapi.ModeInterp, step)
		})
	}
}

// BenchmarkArchiveGroup fetches rows of 10 metrics.
func BenchmarkArchiveGroup(b *testing.B) {
	c, ids := benchArchive(b)
	g := c.Group()
	for _, id := range spread(ids, 10) {
		name, err := c.Name(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		pmapi.AddSet[float64](g, name)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Fetch(b.Context()); errors.Is(err, pdu.ErrEOL) {
			if err := c.SetMode(b.Context(), pmapi.ModeForward, time.Unix(1, 0), 0); err != nil {
				b.Fatal(err)
			}
		} else if err != nil {
			b.Fatal(err)
		}
	}
}
