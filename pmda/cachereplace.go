package pmda

import "fmt"

// replace makes the entries of names active, in the full, and all others inactive. Of
// an inactive entry that is the same up to the first space a name takes the place. On
// an error nothing has changed. It returns the slots, and those of entries that have
// given way.
func (t *cacheTable) replace(names []string, now int64) (slots, culled []int, err error) {
	slots = make([]int, len(names))
	missing, err := t.findAll(names, slots)
	if err != nil {
		return nil, nil, err
	}
	if free := t.capacity() - int64(len(t.entries)); int64(missing) > free && missing > t.free() {
		return nil, nil, errNoIDs
	}
	for _, slot := range slots {
		if slot >= 0 {
			t.entries[slot].keep = true
		}
	}
	for slot := range t.entries {
		e := &t.entries[slot]
		if e.state == cacheActive && !e.keep {
			t.setState(slot, cacheInactive)
			e.stamp = now
		}
		e.keep = false
	}
	for i, slot := range slots {
		if slot >= 0 {
			t.activate(slot)
			continue
		}
		if other, ok := t.findName(names[i]); ok {
			t.setState(other, cacheCulled)
			culled = append(culled, other)
		}
		id, err := t.newID()
		if err != nil {
			return nil, nil, err // which free excludes
		}
		slots[i] = t.insert(cacheEntry{id: id, name: names[i], state: cacheActive}, "")
	}
	return slots, culled, nil
}

// findAll finds the entries of names, which are checked, and returns how many are
// missing. Their slots are -1.
func (t *cacheTable) findAll(names []string, slots []int) (missing int, err error) {
	shorts := make(map[string]int, len(names))
	for i, name := range names {
		if err := t.checkName(name); err != nil {
			return 0, fmt.Errorf("instance %q: %w", name, err)
		}
		short := t.short(name)
		if other, ok := shorts[short]; ok {
			return 0, sameShortName(names[other], name)
		}
		shorts[short] = i
		slot, ok := t.findName(name)
		if !ok || t.entries[slot].name != name {
			slot = -1
			missing++
		}
		slots[i] = slot
	}
	return missing, nil
}

func sameShortName(a, b string) error {
	if a == b {
		return fmt.Errorf("instance %q is given twice", a)
	}
	return fmt.Errorf("instances %q and %q are the same up to the first space", a, b)
}

// free is how many IDs are left.
func (t *cacheTable) free() int {
	n := t.capacity()
	for i := range t.entries {
		if int64(t.entries[i].id) < t.capacity() {
			n--
		}
	}
	return int(min(n, 1<<30))
}
