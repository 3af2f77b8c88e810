package pmda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// AddDynamic adds a dynamic root. Collectors do not store the names at and below it, but request
// them from the agent each time, so that metrics there may come and go. After AddDynamic, Register
// and Remove work there as elsewhere. The cost of a change does not depend on the number of
// metrics. A wrapper can add further names: see Use.
//
// Errors: a name that is in use or malformed, or below another dynamic root.
//
// The PMNS file of a C pmcd has only the root, as "root DOMAIN:*:*". AddDynamic is the counterpart
// of pmdaDynamicPMNS(3) and pmdaTreeInsert(3).
func (a *Agent) AddDynamic(root string) error {
	return a.register("add dynamic root", root, func(t *tables) error {
		n, err := t.names.add(root)
		switch {
		case err != nil && t.isRoot(root), err == nil && n.root:
			return errors.New("it has been added already")
		case err != nil:
			return err
		case n.dynamic:
			n.prune()
			return errors.New("it is below another dynamic root")
		}
		t.noteName(n) // as a name that Namespace shows
		n.root, n.dynamic = true, true
		return nil
	})
}

func (t *tables) isRoot(name string) bool {
	n := t.names.find(name)
	return n != nil && n.root
}

// AddAlias adds another name for a registered metric. Removing the metric also removes the alias.
// Errors: no such metric, a name that is in use or malformed.
func (a *Agent) AddAlias(name, metric string) error {
	return a.register("add alias", name, func(t *tables) error {
		of := t.names.find(metric)
		if of == nil || !of.isMetric() {
			return fmt.Errorf("there is no metric %q: %w", metric, pdu.ErrName)
		}
		if of.link {
			return t.addLink(name, of.foreign)
		}
		n, err := t.names.add(name)
		if err != nil {
			return err
		}
		n.metric = of.metric
		of.metric.names = append(of.metric.names, n)
		t.noteName(n)
		return nil
	})
}

// AddLink adds a name at or below a dynamic root for a metric of another agent. That agent replies
// to all requests about the metric except those for its name. AddLink does not check whether the
// metric exists. Errors: a name that is in use, malformed, or not at or below a dynamic root; an id
// that is not the PMID of a metric.
func (a *Agent) AddLink(name string, id pdu.PMID) error {
	return a.register("add link", name, func(t *tables) error { return t.addLink(name, id) })
}

func (t *tables) addLink(name string, id pdu.PMID) error {
	if _, root := id.IsDynamicRoot(); root || id>>31 != 0 {
		return fmt.Errorf("PMID %v: %w", id, pdu.ErrPMID)
	}
	n, err := t.names.add(name)
	if err != nil {
		return err
	}
	if !n.dynamic {
		n.prune()
		return errors.New("it is not below a dynamic root")
	}
	n.foreign, n.link = id, true
	if t.links == nil {
		t.links = map[pdu.PMID][]*nameNode{}
	}
	t.links[id] = append(t.links[id], n)
	t.noteName(n)
	return nil
}

// noteName counts the addition or removal of a name.
func (t *tables) noteName(n *nameNode) {
	t.changes++
	if !n.dynamic {
		t.version++
	}
}

// Remove removes metrics, names of AddAlias and AddLink, and dynamic roots with all names below
// them. Removing a metric also removes its aliases. Fetches in progress still return the values of
// removed metrics. Clients get a change notice with the next fetch.
//
// Groups stay, and instance domains stay until Detach. For an unknown name Remove removes nothing
// and returns an error that wraps pdu.ErrName.
//
// The number of a removed metric is reused as late as possible: see ItemID.
func (a *Agent) Remove(names ...string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tablesLocked()
	for _, name := range names {
		if n := t.names.find(name); n == nil || !n.isMetric() && !n.root {
			return &OpError{Op: "remove", Agent: a.Name, Name: name, Err: pdu.ErrName}
		}
	}
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if n := t.names.find(name); n != nil { // an earlier removal may have removed it
			t.remove(n)
		}
	}
	a.changedLocked(pdu.ChangeNames)
	return nil
}

// remove removes the metric whose first name is the node. Any other name is removed alone. If the
// node is a root, remove also removes all names below it.
func (t *tables) remove(n *nameNode) {
	if n.root {
		var below []*nameNode
		n.metrics(func(m *nameNode) bool {
			below = append(below, m)
			return true
		})
		for _, m := range below {
			if m != n && m.isMetric() { // an earlier removal may have removed it
				t.remove(m)
			}
		}
		t.version++
		n.root = false // dynamic need not change, because the node goes
	}
	switch m := n.metric; {
	case m == nil && !n.link:
		t.removeName(n)
	case n.link:
		t.links[n.foreign] = slices.DeleteFunc(t.links[n.foreign], func(o *nameNode) bool { return o == n })
		if len(t.links[n.foreign]) == 0 {
			delete(t.links, n.foreign)
		}
		t.removeName(n)
	case m.names[0] != n:
		m.names = slices.DeleteFunc(m.names, func(o *nameNode) bool { return o == n })
		t.removeName(n)
	default:
		for _, o := range m.names {
			t.removeName(o)
		}
		t.items.set(m.item.number(), nil)
		if m.indom != nil {
			if t.users[m.indom]--; t.users[m.indom] == 0 {
				delete(t.users, m.indom)
			}
		}
	}
}

// removeName removes a name from the name space.
func (t *tables) removeName(n *nameNode) {
	t.noteName(n)
	n.metric, n.link = nil, false
	n.prune()
}

// lookup calls f with the node of a name at or below a dynamic root. It returns pdu.ErrName for an
// unknown name.
func (h tableHandler) lookup(name string, f func(n *nameNode)) error {
	h.a.seen.Store(true)
	h.a.mu.RLock()
	defer h.a.mu.RUnlock()
	if h.a.tables == nil {
		return pdu.ErrName
	}
	n := h.a.tables.names.find(name)
	if n == nil || !n.dynamic {
		return pdu.ErrName
	}
	f(n)
	return nil
}

// PMID finds a metric at or below a dynamic root.
func (h tableHandler) PMID(_ context.Context, _ *Request, name string) (pdu.PMID, error) {
	id, is := pdu.NoPMID, pdu.ErrName
	err := h.lookup(name, func(n *nameNode) {
		switch {
		case n.isMetric():
			id, is = n.pmid(h.a.Domain), 0
		case n.first != nil:
			is = pdu.ErrNonLeaf
		}
	})
	if err == nil && is != 0 {
		err = is
	}
	return id, err
}

// Names returns the names of a metric at and below dynamic roots, in the order of their
// registration.
func (h tableHandler) Names(_ context.Context, _ *Request, id pdu.PMID) ([]string, error) {
	h.a.seen.Store(true)
	h.a.mu.RLock()
	defer h.a.mu.RUnlock()
	t := h.a.tables
	if t == nil {
		return nil, pdu.ErrPMID
	}
	var names []string
	add := func(nodes []*nameNode) {
		for _, n := range nodes {
			if n.dynamic {
				names = append(names, n.full)
			}
		}
	}
	if uint32(id)>>22 == uint32(h.a.Domain) {
		if m := t.items.get(uint32(id) & numberBits); m != nil {
			add(m.names)
		}
	}
	add(t.links[id])
	if names == nil {
		return nil, pdu.ErrPMID
	}
	return names, nil
}

// Children returns the names one level below a name at or below a dynamic root, in the order of
// their registration.
func (h tableHandler) Children(_ context.Context, _ *Request, name string) (children []pmns.Child, err error) {
	err = h.lookup(name, func(n *nameNode) {
		children = make([]pmns.Child, 0, len(n.below))
		for k := n.first; k != nil; k = k.next {
			children = append(children, pmns.Child{Name: k.component(), Leaf: k.isMetric()})
		}
	})
	return children, err
}

// Traverse returns the names of the metrics at and below a name at or below a dynamic root,
// depth first in the order of Children.
func (h tableHandler) Traverse(_ context.Context, _ *Request, name string) (names []string, err error) {
	err = h.lookup(name, func(n *nameNode) {
		n.metrics(func(m *nameNode) bool {
			names = append(names, m.full)
			return true
		})
	})
	return names, err
}
