package pmns

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// A Tree is a name space. It does not change and is safe for concurrent use.
// The zero Tree and a nil Tree have no names. A Tree must not be copied.
type Tree struct {
	root *node // nil for an empty tree

	once  sync.Once
	index index
}

// An index has the names of all metrics, sorted by PMID and then in reverse order of the tree.
// names[i] has the PMID ids[i].
type index struct {
	ids   []pdu.PMID
	names []string
}

// A node is a leaf or a subtree. It has its full name but no pointer to its
// parent, so that trees can share it.
type node struct {
	full   string   // the whole name; "" for the root
	off    int      // start of the last component in full
	id     pdu.PMID // NoPMID unless a leaf
	leaves int      // number of leaves at and below it
	kids   []*node
	sorted []*node // kids sorted by name, if they are many
}

// A Child is a name directly below another.
type Child struct {
	Name string // the last component alone
	Leaf bool   // a metric; a dynamic root is not one
}

var emptyRoot = &node{id: pdu.NoPMID}

// newInner makes a node with children; it keeps kids. Their names are unique, and
// each has leaves.
func newInner(full string, kids []*node) *node {
	n := &node{full: full, off: strings.LastIndexByte(full, '.') + 1, id: pdu.NoPMID, kids: kids}
	for _, k := range kids {
		n.leaves += k.leaves
	}
	if len(kids) > smallNode {
		n.sorted = slices.SortedFunc(slices.Values(kids), func(a, b *node) int { return cmp.Compare(a.name(), b.name()) })
	}
	return n
}

func (n *node) name() string { return n.full[n.off:] }

func (n *node) isDynamic() bool {
	_, ok := n.id.IsDynamicRoot()
	return ok
}

func (n *node) child(name string) *node {
	if n.sorted == nil {
		for _, k := range n.kids {
			if k.name() == name {
				return k
			}
		}
		return nil
	}
	i, ok := slices.BinarySearchFunc(n.sorted, name, func(k *node, name string) int { return cmp.Compare(k.name(), name) })
	if !ok {
		return nil
	}
	return n.sorted[i]
}

func (t *Tree) top() *node {
	if t == nil || t.root == nil {
		return emptyRoot
	}
	return t.root
}

// find returns the node of a name, or the dynamic root above it with the rest of the name. It
// returns nil if neither exists.
func (t *Tree) find(name string) (n *node, rest string) {
	n = t.top()
	for name != "" {
		first, below, more := strings.Cut(name, ".")
		n = n.child(first)
		switch {
		case n == nil:
			return nil, ""
		case more && n.isDynamic():
			return n, below + "." // not empty, even for "dyn."
		case more && below == "":
			return nil, "" // ends with a dot
		}
		name = below
	}
	return n, ""
}

// Lookup returns the PMID of a metric. For a name at or below a dynamic root it returns the PMID of
// that root (see [pdu.PMID.IsDynamicRoot]). Only the agent of the root's domain knows whether such
// a name exists.
//
// Errors are pdu.ErrNonLeaf for a name that has others below it, and pdu.ErrName
// for one that is unknown or empty, not wrapped. The PMID is then NoPMID. Lookup
// does not allocate. The counterpart of pmLookupName(3) for one name in a local
// name space.
func (t *Tree) Lookup(name string) (pdu.PMID, error) {
	n, _ := t.find(name)
	switch {
	case n == nil || name == "":
		return pdu.NoPMID, pdu.ErrName
	case n.id == pdu.NoPMID:
		return pdu.NoPMID, pdu.ErrNonLeaf
	}
	return n.id, nil
}

// Names returns the names of a PMID, or nil for an unknown PMID and for a dynamic root, which is
// not a metric. As in the C library the last name in the order of the tree comes first. The caller
// must not change the slice. The first call on a Tree sorts its names. Later calls are a binary
// search. The counterpart of pmNameAll(3).
func (t *Tree) Names(id pdu.PMID) []string {
	if t == nil {
		return nil
	}
	t.once.Do(t.buildIndex)
	lo, ok := slices.BinarySearch(t.index.ids, id)
	if !ok {
		return nil
	}
	hi := lo + 1
	for hi < len(t.index.ids) && t.index.ids[hi] == id {
		hi++
	}
	return t.index.names[lo:hi:hi]
}

func (t *Tree) buildIndex() {
	type entry struct {
		id   pdu.PMID
		name string
	}
	entries := make([]entry, 0, t.Len())
	for name, id := range t.All() {
		if _, dynamic := id.IsDynamicRoot(); !dynamic {
			entries = append(entries, entry{id, name})
		}
	}
	slices.Reverse(entries)
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	t.index.ids = make([]pdu.PMID, len(entries))
	t.index.names = make([]string, len(entries))
	for i, e := range entries {
		t.index.ids[i], t.index.names[i] = e.id, e.name
	}
}

// Children returns the names one level below a name, in the order of the file. "" is the root. The
// result is empty for a leaf. It is also empty for a dynamic root, whose children only the agent
// knows. Lookup tells whether a name is at or below a dynamic root.
//
// The error is pdu.ErrName for a name that the tree does not have. The
// counterpart of pmGetChildrenStatus(3).
func (t *Tree) Children(name string) ([]Child, error) {
	n, rest := t.find(name)
	if n == nil || rest != "" {
		return nil, pdu.ErrName
	}
	if len(n.kids) == 0 {
		return nil, nil
	}
	children := make([]Child, len(n.kids))
	for i, k := range n.kids {
		children[i] = Child{Name: k.name(), Leaf: k.id != pdu.NoPMID && !k.isDynamic()}
	}
	return children, nil
}

// All yields the names and PMIDs of all metrics, depth first and children in the
// order of the file. A dynamic root is yielded with its own name and PMID.
func (t *Tree) All() iter.Seq2[string, pdu.PMID] { return t.top().all() }

// Traverse returns All for the names at and below a name: for a leaf or a dynamic
// root that is the name itself, for "" all names.
//
// The error is pdu.ErrName for a name that the tree does not have, one below a
// dynamic root included. The counterpart of pmTraversePMNS(3).
func (t *Tree) Traverse(name string) (iter.Seq2[string, pdu.PMID], error) {
	n, rest := t.find(name)
	if n == nil || rest != "" {
		return nil, pdu.ErrName
	}
	return n.all(), nil
}

func (n *node) all() iter.Seq2[string, pdu.PMID] {
	return func(yield func(string, pdu.PMID) bool) { n.walk(yield) }
}

func (n *node) walk(yield func(string, pdu.PMID) bool) bool {
	if n.id != pdu.NoPMID {
		return yield(n.full, n.id)
	}
	for _, k := range n.kids {
		if !k.walk(yield) {
			return false
		}
	}
	return true
}

// Len is the number of names that All yields.
func (t *Tree) Len() int { return t.top().leaves }

// Equal reports whether two trees have the same names with the same PMIDs in
// the same order.
func (t *Tree) Equal(o *Tree) bool { return t.top().equal(o.top()) }

func (n *node) equal(o *node) bool {
	return n == o || n.id == o.id && n.leaves == o.leaves && n.full == o.full && slices.EqualFunc(n.kids, o.kids, (*node).equal)
}
