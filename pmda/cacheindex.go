package pmda

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"

	"github.com/pcp-go/pcp/pdu"
)

// A cacheIndex finds the slots of entries by a 32-bit hash. It uses open addressing with linear
// probing and 8 bytes per cell. Unlike a Go map it does not store the keys, which are in the
// entries, and several entries may have the same key.
type cacheIndex struct {
	cells []uint64 // hash<<32 | slot+1, or 0 if free; their number is a power of 2
	n     int      // cells in use, at most 3 of 4
}

// home returns the first cell to try for a hash. The high bits choose it.
func (x *cacheIndex) home(hash uint32) int {
	return int(uint64(hash) * uint64(len(x.cells)) >> 32)
}

// find returns the first slot that has the hash and that the function is accepts.
func (x *cacheIndex) find(hash uint32, is func(slot int) bool) (slot int, ok bool) {
	if x.n == 0 {
		return 0, false
	}
	for at := x.home(hash); x.cells[at] != 0; at = (at + 1) & (len(x.cells) - 1) {
		c := x.cells[at]
		if uint32(c>>32) == hash && is(int(uint32(c))-1) {
			return int(uint32(c)) - 1, true
		}
	}
	return 0, false
}

// add adds a slot.
func (x *cacheIndex) add(hash uint32, slot int) {
	if 4*(x.n+1) > 3*len(x.cells) {
		x.grow(x.n + 1)
	}
	x.put(uint64(hash)<<32 | uint64(slot+1))
	x.n++
}

// grow makes room for at least n slots.
func (x *cacheIndex) grow(n int) {
	old := x.cells
	x.cells = make([]uint64, max(8, 1<<bits.Len(uint(n+n/2))))
	for _, c := range old {
		if c != 0 {
			x.put(c)
		}
	}
}

func (x *cacheIndex) put(cell uint64) {
	at := x.home(uint32(cell >> 32))
	for x.cells[at] != 0 {
		at = (at + 1) & (len(x.cells) - 1)
	}
	x.cells[at] = cell
}

// remove removes a slot, which must be in the index. It moves back those later slots that find
// could otherwise no longer reach.
func (x *cacheIndex) remove(hash uint32, slot int) {
	mask := len(x.cells) - 1
	gap := x.home(hash)
	for cell := uint64(hash)<<32 | uint64(slot+1); x.cells[gap] != cell; {
		gap = (gap + 1) & mask
	}
	for at := (gap + 1) & mask; x.cells[at] != 0; at = (at + 1) & mask {
		home := x.home(uint32(x.cells[at] >> 32))
		if (at-home)&mask >= (at-gap)&mask {
			x.cells[gap], gap = x.cells[at], at
		}
	}
	x.cells[gap] = 0
	x.n--
}

// The hashes differ between processes, so that no file can be crafted to have many names or IDs
// with the same hash.
var (
	cacheSeed         = maphash.MakeSeed()
	cacheIDMultiplier = rand.Uint64() | 1
)

func hashName(name string) uint32 { return uint32(maphash.String(cacheSeed, name)) }

func hashID(id pdu.InstID) uint32 { return uint32(uint64(uint32(id)) * cacheIDMultiplier >> 32) }
