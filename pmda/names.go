package pmda

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A nameNode is a component of the names in the tables of an Agent. The nodes below the empty
// root node are the name space. The cost of a change does not depend on its size.
type nameNode struct {
	full                            string // the name
	parent, prev, next, first, last *nameNode
	below                           map[string]*nameNode // by component; first and next order them

	metric  *metric  // the metric of the name, or nil
	foreign pdu.PMID // PMID of another agent's metric, if link
	link    bool
	root    bool // of dynamic names
	dynamic bool // collectors ask the agent for it: it is at or below a root
}

// isMetric reports whether n is the name of a metric.
func (n *nameNode) isMetric() bool { return n.metric != nil || n.link }

// pmid returns the PMID of n. isMetric must be true.
func (n *nameNode) pmid(d pdu.Domain) pdu.PMID {
	if n.metric != nil {
		return n.metric.pmid(d)
	}
	return n.foreign
}

// component returns the last component of the name.
func (n *nameNode) component() string { return n.full[strings.LastIndexByte(n.full, '.')+1:] }

// find returns the node of a name, or nil for an unknown name.
func (n *nameNode) find(name string) *nameNode {
	for more := true; more && n != nil; {
		var first string
		first, name, more = strings.Cut(name, ".")
		n = n.below[first]
	}
	return n
}

// reservedNames is the prefix of names that libpcp and pmapi define in every client, independent of
// the collector. A metric called event.flags would hide that of the client. A metric called event
// cannot have names below it.
const reservedNames = "event"

// add returns the node of a name, with no metric and no names below it. It returns an error if the
// name cannot be added.
func (n *nameNode) add(name string) (*nameNode, error) {
	if name == reservedNames || strings.HasPrefix(name, reservedNames+".") {
		return nil, fmt.Errorf("names at and below %q are reserved: there, clients have %s and %s, the parts of event records",
			reservedNames, pdu.EventFlagsName, pdu.EventMissedName)
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	for off := 0; off <= len(name); {
		end := off + len(name[off:])
		if i := strings.IndexByte(name[off:], '.'); i >= 0 {
			end = off + i
		}
		k := n.below[name[off:end]]
		if k == nil {
			if n.isMetric() {
				return nil, fmt.Errorf("%q is a metric, below which there are no names", n.full)
			}
			k = n.append(name[off:end], name[:end])
		}
		n, off = k, end+1
	}
	switch {
	case n.isMetric():
		return nil, errors.New("the name is in use")
	case n.first != nil:
		return nil, errors.New("there are names below it")
	}
	return n, nil
}

// append adds a node after the other children of n.
func (n *nameNode) append(component, full string) *nameNode {
	k := &nameNode{full: full, parent: n, prev: n.last, dynamic: n.dynamic}
	if n.below == nil {
		n.below = map[string]*nameNode{}
	}
	n.below[component] = k
	if n.last == nil {
		n.first = k
	} else {
		n.last.next = k
	}
	n.last = k
	return k
}

// prune removes n if it has no children, metric or root, and then its ancestors under the same
// condition.
func (n *nameNode) prune() {
	for n.parent != nil && n.first == nil && !n.isMetric() && !n.root {
		p := n.parent
		delete(p.below, n.component())
		if n.prev == nil {
			p.first = n.next
		} else {
			n.prev.next = n.next
		}
		if n.next == nil {
			p.last = n.prev
		} else {
			n.next.prev = n.prev
		}
		n.parent, n = nil, p
	}
}

// metrics yields the names of metrics at and below a node, depth first.
func (n *nameNode) metrics(yield func(*nameNode) bool) bool {
	if n.isMetric() {
		return yield(n)
	}
	for k := n.first; k != nil; k = k.next {
		if !k.metrics(yield) {
			return false
		}
	}
	return true
}

// addStatic adds the names at and below a node to a name space. A dynamic root stands for all names
// at and below it.
func (n *nameNode) addStatic(to *pmns.Builder, d pdu.Domain) {
	switch {
	// The names have been checked; what can be wrong is the Domain, which Err reports.
	case n.root:
		_ = to.Add(n.full, pdu.DynamicRoot(d))
	case n.isMetric():
		_ = to.Add(n.full, n.pmid(d))
	}
	if n.root {
		return
	}
	for k := n.first; k != nil; k = k.next {
		k.addStatic(to, d)
	}
}

// checkName returns the reason why a name is invalid.
func checkName(name string) error {
	var b pmns.Builder
	err := b.Add(name, 0)
	if e, ok := errors.AsType[*pmns.OpError](err); ok {
		return badName{e.Err}
	}
	return err
}

// A badName is the reason why a name cannot be added. It omits the text of pdu.ErrName, "Unknown
// metric name", which is for clients that look a name up.
type badName struct{ error }

func (e badName) Error() string {
	return strings.TrimSuffix(e.error.Error(), ": "+pdu.ErrName.Error())
}

func (e badName) Unwrap() error { return e.error }
