package pmlogsize

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// TestThreshold lists all metrics without -x, also if their bytes add up to more than those of the
// volume, as those of replicated values do.
func TestThreshold(t *testing.T) {
	for threshold, want := range map[int]int{0: 3, 50: 1} {
		var b bytes.Buffer
		s := &sizer{threshold: threshold, out: bufio.NewWriter(&b)}
		s.printMetrics([]*metric{{id: 1, bytes: 80}, {id: 2, bytes: 70}, {id: 3, bytes: 60}}, 100, 200)
		s.out.Flush()
		if got := strings.Count(b.String(), " bytes ["); got != want || strings.Contains(b.String(), "...") != (threshold > 0) {
			t.Errorf("threshold %d: %d metrics, want %d:\n%s", threshold, got, want, &b)
		}
	}
}
