package pmdatrace

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/tracewire"
	"pgregory.net/rapid"
)

// at waits until the given number of seconds after the start.
func at(start time.Time, seconds float64) {
	time.Sleep(time.Until(start.Add(time.Duration(seconds * float64(time.Second)))))
}

// TestGuideExample is the example of the guide's section 4.6.2.3: 8 transactions arrived from 3.5 s
// to 13.5 s, but the last whole interval ends at 12 s, so 7 are counted.
func TestGuideExample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a := New(Options{Period: 10 * time.Second, Buckets: 5})
		ln := newPipeListener()
		serveAgent(t, a, ln)
		c := connect(t, ln.dial())
		for i, when := range []float64{4, 5, 6.5, 7, 9, 10.5, 11.5, 13} {
			at(start, when)
			c.send(tracewire.KindTransaction, "order", float64(i+1)/10)
		}
		at(start, 13.5)
		for name, want := range map[string]float64{
			"count": 8, "total_time": 3.6, "rate": 0.7, "ave_time": 0.4, "min_time": 0.1, "max_time": 0.7,
		} {
			got := fetch(t, a, "trace.transact."+name)["order"]
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		at(start, 14)
		if got := fetch(t, a, "trace.transact.rate")["order"]; float32(got) != 0.8 {
			t.Errorf("rate at 14 s: %v, want 0.8", got)
		}
		if got := fetch(t, a, "trace.control.interval")[""]; got != 2 {
			t.Errorf("interval %v, want 2", got)
		}
	})
}

// TestObservedWindow repeats an observation of the C agent with -T 10 -N 5: 7 points at 6.3 s,
// intervals that end at 6.9 s, 8.9 s and so on.
func TestObservedWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zero := time.Now()
		at(zero, 0.9)
		a := New(Options{Period: 10 * time.Second, Buckets: 5})
		ln := newPipeListener()
		serveAgent(t, a, ln)
		c := connect(t, ln.dial())
		at(zero, 6.3)
		for range 7 {
			c.write(data(t, tracewire.KindPoint, "pt", -1, false))
		}
		c.send(tracewire.KindObservation, "all came", 0)
		got, want := map[string]any{}, map[string]any{}
		for _, when := range []float64{6.4, 6.8, 7.4, 8.9, 13, 16.6, 17.6, 30} {
			at(zero, when)
			rate, ok := fetch(t, a, "trace.point.rate")["pt"]
			s := fmt.Sprint(when)
			got[s] = []any{ok, float32(rate), fetch(t, a, "trace.point.count")["pt"]}
			want[s] = []any{false, float32(0), 7.0}
			if when > 6.9 && when < 16.9 {
				want[s] = []any{true, float32(0.7), 7.0}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestUnevenIntervals checks that a period is divided exactly even if the buckets do not divide it
// into whole seconds, unlike in the C agent.
func TestUnevenIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a := New(Options{Period: 10 * time.Second, Buckets: 4})
		ln := newPipeListener()
		serveAgent(t, a, ln)
		connect(t, ln.dial()).send(tracewire.KindPoint, "pt", -1)
		for _, tt := range []struct {
			at   float64
			seen int
		}{{2.499, 0}, {2.5, 1}, {12.499, 1}, {12.5, 0}, {1e9, 0}} {
			at(start, tt.at)
			if got := fetch(t, a, "trace.point.rate"); len(got) != tt.seen {
				t.Errorf("at %v s: %v, want %d", tt.at, got, tt.seen)
			}
		}
		if got := fetch(t, a, "trace.control.interval")[""]; got != 2 {
			t.Errorf("interval %v, want its whole seconds", got)
		}
	})
}

// TestWindowModel compares the table with a list of all values.
func TestWindowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Period: time.Duration(rapid.IntRange(1, 20).Draw(t, "period")) * time.Second, Buckets: rapid.IntRange(1, 7).Draw(t, "buckets")}
		if err := o.complete(); err != nil {
			t.Fatal(err)
		}
		tab := newTable(&o)
		length := o.Period / time.Duration(o.Buckets)
		type value struct {
			interval int64
			v        float64
		}
		var all []value
		now := tab.start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*length)).Draw(t, "wait")))
			n := tab.interval(now)
			if rapid.Bool().Draw(t, "send") {
				v := float64(rapid.IntRange(-9, 9).Draw(t, "value"))
				tab.add(&tracewire.Data{Kind: tracewire.KindTransaction, Tag: []byte("x"), Value: v}, n, nil)
				all = append(all, value{n, v})
				continue
			}
			if len(all) == 0 {
				continue
			}
			var want figures
			for _, v := range all {
				if v.interval < n && v.interval >= n-int64(o.Buckets) {
					want.add(v.v)
				}
			}
			if got := *tab.of(tracewire.KindTransaction).tags["x"].windowBefore(n); got != want {
				t.Fatalf("before interval %d: %+v, want %+v", n, got, want)
			}
		}
	})
}

// TestInterval checks that interval numbers are exact, even at the limits.
func TestInterval(t *testing.T) {
	for _, tt := range []struct {
		period  time.Duration
		buckets int
		after   time.Duration
		want    int64
	}{
		{10 * time.Second, 5, 0, 0},
		{10 * time.Second, 5, -time.Hour, 0}, // the clock was set back
		{10 * time.Second, 5, 2*time.Second - 1, 0},
		{10 * time.Second, 5, 2 * time.Second, 1},
		{10 * time.Second, 3, 10 * time.Second, 3},
		{10 * time.Second, 3, 10*time.Second - 1, 2},
		{time.Second, 1000, math.MaxInt64, math.MaxInt64 / 1_000_000},
		{maxPeriod, 1000, math.MaxInt64, 2147},
	} {
		o := Options{Period: tt.period, Buckets: tt.buckets}
		if err := o.complete(); err != nil {
			t.Fatal(err)
		}
		tab := newTable(&o)
		if got := tab.interval(tab.start.Add(tt.after)); got != tt.want {
			t.Errorf("%v/%d after %v: %d, want %d", tt.period, tt.buckets, tt.after, got, tt.want)
		}
	}
}

// TestNotNumbers checks that NaN has the same effect on the figures as in the C agent.
func TestNotNumbers(t *testing.T) {
	var f, g figures
	for _, v := range []float64{math.NaN(), 1, 2} {
		f.add(v)
	}
	for _, v := range []float64{1, math.NaN(), -2, math.Inf(1)} {
		g.add(v)
	}
	if f.count != 3 || !math.IsNaN(f.min) || !math.IsNaN(f.max) || !math.IsNaN(f.sum) {
		t.Errorf("first is no number: %+v", f)
	}
	if g.count != 4 || g.min != -2 || !math.IsInf(g.max, 1) {
		t.Errorf("later one is no number: %+v", g)
	}
}
