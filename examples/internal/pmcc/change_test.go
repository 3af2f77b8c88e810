package pmcc_test

import (
	"testing"

	"github.com/pcp-go/pcp/examples/internal/pmcc"
	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
)

// TestChangingSource fetches from a source that changes. Each value has its descriptor.
func TestChangingSource(t *testing.T) {
	src := changing.New()
	pc := src.Context()
	defer pc.Close()
	m := pmcc.Metrics{Names: []string{changing.Latency, changing.Requests}}
	var r pdu.Result
	fetch := func() {
		t.Helper()
		if err := m.Fetch(t.Context(), pc, &r); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	for _, step := range changing.Steps() {
		step.Do(src)
		fetch()
		got := -1.0
		if set := r.At(0); set.Len() > 0 {
			v, err := pdu.As[float64](set.Atom(0, m.Descs[0].Type))
			if err != nil {
				t.Fatal(err)
			}
			if a, err := pdu.Float64(v).ConvertUnits(m.Descs[0].Units, pdu.TimeMSec); err == nil {
				got, _ = pdu.As[float64](a)
			}
		}
		if got != step.Latency {
			t.Errorf("%s: latency %v, want %v", step.Name, got, step.Latency)
		}
	}
}
