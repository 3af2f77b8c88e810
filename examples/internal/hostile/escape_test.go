package hostile_test

import (
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// Names, texts, labels and values of a collector that would control the terminal are printed
// escaped, and a name stays on its line.
func TestEscaped(t *testing.T) {
	const attack = "a\x1b]0;owned\a\x9b31m\u009b1m\r\x7f\x00"
	const escaped = `a\x1b]0;owned\x07\x9b31m\u009b1m\x0d\x7f`
	c := collector{name: "x." + attack + "\nforged 1", inst: attack + "\nforged", text: attack + "\n\tsecond line", value: attack,
		labels: `{"` + "l" + `":"` + attack + `"}`}
	ofStrings := c
	ofStrings.desc = pdu.Desc{PMID: metricID, Type: pdu.TypeString, InDom: inDom, Sem: pdu.SemInstant}
	named := ofStrings
	named.name = ""
	for _, tt := range []struct {
		collector collector
		argv      []string
		want      string // part of what is printed
	}{
		{c, []string{"pminfo"}, `x.` + escaped + `\x00\nforged 1`},
		{c, []string{"pminfo", "-fdmtTls"}, `inst [0 or "` + escaped + `\x00\nforged"]`},
		{c, []string{"pminfo", "-T"}, escaped + "\\x00\n\tsecond line\n"},
		{ofStrings, []string{"pminfo", "-f"}, `value "` + escaped},
		{c, []string{"pmprobe", "-I"}, `"` + escaped + `\x00\nforged"`},
		{ofStrings, []string{"pmprobe", "-v"}, `"` + escaped},
		{named, []string{"pmval", "-s", "1", metricName}, `"` + escaped},
		{named, []string{"pmval", "-s", "1", "-w", "5", metricName}, escaped + `\x00\nforged`},
		{named, []string{"pmval", "-s", "1", "-z", metricName}, ""},
		{named, []string{"pmstore", "-F", metricName, "x"}, `"` + escaped + `\x00\nforged"`},
		{c, []string{"pmclient", "-s", "1"}, ""},
	} {
		addr := tt.collector.serve(t)
		argv := append([]string{pcptest.Build(t, "./examples/"+tt.argv[0]), "-h", addr}, tt.argv[1:]...)
		stdout, stderr, _ := pcptest.Run(t, nil, "", argv...)
		for _, printed := range []string{stdout, stderr} {
			if strings.ContainsAny(printed, "\x1b\a\r\x7f\x00\u009b") || strings.Contains(printed, "\x9b") {
				t.Errorf("%q printed control characters: %q", tt.argv, printed)
			}
			if strings.Contains(printed, "\nforged") {
				t.Errorf("%q printed a line of its own for a part of a name: %q", tt.argv, printed)
			}
		}
		if !strings.Contains(stdout, tt.want) {
			t.Errorf("%q: %q, want %q in it", tt.argv, stdout, tt.want)
		}
	}
}
