package pmns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// A Builder makes a Tree from names and PMIDs. The zero value is an empty name
// space, ready for use by one goroutine at a time.
type Builder struct {
	// Prepend adds new children before the others of their node instead of after
	// them, as the C library does with the name space of an archive. It is set
	// before the first Add.
	Prepend bool
	// AnyStart lets a component begin with a digit or an underscore too, as the names
	// of agents may in the C library. It is set before the first Add.
	AnyStart bool

	root growing
}

// A growing is a node of an unfinished tree. byName has the same children as kids. It is nil if
// there are few.
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

// Add adds a metric, or a dynamic root if id is a [pdu.DynamicRoot]. Adding a name
// again with the same PMID changes nothing. A PMID may have several names.
// The builder keeps the string.
//
// A name is one or more components with dots between; a component is a letter,
// then letters, digits and underscores. Errors are *[OpError] and leave the
// builder as it was:
//
//   - pdu.ErrName: name is not a valid name, or a part of it is a metric, which
//     cannot have names below it;
//   - pdu.ErrNonLeaf: there are names below name;
//   - pdu.ErrPMID: name has another PMID, or id is neither that of a metric nor a
//     dynamic root.
//
// The counterpart of pmdaTreeInsert(3).
func (b *Builder) Add(name string, id pdu.PMID) error {
	if err := checkName(name, b.AnyStart); err != nil {
		return err
	}
	if d, dynamic := id.IsDynamicRoot(); id>>31 != 0 || dynamic && d > pdu.MaxDomain {
		return addError(name, "PMID %v: %w", id, pdu.ErrPMID)
	}
	at, off := &b.root, 0
	for { // down to the deepest existing node
		last, next := nextComponent(name, off)
		k := at.child(name[off:last])
		if k == nil {
			break
		}
		at, off = k, next
		switch {
		case last == len(name) && k.inner():
			return addError(name, "there are names below it: %w", pdu.ErrNonLeaf)
		case last == len(name) && k.id != id:
			return addError(name, "PMID %v: it has %v already: %w", id, k.id, pdu.ErrPMID)
		case last == len(name):
			return nil
		case !k.inner():
			return addError(name, "%w", badName(fmt.Sprintf("%q is a metric, below which there are no names", k.full)))
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

// A badName says why a name cannot be added. It unwraps to pdu.ErrName, whose own text is about
// unknown names.
type badName string

func (e badName) Error() string { return string(e) }
func (badName) Unwrap() error   { return pdu.ErrName }

// addError is the error of Add for a name.
func addError(name, format string, args ...any) error {
	return &OpError{Op: "add", Name: name, Err: fmt.Errorf(format, args...)}
}

func (g *growing) inner() bool { return g.id == pdu.NoPMID }

// nextComponent returns the end of the component of name that starts at off, and
// the start of the next one.
func nextComponent(name string, off int) (last, next int) {
	if i := strings.IndexByte(name[off:], '.'); i >= 0 {
		return off + i, off + i + 1
	}
	return len(name), len(name) + 1
}

// checkName returns an error if a name is invalid.
func checkName(name string, anyStart bool) error {
	start := true
	for i := range len(name) {
		c := name[i]
		switch {
		case start && !scan.IsLetter(c) && !(anyStart && c != '.'), c != '.' && !isWord(c):
			return addError(name, "%w", badName(fmt.Sprintf("%q at byte %d, want letters, digits and underscores after a letter", c, i)))
		}
		start = c == '.'
	}
	if start { // empty, or ends with a dot
		return addError(name, "%w", badName("its last component is empty"))
	}
	return nil
}

// Tree returns the tree of the names that were added so far. Names that are added
// later do not change it.
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
