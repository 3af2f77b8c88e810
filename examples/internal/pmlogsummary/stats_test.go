package pmlogsummary

import (
	"testing"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/pdu"
)

func TestTimeScale(t *testing.T) {
	for _, test := range []struct {
		units pdu.Units
		want  float64
	}{
		{pdu.UnitCount, 1}, {pdu.TimeSec, 1}, {pdu.TimeMSec, 1e3}, {pdu.TimeNSec, 1e9}, {pdu.TimeMin, 1. / 60}, {pdu.TimeHour, 1. / 3600},
	} {
		if got := timeScale(test.units); got < test.want*0.999999 || got > test.want*1.000001 {
			t.Errorf("%v: %v, want %v", test.units, got, test.want)
		}
	}
}

func TestBin(t *testing.T) {
	s := series{min: 10, max: 20, bins: make([]int, 5)}
	for v, want := range map[float64]int{10: 0, 12: 0, 12.5: 1, 19: 4, 20: 4, 21: 4, 9: 4} {
		if got := s.bin(v); got != want {
			t.Errorf("%v is in bin %d, want %d", v, got, want)
		}
	}
}

// TestSeries adds up a counter that is reset, and an instant metric across a mark.
func TestSeries(t *testing.T) {
	n := &metric{desc: pdu.Desc{Sem: pdu.SemCounter}, scale: 1, kind: difference.KindOf(pdu.TypeU64, true, false).OfFloats()}
	n.begin(0, 100)
	c := &n.series[0]
	for _, v := range []struct {
		at    stamp
		value float64
	}{{1e6, 110}, {3e6, 150}, {4e6, 5}, {5e6, 35}} {
		c.addCount(n, v.at, v.value, v.at.since(c.last))
	}
	if c.count != 3 || c.average != 80 || c.stochastic != 60 || c.min != 10 || c.max != 30 || c.minAt != 0 || c.maxAt != 5e6 || c.last-c.first != 4e6 {
		t.Errorf("counter: %+v", *c)
	}
	n = &metric{desc: pdu.Desc{Sem: pdu.SemInstant}, scale: 1}
	n.begin(0, 4)
	s := &n.series[0]
	s.addValue(2e6, 6)
	s.marked = true
	s.addValue(7e6, 2)
	s.addValue(8e6, 1)
	if s.count != 4 || s.sum != 13 || s.average != 10 || s.min != 1 || s.max != 6 || s.minAt != 8e6 || s.maxAt != 2e6 || s.last-s.first != 3e6 {
		t.Errorf("instant: %+v", *s)
	}
}
