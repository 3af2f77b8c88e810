package archivesource

import (
	"math"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A moment is a time in nanoseconds since the start of the archives.
type moment int64

// Moments before and after all records.
const (
	beforeAll moment = math.MinInt64
	afterAll  moment = math.MaxInt64
)

// A boundKind says what is known at one side of a time.
type boundKind uint8

const (
	unknown boundKind = iota
	nothing           // there are no records with the instance up to the end of the archives
	mark
	value
)

// A bound is the value or mark of an instance that is nearest to a time, on one side of it.
type bound struct {
	kind boundKind
	at   moment
	atom pdu.Atom // a number
	text []byte   // or the bytes of another value
}

// set makes b a value. It copies the bytes of a.
func (b *bound) set(at moment, a pdu.Atom) {
	b.kind, b.at, b.text = value, at, append(b.text[:0], a.Bytes()...)
	if b.atom = a; len(a.Bytes()) > 0 {
		b.atom = pdu.Atom{Type: a.Type}
	}
}

// An instanceState is what is known of an instance, or of a singular metric, around the time of
// the latest fetch of it: there is no value of it, and no mark, between low and high.
//
// After a fetch, prior is known, and low is where it is. If next is known, high is where that is;
// if not, there is nothing up to high, and nothing at it but prior.
type instanceState struct {
	id          pdu.InstID
	low, high   moment
	prior, next bound
	born, died  moment // when the domain has it, if that matters

	wanted bool   // in this fetch
	search bool   // the search at hand is for this one, too
	stop   moment // how far it goes: what is known of the other side begins there
	turned bool   // next was prior, and there may be others before it
}

// forget makes nothing known.
func (i *instanceState) forget() { i.prior.kind, i.next.kind, i.search = unknown, unknown, false }

// moveTo prepares for a time, and reports whether prior must be searched. The bound on one side of
// a time may be the one on the other side of a later or an earlier time.
func (i *instanceState) moveTo(t moment) bool {
	i.search, i.turned = false, false
	switch {
	case i.prior.kind == unknown:
		i.search, i.stop, i.high = true, beforeAll, t
	case t > i.high || t == i.high && i.next.kind != unknown:
		if i.next.kind != unknown {
			i.prior, i.next = i.next, i.prior // with their memory
			i.low = i.high
		}
		i.next.kind = unknown
		i.search, i.stop = t > i.high, i.high
		i.high = t
	case t < i.low:
		i.prior, i.next = i.next, i.prior
		i.high = i.low
		i.prior.kind = unknown
		i.search, i.stop, i.turned = true, beforeAll, true
	}
	return i.search
}

// foundPrior ends the search for prior.
func (i *instanceState) foundPrior() {
	i.search = false
	if i.low = i.prior.at; i.prior.kind == nothing {
		i.low = beforeAll
	}
}

// searchNext prepares for the search for next, and reports whether it has to be searched.
func (i *instanceState) searchNext(t moment, needed bool) bool {
	needed = needed && i.prior.kind == value && i.prior.at < t
	switch {
	case needed && i.turned:
		i.search, i.stop = true, i.high
	case needed && i.next.kind == unknown:
		i.search, i.stop = true, afterAll
	case i.turned:
		i.next.kind, i.high = unknown, t
	}
	return i.search
}

// foundNext ends the search for next.
func (i *instanceState) foundNext() {
	i.search = false
	if i.high = i.next.at; i.next.kind == nothing {
		i.high = afterAll
	}
}

// A metricState is a metric that has been interpolated.
type metricState struct {
	desc    pdu.Desc
	nearest bool            // its values are those of the nearest record
	code    pdu.Error       // why there are never values; 0 if there may be
	insts   []instanceState // ascending
	order   []int           // of insts in results
	had     bool            // the fetch before had values
	has     bool            // this one has
	pending int             // how many instances the search at hand is for
	hint    int             // where find looks first
}

// find is the state of an instance, nil if the domain never had it.
func (m *metricState) find(id pdu.InstID) *instanceState {
	if m.hint < len(m.insts) && m.insts[m.hint].id == id {
		m.hint++
		return &m.insts[m.hint-1]
	}
	n, ok := slices.BinarySearchFunc(m.insts, id, func(i instanceState, id pdu.InstID) int {
		switch {
		case i.id < id:
			return -1
		case i.id > id:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	m.hint = n + 1
	return &m.insts[n]
}
