package logger

import (
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/pdu"
)

// A Control is the priority of a request. An advisory request has no effect on metrics with a
// mandatory request, unless that is Maybe.
type Control uint8

// The values of Control.
const (
	Advisory Control = iota
	Mandatory
)

// String returns the word in a configuration, "advisory" or "mandatory".
func (c Control) String() string { return logconf.Control(c).String() }

// A State says whether a request turns recording on or off.
type State uint8

// The values of State. Maybe is only valid with Mandatory, and leaves the choice to advisory
// requests.
const (
	Off State = iota
	Maybe
	On
)

// String returns the word in a configuration, "off", "maybe" or "on".
func (s State) String() string { return logconf.State(s).String() }

// A Setting says whether a metric is recorded, how often, and with what priority.
type Setting struct {
	Control  Control
	State    State
	Interval time.Duration // 0 means once; always 0 unless State is On
}

// String returns the setting in the words of a configuration, such as "mandatory on 10s".
func (s Setting) String() string {
	switch {
	case s.State != On:
		return fmt.Sprint(s.Control, " ", s.State)
	case s.Interval == 0:
		return fmt.Sprint(s.Control, " on once")
	}
	return fmt.Sprint(s.Control, " on ", s.Interval)
}

// A request has the instances of a metric that are requested with one setting.
type request struct {
	Setting
	insts []pdu.InstID // nil for all
	done  bool         // the values, requested once, have been recorded
	order int          // its number among all requests
}

// covers reports whether a request is for an instance, or with pdu.NoInst for all instances.
func (r *request) covers(inst pdu.InstID) bool {
	return r.insts == nil || slices.Contains(r.insts, inst)
}

// A metric is what a Logger knows about a metric that was requested.
type metric struct {
	name      string
	requested []string // all its names in requests
	desc      pdu.Desc
	requests  []*request // with different settings
	changed   bool       // it differs from the archive, so it is not recorded
	gone      bool       // the source does not have its name

	// last has the instances of the last result with values, and logged those with values in the
	// archive.
	last   []pdu.InstID
	logged map[pdu.InstID]bool
	event  bool // values are event records

	places []place // where the values of its latest fetches are
}

// A place is a group that was recorded, and the index of a metric in it.
type place struct {
	group *group
	index int
}

// setting returns the request that applies to an instance, or with pdu.NoInst to all instances. It
// returns nil if no request applies. Mandatory requests precede advisory ones, and then requests
// for some instances precede those for all.
func (m *metric) setting(inst pdu.InstID) (best *request) {
	for _, r := range m.requests {
		if r.covers(inst) && (best == nil || r.Control > best.Control || r.Control == best.Control && best.insts == nil) {
			best = r
		}
	}
	return best
}

// refusal returns the earlier request that forbids a request for an instance, or with pdu.NoInst
// for all instances. It returns nil if the request is allowed. A mandatory request forbids advisory
// ones, unless it is a "maybe".
func (m *metric) refusal(s Setting, inst pdu.InstID) *request {
	if s.Control == Mandatory {
		return nil
	}
	for _, r := range m.requests {
		if r.Control == Mandatory && r.State != Maybe && (inst == pdu.NoInst || r.covers(inst)) {
			return r
		}
	}
	return nil
}

// add adds instances, or all instances if insts is nil, to the request with the setting s. A new
// request gets the number order.
func (m *metric) add(s Setting, insts []pdu.InstID, order int) {
	i := slices.IndexFunc(m.requests, func(r *request) bool { return r.Setting == s })
	if i < 0 {
		m.requests = append(m.requests, &request{Setting: s, insts: slices.Clone(insts), order: order})
		return
	}
	r := m.requests[i]
	r.done = false
	if insts == nil {
		r.insts = nil
	} else if r.insts != nil {
		for _, inst := range insts {
			if !slices.Contains(r.insts, inst) {
				r.insts = append(r.insts, inst)
			}
		}
	}
}

// drop removes instances from the requests that name them, if from returns true for the request.
func (m *metric) drop(insts []pdu.InstID, from func(*request) bool) {
	m.requests = slices.DeleteFunc(m.requests, func(r *request) bool {
		if r.insts == nil || !from(r) {
			return false
		}
		r.insts = slices.DeleteFunc(r.insts, func(i pdu.InstID) bool { return slices.Contains(insts, i) })
		return len(r.insts) == 0
	})
}

// configure adds a request of a configuration, for some instances or, if insts is empty, for all.
// As in pmlogger(1), requests add up: a metric with two requests of different intervals is recorded
// twice, and a metric that is on stays on when a later request turns it off. An advisory request is
// refused where a mandatory one exists. A mandatory request for some instances removes them from
// advisory requests that name them.
func (m *metric) configure(s Setting, insts []pdu.InstID, order int, refused func(inst pdu.InstID, before Setting)) {
	if len(insts) == 0 {
		if r := m.refusal(s, pdu.NoInst); r != nil {
			refused(pdu.NoInst, r.Setting)
			return
		}
		m.add(s, nil, order)
		return
	}
	var allowed []pdu.InstID
	for _, i := range insts {
		if r := m.refusal(s, i); r != nil {
			refused(i, r.Setting)
			continue
		}
		allowed = append(allowed, i)
	}
	if len(allowed) == 0 {
		return
	}
	if s.Control == Mandatory {
		m.drop(allowed, func(r *request) bool { return r.Control == Advisory })
	}
	m.add(s, allowed, order)
}

// control applies a request of pmlc(1). It replaces earlier requests, or changes nothing if it is
// refused. "maybe" also removes advisory requests. For all instances of a metric with an instance
// domain, it does so only if the metric has a mandatory request.
func (m *metric) control(s Setting, insts []pdu.InstID, order int) {
	if len(insts) == 0 {
		m.controlAll(s, order)
		return
	}
	var allowed []pdu.InstID
	for _, i := range insts {
		before := m.setting(i)
		switch {
		case m.refusal(s, i) != nil, before != nil && before.insts == nil && (before.State == On || before.Control == Mandatory):
			continue // the earlier request for all instances stays
		}
		allowed = append(allowed, i)
	}
	if len(allowed) == 0 {
		return
	}
	allowed = unique(allowed)
	m.drop(allowed, func(*request) bool { return true })
	if s.State != Maybe {
		m.add(s, allowed, order)
	}
}

// controlAll is control for all instances.
func (m *metric) controlAll(s Setting, order int) {
	switch {
	case m.refusal(s, pdu.NoInst) != nil:
	case s.State == Maybe:
		if m.desc.InDom == pdu.NoInDom || slices.ContainsFunc(m.requests, func(r *request) bool { return r.Control == Mandatory }) {
			m.requests = nil
		}
	default:
		m.requests = []*request{{Setting: s, order: order}}
	}
}
