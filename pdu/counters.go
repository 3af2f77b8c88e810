package pdu

import "sync/atomic"

// Counters count the PDUs read and queued, by kind. Several connections may share them. They are
// safe for concurrent use; the zero value is ready.
type Counters struct {
	in, out [numKinds]atomic.Uint64
}

// Count returns how many PDUs of a kind were read and queued; 0 for an unknown kind.
func (c *Counters) Count(k Kind) (in, out uint64) {
	if k < kindFirst || k > kindLast {
		return 0, 0
	}
	return c.in[k-kindFirst].Load(), c.out[k-kindFirst].Load()
}

// Total returns how many PDUs of all kinds were read and queued.
func (c *Counters) Total() (in, out uint64) {
	for i := range c.in {
		in += c.in[i].Load()
		out += c.out[i].Load()
	}
	return in, out
}
