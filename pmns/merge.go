package pmns

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// conflict returns the warning of pmnsmerge(1) about a name that trees use differently. A PMID is
// pdu.NoPMID if that tree has names below the name.
func conflict(name string, kept, ignored pdu.PMID) string {
	what := func(id pdu.PMID) string {
		if id == pdu.NoPMID {
			return "the names below it"
		}
		return "PMID " + id.String()
	}
	return fmt.Sprintf("performance metric %q has multiple PMIDs, using %s and ignoring %s", name, what(kept), what(ignored))
}

// Merge merges several trees into one. Names that only a later tree has come at the end of their
// node. If a name is a metric in one tree, and in another a metric with another PMID or a name
// with others below it, the first tree wins. conflicts has a warning for each name that was left
// out, in the order of the names. Nil trees are ignored.
//
// The result shares every subtree that only one of the trees has.
//
// The counterpart of pmnsmerge(1), which differs in two points: it adds the
// leaves before other new children of a node, and where a later file has names
// below a metric it drops the metric without a warning.
func Merge(trees ...*Tree) (t *Tree, conflicts []string) {
	var m merger
	roots := make([]*node, 0, len(trees))
	for _, t := range trees {
		if t.Len() > 0 {
			roots = append(roots, t.root)
		}
	}
	if len(roots) == 0 {
		return new(Tree), nil
	}
	return &Tree{root: m.merge(roots)}, m.conflicts
}

type merger struct {
	conflicts []string
}

// merge merges nodes of the same name into one. The nodes are not all leaves with one PMID. A
// node whose PMID differs from that of the first is a conflict and left out.
func (m *merger) merge(nodes []*node) *node {
	first := nodes[0]
	inner := nodes[:0:0]
	for i, n := range nodes {
		switch {
		case n == first && i > 0: // shared by both trees
		case n.id != first.id:
			m.conflicts = append(m.conflicts, conflict(n.full, first.id, n.id))
		case n.id == pdu.NoPMID:
			inner = append(inner, n)
		}
	}
	if len(inner) < 2 {
		return first
	}
	return m.mergeKids(inner)
}

// mergeKids merges the children of at least two nodes, or returns the first
// node if the others add nothing.
func (m *merger) mergeKids(nodes []*node) *node {
	first := nodes[0]
	total := 0
	for _, n := range nodes {
		total += len(n.kids)
	}
	kids := append(make([]*node, 0, total), first.kids...)
	added := make(map[string]*node)   // the children that first does not have
	others := make(map[*node][]*node) // further children of the same name
	for _, n := range nodes[1:] {
		for _, k := range n.kids {
			same := first.child(k.name())
			if same == nil {
				same = added[k.name()]
			}
			if same == nil {
				added[k.name()] = k
				kids = append(kids, k)
				continue
			}
			others[same] = append(others[same], k)
		}
	}
	changed := len(kids) > len(first.kids)
	for i, k := range kids {
		if same := others[k]; same != nil {
			kids[i] = m.merge(append([]*node{k}, same...))
			changed = changed || kids[i] != k
		}
	}
	if !changed {
		return first
	}
	return newInner(first.full, kids)
}
