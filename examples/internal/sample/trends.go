package sample

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// trends are random values.
type trends struct {
	light         int32
	lightLeft     int32 // fetches before it may change
	magnitude     int32
	magnitudeLeft int32
	drift         int32
	falls         bool // the drift
	bytes         int32
}

func (s *sample) registerTrends() {
	t := &s.trends
	t.drift, t.falls = 200, true
	add(s, 46, pmda.Metric[string]{Name: "lights", Sem: pdu.SemDiscrete, Value: of(func() string {
		if t.lightLeft == 0 {
			t.light = s.random.next(3)
			t.lightLeft = 1 + s.random.next(10)
		}
		t.lightLeft--
		return [...]string{"red", "yellow", "green"}[t.light]
	})})
	add(s, 47, pmda.Metric[int32]{Name: "magnitude", Sem: pdu.SemDiscrete, Value: of(func() int32 {
		if t.magnitudeLeft == 0 {
			t.magnitude = 2 << s.random.next(6)
			t.magnitudeLeft = 1 + s.random.next(5)
		}
		t.magnitudeLeft--
		return t.magnitude
	})})
	add(s, 7, pmda.Metric[int32]{Name: "drift", Value: of(s.drift)})
	storeWord(s, 7, storesInto(&t.drift))

	total := of(func() int32 {
		t.bytes += s.random.next(1024)
		return t.bytes
	})
	now := of(func() int32 { return s.random.next(1024) })
	add(s, 81, pmda.Metric[int32]{Name: "byte_ctr", Sem: pdu.SemCounter, Units: pdu.SpaceByte, Value: total})
	add(s, 82, pmda.Metric[int32]{Name: "byte_rate", Units: pdu.SpaceByte | pdu.PerSec, Value: now})
	add(s, 83, pmda.Metric[int32]{Name: "kbyte_ctr", Sem: pdu.SemCounter, Units: pdu.SpaceKByte, Value: total})
	add(s, 84, pmda.Metric[int32]{Name: "kbyte_rate", Units: pdu.SpaceKByte | pdu.PerSec, Value: now})
	add(s, 85, pmda.Metric[int32]{Name: "byte_rate_perhour", Units: pdu.SpaceByte | pdu.PerHour, Value: now})
}

// drift returns a number that rises or falls for some fetches.
func (s *sample) drift() int32 {
	t := &s.trends
	change := s.random.next(50)
	if t.falls {
		change = -change
	}
	if s.random.next(100) < 20 {
		t.falls = !t.falls
	}
	t.drift = max(t.drift+change, 0)
	return t.drift
}
