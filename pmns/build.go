package pmns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A Builder makes a Tree from names and PMIDs. The zero value is an empty name
// space, ready for use by one goroutine at a time.
type Builder struct {
	// Prepend puts new children before the others of their node instead of
	// after them. The C library does so with the name space of an archive. Set
	// it before the first Add.
	Prepend bool

	root growing
}

// A growing node is one to which children can still be added. kids and byName
// hold the same, byName only if they are many.
type growing struct {
	full   string
	off    int
	id     pdu.PMID
	kids   []*growing
	byName map[string]*growing
}

func (g *growing) name() string { return g.full[g.off:] }

func (g *growing) child(name string) *growing {
	if g.byName != nil {
		return g.byName[name]
	}
	for _, k := range g.kids {
		if k.name() == name {
			return k
		}
	}
	return nil
}

func (g *growing) add(k *growing) {
	g.kids = append(g.kids, k)
	switch {
	case g.byName != nil:
		g.byName[k.name()] = k
	case len(g.kids) > smallNode:
		g.byName = make(map[string]*growing, 2*len(g.kids))
		for _, k := range g.kids {
			g.byName[k.name()] = k
		}
	}
}

// Add puts in a metric, or a dynamic root if id is a [pdu.DynamicRoot]. A name
// that is there with the same PMID already stays as it is; a PMID may have
// several names. The builder keeps the string.
//
// A name is one or more components with dots between; a component is a letter,
// then letters, digits and underscores. Errors, which leave everything as it
// was:
//
//   - pdu.ErrName: the name is not one, or a part of it is a metric, which
//     cannot have others below it;
//   - pdu.ErrNonLeaf: there are names below that name;
//   - pdu.ErrPMID: the name has another PMID, or id is none that a metric or a
//     dynamic root can have.
//
// The counterpart of pmdaTreeInsert(3).
func (b *Builder) Add(name string, id pdu.PMID) error {
	if err := checkName(name); err != nil {
		return err
	}
	if d, dynamic := id.IsDynamicRoot(); id>>31 != 0 || dynamic && d > pdu.MaxDomain {
		return fmt.Errorf("pmns: add %q with PMID %v: %w", name, id, pdu.ErrPMID)
	}
	at, off := &b.root, 0
	for { // down to the deepest node there is
		last, next := nextComponent(name, off)
		k := at.child(name[off:last])
		if k == nil {
			break
		}
		at, off = k, next
		switch {
		case last == len(name) && k.inner():
			return fmt.Errorf("pmns: add %q: there are names below it: %w", name, pdu.ErrNonLeaf)
		case last == len(name) && k.id != id:
			return fmt.Errorf("pmns: add %q with PMID %v: it has %v already: %w", name, id, k.id, pdu.ErrPMID)
		case last == len(name):
			return nil
		case !k.inner():
			return fmt.Errorf("pmns: add %q: %q is a metric: %w", name, k.full, pdu.ErrName)
		}
	}
	for off <= len(name) {
		last, next := nextComponent(name, off)
		k := &growing{full: name[:last], off: off, id: pdu.NoPMID}
		if last == len(name) {
			k.id = id
		}
		at.add(k)
		at, off = k, next
	}
	return nil
}

func (g *growing) inner() bool { return g.id == pdu.NoPMID }

// nextComponent returns where the component of name that begins at off ends,
// and where the one after it begins.
func nextComponent(name string, off int) (last, next int) {
	if i := strings.IndexByte(name[off:], '.'); i >= 0 {
		return off + i, off + i + 1
	}
	return len(name), len(name) + 1
}

func checkName(name string) error {
	start := true
	for i := range len(name) {
		c := name[i]
		switch {
		case start && !isLetter(c), c != '.' && !isWord(c):
			return fmt.Errorf("pmns: name %q: %q at byte %d, want letters, digits and underscores after a letter: %w", name, c, i, pdu.ErrName)
		}
		start = c == '.'
	}
	if start { // empty, or ends with a dot
		return fmt.Errorf("pmns: name %q: its last component is empty: %w", name, pdu.ErrName)
	}
	return nil
}

// Tree returns the tree of what was added so far. The builder can go on; that
// does not change the tree.
func (b *Builder) Tree() *Tree {
	return &Tree{root: b.root.freeze(b.Prepend)}
}

func (g *growing) freeze(reverse bool) *node {
	if len(g.kids) == 0 && g.full != "" {
		return &node{full: g.full, off: g.off, id: g.id, leaves: 1}
	}
	kids := make([]*node, len(g.kids))
	for i, k := range g.kids {
		kids[i] = k.freeze(reverse)
	}
	if reverse {
		slices.Reverse(kids)
	}
	return newInner(g.full, kids)
}
