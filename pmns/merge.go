package pmns

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// A Conflict is a name on which merged trees do not agree.
type Conflict struct {
	Name    string
	Kept    pdu.PMID // NoPMID if the name that stays has others below it
	Ignored pdu.PMID // NoPMID if a subtree was left out, of which Name is the top
}

// String says so in the words of pmnsmerge(1).
func (c Conflict) String() string {
	what := func(id pdu.PMID) string {
		if id == pdu.NoPMID {
			return "the names below it"
		}
		return "PMID " + id.String()
	}
	return fmt.Sprintf("performance metric %q has multiple PMIDs, using %s and ignoring %s", c.Name, what(c.Kept), what(c.Ignored))
}

// Merge makes one tree of several. Names that only a later tree has go to the
// end of their node. Where trees differ on a name the first one wins: it keeps
// its PMID, or its leaf against a subtree, and the other way round; the
// conflicts say what was left out, in the order of the trees' names. Nil trees
// are passed over.
//
// The result shares every subtree that one argument has alone, so a merge costs
// time and memory for the children of common nodes only.
//
// The work of pmnsmerge(1), which differs in two things: of the children that it
// adds to a node it puts the leaves first, and it makes a subtree of a leaf,
// losing the metric without a word, where a later file has names below it.
func Merge(trees ...*Tree) (*Tree, []Conflict) {
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
	conflicts []Conflict
}

// merge makes one node of several of the same name, which are not all leaves
// with one PMID. The first decides what it is.
func (m *merger) merge(nodes []*node) *node {
	first := nodes[0]
	inner := nodes[:0:0]
	for i, n := range nodes {
		switch {
		case n == first && i > 0: // shared by both trees
		case n.id != first.id:
			m.conflicts = append(m.conflicts, Conflict{Name: n.full, Kept: first.id, Ignored: n.id})
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
