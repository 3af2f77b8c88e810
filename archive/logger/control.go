package logger

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive/logger/logconf"
	"github.com/pcp-go/pcp/pdu"
)

// A Target is a metric that a request of pmlc(1) is about.
type Target struct {
	PMID pdu.PMID
	// Insts are its instances; none means all. Those of a singular metric do not matter.
	Insts []pdu.InstID
}

// A MetricState is how a metric is recorded.
type MetricState struct {
	PMID   pdu.PMID
	Err    error // why there are no values, or nil
	Values []ValueState
}

// A ValueState is how an instance of a metric is recorded, or a singular metric. PCP's pmlogger takes notice of one further metric of a fetch
// with each record: until then it says of the others that they are neither available nor in the archive, in which they are.
type ValueState struct {
	Inst      pdu.InstID // pdu.NoInst of a singular metric
	On        bool
	Mandatory bool
	Available bool          // there was a value at the latest fetch
	InLog     bool          // there is a value in the archive
	Interval  time.Duration // 0 for once, and if not On
}

// Limits of requests, which come from clients that nobody may know.
const (
	// maxValues is the number of values in all states that a request gets.
	maxValues = 1 << 20
	// maxNamed is the number of instances that metrics are recorded with by number. Requests can have any numbers, each
	// of which is in a profile of which pmcd reads 64 KB.
	maxNamed = 1 << 13
)

// Control changes how metrics are recorded, and returns how they are then: what has not changed shows there. Requests are as those of a
// configuration, but one for some instances of a metric that is recorded with all changes nothing. A metric with more
// instances than there is room for has the error pdu.ErrTooBig. Errors: os.ErrClosed if the logger does
// not run; pdu.ErrArg for a combination that there is not; that of ctx, if it ends while a fetch is going on, and nothing has changed.
func (l *Logger) Control(ctx context.Context, control logconf.Control, state logconf.State, interval time.Duration, targets []Target) ([]MetricState, error) {
	if err := l.mu.Lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if !l.running {
		return nil, os.ErrClosed
	}
	if interval < 0 || interval > logconf.MaxInterval || state == logconf.Maybe && control != logconf.Mandatory {
		return nil, pdu.ErrArg
	}
	s := Setting{Control: control, State: state, Interval: interval}
	if state != logconf.On {
		s.Interval = 0
	}
	states := make([]MetricState, len(targets))
	for i, t := range targets {
		m, err := l.target(ctx, t.PMID)
		if err != nil {
			states[i] = MetricState{PMID: t.PMID, Err: err}
			continue
		}
		insts := t.Insts
		if m.desc.InDom == pdu.NoInDom {
			insts = nil
		}
		if state != logconf.Maybe && !l.hasRoom(m, insts) {
			states[i] = MetricState{PMID: t.PMID, Err: pdu.ErrTooBig}
			continue
		}
		l.requests++
		m.control(s, insts, l.requests)
	}
	l.plan()
	e := enquiry{l: l, room: maxValues}
	for i, t := range targets {
		if states[i].Err == nil {
			states[i] = e.state(ctx, t)
		}
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return states, nil
}

// target is the metric of a request, which may be new.
func (l *Logger) target(ctx context.Context, id pdu.PMID) (*metric, error) {
	if m := l.metrics[id]; m != nil {
		return m, nil
	}
	desc, err := l.src.Desc(ctx, id)
	if err != nil {
		return nil, err
	}
	name, err := l.src.Name(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.metric(name, desc), nil
}

// hasRoom reports whether a metric can be recorded with further instances that are named.
func (l *Logger) hasRoom(m *metric, insts []pdu.InstID) bool {
	total, added := 0, 0
	named := map[pdu.InstID]bool{}
	for _, other := range l.order {
		for _, r := range other.requests {
			total += len(r.insts)
			for _, i := range r.insts {
				named[i] = named[i] || other == m
			}
		}
	}
	for _, i := range insts {
		if !named[i] {
			named[i] = true
			added++
		}
	}
	return added == 0 || total+added <= maxNamed
}

// Enquire returns how metrics are recorded, for all instances that they have or ever had in the archive if the target names none.
// The limits are those of Control.
// Errors: os.ErrClosed if the logger does not run; that of ctx, if it ends while a fetch is going on.
func (l *Logger) Enquire(ctx context.Context, targets []Target) ([]MetricState, error) {
	if err := l.mu.Lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if !l.running {
		return nil, os.ErrClosed
	}
	states := make([]MetricState, len(targets))
	e := enquiry{l: l, room: maxValues}
	for i, t := range targets {
		states[i] = e.state(ctx, t)
	}
	return states, nil
}

// An enquiry is a request for the state of metrics.
type enquiry struct {
	l         *Logger
	room      int                          // how many further values there may be
	instances map[pdu.InDom]instancesReply // of the collector
}

type instancesReply struct {
	list []pdu.Instance
	err  error
}

// instancesOf are the instances of a domain, for which the collector is asked once.
func (e *enquiry) instancesOf(ctx context.Context, d pdu.InDom) ([]pdu.Instance, error) {
	r, ok := e.instances[d]
	if !ok {
		r.list, r.err = e.l.src.Instances(ctx, d)
		if e.instances == nil {
			e.instances = map[pdu.InDom]instancesReply{}
		}
		e.instances[d] = r
	}
	return r.list, r.err
}

// state is how a metric is recorded.
func (e *enquiry) state(ctx context.Context, t Target) MetricState {
	s := MetricState{PMID: t.PMID}
	m := e.l.metrics[t.PMID]
	var desc pdu.Desc
	if m != nil {
		desc = m.desc
	} else if desc, s.Err = e.l.src.Desc(ctx, t.PMID); s.Err != nil {
		return s
	}
	insts := slices.Clone(t.Insts)
	if desc.InDom == pdu.NoInDom {
		insts = []pdu.InstID{pdu.NoInst}
	}
	if len(insts) == 0 {
		list, err := e.instancesOf(ctx, desc.InDom)
		if err != nil && (m == nil || len(m.logged) == 0) {
			s.Err = err
			return s
		}
		for _, i := range list {
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

// unique removes instances that come again.
func unique(insts []pdu.InstID) []pdu.InstID {
	seen := make(map[pdu.InstID]bool, len(insts))
	return slices.DeleteFunc(insts, func(i pdu.InstID) bool {
		again := seen[i]
		seen[i] = true
		return again
	})
}

// state is how an instance is recorded, but for Available. m may be nil.
func (m *metric) state(inst pdu.InstID) ValueState {
	s := ValueState{Inst: inst}
	if m == nil {
		return s
	}
	if w := m.setting(inst); w != nil {
		s.On, s.Mandatory, s.Interval = w.State == logconf.On, w.Control == logconf.Mandatory, w.Interval
	}
	s.InLog = m.logged[inst] || inst == pdu.NoInst && len(m.places) > 0
	return s
}

// available are the instances of which the latest fetches had a value. m may be nil.
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
