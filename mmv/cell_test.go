package mmv

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestMovedText: a text is the same wherever its registry moves it.
func TestMovedText(t *testing.T) {
	r := &Registry{Name: "app"}
	d := r.InDom("d", Domain{})
	kept, removed := r.Text("kept", Metric{}), d.Text("removed", Metric{}).With("a")
	for _, text := range []string{"", "abc", strings.Repeat("x", maxString)} {
		kept.Set(text)
		removed.Set(text)
		r.Source()
		d.Remove("a")
		d.Text("more"+text, Metric{}).With("b")
		if got := kept.Value(); got != text {
			t.Errorf("%q is %q after it was moved", text, got)
		}
		if got := removed.Value(); got != text {
			t.Errorf("%q is %q after it was removed", text, got)
		}
	}
}

// TestSetWhileMoved: a gauge that is set in its old place during a move never shows a number that
// was not set, and the last number set stays.
func TestSetWhileMoved(t *testing.T) {
	r := &Registry{Name: "app"}
	g, f, c := r.Gauge("g", Metric{}), r.FloatGauge("f", Metric{}), r.Counter("c", Metric{})
	g.Set(1000)
	f.Set(math.Inf(1))
	c.Add(1000)
	for _, x := range []struct {
		name          string
		cell          *cell
		late          uint64 // the word that an update leaves in the old place
		before, after float64
	}{
		{"gauge", &g.cell, 2000, 1000, 2000},
		{"float gauge", &f.cell, math.Float64bits(5), math.Inf(1), 5},
		{"counter", &c.cell, 1002, 1002, 1002},
	} {
		old := x.cell.move(newSlot(x.cell.typ))
		old.store(x.cell.typ, x.late) // by an update that has loaded the slot before
		x.cell.settle(old)
		if got := x.cell.typ.float(x.cell.word()); got != x.before {
			t.Errorf("%s: %v before the update is over, want %v", x.name, got, x.before)
		}
		if x.cell == &c.cell {
			x.cell.carry(old)
		} else {
			x.cell.override(old, x.late)
		}
		if got := x.cell.typ.float(x.cell.word()); got != x.after {
			t.Errorf("%s: %v in the end, want %v", x.name, got, x.after)
		}
	}
}

// TestZeroHandles: a handle that no registry has made forgets its updates.
func TestZeroHandles(t *testing.T) {
	var c Counter
	var f FloatCounter
	var g Gauge
	var fg FloatGauge
	var timer Timer
	var text Text
	var h Histogram
	c.Inc()
	f.Add(1)
	g.Set(1)
	g.Add(1)
	fg.Set(1)
	fg.Add(1)
	timer.Start().Stop()
	timer.Add(time.Second)
	text.Set("text")
	h.Observe(1)
	if c.Value() != 0 || f.Value() != 0 || g.Value() != 0 || fg.Value() != 0 || text.Value() != "" || h.Count() != 0 ||
		h.Sum() != 0 || h.Quantile(0.5) != 0 {
		t.Error("a handle of no registry has a value")
	}
}

// TestTooManyLabels: rejected labels leave the existing ones as they are.
func TestTooManyLabels(t *testing.T) {
	r := &Registry{Name: "app", Labels: Labels{"first": 1}}
	many := Labels{"first": 2}
	for i := range maxLabels {
		many["label"+strings.Repeat("x", i%200)+string(rune('a'+i/200))] = i
	}
	r.AddLabels(many)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "256 labels are too many") {
		t.Errorf("error %v", err)
	}
	f, err := Read(r.Source())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Labels) != 1 || f.Labels[0].JSON != `{"first":1}` {
		t.Errorf("labels %v", f.Labels)
	}
}
