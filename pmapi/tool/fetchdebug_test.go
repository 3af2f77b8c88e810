package tool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// TestChangesLine has what pmval 6.0.3 -D fetch prints of each combination.
func TestChangesLine(t *testing.T) {
	for change, want := range map[pdu.Change]string{
		0:  "",
		1:  "PMCD state changes: agent(s) added\n",
		2:  "PMCD state changes: agent(s) restarted\n",
		4:  "PMCD state changes: agent(s) dropped\n",
		7:  "PMCD state changes: agent(s) added restarted dropped\n",
		8:  "PMCD state changes: label change\n",
		9:  "PMCD state changes: agent(s) added, label change\n",
		16: "PMCD state changes: names change\n",
		17: "PMCD state changes: agent(s) added, names change\n",
		24: "PMCD state changes: label change, names change\n",
		31: "PMCD state changes: agent(s) added restarted dropped, label change, names change\n",
		32: "PMCD state changes: \n",
		56: "PMCD state changes: label change, names change\n",
	} {
		if got := changesLine(change); got != want {
			t.Errorf("%d: %q, want %q", uint32(change), got, want)
		}
	}
}

// TestFetchDebugChanges: changes in the collector are before the result of the fetch that tells of
// them, and only there.
func TestFetchDebugChanges(t *testing.T) {
	src := new(pmapitest.Source)
	pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "a"}).Set(2)
	pc := src.Context()
	defer pc.Close()
	var stderr strings.Builder
	c := &Command{Name: "pmx", Stderr: &stderr}
	c.AddOptions("General options", c.Standard("debug")...)
	if _, err := c.Parse([]string{"-D", "fetch"}); err != nil {
		t.Fatal(err)
	}
	c.fetchDebug(pc, nil)
	ids, err := pc.Lookup(t.Context(), []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range []pdu.Change{0, pdu.ChangeRestartAgent | pdu.ChangeDropAgent, 0} {
		src.Notify(changed)
		if err := pc.Fetch(t.Context(), ids, new(pdu.Result)); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, "__pmResult dump") {
			got.WriteString(line)
		}
	}
	value := "  " + ids[0].String() + " (a): numval: 1 valfmt: 0 vlist[]:\n   value 2\n"
	want := "pmFetch returns ...\n" + value +
		"pmFetch returns ...\nPMCD state changes: agent(s) restarted dropped\n" + value +
		"pmFetch returns ...\n" + value
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("output (-want +got)\n%s", diff)
	}
}
