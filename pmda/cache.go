package pmda

import (
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Cache remembers instances by name, so that each has the same ID whenever it comes
// back, and a value of the program with each. An instance is active, a part of the
// domain now, or inactive, known but hidden from clients. An InDom with the Cache in
// its field of that name has the active instances, in ascending order of ID; with Load
// and Save the IDs outlast the program.
//
// Names are unique up to the first space. Where a Cache has "foo bar", it finds that by
// "foo bar" and by "foo"; to add "foo baz" is an error, whose code is -EINVAL.
//
// The zero Cache is empty and ready for use. It must not be copied. All methods may be
// called by several goroutines at once, also in the body of a loop over Active. What a
// value points to is the program's to guard. It is pmdaCache of the C library; the
// comments name its functions and operations.
type Cache[T any] struct {
	// File is where Load and Save keep the instances, such as
	// /var/lib/pcp/config/pmda/60.1, where the C library keeps those of domain 60,
	// serial 1. A C agent may use it when this one does not run. It is set before the
	// first call.
	File string
	// Strings makes the Cache one of arbitrary strings, of which each gets a number:
	// spaces mean nothing in them, and they may be empty. It is no Cache of an InDom.
	// It is set before the first call. It is PMDA_CACHE_STRINGS.
	Strings bool

	saving sync.Mutex // held while the file is written
	table  cacheTable // its mu guards the values too
	values []T        // by slot
}

// A CacheEntry is an instance of a Cache.
type CacheEntry[T any] struct {
	pdu.Instance
	Key    string // of AddKey; empty if it has none
	Active bool   // a part of the domain now: PMDA_CACHE_ACTIVE
	Value  T      // of the latest Add; the zero T after Load
}

// An InstanceCache is a *Cache of any type of values.
type InstanceCache interface {
	instances() *cacheTable
	strings() bool
}

func (c *Cache[T]) instances() *cacheTable {
	if c == nil {
		return nil
	}
	return &c.table
}

func (c *Cache[T]) strings() bool { return c.Strings }

// lock locks the table for a change.
func (c *Cache[T]) lock() {
	c.table.mu.Lock()
	c.table.whole = c.Strings
}

// set gives an entry a value. The table is locked.
func (c *Cache[T]) set(slot int, value T) {
	c.grow()
	c.values[slot] = value
}

// entry is the entry of a slot. The table is locked.
func (c *Cache[T]) entry(slot int) CacheEntry[T] {
	e := &c.table.entries[slot]
	entry := CacheEntry[T]{Instance: pdu.Instance{ID: e.id, Name: e.name}, Key: c.table.keys[slot], Active: e.state == cacheActive}
	if slot < len(c.values) {
		entry.Value = c.values[slot]
	}
	return entry
}

// drop releases culled entries once they are too many. The table is locked.
func (c *Cache[T]) drop() {
	if c.table.overdue() {
		c.reorg()
	}
}

// grow gives every slot a value. The table is locked.
func (c *Cache[T]) grow() {
	if n := len(c.table.entries) - len(c.values); n > 0 {
		c.values = append(c.values, make([]T, n)...)
	}
}

func (c *Cache[T]) reorg() {
	c.grow()
	c.table.reorg(func(from, to int) { c.values[to] = c.values[from] })
	c.values = slices.Clone(c.values[:len(c.table.entries)])
}

// Add makes the instance of a name active and gives it a value in place of that which
// it had. A name that the Cache does not know gets the next ID: the one after the
// highest of all so far, 0 first; once there is none after it, or after Reuse, the
// lowest that no instance has. The instance keeps the name that it has, also if the
// name is just the part up to the first space; it loses a key.
//
// Errors: -EINVAL if another instance is the same up to the first space; pdu.ErrGeneric
// for a new name that ValidInstanceName does not accept, or if there are no IDs left.
// It is pmdaCacheStore(3) with PMDA_CACHE_ADD.
func (c *Cache[T]) Add(name string, value T) (pdu.InstID, error) {
	c.lock()
	defer c.table.mu.Unlock()
	slot, err := c.table.add(name)
	return c.added(name, slot, value, err)
}

// AddKey is Add with an ID that follows from a key, any bytes that no other instance
// has; if it is empty, the name is the key. A program on another host, or after the
// loss of its File, thus gives an instance the same ID. The ID is a hash of the key,
// reduced to the range that Resize sets; if another instance has it, up to nine more
// hashes are tried. From then on Add uses IDs again, as after Reuse.
//
// Errors: pdu.ErrInst if the name has another key or none, or the key another name;
// pdu.ErrGeneric if all IDs that were tried are in use; those of Add. It is
// pmdaCacheStoreKey(3) with PMDA_CACHE_ADD.
func (c *Cache[T]) AddKey(name, key string, value T) (pdu.InstID, error) {
	c.lock()
	defer c.table.mu.Unlock()
	slot, err := c.table.addKey(name, key)
	return c.added(name, slot, value, err)
}

func (c *Cache[T]) added(name string, slot int, value T, err error) (pdu.InstID, error) {
	if err != nil {
		return pdu.NoInst, &OpError{Op: "add instance", Name: name, Err: err}
	}
	c.set(slot, value)
	return c.table.entries[slot].id, nil
}

// Replace makes the instances of a sequence, such as maps.All of a map, the active
// ones, and hides all others, in one step: clients see the old instances or the new.
// New names get IDs in their order. Keys stay. An instance that is inactive gives way
// to a new one that is the same up to the first space. On an error nothing has changed.
// Errors: names that are the same up to the first space, or that ValidInstanceName does
// not accept; no IDs left. The C library has no such function.
func (c *Cache[T]) Replace(all iter.Seq2[string, T]) error {
	var names []string
	var values []T
	for name, value := range all { // which may use the Cache
		names, values = append(names, name), append(values, value)
	}
	c.lock()
	defer c.table.mu.Unlock()
	slots, culled, err := c.table.replace(names, time.Now().Unix())
	if err != nil {
		return &OpError{Op: "replace instances", Err: err}
	}
	var none T
	for _, slot := range culled {
		c.set(slot, none)
	}
	for i, slot := range slots {
		c.set(slot, values[i])
	}
	c.drop()
	return nil
}

// Hide makes the instance of a name inactive: clients do not see it, and it keeps its
// ID and value. Errors: pdu.ErrInst if the Cache does not know it, -EINVAL if it knows
// one that is the same up to the first space. It is pmdaCacheStore(3) with
// PMDA_CACHE_HIDE.
func (c *Cache[T]) Hide(name string) (pdu.InstID, error) {
	c.lock()
	defer c.table.mu.Unlock()
	slot, err := c.table.change(name, cacheInactive)
	if err != nil {
		return pdu.NoInst, &OpError{Op: "hide instance", Name: name, Err: err}
	}
	return c.table.entries[slot].id, nil
}

// Cull forgets the instance of a name, and its value. Its ID stays in use until Reorg,
// or until more than 1024 instances, and more than there are others, have been culled.
// It returns the ID. Errors: as for Hide. It is pmdaCacheStore(3) with PMDA_CACHE_CULL.
func (c *Cache[T]) Cull(name string) (pdu.InstID, error) {
	c.lock()
	defer c.table.mu.Unlock()
	slot, err := c.table.change(name, cacheCulled)
	if err != nil {
		return pdu.NoInst, &OpError{Op: "cull instance", Name: name, Err: err}
	}
	id := c.table.entries[slot].id
	var none T
	c.set(slot, none)
	c.drop()
	return id, nil
}

// ActivateAll makes all inactive instances active, and returns how many. It is
// PMDA_CACHE_ACTIVE of pmdaCacheOp(3).
func (c *Cache[T]) ActivateAll() int { return c.changeAll(cacheInactive, cacheActive) }

// HideAll makes all active instances inactive, and returns how many. It is
// PMDA_CACHE_INACTIVE. Replace lets no client see the time between it and the
// Adds that follow.
func (c *Cache[T]) HideAll() int { return c.changeAll(cacheActive, cacheInactive) }

// CullAll culls all instances, and returns how many. It is PMDA_CACHE_CULL.
func (c *Cache[T]) CullAll() int {
	c.lock()
	defer c.table.mu.Unlock()
	n := c.table.changeAll(cacheCulled, cacheCulled)
	clear(c.values)
	c.drop()
	return n
}

func (c *Cache[T]) changeAll(from, to cacheState) int {
	c.lock()
	defer c.table.mu.Unlock()
	return c.table.changeAll(from, to)
}

// Lookup finds an instance by its ID, active or not. It is pmdaCacheLookup(3).
func (c *Cache[T]) Lookup(id pdu.InstID) (CacheEntry[T], bool) {
	c.table.mu.RLock()
	defer c.table.mu.RUnlock()
	slot, ok := c.table.lookupID(id)
	return c.found(slot, ok)
}

// LookupName finds an instance by its name, active or not. As in the C library only the
// part of the name up to the first space matters: compare the name of the entry if that
// is not enough. It is pmdaCacheLookupName(3).
func (c *Cache[T]) LookupName(name string) (CacheEntry[T], bool) {
	c.table.mu.RLock()
	defer c.table.mu.RUnlock()
	slot, ok := c.table.findName(name)
	return c.found(slot, ok)
}

// LookupKey finds an instance by the key of AddKey, active or not. One that was added
// without a key has none. It is pmdaCacheLookupKey(3).
func (c *Cache[T]) LookupKey(key string) (CacheEntry[T], bool) {
	c.table.mu.RLock()
	defer c.table.mu.RUnlock()
	slot, ok := c.table.findKey(key)
	return c.found(slot, ok)
}

func (c *Cache[T]) found(slot int, ok bool) (CacheEntry[T], bool) {
	if !ok {
		return CacheEntry[T]{Instance: pdu.Instance{ID: pdu.NoInst}}, false
	}
	return c.entry(slot), true
}

// Active yields the active instances in ascending order of ID. The Cache may change
// meanwhile, also in the body of the loop: an instance is yielded if it is active when
// its turn comes. It is PMDA_CACHE_WALK_REWIND and PMDA_CACHE_WALK_NEXT.
func (c *Cache[T]) Active() iter.Seq[CacheEntry[T]] { return c.walk(cacheActive) }

// Inactive yields the inactive instances as Active does the active ones. The C library
// has no such operation.
func (c *Cache[T]) Inactive() iter.Seq[CacheEntry[T]] { return c.walk(cacheInactive) }

func (c *Cache[T]) walk(s cacheState) iter.Seq[CacheEntry[T]] {
	return func(yield func(CacheEntry[T]) bool) {
		var w cacheWalk
		for {
			e, ok := c.step(&w, s)
			if !ok || !yield(e) {
				return
			}
		}
	}
}

// step returns the next entry of a walk. The Cache is locked for no longer.
func (c *Cache[T]) step(w *cacheWalk, s cacheState) (CacheEntry[T], bool) {
	c.table.mu.RLock()
	if c.table.inOrder() {
		defer c.table.mu.RUnlock()
	} else {
		c.table.mu.RUnlock()
		c.table.mu.Lock()
		defer c.table.mu.Unlock()
		c.table.sort()
	}
	slot, ok := c.table.step(w, s)
	if !ok {
		return CacheEntry[T]{}, false
	}
	return c.entry(slot), true
}

// Size is how many instances are active and how many inactive. They are
// PMDA_CACHE_SIZE_ACTIVE and PMDA_CACHE_SIZE_INACTIVE; PMDA_CACHE_SIZE counts all that
// were ever added.
func (c *Cache[T]) Size() (active, inactive int) {
	c.table.mu.RLock()
	defer c.table.mu.RUnlock()
	return c.table.active, c.table.inactive
}

// Purge culls the instances, active or not, that have not been added for longer than an
// age, and returns how many. The time of an instance, in whole seconds, is that of the
// first Save or Sync after its latest Add, or what the File has; those that were added
// since the latest Save or Sync stay. purged, if not nil, is called for each of them
// when all are culled, in ascending order of ID, with its last value. It is
// pmdaCachePurgeCallback(3), which counts culled instances again until Reorg.
func (c *Cache[T]) Purge(age time.Duration, purged func(CacheEntry[T])) int {
	entries, n := c.purge(time.Now().Add(-age).Unix(), purged != nil)
	for _, e := range entries {
		purged(e)
	}
	return n
}

func (c *Cache[T]) purge(before int64, want bool) (entries []CacheEntry[T], n int) {
	c.lock()
	defer c.table.mu.Unlock()
	c.grow()
	var none T
	n = c.table.expire(before, func(slot int) {
		if want {
			entries = append(entries, c.entry(slot))
		}
		c.values[slot] = none
	})
	c.drop()
	return entries, n
}

// Reuse makes Add give the lowest free ID to a new name, not the one after the highest.
// Save keeps that too, and there is no way back. It is PMDA_CACHE_REUSE.
func (c *Cache[T]) Reuse() {
	c.lock()
	defer c.table.mu.Unlock()
	c.table.reuse = true
}

// Resize sets the highest ID that Add and AddKey give, 1<<31 - 1 at first. Save keeps it. Errors:
// pdu.ErrSign if it is negative; pdu.ErrTooBig if an instance has a higher one, also if
// it has been culled but not dropped by Reorg. It is pmdaCacheResize(3).
func (c *Cache[T]) Resize(highest pdu.InstID) error {
	c.lock()
	defer c.table.mu.Unlock()
	if err := c.table.resize(highest); err != nil {
		return &OpError{Op: "resize cache", Err: err}
	}
	return nil
}

// Reorg drops the culled instances. After Reuse their IDs can be used again. A Cache in
// which most have been culled does so by itself. It is PMDA_CACHE_REORG.
func (c *Cache[T]) Reorg() {
	c.lock()
	defer c.table.mu.Unlock()
	c.reorg()
}

// Load adds the instances of the File, inactive and with zero values, and returns how
// many records the File has. An instance that is in the Cache already keeps its state
// and value, and gets the key and the time, see Purge, that the File has for it. After
// an error the other instances of the File are in the Cache all the same. The error is
// that of the first line that is wrong, and has the path and the line.
//
// Errors: one that is fs.ErrNotExist if there is no File; pdu.ErrGeneric for a line
// that is malformed, cut off or longer than 1022 bytes; an instance that is left out
// since the Cache has another with its ID or name, or the same key. A File that cannot
// be read, has more than 256 MiB or does not begin as one is left alone by Save. It is
// PMDA_CACHE_LOAD, which stops at a malformed line.
func (c *Cache[T]) Load() (n int, err error) {
	c.lock()
	defer c.table.mu.Unlock()
	if n, err = c.table.read(c.File); err != nil {
		return n, &OpError{Op: "load instances", Err: err}
	}
	return n, nil
}

// Save writes the File if an instance has been added or culled since it was written or
// loaded, and returns how many instances it has then, or 0 if nothing is to be
// done. The File is replaced in one step: a reader, also after a crash, finds the old
// one or the new. Instances that were added since have the present time as that of
// Purge from then on; for this there need be no File.
//
// Instances that the format cannot hold are left out: whose line would be longer than
// 1022 bytes, names that begin with a bracket and have no key, and strings that are
// empty, begin with a blank or have line ends. Errors: those of writing; that of Load
// where the File was no such file. It is PMDA_CACHE_SAVE.
func (c *Cache[T]) Save() (n int, err error) { return c.save(false) }

// Sync is Save, and writes the File also if an instance has been added again, so that
// Purge knows that after a restart too. It is PMDA_CACHE_SYNC.
func (c *Cache[T]) Sync() (n int, err error) { return c.save(true) }

func (c *Cache[T]) save(stamps bool) (int, error) {
	c.saving.Lock()
	defer c.saving.Unlock()
	n, err := c.table.save(c.File, stamps)
	if err != nil {
		return 0, &OpError{Op: "save instances", Err: err}
	}
	return n, nil
}
