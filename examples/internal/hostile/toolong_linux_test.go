package hostile_test

import (
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// toolMemory limits the memory of a tool, apart from replies.
const toolMemory = 32 << 20

// A reply that is longer than tools accept costs them no memory, and they say so.
func TestTooLong(t *testing.T) {
	for _, tt := range []struct {
		reply string
		lines [][]string
	}{
		{"values", [][]string{{"pmval", "-s", "1"}, {"pmprobe", "-v"}, {"pminfo", "-f"}}},
		{"instances", [][]string{{"pmval", "-s", "1"}, {"pmprobe", "-I"}}},
		{"names", [][]string{{"pminfo"}, {"pmprobe"}}},
	} {
		huge := hugeReplies[tt.reply]
		reply := huge.make()
		c := collector{replies: map[pdu.Kind]func([]byte) []byte{huge.kind: func([]byte) []byte { return reply }}}
		addr := c.serve(t)
		for _, line := range tt.lines {
			argv := append([]string{line[0], "-h", addr}, line[1:]...)
			if tt.reply != "names" {
				argv = append(argv, metricName)
			}
			var out strings.Builder
			peak := peakRSS(t, nil, &out, argv...)
			if want := "exceeds the limit of"; !strings.Contains(out.String(), want) {
				t.Errorf("%q with %q printed %.300q, want %q in it", line, tt.reply, out.String(), want)
			}
			if limit := 3*16<<20 + toolMemory; peak > limit {
				t.Errorf("%q with %q: %d MiB, want at most %d", line, tt.reply, peak>>20, limit>>20)
			}
		}
	}
}
