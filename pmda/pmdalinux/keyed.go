package pmdalinux

import (
	"bytes"
	"context"
	"math/bits"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// keyed are the numbers of a file that gives each of them a name, in lines like
// "MemFree:   1234 kB" or "nr_dirty 12". Only those are kept whose names were
// asked for when the metrics were made.
type keyed struct {
	at    map[string]int // by name
	names []string
	vals  []uint64
	have  []bool // what this reading has

	// Lines come in the same order each time: next is which number came after each,
	// and last the one that came last.
	next []int
	last int
}

// key is the place of the number of a name.
func (k *keyed) key(name string) int {
	at, ok := k.at[name]
	if !ok {
		if k.at == nil {
			k.at = map[string]int{}
		}
		at = len(k.vals)
		k.at[name] = at
		k.names = append(k.names, name)
		k.vals, k.have, k.next = append(k.vals, 0), append(k.have, false), append(k.next, 0)
	}
	return at
}

// parse reads a whole file.
func (k *keyed) parse(text []byte) error {
	k.clear()
	for line := range wholeLines(text) {
		k.line(line)
	}
	return nil
}

// clear forgets the numbers.
func (k *keyed) clear() { clear(k.have) }

// another is for the numbers of the same names in another file. No name may be
// added after it.
func (k *keyed) another() keyed {
	n := len(k.names)
	return keyed{at: k.at, names: k.names, vals: make([]uint64, n), have: make([]bool, n), next: make([]int, n)}
}

// find is key for a name that may be one nobody asked for.
func (k *keyed) find(name []byte) (at int, ok bool) {
	if len(k.names) == 0 {
		return 0, false
	}
	if at = k.next[k.last]; k.names[at] != string(name) {
		if at, ok = k.at[string(name)]; !ok {
			return 0, false
		}
		k.next[k.last] = at
	}
	k.last = at
	return at, true
}

// line reads one line. What is no name and number, perhaps of kilobytes, is left
// out.
func (k *keyed) line(line []byte) {
	name, rest, ok := bytes.Cut(line, []byte(":"))
	if ok {
		name, _ = cutField(name)
	} else {
		name, rest = cutField(line)
	}
	at, ok := k.find(name)
	if !ok {
		return
	}
	v, rest, ok := cutUint(rest)
	unit, rest := cutField(rest)
	more, _ := cutField(rest)
	if ok && len(more) == 0 && (len(unit) == 0 || string(unit) == "kB") {
		k.vals[at], k.have[at] = v, true
	}
}

// get is the number at a place, false if the file has none.
func (k *keyed) get(at int) (uint64, bool) { return k.vals[at], k.have[at] }

// A number is one that a group has found, false for none.
type number func() (uint64, bool)

// number is that of a name.
func (k *keyed) number(name string) number {
	at := k.key(name)
	return func() (uint64, bool) { return k.get(at) }
}

// value makes the Value of a metric of it.
func (n number) value(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
	if v, ok := n(); ok {
		return v, nil
	}
	return 0, pmda.NoValue
}

// or is the number, or the other one if there is none.
func (n number) or(other number) number {
	return func() (uint64, bool) {
		if v, ok := n(); ok {
			return v, true
		}
		return other()
	}
}

// sum is that of two numbers, none if one is not there.
func sum(a, b number) number {
	return func() (uint64, bool) {
		x, ok1 := a()
		y, ok2 := b()
		return x + y, ok1 && ok2
	}
}

// less is what is left of a without b, none if that is less than nothing.
func less(a, b number) number {
	return func() (uint64, bool) {
		x, ok1 := a()
		y, ok2 := b()
		return x - y, ok1 && ok2 && x >= y
	}
}

// rest is less, but nothing where that has none because b is more.
func rest(a, b number) number {
	return func() (uint64, bool) {
		x, ok1 := a()
		y, ok2 := b()
		return x - min(x, y), ok1 && ok2
	}
}

// times is the product of two numbers, none if it does not fit.
func times(a, b number) number {
	return func() (uint64, bool) {
		x, ok1 := a()
		y, ok2 := b()
		over, v := bits.Mul64(x, y)
		return v, ok1 && ok2 && over == 0
	}
}
