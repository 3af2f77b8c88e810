package pmda

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
)

type cacheState uint8

const (
	cacheCulled   cacheState = iota // unknown, but its ID is taken until reorg
	cacheInactive                   // hidden
	cacheActive
)

// A cacheEntry is the state of an instance in a Cache, except for its value and key. It has 32
// bytes, so that a lookup loads one line of the processor's cache.
type cacheEntry struct {
	name  string
	stamp int64 // when it was saved last, in seconds since 1970; 0 if it was added since
	id    pdu.InstID
	state cacheState
	keep  bool // replace keeps it active; false outside replace
}

// A cacheTable is a Cache without the values. Entries and values have the same slots, the indexes
// of entries.
type cacheTable struct {
	mu sync.RWMutex // guards what follows

	whole bool  // names tell entries apart as a whole, not up to the first space
	exact bool  // requests name instances in full, or by the part up to the first space
	limit int64 // newly assigned IDs are below it; 0 means 1<<31
	reuse bool  // the lowest free ID is next, not the one after the highest

	entries []cacheEntry
	byName  cacheIndex     // of the entries that are not culled
	keys    map[int]string // by slot; few entries have a key
	byKey   cacheIndex     // of the keys
	byID    cacheIndex     // empty as long as the IDs are the slots
	sparse  bool           // byID has all entries
	order   []uint32       // slots, the first sorted of them by ID; nil if all are in that order
	sorted  int
	sorting int   // how often order has changed other than by growing
	next    int64 // the highest ID of an entry, plus 1
	low     int64 // all IDs below it are in use

	active, inactive, culled int

	changed   bool  // entries were added or culled since the table was saved
	restamped bool  // entries were added, or added again
	foreign   error // the file could not be read, so save must not replace it

	listed atomic.Pointer[[]pdu.Instance] // the active instances; nil if list must collect them
}

func (t *cacheTable) capacity() int64 {
	if t.limit != 0 {
		return t.limit
	}
	return 1 << 31
}

// short returns the part of a name that tells entries apart.
func (t *cacheTable) short(name string) string {
	if t.whole {
		return name
	}
	short, _, _ := strings.Cut(name, " ")
	return short
}

// matches reports whether a name denotes an entry that has the same name up to the first space: the
// name is either the full name or only that part.
func (t *cacheTable) matches(cached, name string) bool {
	return cached == name || !t.whole && len(name) < len(cached) && !strings.Contains(name, " ")
}

// findName finds an entry that has not been culled by the part of its name up to the
// first space.
func (t *cacheTable) findName(name string) (slot int, ok bool) {
	short := t.short(name)
	return t.byName.find(hashName(short), func(slot int) bool { return t.short(t.entries[slot].name) == short })
}

// findID finds an entry by its ID, even a culled one.
func (t *cacheTable) findID(id pdu.InstID) (slot int, ok bool) {
	if id >= 0 && int64(id) < int64(len(t.entries)) && t.entries[id].id == id {
		return int(id), true
	}
	return t.byID.find(hashID(id), func(slot int) bool { return t.entries[slot].id == id })
}

// lookupID finds an entry that has not been culled by its ID.
func (t *cacheTable) lookupID(id pdu.InstID) (slot int, ok bool) {
	slot, ok = t.findID(id)
	return slot, ok && t.entries[slot].state != cacheCulled
}

// checkName returns an error if a new entry cannot have the name.
func (t *cacheTable) checkName(name string) error {
	if t.whole {
		return nil
	}
	if err := checkInstanceName(name); err != nil {
		return fmt.Errorf("%w: %w", err, pdu.ErrGeneric)
	}
	return nil
}

// add makes an entry active, with no key; see Cache.Add.
func (t *cacheTable) add(name string) (slot int, err error) {
	slot, ok := t.findName(name)
	if !ok {
		if err := t.checkName(name); err != nil {
			return 0, err
		}
		id, err := t.newID()
		if err != nil {
			return 0, err
		}
		return t.insert(cacheEntry{id: id, name: name, state: cacheActive}, ""), nil
	}
	if cached := t.entries[slot].name; !t.matches(cached, name) {
		return 0, conflict(cached)
	}
	t.setKey(slot, "")
	t.activate(slot)
	return slot, nil
}

// newID returns the ID of a new entry: the one after the highest, or the lowest free one if the
// highest ID has reached the limit. If the highest ID is above the limit, because loading a file
// has lowered the limit, newID continues after it, as the C library does.
func (t *cacheTable) newID() (pdu.InstID, error) {
	if !t.reuse && t.next != t.capacity() && t.next < 1<<31 {
		return pdu.InstID(t.next), nil
	}
	t.reuse = true
	for ; t.low < t.capacity(); t.low++ {
		if _, used := t.findID(pdu.InstID(t.low)); !used {
			return pdu.InstID(t.low), nil
		}
	}
	return 0, errNoIDs
}

// insert adds an entry. Its ID must be free.
func (t *cacheTable) insert(e cacheEntry, key string) (slot int) {
	slot = len(t.entries)
	t.entries = append(t.entries, e)
	switch {
	case t.sparse:
		t.byID.add(hashID(e.id), slot)
	case int(e.id) != slot:
		t.sparse = true
		t.byID.grow(slot + 1)
		for s := range t.entries {
			t.byID.add(hashID(t.entries[s].id), s)
		}
	}
	t.noteOrder(slot)
	t.next = max(t.next, int64(e.id)+1)
	t.enter(slot, key)
	return slot
}

// claim is like insert, but a culled entry may have the ID. The new entry replaces it.
func (t *cacheTable) claim(e cacheEntry, key string) (slot int) {
	slot, ok := t.findID(e.id)
	if !ok {
		return t.insert(e, key)
	}
	t.entries[slot] = e
	t.culled--
	t.enter(slot, key)
	return slot
}

// enter counts a new entry, active or not, and adds it to the indexes of names and keys.
func (t *cacheTable) enter(slot int, key string) {
	e := &t.entries[slot]
	t.byName.add(hashName(t.short(e.name)), slot)
	t.setKey(slot, key)
	*t.count(e.state)++
	t.changed, t.restamped = true, true
	if e.state == cacheActive {
		t.relist(e)
	}
}

// activate makes an entry active.
func (t *cacheTable) activate(slot int) {
	e := &t.entries[slot]
	e.stamp, t.restamped = 0, true
	if e.state != cacheActive {
		t.setState(slot, cacheActive)
	}
}

// setState changes the state of an entry that is not culled to a different state.
func (t *cacheTable) setState(slot int, s cacheState) {
	e := &t.entries[slot]
	*t.count(e.state)--
	*t.count(s)++
	if s == cacheCulled {
		t.byName.remove(hashName(t.short(e.name)), slot)
		t.setKey(slot, "")
		e.name = ""
		t.changed = true
	}
	before := e.state
	e.state = s
	if s == cacheActive {
		t.relist(e)
	} else if before == cacheActive {
		t.listed.Store(nil)
	}
}

func (t *cacheTable) count(s cacheState) *int {
	return [...]*int{cacheCulled: &t.culled, cacheInactive: &t.inactive, cacheActive: &t.active}[s]
}

// relist adds an instance that has become active to the list of active instances if its ID is the
// highest. Otherwise it drops the list.
func (t *cacheTable) relist(e *cacheEntry) {
	l := t.listed.Load()
	if l == nil {
		return
	}
	if n := len(*l); n > 0 && (*l)[n-1].ID > e.id {
		t.listed.Store(nil)
		return
	}
	longer := append(*l, pdu.Instance{ID: e.id, Name: e.name}) // readers of the shorter list do not see it
	t.listed.Store(&longer)
}

// list returns the active instances in ascending order of ID. Callers must not change the slice.
func (t *cacheTable) list() []pdu.Instance {
	if l := t.listed.Load(); l != nil {
		return *l
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []pdu.Instance
	if t.active > 0 {
		list = make([]pdu.Instance, 0, t.active)
	}
	t.sort()
	for at := range t.entries {
		if e := &t.entries[t.slotAt(at)]; e.state == cacheActive {
			list = append(list, pdu.Instance{ID: e.id, Name: e.name})
		}
	}
	t.listed.Store(&list)
	return list
}

// id finds an active instance.
func (t *cacheTable) id(id pdu.InstID) (pdu.Instance, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	slot, ok := t.findID(id)
	if !ok || t.entries[slot].state != cacheActive {
		return pdu.Instance{}, false
	}
	return pdu.Instance{ID: id, Name: t.entries[slot].name}, true
}

// name finds an active instance. As in the C library only the part up to the first space counts,
// unless the table is exact.
func (t *cacheTable) name(name string) (pdu.Instance, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	slot, ok := t.findName(name)
	if !ok {
		return pdu.Instance{}, false
	}
	e := &t.entries[slot]
	if e.state != cacheActive || t.exact && !t.matches(e.name, name) {
		return pdu.Instance{}, false
	}
	return pdu.Instance{ID: e.id, Name: e.name}, true
}

// change makes an entry inactive or culls it; see Cache.Hide.
func (t *cacheTable) change(name string, s cacheState) (slot int, err error) {
	slot, ok := t.findName(name)
	if !ok {
		return 0, pdu.ErrInst
	}
	e := &t.entries[slot]
	if !t.matches(e.name, name) {
		return 0, conflict(e.name)
	}
	if e.state != s {
		t.setState(slot, s)
	}
	return slot, nil
}

// changeAll changes all entries in the state from, or all that are not culled if from is
// cacheCulled. It returns their number.
func (t *cacheTable) changeAll(from, to cacheState) int {
	n := 0
	for slot := range t.entries {
		if s := t.entries[slot].state; s != cacheCulled && (s == from || from == cacheCulled) {
			t.setState(slot, to)
			n++
		}
	}
	return n
}

// resize sets the highest ID.
func (t *cacheTable) resize(highest pdu.InstID) error {
	if highest < 0 {
		return pdu.ErrSign
	}
	for i := range t.entries {
		if id := t.entries[i].id; id > highest {
			return fmt.Errorf("there is an instance %d: %w", id, pdu.ErrTooBig)
		}
	}
	t.limit, t.restamped = int64(highest)+1, true
	return nil
}

// expire culls the entries whose stamp is before a time, in ascending order of ID, and returns
// their number. It calls each for a slot before it culls the entry.
func (t *cacheTable) expire(before int64, each func(slot int)) (n int) {
	t.sort()
	for at := range t.entries {
		slot := t.slotAt(at)
		if e := &t.entries[slot]; e.state != cacheCulled && e.stamp != 0 && e.stamp < before {
			each(slot)
			t.setState(slot, cacheCulled)
			n++
		}
	}
	return n
}

// maxCulled is the number of culled entries that a table may keep without a reorg.
const maxCulled = 1024

// overdue reports whether so many entries are culled that reorg is worth its time: more than
// maxCulled, and more than all others.
func (t *cacheTable) overdue() bool { return t.culled > max(maxCulled, t.active+t.inactive) }

// reorg drops the culled entries. moved is called for every other entry, in ascending
// order of slots, with its slot from now on.
func (t *cacheTable) reorg(moved func(from, to int)) {
	kept, keys := 0, map[int]string{}
	for slot := range t.entries {
		if t.entries[slot].state == cacheCulled {
			continue
		}
		if key, ok := t.keys[slot]; ok {
			keys[kept] = key
		}
		t.entries[kept] = t.entries[slot]
		moved(slot, kept)
		kept++
	}
	t.entries = slices.Clone(t.entries[:kept])
	t.byName, t.byKey, t.byID, t.sparse = cacheIndex{}, cacheIndex{}, cacheIndex{}, false
	t.keys = keys
	t.order, t.sorted, t.culled, t.low = nil, 0, 0, 0
	t.sorting++
	t.byName.grow(kept)
	for slot := range t.entries {
		e := &t.entries[slot]
		t.byName.add(hashName(t.short(e.name)), slot)
		if key, ok := keys[slot]; ok {
			t.byKey.add(hashName(key), slot)
		}
		t.sparse = t.sparse || int(e.id) != slot
		t.noteOrder(slot)
	}
	for slot := range t.entries {
		if t.sparse {
			t.byID.add(hashID(t.entries[slot].id), slot)
		}
	}
}
