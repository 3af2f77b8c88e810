package pmda

import (
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Cache maps the names of instances to IDs and to values of the program. An instance that comes
// back gets the same ID. An active instance is in the domain now. An inactive instance is known but
// hidden from clients. An InDom whose field Cache is set has the active instances, in ascending
// order of ID. Load and Save keep the IDs in a file.
//
// Names are unique up to the first space. A Cache with "foo bar" finds it by "foo bar" and by
// "foo". Adding "foo baz" then fails with pdu.ErrInvalid.
//
// The zero Cache is empty and ready for use. It must not be copied. All methods are safe for
// concurrent use, even in the body of a loop over Active. The program must guard the memory that
// values point to.
//
// A Cache is the counterpart of pmdaCache(3). The comments of its methods name the C functions and
// operations.
type Cache[T any] struct {
	// File is the path where Load and Save keep the instances. The C library uses
	// /var/lib/pcp/config/pmda/60.1 for domain 60, serial 1. A C agent may use the file while this
	// agent does not run. Set File before the first call.
	File string
	// Strings makes it a Cache of arbitrary strings, each with a number. They may be empty, and
	// spaces have no meaning in them. Such a Cache cannot be the Cache of an InDom. Set Strings
	// before the first call. It is PMDA_CACHE_STRINGS.
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

// An InstanceCache is a *Cache with values of any type.
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

// entry returns the entry of a slot. The table is locked.
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

// Add makes the instance of a name active and sets its value. A new name gets the ID after the
// highest so far, starting with 0. After the highest possible ID, or after Reuse, it gets the
// lowest free ID. A known instance keeps its full name, even if the argument has only the part up
// to the first space, and loses its key.
//
// Errors: pdu.ErrInvalid if another instance has the same name up to the first space,
// pdu.ErrGeneric for a new name that ValidInstanceName does not accept or if no ID is free. It is
// pmdaCacheStore(3) with PMDA_CACHE_ADD.
func (c *Cache[T]) Add(name string, value T) (pdu.InstID, error) {
	c.lock()
	defer c.table.mu.Unlock()
	slot, err := c.table.add(name)
	return c.added(name, slot, value, err)
}

// AddKey is like Add but derives the ID from a key of any bytes, which must be unique. If the key
// is empty, the name is the key. A program on another host, or one that has lost its File, then
// gives the instance the same ID. The ID is a hash of the key, reduced to the range that Resize
// sets. If that ID is taken, AddKey tries up to nine more hashes. Later calls of Add reuse IDs, as
// after Reuse.
//
// Errors: pdu.ErrInst if the name has a different key or none, or the key a different name,
// pdu.ErrGeneric if all IDs that were tried are taken, and those of Add. It is pmdaCacheStoreKey(3)
// with PMDA_CACHE_ADD.
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

// Replace activates the instances of a sequence, such as maps.All of a map, and hides all others,
// in one step: clients see either the old instances or the new ones. New names get IDs in the order
// of the sequence, which is random for a map. Known instances keep their keys. A new name replaces
// an inactive instance with the same name up to the first space. On an error nothing has changed.
//
// Errors: two names that are the same up to the first space, a name that ValidInstanceName does not
// accept, no free ID. The C library has no such function.
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

// Hide makes the instance of a name inactive: clients do not see it, and it keeps its ID and value.
// Errors: pdu.ErrInst for an unknown name, pdu.ErrInvalid if a different name is the same up to the
// first space. It is pmdaCacheStore(3) with PMDA_CACHE_HIDE.
func (c *Cache[T]) Hide(name string) (pdu.InstID, error) {
	c.lock()
	defer c.table.mu.Unlock()
	slot, err := c.table.change(name, cacheInactive)
	if err != nil {
		return pdu.NoInst, &OpError{Op: "hide instance", Name: name, Err: err}
	}
	return c.table.entries[slot].id, nil
}

// Cull removes the instance of a name and its value, and returns its ID. The ID stays in use until
// Reorg, which runs automatically when the culled instances outnumber 1024 and all others. Errors:
// those of Hide. It is pmdaCacheStore(3) with PMDA_CACHE_CULL.
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

// ActivateAll makes all inactive instances active and returns their number. It is PMDA_CACHE_ACTIVE
// of pmdaCacheOp(3).
func (c *Cache[T]) ActivateAll() int { return c.changeAll(cacheInactive, cacheActive) }

// HideAll makes all active instances inactive and returns their number. Clients may see the empty
// domain before the Adds that follow; with Replace they do not. It is PMDA_CACHE_INACTIVE.
func (c *Cache[T]) HideAll() int { return c.changeAll(cacheActive, cacheInactive) }

// CullAll culls all instances and returns their number. It is PMDA_CACHE_CULL.
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

// LookupName finds an instance by its name, active or not. As in the C library, only the part of
// the name up to the first space counts. Compare the name of the entry if that is not enough. It is
// pmdaCacheLookupName(3).
func (c *Cache[T]) LookupName(name string) (CacheEntry[T], bool) {
	c.table.mu.RLock()
	defer c.table.mu.RUnlock()
	slot, ok := c.table.findName(name)
	return c.found(slot, ok)
}

// LookupKey finds an instance by the key of AddKey, active or not. It is pmdaCacheLookupKey(3).
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

// Active yields the active instances in ascending order of ID. The Cache may change meanwhile, even
// in the body of the loop. Active yields an instance if it is active when the loop reaches it. It
// is PMDA_CACHE_WALK_REWIND and PMDA_CACHE_WALK_NEXT.
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

// step returns the next entry of a walk. It locks the Cache only during the call.
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

// Size returns the numbers of active and inactive instances. They are PMDA_CACHE_SIZE_ACTIVE and
// PMDA_CACHE_SIZE_INACTIVE. There is no counterpart of PMDA_CACHE_SIZE, which counts all instances
// that were ever added.
func (c *Cache[T]) Size() (active, inactive int) {
	c.table.mu.RLock()
	defer c.table.mu.RUnlock()
	return c.table.active, c.table.inactive
}

// Purge culls the instances, active or not, whose time is longer ago than age, and returns their
// number. The time of an instance, in whole seconds, is that of the first Save or Sync after its
// latest Add, of the Replace that hid it, or the time in the File. Instances that were added since
// the latest Save or Sync stay. If purged is not nil, Purge calls it with each culled entry and its
// last value, in ascending order of ID, after all are culled. It is the counterpart of
// pmdaCachePurgeCallback(3), whose result also counts instances that were culled earlier, until
// Reorg.
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

// Reuse makes Add give the lowest free ID to a new name, instead of the ID after the highest. It
// cannot be undone. The next Save or Sync that writes the File saves the setting. It is
// PMDA_CACHE_REUSE.
func (c *Cache[T]) Reuse() {
	c.lock()
	defer c.table.mu.Unlock()
	c.table.reuse = true
}

// Resize sets the highest ID that Add and AddKey assign, 1<<31 - 1 at first. Sync saves it, and so
// does a Save that has another reason to write the File. Errors: pdu.ErrSign if highest is
// negative, pdu.ErrTooBig if an instance has a higher ID, even a culled one that Reorg has not
// dropped. It is pmdaCacheResize(3).
func (c *Cache[T]) Resize(highest pdu.InstID) error {
	c.lock()
	defer c.table.mu.Unlock()
	if err := c.table.resize(highest); err != nil {
		return &OpError{Op: "resize cache", Err: err}
	}
	return nil
}

// Reorg drops the culled instances. After Reuse their IDs are free again. A Cache with mostly
// culled instances does that automatically. It is PMDA_CACHE_REORG.
func (c *Cache[T]) Reorg() {
	c.lock()
	defer c.table.mu.Unlock()
	c.reorg()
}

// Load adds the instances of the File, inactive and with zero values, and returns the number of
// well-formed records in the File. An instance that the Cache already has keeps its state and
// value, and gets the key and the time (see Purge) from the File. After an error Load still adds
// the other instances, unless the first line is wrong. The error is that of the first wrong line,
// with the path and the line number.
//
// Errors: fs.ErrNotExist if there is no File; pdu.ErrGeneric for a line that is malformed, cut off
// or longer than 1022 bytes; an instance that Load ignores because it conflicts with another one in
// the Cache. Save does not overwrite a File that cannot be read, has more than 256 MiB or has no
// valid first line. It is PMDA_CACHE_LOAD, which stops at a malformed line.
func (c *Cache[T]) Load() (n int, err error) {
	c.lock()
	defer c.table.mu.Unlock()
	if n, err = c.table.read(c.File); err != nil {
		return n, &OpError{Op: "load instances", Err: err}
	}
	return n, nil
}

// Save writes the File if an instance has been added or culled since the File was written or
// loaded. It returns the number of instances in the new File, or 0 if Save had nothing to write.
// Save replaces the File in one step: a reader finds the old or the new File, even after a crash.
// Instances that were added since the latest Save get the present time as their time for Purge,
// even if File is empty.
//
// Save leaves out instances that the format cannot hold: those whose line would be longer than 1022
// bytes, instances without a key whose names begin with "[", and strings that are empty, begin with
// a space or tab, or contain a line end or NUL. Errors: those of writing, and the error of Load if
// Load could not read the File. It is PMDA_CACHE_SAVE.
func (c *Cache[T]) Save() (n int, err error) { return c.save(false) }

// Sync is like Save but also writes the File if a known instance has been added again, so that its
// time for Purge survives a restart. It is PMDA_CACHE_SYNC.
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
