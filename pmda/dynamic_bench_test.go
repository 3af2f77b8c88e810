package pmda_test

import (
	"fmt"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// BenchmarkDynamic adds and removes metrics below a dynamic root one by one, with a lookup of the
// name and a fetch of each in between. The time per metric does not depend on their number.
func BenchmarkDynamic(b *testing.B) {
	for _, n := range []int{100, 1000, 10000, 100000} {
		b.Run(fmt.Sprintf("metrics=%d", n), func(b *testing.B) {
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprint("a.run.m", i)
			}
			r := request()
			b.ReportAllocs()
			for b.Loop() {
				a := &pmda.Agent{Name: "a", Domain: 251}
				must(b, a.AddDynamic("a.run"))
				var w pdu.ResultWriter
				for _, name := range names {
					register(b, a, pmda.Metric[int32]{Name: name, Value: always[int32](1)})
					id, err := a.PMID(b.Context(), r, name)
					w.Reset()
					must(b, err, a.Fetch(b.Context(), r, []pdu.PMID{id}, &w))
				}
				for _, name := range names {
					must(b, a.Remove(name))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/metric")
		})
	}
}
