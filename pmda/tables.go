package pmda

import (
	"errors"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Tables are a set of metrics, instance domains and dynamic roots of an Agent. A program that
// changes many of them at once fills new Tables and replaces the old ones with SetTables, so that
// no client sees an intermediate state. Groups belong to the Agent, not to Tables: Agent.Group
// makes them.
//
// Tables may be used by several goroutines at once.
type Tables struct {
	agent *Agent // its mu guards what follows

	err     error // the first registration that failed
	names   nameNode
	changes int                      // counts changes of names
	version int                      // counts those that Namespace shows
	items   numberMap[metric]        // by ItemID
	indoms  numberMap[InDom]         // by serial
	users   map[*InDom]int           // so many metrics have the domain
	links   map[pdu.PMID][]*nameNode // names of metrics of other agents
}

// A Registry accepts registrations of metrics. It is an Agent, or Tables that an Agent will serve
// later.
type Registry interface {
	// register runs f on the tables. It remembers and returns the error of f, and adds the
	// operation and the name.
	register(op, name string, f func(t *Tables) error) error
}

// NewTables returns empty Tables for the Agent.
func (a *Agent) NewTables() *Tables { return &Tables{agent: a} }

// SetTables makes the Agent serve t and releases the old tables. Requests in progress end with the
// old tables. Clients get a notice that names and labels may have changed. Errors: that of the
// first failed registration with t, or Tables of another Agent. On an error nothing changes.
//
// A metric with the same name, type, semantics, units and instance domain keeps its number if the
// Agent chooses it: see ItemID. An InDom and a Group may be in both the old and the new Tables.
// SetTables also removes the metrics that other packages, such as goexpvar, have registered with
// the old tables. Give such packages a separate Agent.
func (a *Agent) SetTables(t *Tables) error {
	if t.agent != a {
		return &OpError{Op: "set tables", Agent: a.Name, Err: errors.New("they belong to agent " + t.agent.Name)}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	a.current, a.last.of = t, nil // the old tables are garbage
	a.changedLocked(pdu.ChangeNames | pdu.ChangeLabels)
	return nil
}

// Detach removes an instance domain that no metric uses. The Agent does not choose its serial for
// another domain. Attach adds it again. Errors: a domain that is not attached or that a metric
// uses.
func (a *Agent) Detach(d *InDom) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.detachLocked(d); err != nil {
		return &OpError{Op: "detach instance domain", Agent: a.Name, Name: d.Name, Err: err}
	}
	return nil
}

func (a *Agent) detachLocked(d *InDom) error {
	t := a.currentLocked()
	if !t.has(d) {
		return errors.New("it is not attached")
	}
	if t.users[d] > 0 {
		for _, m := range t.items.all() {
			if m.indom == d {
				return fmt.Errorf("metric %q has it", m.name)
			}
		}
	}
	t.indoms.set(uint32(d.home.Load().serial), nil)
	a.changedLocked(0)
	return nil
}

// has reports whether an instance domain is in the tables.
func (t *Tables) has(d *InDom) bool {
	home := d.home.Load()
	return home != nil && home.agent == t.agent && t.indoms.get(uint32(home.serial)) == d
}

func (a *Agent) register(op, name string, f func(t *Tables) error) error {
	if a == nil {
		return &OpError{Op: op, Name: name, Site: callSite(), Err: errors.New("the *Agent is nil")}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.registerLocked(a.currentLocked(), &a.err, op, name, f)
}

func (t *Tables) register(op, name string, f func(t *Tables) error) error {
	if t == nil || t.agent == nil {
		return &OpError{Op: op, Name: name, Site: callSite(), Err: errors.New("the *Tables belong to no agent: make them with NewTables")}
	}
	t.agent.mu.Lock()
	defer t.agent.mu.Unlock()
	return t.agent.registerLocked(t, &t.err, op, name, f)
}

// registerLocked runs f on tables, and keeps the first error in first.
func (a *Agent) registerLocked(t *Tables, first *error, op, name string, f func(t *Tables) error) error {
	before := t.changes
	if err := f(t); err != nil {
		err = &OpError{Op: op, Agent: a.Name, Name: name, Site: callSite(), Err: err}
		if *first == nil {
			*first = err
		}
		return err
	}
	if t == a.current {
		var c pdu.Change
		if t.changes != before {
			c = pdu.ChangeNames
		}
		a.changedLocked(c)
	}
	return nil
}

// currentLocked returns the tables that the Agent serves.
func (a *Agent) currentLocked() *Tables {
	if a.current == nil {
		a.current = a.NewTables()
	}
	return a.current
}

// changedLocked drops the snapshot after a change of the current tables, and tells clients about
// the change.
func (a *Agent) changedLocked(c pdu.Change) {
	a.snap.Store(nil)
	if a.seen.Load() {
		a.Notify(c)
	}
}

// lastNames has the latest name space, which outlives its snapshot while the names do not change.
type lastNames struct {
	tree    *pmns.Tree
	domain  pdu.Domain
	of      *Tables
	version int // of its names
}

// tree makes the name space.
func (t *Tables) tree(d pdu.Domain) *pmns.Tree {
	var b pmns.Builder
	t.names.addStatic(&b, d)
	return b.Tree()
}

// A snapshot is a state of the current tables that requests share. It never
// changes.
type snapshot struct {
	domain  pdu.Domain
	metrics numberMap[metric]
	indoms  numberMap[InDom]
	tree    *pmns.Tree
}

// snapshot returns the tables as they are now.
func (a *Agent) snapshot() *snapshot {
	if s := a.snap.Load(); s != nil && s.domain == a.Domain {
		return s
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.currentLocked()
	s := &snapshot{domain: a.Domain, metrics: t.items.snapshot(), indoms: t.indoms.snapshot()}
	last := lastNames{domain: a.Domain, of: t, version: t.version}
	switch before := a.last; {
	case before.domain == last.domain && before.of == t && before.version == last.version:
		last.tree = before.tree
	default:
		last.tree = t.tree(a.Domain)
		if before.tree != nil && before.tree.Equal(last.tree) {
			last.tree = before.tree // so that collectors need not merge it again
		}
	}
	a.last, s.tree = last, last.tree
	a.seen.Store(true)
	a.snap.Store(s)
	return s
}

// metric looks a metric up.
func (s *snapshot) metric(id pdu.PMID) *metric {
	if uint32(id)>>22 != uint32(s.domain) {
		return nil
	}
	return s.metrics.get(uint32(id) & numberBits)
}

// indom looks an instance domain up.
func (s *snapshot) indom(d pdu.InDom) *InDom {
	if uint32(d)>>22 != uint32(s.domain) { // NoInDom too
		return nil
	}
	return s.indoms.get(uint32(d) & numberBits)
}

// desc returns the descriptor of a metric.
func (s *snapshot) desc(m *metric) pdu.Desc {
	return pdu.Desc{PMID: m.pmid(s.domain), Type: m.typ, InDom: m.indomID(s.domain), Sem: m.sem, Units: m.units}
}
