// Package changing has a source of metrics that change while they are read. It is for tests of
// packages that read values again and again.
package changing

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// The names of the metrics.
const (
	Latency  = "app.latency"  // a gauge, of 7 ms in most steps
	Requests = "app.requests" // a counter, which increases by 10 in most steps
	Queue    = "app.queue"    // a gauge with the instances of a step
)

// Units are those of the gauge, before and after their change. Ratio is how many of the second are
// one of the first.
type Units struct {
	Before, After pdu.Units
	Ratio         int32
}

// Start is the time of a source before its first step.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A Source is a source of metrics with a script.
type Source struct {
	*pmapitest.Source
	gauge    string // its name
	units    Units
	latency  *pmapitest.Metric[pdu.Atom]
	requests *pmapitest.Metric[uint64]
	queue    *pmapitest.Metric[uint32]
	queues   *pmapitest.InDom
	count    uint64
}

// New makes a source before its first step.
func New() *Source {
	return NewNamed(Latency, Requests, Units{pdu.TimeMSec, pdu.TimeUSec, 1000})
}

// NewNamed is like New, but the gauge has other units, and both it and the counter other names.
func NewNamed(gauge, counter string, units Units) *Source {
	s := &Source{Source: &pmapitest.Source{Start: Start}, gauge: gauge, units: units, count: 100}
	s.queues = s.InDom("in", "out")
	s.latency = pmapitest.Add(s.Source, pmapitest.Metric[pdu.Atom]{
		Name: gauge, PMID: pdu.MakePMID(400, 0, 1), Type: pdu.Type32, Units: units.Before})
	s.requests = pmapitest.Add(s.Source, pmapitest.Metric[uint64]{
		Name: counter, PMID: pdu.MakePMID(400, 0, 2), Sem: pdu.SemCounter, Units: pdu.UnitCount})
	s.queue = pmapitest.Add(s.Source, pmapitest.Metric[uint32]{
		Name: Queue, PMID: pdu.MakePMID(400, 0, 3), InDom: s.queues})
	s.latency.Set(pdu.Int32(7))
	s.requests.Set(s.count)
	s.queue.Set(1, 2)
	s.label("active")
	return s
}

// label gives the instances of Queue the label "role".
func (s *Source) label(role string) {
	s.queues.SetLabels("", func(pdu.Instance) string { return `{"role":"` + role + `"}` })
}

// A Step is a change, and the state that a reader finds after it. A second passes before each step.
type Step struct {
	Name string
	do   func(s *Source)

	// Changes says that a name stands for a metric with another descriptor. A reader may have no
	// value of it at this step.
	Changes bool

	Latency  float64  // in milliseconds, or Units.Before; less than 0 if there is none
	Requests float64  // a second; less than 0 if there is no rate
	Queues   []string // the names of the instances of Queue, in the order of their numbers
	Role     string   // the label "role" of these instances
}

// Do makes the change.
func (step *Step) Do(s *Source) {
	s.Advance(time.Second)
	s.count += 10
	if step.do != nil {
		step.do(s)
	}
	s.requests.Set(s.count)
}

// change changes the descriptor of the gauge and its value.
func (s *Source) change(value pdu.Atom, f func(d *pdu.Desc)) {
	d := s.latency.Desc()
	f(&d)
	s.latency.SetDesc(d)
	s.latency.Set(value)
}

// Steps returns the script.
func Steps() []*Step {
	steps := []*Step{
		{Name: "nothing changes"},
		{Name: "other unit", Changes: true, do: func(s *Source) {
			s.change(pdu.Int32(7*s.units.Ratio), func(d *pdu.Desc) { d.Units = s.units.After })
		}},
		{Name: "nothing changes again"},
		{Name: "other type", Changes: true, do: func(s *Source) {
			s.change(pdu.Float64(7*float64(s.units.Ratio)), func(d *pdu.Desc) { d.Type = pdu.TypeDouble })
		}},
		{Name: "other PMID", Changes: true, do: func(s *Source) {
			s.change(pdu.Float64(7*float64(s.units.Ratio)), func(d *pdu.Desc) { d.PMID = pdu.MakePMID(400, 0, 9) })
		}},
		{Name: "another metric has the PMID", Changes: true, do: func(s *Source) {
			d := s.latency.Desc()
			s.change(pdu.Float64(7*float64(s.units.Ratio)), func(d *pdu.Desc) { d.PMID = pdu.MakePMID(400, 0, 10) })
			other := pmapitest.Add(s.Source, pmapitest.Metric[float64]{Name: "app.other", PMID: d.PMID})
			other.Set(99)
		}},
		{Name: "no such name", Latency: -1, do: func(s *Source) { s.latency.Rename("app.renamed") }},
		{Name: "the name is back", Changes: true, do: func(s *Source) { s.latency.Rename(s.gauge) }},
		{Name: "other instances", Queues: []string{"out", "retry"}, do: func(s *Source) {
			s.queues.SetInstances(pdu.Instance{ID: 1, Name: "out"}, pdu.Instance{ID: 2, Name: "retry"})
			s.queue.Set(3, 4)
		}},
		{Name: "counter begins again", Requests: -1, do: func(s *Source) { s.count = 3 }},
		{Name: "counter goes on"},
		{Name: "other labels", Role: "standby", do: func(s *Source) {
			s.label("standby")
			s.Notify(pdu.ChangeLabels)
		}},
		{Name: "clock set back", Requests: -1, do: func(s *Source) { s.Advance(-time.Minute) }},
		{Name: "clock goes on"},
		{Name: "clock jumps forward", Requests: 10. / 3601, do: func(s *Source) { s.Advance(time.Hour) }},
		{Name: "clock goes on again"},
	}
	queues, role := []string{"in", "out"}, "active"
	for _, step := range steps {
		if step.Latency == 0 {
			step.Latency = 7
		}
		if step.Requests == 0 {
			step.Requests = 10
		}
		if step.Queues == nil {
			step.Queues = queues
		}
		if step.Role == "" {
			step.Role = role
		}
		queues, role = step.Queues, step.Role
	}
	return steps
}
