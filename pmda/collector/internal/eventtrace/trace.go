// Package eventtrace keeps the event trace of a collector: the latest connections
// and PDUs, which a store into pmcd.control.dumptrace writes to the log.
package eventtrace

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Flags say which events are kept, and what else is done with them.
type Flags uint32

const (
	Conns      Flags = 1 << iota // clients and agents that come and go, and failures of their connections
	PDUs                         // PDUs that are sent and received
	Unbuffered                   // what is kept is logged at the next event
	Debug                        // every PDU is logged at once, whatever the other flags say
)

const (
	// DefaultCapacity is how many events a zero Trace holds.
	DefaultCapacity = 20
	// MaxCapacity is the greatest number of events that a Trace may be made to hold.
	MaxCapacity = 1 << 20
)

// A Trace holds the latest events. The zero value is empty and keeps none. Safe for
// concurrent use; while no flag is set an event costs an atomic load.
type Trace struct {
	flags atomic.Uint32

	mu   sync.Mutex
	set  bool // Resize was called
	size int
	ring []event // of up to size events
	next int     // where the next goes when the ring is full
}

type event struct {
	at   time.Time
	text string
}

// Any reports whether any of the flags is set.
func (t *Trace) Any(f Flags) bool { return Flags(t.flags.Load())&f != 0 }

// Set sets or clears flags.
func (t *Trace) Set(f Flags, on bool) {
	if on {
		t.flags.Or(uint32(f))
	} else {
		t.flags.And(^uint32(f))
	}
}

// Capacity is how many events the trace holds.
func (t *Trace) Capacity() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.capacity()
}

func (t *Trace) capacity() int {
	if !t.set {
		return DefaultCapacity
	}
	return t.size
}

// Resize empties the trace and sets how many events it holds.
func (t *Trace) Resize(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set, t.size, t.ring, t.next = true, n, nil, 0
}

// Add keeps an event of a kind, Conns or PDUs, if its flag is set.
func (t *Trace) Add(log *slog.Logger, kind Flags, text string) {
	e := event{time.Now(), text}
	flags := Flags(t.flags.Load())
	at := "->" + e.at.Local().Format(time.TimeOnly) + " " + text
	kept := flags&kind != 0
	if kept {
		t.keep(e)
	}
	switch {
	case kept && flags&Unbuffered != 0:
		if events := t.drain(); len(events) > 1 {
			at = strings.TrimSuffix(layOut(events), "\n")
		}
		log.Info(at)
	case kind == PDUs && flags&Debug != 0:
		log.Info(at)
	}
}

func (t *Trace) keep(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := t.capacity()
	switch {
	case size == 0:
	case len(t.ring) < size:
		t.ring = append(t.ring, e)
	default:
		t.ring[t.next] = e
		t.next = (t.next + 1) % size
	}
}

// drain empties the trace and returns what was in it, the oldest event first.
func (t *Trace) drain() []event {
	t.mu.Lock()
	defer t.mu.Unlock()
	events := append(t.ring[t.next:len(t.ring):len(t.ring)], t.ring[:t.next]...)
	t.ring, t.next = nil, 0
	return events
}

// Empty is what Dump logs if there is nothing in the trace and events are logged at once.
const Empty = "<empty>"

// Dump logs the trace in the layout of pmcd, and empties it.
func (t *Trace) Dump(log *slog.Logger) {
	events := t.drain()
	switch {
	case len(events) > 0:
		log.Info("\n->PMCD event trace: starting at " + events[0].at.Local().Format(time.ANSIC) + "\n" + layOut(events))
	case t.Any(Unbuffered):
		log.Info(Empty)
	default:
		log.Info("\n->PMCD event trace: " + Empty + "\n")
	}
}

// layOut is a line for each event, with the time where that is another second.
func layOut(events []event) string {
	var b strings.Builder
	for i, e := range events {
		when := "         "
		if i > 0 && e.at.Unix() != events[i-1].at.Unix() {
			when = e.at.Local().Format(time.TimeOnly) + " "
		}
		b.WriteString("->" + when + e.text + "\n")
	}
	return b.String()
}
