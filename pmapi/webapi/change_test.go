package webapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// TestChangingSource fetches from a source that changes. Each reply has values of the metric that
// currently has the name, and matches its metadata.
func TestChangingSource(t *testing.T) {
	src := changing.New()
	s := serve(t, &webapi.Gateway{Local: sourceOf(src.Context)})
	id := s.open(t, "polltimeout=60")
	fetch := func(name string) string { return s.get(t, "/pmapi/"+id+"/fetch?names="+name).body }
	fetch(changing.Latency)
	millis := true
	for _, step := range changing.Steps() {
		step.Do(src)
		millis = millis && !step.Changes
		value, units := `"value":7}`, `"units":"millisec"`
		if !millis {
			value, units = `"value":7000}`, `"units":"microsec"`
		}
		got := fetch(changing.Latency)
		metadata := s.get(t, "/pmapi/"+id+"/metric?names="+changing.Latency).body
		switch {
		case step.Latency < 0:
			if strings.Contains(got, `"value"`) {
				t.Errorf("%s: %s", step.Name, got)
			}
		case !strings.Contains(got, value) || !strings.Contains(metadata, units):
			t.Errorf("%s: %s, want %s; %s, want %s", step.Name, got, value, metadata, units)
		}
		indom := s.get(t, "/pmapi/"+id+"/indom?name="+changing.Queue).body
		for i, name := range step.Queues {
			if want := fmt.Sprintf(`"name":%q`, name); strings.Count(indom, `"name":`) != 2 || !strings.Contains(indom, want) {
				t.Errorf("%s: instance %d: %s, want %s", step.Name, i, indom, want)
			}
		}
	}
}
