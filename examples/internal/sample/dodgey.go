package sample

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// dodgey is the state of a metric whose instances and errors are set by clients or random.
type dodgey struct {
	control int32
	left    int32     // fetches of it before chance decides again
	err     pdu.Error // what chance has decided; 0 if that is the instances
	visible [dodgeyInstances]bool
}

func (s *sample) registerDodgey() {
	d := &s.dodgey
	d.control = dodgeyInstances
	add(s, 61, pmda.Metric[int32]{Name: "dodgey.control", Sem: pdu.SemDiscrete, Value: variable(&d.control)})
	storeWord(s, 61, func(v int32) error {
		d.control = v
		if v > dodgeyInstances {
			s.decideDodgey()
			return nil
		}
		d.visible = [dodgeyInstances]bool{true, true, true, true, true}
		s.setDodgeyInstances()
		return nil
	})
	add(s, 62, pmda.Metric[int32]{Name: "dodgey.value", InDom: s.indoms.dodgey, Values: s.dodgeyValues})
}

// refreshDodgey runs before each fetch of any metric. It makes a new random choice when the last
// one has expired.
func (s *sample) refreshDodgey() {
	if d := &s.dodgey; d.control > dodgeyInstances && d.left <= 0 {
		s.decideDodgey()
	}
}

// dodgeyValues puts values for the chosen number of instances.
func (s *sample) dodgeyValues(_ context.Context, _ *pmda.Request, v *pmda.Values[int32]) error {
	d := &s.dodgey
	if none := slices.Collect(v.Instances()) == nil; none {
		return nil
	}
	count := d.control
	if d.control > dodgeyInstances {
		if d.err != 0 {
			d.left--
			return d.err
		}
		count = int32(len(s.indoms.dodgey.Instances()))
	} else if d.control < 0 {
		return pdu.Error(d.control)
	}
	put, tried := false, int32(0)
	for i := range count {
		id := pdu.InstID(i + 1)
		if !v.Wants(id) {
			continue
		}
		tried++
		if d.control <= dodgeyInstances || d.visible[i] {
			v.Put(id, s.random.next(101))
			put = true
		}
	}
	if put {
		tried = 1
	}
	d.left -= tried
	return nil
}

// decideDodgey makes a random choice for the next fetches: an error, or the set of instances.
func (s *sample) decideDodgey() {
	d := &s.dodgey
	d.err = 0
	switch n := s.random.next(1000); {
	case n < 33:
		d.err = pdu.ErrNoAgent
	case n < 66:
		d.err = pdu.ErrAgain
	case n < 100:
		d.err = pdu.ErrAppVersion
	default:
		for i := range d.visible {
			d.visible[i] = s.random.next(100) < 49
		}
		s.setDodgeyInstances()
	}
	d.left = 1 + s.random.next(d.control)
}

func (s *sample) setDodgeyInstances() {
	var list []pdu.Instance
	for i, visible := range s.dodgey.visible {
		if visible {
			list = append(list, pdu.Instance{ID: pdu.InstID(i + 1), Name: "d" + string(rune('1'+i))})
		}
	}
	s.indoms.dodgey.SetInstances(list...)
}
