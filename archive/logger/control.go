package logger

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A Target selects a metric, or some of its instances, for Control and Enquire.
type Target struct {
	PMID pdu.PMID
	// Insts are the selected instances; empty means all. It is ignored for a singular metric.
	Insts []pdu.InstID
}

// A MetricState says how a metric is recorded.
type MetricState struct {
	PMID   pdu.PMID
	Err    error // why Values is empty, or nil
	Values []ValueState
}

// A ValueState says how an instance of a metric, or a singular metric, is recorded. PCP's pmlogger
// reports Available and InLog late: with each record it notices only one more metric of a fetch,
// and reports both as false for the others.
type ValueState struct {
	Inst      pdu.InstID // pdu.NoInst of a singular metric
	On        bool
	Mandatory bool
	Available bool          // there was a value at the latest fetch
	InLog     bool          // there is a value in the archive
	Interval  time.Duration // 0 for once, and if not On
}

// Limits of requests, because any client may send them.
const (
	// maxValues limits the ValueStates in the result of one Control or Enquire.
	maxValues = 1 << 20
	// maxNamed limits the instances that all requests of a logger list. A client can list any
	// numbers. Each of them is in the profile of a fetch, and pmcd does not read a profile of more
	// than 64 KB.
	maxNamed = 1 << 13
)

// Control changes how metrics are recorded. It returns a state for each target, in order, as it is
// after the change, even if nothing has changed. A request has the effect that it has in pmlc(1):
// it replaces earlier requests, unless control is Advisory and the metric has a mandatory request.
// A request for some instances changes nothing if all instances are recorded. An interval of 0
// means once; it matters only for On.
//
// The Err of a state is pdu.ErrTooBig if the result would have more than 1<<20 values, or if all
// requests together would list more than 8192 instances.
//
// Errors: os.ErrClosed if the logger does not run, pdu.ErrArg for an interval that is negative or
// longer than 2^28-1 milliseconds and for an advisory Maybe, and the cause of ctx if ctx ends
// first. After an error nothing has changed.
func (l *Logger) Control(ctx context.Context, control Control, state State, interval time.Duration, targets []Target) ([]MetricState, error) {
	e, err := l.enquire(ctx, targets, true)
	if err != nil {
		return nil, err
	}
	if err := l.mu.Lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if !l.running {
		return nil, os.ErrClosed
	}
	if interval < 0 || interval > logconf.MaxInterval || state == Maybe && control != Mandatory {
		return nil, pdu.ErrArg
	}
	s := Setting{Control: control, State: state, Interval: interval}
	if state != On {
		s.Interval = 0
	}
	states := make([]MetricState, len(targets))
	var room *namedRoom
	for i, t := range targets {
		m, err := e.target(t.PMID)
		if err != nil {
			states[i] = MetricState{PMID: t.PMID, Err: err}
			continue
		}
		insts := t.Insts
		if m.desc.InDom == pdu.NoInDom {
			insts = nil
		}
		if state != Maybe && len(insts) > 0 {
			if room == nil {
				room = l.namedRoom()
			}
			if !room.reserve(m, insts) {
				states[i] = MetricState{PMID: t.PMID, Err: pdu.ErrTooBig}
				continue
			}
		}
		l.requests++
		m.control(s, insts, l.requests)
	}
	l.plan()
	for i, t := range targets {
		if states[i].Err == nil {
			states[i] = e.state(t)
		}
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return states, nil
}

// target returns the metric of a request, which may be new.
func (e *enquiry) target(id pdu.PMID) (*metric, error) {
	if m := e.l.metrics[id]; m != nil {
		return m, nil
	}
	r := e.metrics[id]
	if r.err != nil {
		return nil, r.err
	}
	return e.l.metric(r.name, r.desc), nil
}

// A namedRoom counts the instances that requests list; see maxNamed.
type namedRoom struct {
	total int
	named map[*metric]map[pdu.InstID]bool
}

func (l *Logger) namedRoom() *namedRoom {
	n := &namedRoom{named: map[*metric]map[pdu.InstID]bool{}}
	for _, m := range l.order {
		for _, r := range m.requests {
			n.total += len(r.insts)
			n.add(m, r.insts)
		}
	}
	return n
}

// add marks instances as listed, and returns how many were not listed before.
func (n *namedRoom) add(m *metric, insts []pdu.InstID) (added int) {
	named := n.named[m]
	if named == nil && len(insts) > 0 {
		named = make(map[pdu.InstID]bool, len(insts))
		n.named[m] = named
	}
	before := len(named)
	for _, i := range insts {
		named[i] = true
	}
	return len(named) - before
}

// reserve adds listed instances of a metric. It returns false, and adds nothing, if there is no
// room for them.
func (n *namedRoom) reserve(m *metric, insts []pdu.InstID) bool {
	added := 0
	for _, i := range insts {
		if !n.named[m][i] {
			added++
		}
	}
	if added > 0 && n.total+added > maxNamed {
		return false
	}
	n.total += n.add(m, insts)
	return true
}

// Enquire returns how metrics are recorded: a state for each target, in order. A target without
// instances means all instances that the metric has now, has in the archive, or has in a request.
// The Err of a state is pdu.ErrTooBig if the result would have more than 1<<20 values. Errors:
// os.ErrClosed if the logger does not run, and the cause of ctx if ctx ends first.
func (l *Logger) Enquire(ctx context.Context, targets []Target) ([]MetricState, error) {
	e, err := l.enquire(ctx, targets, false)
	if err != nil {
		return nil, err
	}
	if err := l.mu.Lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if !l.running {
		return nil, os.ErrClosed
	}
	states := make([]MetricState, len(targets))
	for i, t := range targets {
		states[i] = e.state(t)
	}
	return states, nil
}

// An enquiry is a request for the state of metrics, with the collector's replies about them. It
// waits for the collector before it takes the lock, so that recording goes on meanwhile.
type enquiry struct {
	l         *Logger
	room      int // how many more values fit into the result
	metrics   map[pdu.PMID]metricReply
	instances map[pdu.InDom]instancesReply
}

// A metricReply is the collector's reply about an unknown metric.
type metricReply struct {
	desc pdu.Desc
	name string
	err  error
}

type instancesReply struct {
	list []pdu.Instance
	err  error
}

// enquire requests the descriptors and instances of targets from the collector. If named is true,
// it also requests the names of unknown metrics.
func (l *Logger) enquire(ctx context.Context, targets []Target, named bool) (*enquiry, error) {
	e := &enquiry{l: l, room: maxValues, metrics: map[pdu.PMID]metricReply{}, instances: map[pdu.InDom]instancesReply{}}
	if err := l.mu.Lock(ctx); err != nil {
		return nil, err
	}
	running := l.running
	var unknown []pdu.PMID
	domains := map[pdu.InDom]bool{}
	for _, t := range targets {
		if m := l.metrics[t.PMID]; m == nil {
			unknown = append(unknown, t.PMID)
		} else if len(t.Insts) == 0 {
			domains[m.desc.InDom] = true
		}
	}
	l.mu.Unlock()
	if !running {
		return nil, os.ErrClosed
	}
	if err := e.describe(ctx, unknown, named); err != nil {
		return nil, err
	}
	for _, t := range targets {
		if r, ok := e.metrics[t.PMID]; ok && r.err == nil && len(t.Insts) == 0 {
			domains[r.desc.InDom] = true
		}
	}
	delete(domains, pdu.NoInDom)
	for d := range domains {
		list, err := l.src.Instances(ctx, d)
		e.instances[d] = instancesReply{list, err}
	}
	return e, context.Cause(ctx)
}

// describe requests the descriptors of metrics that the logger does not know.
func (e *enquiry) describe(ctx context.Context, ids []pdu.PMID, named bool) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil
	}
	descs, err := e.l.src.Descs(ctx, ids)
	for i, id := range ids {
		var r metricReply
		if r.err = err; descs != nil {
			r.desc, r.err = descs[i], pmapi.ErrorAt(err, i)
		}
		if r.err == nil && named {
			r.name, r.err = e.l.src.Name(ctx, id)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.metrics[id] = r
	}
	return nil
}

// state returns how a metric is recorded.
func (e *enquiry) state(t Target) MetricState {
	s := MetricState{PMID: t.PMID}
	m := e.l.metrics[t.PMID]
	var desc pdu.Desc
	if m != nil {
		desc = m.desc
	} else if r := e.metrics[t.PMID]; r.err != nil {
		s.Err = r.err
		return s
	} else {
		desc = r.desc
	}
	insts := slices.Clone(t.Insts)
	if desc.InDom == pdu.NoInDom {
		insts = []pdu.InstID{pdu.NoInst}
	}
	if len(insts) == 0 {
		r := e.instances[desc.InDom]
		if r.err != nil && (m == nil || len(m.logged) == 0) {
			s.Err = r.err
			return s
		}
		for _, i := range r.list {
			insts = append(insts, i.ID)
		}
		if m != nil {
			insts = append(insts, slices.Sorted(maps.Keys(m.logged))...)
			for _, r := range m.requests {
				insts = append(insts, r.insts...)
			}
		}
		insts = unique(insts)
	}
	if len(insts) > e.room {
		s.Err = pdu.ErrTooBig
		return s
	}
	e.room -= len(insts)
	available := m.available()
	for _, i := range insts {
		v := m.state(i)
		v.Available = available[i]
		s.Values = append(s.Values, v)
	}
	return s
}

// unique removes duplicate instances.
func unique(insts []pdu.InstID) []pdu.InstID {
	seen := make(map[pdu.InstID]bool, len(insts))
	return slices.DeleteFunc(insts, func(i pdu.InstID) bool {
		again := seen[i]
		seen[i] = true
		return again
	})
}

// state returns how an instance is recorded, without Available. m may be nil.
func (m *metric) state(inst pdu.InstID) ValueState {
	s := ValueState{Inst: inst}
	if m == nil {
		return s
	}
	if w := m.setting(inst); w != nil {
		s.On, s.Mandatory, s.Interval = w.State == On, w.Control == Mandatory, w.Interval
	}
	s.InLog = m.logged[inst] || inst == pdu.NoInst && len(m.places) > 0
	return s
}

// available returns the instances that had a value in the latest fetches. m may be nil.
func (m *metric) available() map[pdu.InstID]bool {
	if m == nil {
		return nil
	}
	insts := map[pdu.InstID]bool{}
	for _, p := range m.places {
		if p.index >= p.group.result.Len() { // the fetch has failed
			continue
		}
		values := p.group.result.At(p.index)
		for i := range values.Len() {
			insts[values.Inst(i)] = true
		}
	}
	return insts
}
