package goruntime

import (
	"math"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/pdu"
	"pgregory.net/rapid"
)

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		v       float64
		seconds bool
		want    string
	}{
		{math.Inf(1), true, "inf"},
		{math.Inf(-1), false, "-inf"},
		{0, true, "0s"},
		{6.4e-08, true, "64ns"},
		{1.024e-06, true, "1.024us"},
		{0.003145728, true, "3.145728ms"},
		{123145.302310912, true, "34h12m25.302310912s"},
		{1e-12, true, "1e-12"},
		{1e300, true, "1e+300"},
		{48, false, "48"},
		{32769, false, "32769"},
		{0.5, false, "0.5"},
	} {
		if got := Limit(c.v, c.seconds); got != c.want {
			t.Errorf("limit of %g is %s, want %s", c.v, got, c.want)
		}
	}
}

// All buckets of this runtime have different names.
func TestBucketNames(t *testing.T) {
	for _, d := range metrics.All() {
		if d.Kind != metrics.KindFloat64Histogram {
			continue
		}
		s := []metrics.Sample{{Name: d.Name}}
		metrics.Read(s)
		v := s[0].Value.Float64Histogram()
		seconds := Units(d.Name) == pdu.TimeSec
		seen := map[string]bool{}
		for _, l := range v.Buckets {
			if name := Limit(l, seconds); seen[name] {
				t.Errorf("%s: %s twice", d.Name, name)
			} else {
				seen[name] = true
			}
		}
	}
}

// A window begins with the newest fetch that is a minute old, or the start of the
// process if none is.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Window
		var kept []sample // all of them, as Since keeps them
		now := time.Unix(1000, 0)
		for i := range 60 {
			now = now.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "step")) * time.Millisecond)
			counts := []uint64{uint64(i)}
			var want []uint64
			for _, l := range kept {
				if now.Sub(l.at) >= 55*time.Second {
					want = l.counts
				}
			}
			// Only as many as a window keeps can be the oldest of it.
			if len(kept) == 0 || now.Sub(kept[len(kept)-1].at) >= 10*time.Second {
				kept = append(kept, sample{now, counts})
				kept = kept[max(0, len(kept)-8):]
			}
			if diff := cmp.Diff(want, w.Since(now, counts)); diff != "" {
				t.Fatalf("sample %d (-want +got):\n%s", i, diff)
			}
		}
	})
}
