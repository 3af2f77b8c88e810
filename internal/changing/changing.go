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

// Start is the time of a source before its first step.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A Source is a source of metrics with a script.
type Source struct {
	*pmapitest.Source
	latency  *pmapitest.Metric[pdu.Atom]
	requests *pmapitest.Metric[uint64]
	queue    *pmapitest.Metric[uint32]
	queues   *pmapitest.InDom
	count    uint64
}

// New makes a source before its first step.
func New() *Source {
	s := &Source{Source: &pmapitest.Source{Start: Start}, count: 100}
	s.queues = s.InDom("in", "out")
	s.latency = pmapitest.Add(s.Source, pmapitest.Metric[pdu.Atom]{
		Name: Latency, PMID: pdu.MakePMID(400, 0, 1), Type: pdu.Type32, Units: pdu.TimeMSec})
	s.requests = pmapitest.Add(s.Source, pmapitest.Metric[uint64]{
		Name: Requests, PMID: pdu.MakePMID(400, 0, 2), Sem: pdu.SemCounter, Units: pdu.UnitCount})
	s.queue = pmapitest.Add(s.Source, pmapitest.Metric[uint32]{
		Name: Queue, PMID: pdu.MakePMID(400, 0, 3), InDom: s.queues})
	s.latency.Set(pdu.Int32(7))
	s.requests.Set(s.count)
	s.queue.Set(1, 2)
	return s
}

// A Step is a change, and what a reader finds after it. A second passes before each step.
type Step struct {
	Name string
	do   func(s *Source)

	// Changes says that a name stands for a metric with another descriptor. A reader may have no
	// value of it at this step.
	Changes bool

	Latency  float64  // in milliseconds; less than 0 if there is none
	Requests float64  // a second; less than 0 if there is no rate
	Queues   []string // the names of the instances of Queue, in the order of their numbers
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
			s.change(pdu.Int32(7000), func(d *pdu.Desc) { d.Units = pdu.TimeUSec })
		}},
		{Name: "nothing changes again"},
		{Name: "other type", Changes: true, do: func(s *Source) {
			s.change(pdu.Float64(7000), func(d *pdu.Desc) { d.Type = pdu.TypeDouble })
		}},
		{Name: "other PMID", Changes: true, do: func(s *Source) {
			s.change(pdu.Float64(7000), func(d *pdu.Desc) { d.PMID = pdu.MakePMID(400, 0, 9) })
		}},
		{Name: "another metric has the PMID", Changes: true, do: func(s *Source) {
			d := s.latency.Desc()
			s.change(pdu.Float64(7000), func(d *pdu.Desc) { d.PMID = pdu.MakePMID(400, 0, 10) })
			other := pmapitest.Add(s.Source, pmapitest.Metric[float64]{Name: "app.other", PMID: d.PMID})
			other.Set(99)
		}},
		{Name: "no such name", Latency: -1, do: func(s *Source) { s.latency.Rename("app.renamed") }},
		{Name: "the name is back", Changes: true, do: func(s *Source) { s.latency.Rename(Latency) }},
		{Name: "other instances", Queues: []string{"out", "retry"}, do: func(s *Source) {
			s.queues.SetInstances(pdu.Instance{ID: 1, Name: "out"}, pdu.Instance{ID: 2, Name: "retry"})
			s.queue.Set(3, 4)
		}},
		{Name: "counter begins again", Requests: -1, Queues: []string{"out", "retry"}, do: func(s *Source) { s.count = 3 }},
		{Name: "counter goes on", Queues: []string{"out", "retry"}},
	}
	for _, step := range steps {
		if step.Latency == 0 {
			step.Latency = 7
		}
		if step.Requests == 0 {
			step.Requests = 10
		}
		if step.Queues == nil {
			step.Queues = []string{"in", "out"}
		}
	}
	return steps
}
