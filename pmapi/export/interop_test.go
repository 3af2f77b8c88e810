package export_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
)

// TestInteropRead reads C's collector with its sample agent. The metrics must be those that pminfo
// lists, each PMID once, with the instance names that pminfo -f prints.
func TestInteropRead(t *testing.T) {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	c, err := pmapi.Dial(t.Context(), pmcd.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := read(t, &export.Reader{Context: c, Names: []string{"sample"}})
	if len(s.Errs) != 1 || !strings.Contains(s.Errs[0].Error(), "29.0.54") {
		t.Error("errors:", s.Errs, "; want one about sample.bad.unknown, 29.0.54")
	}
	out, stderr, _ := pcptest.Run(t, nil, "", "pminfo", "-h", pmcd.Host(), "-m", "sample")
	seen := map[string]bool{"29.0.54": true}
	var names []string
	for line := range strings.Lines(out) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " PMID: ")
		if id, _, _ = strings.Cut(id, " "); !seen[id] {
			seen[id] = true
			names = append(names, name)
		}
	}
	var got []string
	for m, values := range s.All() {
		got = append(got, m.Name)
		if m.Name != "sample.colour" {
			continue
		}
		var colours []string
		for inst := range values.All(m.Desc.Type) {
			colours = append(colours, m.InDom.Name(inst))
		}
		want(t, strings.Join(colours, " "), "red green blue")
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("%d metrics:\n%v\npminfo has %d:\n%v\n%s", len(got), got, len(names), names, stderr)
	}
}
