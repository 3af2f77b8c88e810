package pmda

import "iter"

// A numberMap maps 22-bit numbers, those of metrics and of instance domains, to entries. The method
// snapshot returns a copy that never changes and shares most of its memory with the map. A snapshot
// is cheap. The cost of a change does not depend on the number of entries: set copies only the
// parts on the way to the entry, and only if a snapshot may share them.
type numberMap[T any] struct {
	root  *numberRoot[T]
	owner *numberOwner // of the parts that no snapshot has; nil after a snapshot
}

type (
	numberRoot[T any] struct {
		of    [256]*numberPage[T]
		owner *numberOwner
	}
	numberPage[T any] struct {
		of    [256]*numberLeaf[T]
		owner *numberOwner
	}
	numberLeaf[T any] struct {
		of    [64]*T
		owner *numberOwner
	}
	numberOwner struct{ _ byte } // has a size, so that each has its own address
)

// numberBits are the bits of a number.
const numberBits = 1<<22 - 1

// get returns the entry of a number, or nil.
func (m numberMap[T]) get(n uint32) *T {
	if m.root == nil {
		return nil
	}
	p := m.root.of[uint8(n>>14)]
	if p == nil {
		return nil
	}
	l := p.of[uint8(n>>6)]
	if l == nil {
		return nil
	}
	return l.of[n&63]
}

// snapshot returns a copy of the map that never changes.
func (m *numberMap[T]) snapshot() numberMap[T] {
	m.owner = nil
	return *m
}

// set sets the entry of a number. A nil v removes it.
func (m *numberMap[T]) set(n uint32, v *T) {
	if m.owner == nil {
		m.owner = new(numberOwner)
	}
	root := m.root
	if root == nil {
		root = &numberRoot[T]{owner: m.owner}
	} else if root.owner != m.owner {
		c := *root
		root, c.owner = &c, m.owner
	}
	page := root.of[uint8(n>>14)]
	if page == nil {
		page = &numberPage[T]{owner: m.owner}
	} else if page.owner != m.owner {
		c := *page
		page, c.owner = &c, m.owner
	}
	leaf := page.of[uint8(n>>6)]
	if leaf == nil {
		leaf = &numberLeaf[T]{owner: m.owner}
	} else if leaf.owner != m.owner {
		c := *leaf
		leaf, c.owner = &c, m.owner
	}
	leaf.of[n&63] = v
	page.of[uint8(n>>6)] = leaf
	root.of[uint8(n>>14)] = page
	m.root = root
}

// all yields the numbers that have an entry, in ascending order.
func (m numberMap[T]) all() iter.Seq2[uint32, *T] {
	return func(yield func(uint32, *T) bool) {
		if m.root == nil {
			return
		}
		for i, p := range &m.root.of {
			if p == nil {
				continue
			}
			for j, l := range &p.of {
				if l == nil {
					continue
				}
				for k, v := range &l.of {
					if v != nil && !yield(uint32(i<<14|j<<6|k), v) {
						return
					}
				}
			}
		}
	}
}
