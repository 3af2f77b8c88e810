package pmda

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// maxGoneNames is the number of names without an instance that SetNames remembers. If there are
// more instances than that, it remembers as many names as instances. Beyond the limit it forgets
// those that have been gone for longest, down to three quarters of the limit.
const maxGoneNames = 1 << 16

// SetNames replaces the instances by name, and returns the ID of each name, in the order of the
// names. Do not change that slice. A known name keeps its ID, even after it was gone for a while. A
// new name gets the next ID. Clients get the instances in ascending order of ID.
//
// Names must be unique up to the first space, as for SetInstances: "/order 200" and "/order 500"
// conflict, "/order::200" and "/order::500" do not. On an error the instances stay as they were.
// One bad name fails the call, so a program that gets names from elsewhere, such as names of
// devices, should leave out those that ValidInstanceName does not accept.
//
// Names are remembered until SetInstances, and in the File even after that. A name that is gone is
// forgotten when a new name is the same up to the first space. If more than 65536 names are gone,
// and more than there are instances, those that have been gone for longest are forgotten. A call
// with the same names as the previous call costs little.
//
// It is the counterpart of pmdaCacheStore(3) for all instances at once: Cache.Replace without
// values, on a private cache of the InDom. Errors: names that are invalid or conflict, no free ID,
// an InDom that has a Cache.
func (d *InDom) SetNames(names ...string) ([]pdu.InstID, error) {
	ids, err := d.setNames(names)
	if err != nil {
		return nil, d.opError(err)
	}
	return ids, nil
}

func (d *InDom) opError(err error) error {
	e := &OpError{Op: "set instances of", Name: d.Name, Err: err}
	if home := d.home.Load(); home != nil {
		e.Agent = home.agent.Name
	}
	return e
}

var errHasCache = errors.New("it has those of its Cache")

func (d *InDom) setNames(names []string) ([]pdu.InstID, error) {
	if d.Cache != nil {
		return nil, errHasCache
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names != nil && slices.Equal(names, d.names) {
		return d.nameIDs, nil
	}
	d.prepare()
	ids, err := d.cache.setNames(names, time.Now().Unix())
	if err != nil {
		return nil, err
	}
	if t := instanceTable(d.cache); d.names == nil {
		d.table.Store(&t)
	}
	d.nameIDs, d.names = ids, append(d.names[:0], names...)
	if d.names == nil {
		d.names = []string{}
	}
	d.saveNames()
	return ids, nil
}

// NameIDs returns the IDs that SetNames would give to names, without making them instances. It is
// for names that need stable IDs but are instances only for some clients, such as the network
// interfaces of a container. A new name gets the next ID, and is remembered as a name that is gone.
// A name gets pdu.NoInst if ValidInstanceName does not accept it, or if an instance has a different
// name that is the same up to the first space.
//
// NameIDs writes the File once if any name is new, so pass all names in one call. Errors: no free
// ID, an InDom that has a Cache.
func (d *InDom) NameIDs(names ...string) ([]pdu.InstID, error) {
	ids, err := d.nameIDsOf(names)
	if err != nil {
		return nil, d.opError(err)
	}
	return ids, nil
}

func (d *InDom) nameIDsOf(names []string) ([]pdu.InstID, error) {
	if d.Cache != nil {
		return nil, errHasCache
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prepare()
	ids, err := d.cache.nameIDs(names, time.Now().Unix())
	d.saveNames()
	return ids, err
}

// prepare makes the cache and loads the names in the file.
func (d *InDom) prepare() {
	if d.cache == nil {
		d.newCache()
	}
	if d.File != "" && !d.loaded {
		d.load()
	}
}

// saveNames writes the file if a name is new.
func (d *InDom) saveNames() {
	if d.loaded && d.cache.changed && d.cache.foreign == nil {
		_, err := d.cache.save(d.File, false)
		d.logFileError(err, "instance file cannot be written")
	}
}

// newCache makes a cache of the present instances.
func (d *InDom) newCache() {
	d.cache = &cacheTable{exact: true}
	for _, i := range d.Instances() {
		d.cache.insert(cacheEntry{id: i.ID, name: i.Name, state: cacheActive}, "")
	}
}

// load adds the instances of the file to the cache.
func (d *InDom) load() {
	d.loaded = true
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	if _, err := d.cache.read(d.File); !errors.Is(err, fs.ErrNotExist) {
		d.logFileError(err, "instance file cannot be read")
	}
}

// logFileError logs an error of the file.
func (d *InDom) logFileError(err error, msg string) {
	if home := d.home.Load(); home != nil && err != nil && d.fileLog.isNew(home.agent, err.Error()) {
		home.agent.warn(err, msg, slog.String("indom", d.Name))
	}
}

// setNames makes exactly the entries of names active, and returns their IDs. It forgets names if
// too many are gone.
func (t *cacheTable) setNames(names []string, now int64) ([]pdu.InstID, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slots, _, err := t.replace(names, now)
	if err == errNoIDs && t.culled > 0 {
		t.reorg(func(int, int) {})
		slots, _, err = t.replace(names, now)
	}
	if err != nil {
		return nil, err
	}
	ids := make([]pdu.InstID, len(slots))
	for i, slot := range slots {
		ids[i] = t.entries[slot].id
	}
	t.forgetGone()
	return ids, nil
}

// nameIDs returns the IDs of names. It adds new names as inactive entries.
func (t *cacheTable) nameIDs(names []string, now int64) (ids []pdu.InstID, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.forgetGone()
	ids = make([]pdu.InstID, len(names))
	for i, name := range names {
		if ids[i], err = t.nameID(name, now); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (t *cacheTable) nameID(name string, now int64) (pdu.InstID, error) {
	if t.checkName(name) != nil {
		return pdu.NoInst, nil
	}
	if slot, ok := t.findName(name); ok {
		e := &t.entries[slot]
		switch {
		case e.name == name:
			if e.state == cacheInactive {
				e.stamp = now // it is in use, so it is not among the first to be forgotten
			}
			return e.id, nil
		case e.state == cacheActive:
			return pdu.NoInst, nil
		}
		t.setState(slot, cacheCulled)
	}
	id, err := t.newID()
	if err == errNoIDs && t.culled > 0 {
		t.reorg(func(int, int) {})
		id, err = t.newID()
	}
	if err != nil {
		return 0, err
	}
	t.insert(cacheEntry{id: id, name: name, state: cacheInactive, stamp: now}, "")
	return id, nil
}

// forgetGone forgets names if too many are gone.
func (t *cacheTable) forgetGone() {
	if most := max(maxGoneNames, t.active); t.inactive > most {
		t.forget(t.inactive - most*3/4)
	}
	if t.overdue() {
		t.reorg(func(int, int) {})
	}
}

// forget culls the n entries that have been inactive for longest.
func (t *cacheTable) forget(n int) {
	gone := make([]int, 0, t.inactive)
	for slot := range t.entries {
		if t.entries[slot].state == cacheInactive {
			gone = append(gone, slot)
		}
	}
	slices.SortStableFunc(gone, func(a, b int) int { return cmp.Compare(t.entries[a].stamp, t.entries[b].stamp) })
	for _, slot := range gone[:n] {
		t.setState(slot, cacheCulled)
	}
}
