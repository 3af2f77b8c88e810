package pmda

import (
	"fmt"
	"math"

	"github.com/pcp-go/pcp/pdu"
)

// maxKeyAttempts is the number of IDs that addKey tries, the same as in the C library.
const maxKeyAttempts = 10

// addKey makes an entry active and derives its ID from a key; see Cache.AddKey.
func (t *cacheTable) addKey(name, key string) (slot int, err error) {
	if key == "" {
		key = name
	}
	if slot, ok := t.findName(name); ok {
		if t.keys[slot] != key {
			return 0, fmt.Errorf("it has another key: %w", pdu.ErrInst)
		} else if other := t.entries[slot].name; !t.matches(other, name) {
			return 0, conflict(other)
		}
		t.activate(slot)
		return slot, nil
	}
	var hash uint32
	for range maxKeyAttempts {
		hash = keyHash(key, hash)
		id := pdu.InstID(int64(hash&math.MaxInt32) % t.capacity())
		slot, used := t.lookupID(id)
		if !used {
			if err := t.checkName(name); err != nil {
				return 0, err
			}
			t.reuse = true
			return t.claim(cacheEntry{id: id, name: name, state: cacheActive}, key), nil
		}
		if t.keys[slot] == key {
			return 0, fmt.Errorf("instance %d %q has the key: %w", id, t.entries[slot].name, pdu.ErrInst)
		}
	}
	return 0, fmt.Errorf("the key leads to no free ID in %d attempts: %w", maxKeyAttempts, pdu.ErrGeneric)
}

// setKey sets the key of an entry. An empty key removes it.
func (t *cacheTable) setKey(slot int, key string) {
	old := t.keys[slot]
	if old == key {
		return
	}
	if old != "" {
		t.byKey.remove(hashName(old), slot)
		delete(t.keys, slot)
	}
	if key != "" {
		if t.keys == nil {
			t.keys = map[int]string{}
		}
		t.keys[slot] = key
		t.byKey.add(hashName(key), slot)
	}
}

// findKey finds an entry by its key.
func (t *cacheTable) findKey(key string) (slot int, ok bool) {
	return t.byKey.find(hashName(key), func(slot int) bool { return t.keys[slot] == key })
}

// conflict returns the error for a name that equals the name of another entry up to the first
// space.
func conflict(other string) error {
	return fmt.Errorf("it and the instance %q are the same up to the first space: %w", other, pdu.ErrInvalid)
}

var errNoIDs = fmt.Errorf("no IDs are left for new instances: %w", pdu.ErrGeneric)

// keyHash returns the hash of a key that the C library makes into an ID. It is Bob Jenkins'
// lookup2, except that bytes are signed.
func keyHash(key string, seed uint32) uint32 {
	a, b, c := uint32(0x9e3779b9), uint32(0x9e3779b9), seed
	at := func(i int) uint32 { return uint32(int32(int8(key[i]))) }
	word := func(i int) uint32 { return at(i) + at(i+1)<<8 + at(i+2)<<16 + at(i+3)<<24 }
	size := uint32(len(key))
	for ; len(key) >= 12; key = key[12:] {
		a, b, c = mixKey(a+word(0), b+word(4), c+word(8))
	}
	c += size
	for i := range key {
		switch {
		case i < 4:
			a += at(i) << (8 * i)
		case i < 8:
			b += at(i) << (8 * (i - 4))
		default:
			c += at(i) << (8 * (i - 7)) // its lowest byte has the length
		}
	}
	_, _, c = mixKey(a, b, c)
	return c
}

func mixKey(a, b, c uint32) (x, y, z uint32) {
	for _, shift := range [3][3]int{{13, 8, 13}, {12, 16, 5}, {3, 10, 15}} {
		a = (a - b - c) ^ c>>shift[0]
		b = (b - c - a) ^ a<<shift[1]
		c = (c - a - b) ^ b>>shift[2]
	}
	return a, b, c
}
