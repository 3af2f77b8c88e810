package procfile

import "bytes"

// KeyedNumbers are the numbers of a file in which each has a name, in lines like
// "MemFree:   1234 kB" or "nr_dirty 12". Only those are kept whose names have been
// given to Index before the first Parse.
type KeyedNumbers struct {
	index map[string]int // by name
	names []string
	vals  []uint64
	known []bool // found in this reading

	// Lines come in the same order each time: next is the index of the number that
	// came after each, and last that of the number that came last.
	next []int
	last int
}

// Index returns the index of the number with a name, which it adds if it is new.
func (k *KeyedNumbers) Index(name string) int {
	at, ok := k.index[name]
	if !ok {
		if k.index == nil {
			k.index = map[string]int{}
		}
		at = len(k.vals)
		k.index[name] = at
		k.names = append(k.names, name)
		k.vals, k.known, k.next = append(k.vals, 0), append(k.known, false), append(k.next, 0)
	}
	return at
}

// Get returns the number at an index. It is not ok if the last reading has not found
// it.
func (k *KeyedNumbers) Get(at int) (v uint64, ok bool) { return k.vals[at], k.known[at] }

// Empty reports whether there are no names.
func (k *KeyedNumbers) Empty() bool { return len(k.vals) == 0 }

// Parse parses a whole file.
func (k *KeyedNumbers) Parse(text []byte) error {
	k.Clear()
	for line := range Lines(text) {
		k.ParseLine(line)
	}
	return nil
}

// Clear forgets the numbers, not their names.
func (k *KeyedNumbers) Clear() { clear(k.known) }

// Clone returns a KeyedNumbers for another file with the same names, without numbers.
// Neither may get a new name after it.
func (k *KeyedNumbers) Clone() KeyedNumbers {
	n := len(k.names)
	return KeyedNumbers{index: k.index, names: k.names, vals: make([]uint64, n), known: make([]bool, n), next: make([]int, n)}
}

// CopyFrom takes over the numbers of a clone.
func (k *KeyedNumbers) CopyFrom(clone *KeyedNumbers) {
	copy(k.vals, clone.vals)
	copy(k.known, clone.known)
}

// ParseLine parses one line. What is no name and number, perhaps of kilobytes, is
// left out.
func (k *KeyedNumbers) ParseLine(line []byte) {
	name, rest, ok := bytes.Cut(line, []byte(":"))
	if ok {
		name, _ = CutField(name)
	} else {
		name, rest = CutField(line)
	}
	at, ok := k.find(name)
	if !ok {
		return
	}
	v, rest, ok := CutUint(rest)
	unit, rest := CutField(rest)
	more, _ := CutField(rest)
	if ok && len(more) == 0 && (len(unit) == 0 || string(unit) == "kB") {
		k.vals[at], k.known[at] = v, true
	}
}

// find is the index of a name, not ok if it is none of those that are kept.
func (k *KeyedNumbers) find(name []byte) (at int, ok bool) {
	if len(k.names) == 0 {
		return 0, false
	}
	if at = k.next[k.last]; k.names[at] != string(name) {
		if at, ok = k.index[string(name)]; !ok {
			return 0, false
		}
		k.next[k.last] = at
	}
	k.last = at
	return at, true
}
