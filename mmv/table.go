package mmv

import (
	"hash/maphash"
	"sync/atomic"
)

// A table finds values by name. Any number of goroutines may call get while one changes the table.
// The zero table is empty.
type table[V any] struct {
	entries atomic.Pointer[[]atomic.Pointer[entry[V]]] // a power of two of them, some nil, found by linear probing
	used    int                                        // entries that are not nil
	live    int                                        // of those, how many have a value
}

// An entry that was removed has no value.
type entry[V any] struct {
	name  string
	value *V
}

var tableSeed = maphash.MakeSeed()

// get returns the value with a name, or nil.
func (t *table[V]) get(name string) *V {
	p := t.entries.Load()
	if p == nil {
		return nil
	}
	entries := *p
	mask := uint64(len(entries) - 1)
	for i := maphash.String(tableSeed, name); ; i++ {
		e := entries[i&mask].Load()
		if e == nil {
			return nil
		}
		if e.name == name && e.value != nil {
			return e.value
		}
	}
}

// put adds a value with a name that is not in the table.
func (t *table[V]) put(name string, value *V) {
	if p := t.entries.Load(); p == nil || 2*t.used >= len(*p) {
		t.resize()
	}
	insert(*t.entries.Load(), &entry[V]{name, value})
	t.used++
	t.live++
}

func insert[V any](entries []atomic.Pointer[entry[V]], e *entry[V]) {
	mask := uint64(len(entries) - 1)
	for i := maphash.String(tableSeed, e.name); ; i++ {
		if entries[i&mask].Load() == nil {
			entries[i&mask].Store(e)
			return
		}
	}
}

// resize makes room for as many values again, and drops removed entries.
func (t *table[V]) resize() {
	size := 8
	for size < 4*t.live {
		size *= 2
	}
	bigger := make([]atomic.Pointer[entry[V]], size)
	if p := t.entries.Load(); p != nil {
		for i := range *p {
			if e := (*p)[i].Load(); e != nil && e.value != nil {
				insert(bigger, e)
			}
		}
	}
	t.used = t.live
	t.entries.Store(&bigger)
}

// remove removes a value, if there is one with the name.
func (t *table[V]) remove(name string) {
	p := t.entries.Load()
	if p == nil {
		return
	}
	mask := uint64(len(*p) - 1)
	for i := maphash.String(tableSeed, name); ; i++ {
		e := (*p)[i&mask].Load()
		if e == nil {
			return
		}
		if e.name == name && e.value != nil {
			(*p)[i&mask].Store(&entry[V]{name: name})
			t.live--
			return
		}
	}
}
