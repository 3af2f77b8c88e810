package export_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// TestChangingSource reads a source that changes. Each snapshot has the values, units and instances
// of its time.
func TestChangingSource(t *testing.T) {
	src := changing.New()
	c := src.Context()
	defer c.Close()
	r := &export.Reader{Context: c, Names: []string{changing.Latency, changing.Queue}}
	read(t, r)
	for _, step := range changing.Steps() {
		step.Do(src)
		s := read(t, r)
		latency := -1.0
		var queues []string
		for m, values := range s.All() {
			for inst, v := range values.All(m.Desc.Type) {
				if m.Name == changing.Queue {
					i := m.InDom.Instance(inst)
					queues = append(queues, i.Name)
					if role, _ := i.Labels.Lookup("role"); role != step.Role {
						t.Errorf("%s: role %q of instance %s, want %q", step.Name, role, i.Name, step.Role)
					}
					continue
				}
				x, err := pdu.As[float64](v)
				if err != nil {
					t.Fatal(err)
				}
				millis, err := pdu.Float64(x).ConvertUnits(m.Desc.Units, pdu.TimeMSec)
				if err != nil {
					t.Fatal(err)
				}
				latency, _ = pdu.As[float64](millis)
			}
		}
		if latency != step.Latency {
			t.Errorf("%s: latency %v, want %v", step.Name, latency, step.Latency)
		}
		slices.Sort(queues)
		if diff := cmp.Diff(step.Queues, queues); diff != "" {
			t.Errorf("%s: instances (-want +got):\n%s", step.Name, diff)
		}
	}
}
