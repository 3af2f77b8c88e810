package sample

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// steps are values that rise and fall in steps.
type steps struct {
	base   int32 // of step
	scales [7]scaleStep
	updown struct {
		value, min, max int32
		repeat, step    uint32
		left            int32 // fetches before the value changes
		down            bool
	}
}

func (s *sample) registerSteps() {
	st := &s.steps
	st.base = 20
	step := of(func() int32 { return int32(1+s.seconds()/30) * st.base })
	add(s, 8, pmda.Metric[int32]{Name: "step", Units: pdu.UnitCount, Value: step})
	storeWord(s, 8, storesInto(&st.base))
	add(s, 63, pmda.Metric[int32]{Name: "step_counter", Sem: pdu.SemCounter, Units: pdu.UnitCount, Value: step})
	s.registerScaleSteps()
	s.registerUpDown()
}

// A scaleStep is a number that changes by a factor every scaleRepeat fetches. It starts at 1.
type scaleStep struct {
	value   float64
	fetches int
}

const scaleRepeat = 5

// registerScaleSteps adds numbers that change by a factor, to test how tools choose a scale.
func (s *sample) registerScaleSteps() {
	const day = 24 * 3600
	for i, m := range []struct {
		name   string
		units  pdu.Units
		change func(v float64) float64
	}{
		{"bytes_up", pdu.SpaceByte | pdu.PerSec, upTo(1<<40, 2)},
		{"bytes_down", pdu.SpaceByte, downFrom(1<<40, 2)},
		{"count_up", pdu.UnitCount | pdu.PerSec, upTo(1e12, 10)},
		{"count_down", pdu.UnitCount, downFrom(1e12, 10)},
		{"time_up_secs", pdu.TimeSec, upTo(day, 10)},
		{"time_up_nanosecs", pdu.TimeNSec, upTo(day*1e9, 10)},
		{"none_up", pdu.NoUnits, upTo(1e7, 10)},
	} {
		st := &s.steps.scales[i]
		st.value = 1
		add(s, 65+i, pmda.Metric[float64]{Name: "scale_step." + m.name, Units: m.units, Value: of(func() float64 {
			if st.fetches == scaleRepeat {
				st.value, st.fetches = m.change(st.value), 0
			}
			st.fetches++
			return st.value
		})})
	}
}

// upTo returns a function that multiplies by factor up to a limit and then returns to 1.
func upTo(limit, factor float64) func(v float64) float64 {
	return func(v float64) float64 {
		if v >= limit {
			return 1
		}
		return v * factor
	}
}

// downFrom returns a function that divides by factor down to 1 and then returns to top.
func downFrom(top, factor float64) func(v float64) float64 {
	return func(v float64) float64 {
		if v <= 1 {
			return top
		}
		return v / factor
	}
}

// registerUpDown adds a number that rises and falls between limits that clients set.
func (s *sample) registerUpDown() {
	u := &s.steps.updown
	u.max, u.repeat, u.step, u.left = 200, 5, 10, 5
	add(s, 164, pmda.Metric[int32]{Name: "updown.obs", Value: of(s.upDown)})
	add(s, 165, pmda.Metric[uint32]{Name: "updown.control.repeat", Value: variable(&u.repeat)})
	storeWord(s, 165, unsigned(&u.repeat))
	add(s, 166, pmda.Metric[int32]{Name: "updown.control.min", Value: variable(&u.min)})
	storeWord(s, 166, storesInto(&u.min))
	add(s, 167, pmda.Metric[int32]{Name: "updown.control.max", Value: variable(&u.max)})
	storeWord(s, 167, storesInto(&u.max))
	add(s, 168, pmda.Metric[uint32]{Name: "updown.control.step", Value: variable(&u.step)})
	storeWord(s, 168, unsigned(&u.step))
}

// unsigned returns a store of a number that refuses values above the maximum of a signed one.
func unsigned(v *uint32) func(uint32) error {
	return func(to uint32) error {
		if int32(to) < 0 {
			return pdu.ErrSign
		}
		*v = to
		return nil
	}
}

// upDown returns the number after a fetch. It changes direction at a limit. If the minimum exceeds
// the maximum, the maximum wins.
func (s *sample) upDown() int32 {
	u := &s.steps.updown
	if u.left--; u.left > 0 {
		return u.value
	}
	u.left = int32(u.repeat)
	step := int32(u.step)
	if u.down {
		u.value -= step
	} else {
		u.value += step
	}
	if u.value < u.min {
		u.value, u.down = u.min+step, false
	}
	if u.value > u.max {
		u.value, u.down = u.max-step, true
	}
	return u.value
}
