package pmda

import "fmt"

// replace makes the entries of names active, by their full names, and all others inactive. A new
// name replaces an inactive entry with the same name up to the first space. On an error nothing has
// changed. It returns the slots of names, and the slots of the replaced entries, which are culled.
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

// findAll checks names and finds their entries. It returns the number of missing ones. Their slots
// are -1.
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

// free returns the number of free IDs.
func (t *cacheTable) free() int {
	n := t.capacity()
	for i := range t.entries {
		if int64(t.entries[i].id) < t.capacity() {
			n--
		}
	}
	return int(min(n, 1<<30))
}
