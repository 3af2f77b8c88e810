package pmda

import "iter"

// A numberMap maps numbers of 22 bits, those of metrics and of instance domains, to what
// has them. It never changes: with returns another one, which shares most of its memory
// with the first. So a snapshot of it costs nothing, and a change costs the same however
// many entries there are.
type numberMap[T any] struct{ root *numberRoot[T] }

type (
	numberRoot[T any] [256]*numberPage[T]
	numberPage[T any] [256]*numberLeaf[T]
	numberLeaf[T any] [64]*T
)

// numberBits are the bits of a number.
const numberBits = 1<<22 - 1

// get returns the entry of a number, nil if it has none.
func (m numberMap[T]) get(n uint32) *T {
	if m.root == nil {
		return nil
	}
	p := m.root[uint8(n>>14)]
	if p == nil {
		return nil
	}
	l := p[uint8(n>>6)]
	if l == nil {
		return nil
	}
	return l[n&63]
}

// with returns a map in which a number has another entry, or none if that is nil.
func (m numberMap[T]) with(n uint32, v *T) numberMap[T] {
	root, page, leaf := new(numberRoot[T]), new(numberPage[T]), new(numberLeaf[T])
	if m.root != nil {
		*root = *m.root
	}
	if p := root[uint8(n>>14)]; p != nil {
		*page = *p
	}
	if l := page[uint8(n>>6)]; l != nil {
		*leaf = *l
	}
	leaf[n&63] = v
	page[uint8(n>>6)] = leaf
	root[uint8(n>>14)] = page
	return numberMap[T]{root}
}

// all yields the numbers that have an entry, in ascending order.
func (m numberMap[T]) all() iter.Seq2[uint32, *T] {
	return func(yield func(uint32, *T) bool) {
		if m.root == nil {
			return
		}
		for i, p := range m.root {
			if p == nil {
				continue
			}
			for j, l := range p {
				if l == nil {
					continue
				}
				for k, v := range l {
					if v != nil && !yield(uint32(i<<14|j<<6|k), v) {
						return
					}
				}
			}
		}
	}
}
