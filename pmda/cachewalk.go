package pmda

import (
	"cmp"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// slotAt returns the slot of the entry at an index in the order of IDs.
func (t *cacheTable) slotAt(at int) int {
	if t.order == nil {
		return at
	}
	return int(t.order[at])
}

// noteOrder appends a new slot, the highest so far, to the order of IDs. It does not sort.
func (t *cacheTable) noteOrder(slot int) {
	id := t.entries[slot].id
	if t.order == nil {
		if slot == 0 || t.entries[slot-1].id < id {
			return
		}
		t.order = make([]uint32, slot, slot+1+slot/4)
		for i := range t.order {
			t.order[i] = uint32(i)
		}
		t.sorted = slot
	}
	if t.sorted == slot && t.entries[t.order[slot-1]].id < id {
		t.sorted++
	}
	t.order = append(t.order, uint32(slot))
}

// inOrder reports whether sort has nothing to do.
func (t *cacheTable) inOrder() bool { return t.order == nil || t.sorted == len(t.order) }

// sort completes the order of IDs: it sorts the new slots and merges them with the old ones.
func (t *cacheTable) sort() {
	if t.inOrder() {
		return
	}
	id := func(slot uint32) pdu.InstID { return t.entries[slot].id }
	added := slices.Clone(t.order[t.sorted:])
	slices.SortFunc(added, func(a, b uint32) int { return cmp.Compare(id(a), id(b)) })
	old := t.sorted
	for at := len(t.order) - 1; len(added) > 0; at-- { // from the end, so that one array is enough
		if last := added[len(added)-1]; old == 0 || id(t.order[old-1]) < id(last) {
			t.order[at], added = last, added[:len(added)-1]
		} else {
			old--
			t.order[at] = t.order[old]
		}
	}
	t.sorted = len(t.order)
	t.sorting++
}

// A cacheWalk is a position in the order of IDs. It stays valid when entries are added or removed.
type cacheWalk struct {
	at      int
	sorting int
	next    int64 // lowest ID that the walk has not seen
}

// step returns the slot of the next entry in a state. The caller has sorted the order.
func (t *cacheTable) step(w *cacheWalk, s cacheState) (slot int, ok bool) {
	if w.sorting != t.sorting {
		w.sorting = t.sorting
		w.at = t.seek(w.next)
	}
	for ; w.at < len(t.entries); w.at++ {
		if slot = t.slotAt(w.at); t.entries[slot].state == s {
			w.at++
			w.next = int64(t.entries[slot].id) + 1
			return slot, true
		}
	}
	return 0, false
}

// seek returns the index of the first entry whose ID is at least id.
func (t *cacheTable) seek(id int64) int {
	low, high := 0, len(t.entries)
	for low < high {
		middle := (low + high) / 2
		if int64(t.entries[t.slotAt(middle)].id) < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
