package pmda_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// BenchmarkRegister registers the metrics of an agent that starts.
func BenchmarkRegister(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run("metrics="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a := &pmda.Agent{Name: "a", Domain: 251}
				for i := range n {
					if err := pmda.Register(a, pmda.Metric[uint64]{Name: "a.m" + strconv.Itoa(i), Sem: pdu.SemCounter, Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 0, nil }}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
