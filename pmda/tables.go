package pmda

import (
	"errors"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// tables are the metrics, instance domains and dynamic roots of an Agent. Its mu guards them.
type tables struct {
	agent *Agent

	names   nameNode
	changes int                      // counts changes of names
	version int                      // counts changes of the names that Namespace shows
	items   numberMap[metric]        // by ItemID
	indoms  numberMap[InDom]         // by serial
	users   map[*InDom]int           // number of metrics by domain
	links   map[pdu.PMID][]*nameNode // names of metrics of other agents
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
	t := a.tablesLocked()
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
func (t *tables) has(d *InDom) bool {
	home := d.home.Load()
	return home != nil && home.agent == t.agent && t.indoms.get(uint32(home.serial)) == d
}

// register runs f on the tables. It returns the error of f with the operation and the name, and
// remembers the first such error.
func (a *Agent) register(op, name string, f func(t *tables) error) error {
	if a == nil {
		return &OpError{Op: op, Name: name, Site: callSite(), Err: errors.New("the *Agent is nil")}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tablesLocked()
	before := t.changes
	if err := f(t); err != nil {
		err = &OpError{Op: op, Agent: a.Name, Name: name, Site: callSite(), Err: err}
		if a.err == nil {
			a.err = err
		}
		return err
	}
	var c pdu.Change
	if t.changes != before {
		c = pdu.ChangeNames
	}
	a.changedLocked(c)
	return nil
}

// tablesLocked returns the tables, which are made at their first use.
func (a *Agent) tablesLocked() *tables {
	if a.tables == nil {
		a.tables = &tables{agent: a}
	}
	return a.tables
}

// changedLocked drops the snapshot after a change of the tables, and tells clients about
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
	version int // of its names
}

// tree makes the name space.
func (t *tables) tree(d pdu.Domain) *pmns.Tree {
	var b pmns.Builder
	t.names.addStatic(&b, d)
	return b.Tree()
}

// A snapshot is a state of the tables that requests share. It never
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
	t := a.tablesLocked()
	s := &snapshot{domain: a.Domain, metrics: t.items.snapshot(), indoms: t.indoms.snapshot()}
	last := lastNames{domain: a.Domain, version: t.version}
	switch before := a.last; {
	case before.tree != nil && before.domain == last.domain && before.version == last.version:
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
