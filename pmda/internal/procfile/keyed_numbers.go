package procfile

// KeyedNumbers are the numbers of a file that gives each a name, in lines like "MemFree:   1234
// kB" or "nr_dirty 12". Only numbers whose names were given to Index before the first line are
// kept.
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

// Empty reports whether no names were given to Index.
func (k *KeyedNumbers) Empty() bool { return len(k.vals) == 0 }

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

// ParseLine parses one line. It ignores a line without a name and a number; the unit may be "kB".
func (k *KeyedNumbers) ParseLine(line []byte) {
	if len(k.names) == 0 {
		return
	}
	at, rest, ok := k.cutName(line)
	if !ok {
		return
	}
	v, rest, ok := CutUint(rest)
	if ok && (len(rest) == 0 || string(rest) == " kB" || isUnit(rest)) {
		k.vals[at], k.known[at] = v, true
	}
}

// isUnit reports whether the rest of a line is blank, or kB.
func isUnit(rest []byte) bool {
	unit, rest := CutField(rest)
	more, _ := CutField(rest)
	return len(more) == 0 && (len(unit) == 0 || string(unit) == "kB")
}

// cutName returns the index of the name that begins a line, and the rest of the line. The name
// ends before a blank or a colon. ok is false if the name is not one that is kept.
func (k *KeyedNumbers) cutName(line []byte) (at int, rest []byte, ok bool) {
	at = k.next[k.last]
	if name := k.names[at]; len(line) > len(name) && string(line[:len(name)]) == name && endsName(line[len(name)]) {
		k.last = at
		return at, line[len(name)+1:], true
	}
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	end := 0
	for end < len(line) && !endsName(line[end]) {
		end++
	}
	if at, ok = k.index[string(line[:end])]; !ok || end == len(line) {
		return 0, nil, false
	}
	k.next[k.last] = at
	k.last = at
	return at, line[end+1:], true
}

func endsName(c byte) bool { return c == ':' || isBlank(c) }
