package pmapi

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A FleetTick has what the hosts of a Fleet have replied at one time. It is valid until the loop
// goes on.
type FleetTick[T any] struct {
	// Time is that of the tick, the same for all hosts, by this computer's clock.
	Time time.Time
	// Missed is how many ticks have been left out before this one, since the loop was too slow for
	// its interval.
	Missed int
	// Rows has all hosts, in the order of Fleet.Add.
	Rows []FleetRow[T]
}

// A FleetRow is one host in a tick.
type FleetRow[T any] struct {
	Host   string
	Status HostStatus
	// Time is that of the values, by the clock of the host; zero without values.
	Time time.Time
	// Items has the values if Status.State is HostUp, and is zero otherwise, since they may be
	// changing: a T of pointers has nil pointers then.
	Items T

	group *Group
}

// Err is the Group.Err of the host: why items have no values because the host has no such metric or
// instance. It is nil if the host is not up.
func (r *FleetRow[T]) Err() error {
	if r.group == nil {
		return nil
	}
	return r.group.Err()
}

// Up yields the hosts that are up.
func (t *FleetTick[T]) Up() iter.Seq[*FleetRow[T]] {
	return func(yield func(*FleetRow[T]) bool) {
		for i := range t.Rows {
			if r := &t.Rows[i]; r.Status.State == HostUp && !yield(r) {
				return
			}
		}
	}
}

// A RankedRow is a row with the value that it was ranked by.
type RankedRow[T any] struct {
	*FleetRow[T]
	Value float64
}

// Top is the n hosts with the greatest values, the greatest first, or all of them if n is less than
// 0. Those that are not up, have no value or NaN are left out; equal ones are in the order of the
// rows. With -Value, it is the hosts with the least values.
//
//	for i, r := range tick.Top(10, func(h host) (float64, error) { return h.load.Value() }) {
//		fmt.Println(i+1, r.Host, r.Value)
//	}
func (t *FleetTick[T]) Top(n int, value func(items T) (float64, error)) []RankedRow[T] {
	ranked := make([]RankedRow[T], 0, len(t.Rows))
	for r := range t.Up() {
		if v, err := value(r.Items); err == nil && v == v {
			ranked = append(ranked, RankedRow[T]{r, v})
		}
	}
	slices.SortStableFunc(ranked, func(a, b RankedRow[T]) int { return cmp.Compare(b.Value, a.Value) })
	if n >= 0 && n < len(ranked) {
		ranked = ranked[:n]
	}
	return ranked
}

// Counts is how many hosts there are in each state.
func (t *FleetTick[T]) Counts() map[HostState]int {
	counts := map[HostState]int{}
	for i := range t.Rows {
		counts[t.Rows[i].Status.State]++
	}
	return counts
}

// A HostState is how a host of a Fleet is doing.
type HostState int

// The states of a host.
const (
	HostConnecting HostState = iota // there is no connection yet, or one that no tick has used
	HostUp                          // there are values
	HostLate                        // the reply has not come in time
	HostFailing                     // there is a connection, but no metric has a value
	HostDown                        // there is no connection
	HostEnded                       // the source has no more values, or none that can be read
)

var hostStates = [...]string{"connecting", "up", "late", "failing", "down", "ended"}

// String is the name of the state: "up", "down", ...
func (s HostState) String() string {
	if s < 0 || int(s) >= len(hostStates) {
		return fmt.Sprintf("HostState(%d)", int(s))
	}
	return hostStates[s]
}

// A HostStatus is the present state of a host of a Fleet, with counts of earlier events.
type HostStatus struct {
	State HostState
	// Since is when the state began, by this computer's clock.
	Since time.Time
	// Err is the latest error of the host, also after the host was connected again. It is nil in
	// the state HostUp, and if there was no error.
	Err error
	// Missing is the number of items that cannot have values, because this host has no such metric
	// or instance. FleetRow.Err names them.
	Missing int
	// Reconnects is the number of connections after the first.
	Reconnects int
	// Late is the number of ticks that the host was late for.
	Late int
}

// String is the state, since when, and why: "down since 12:03:04: dial tcp 127.0.0.1:1: connect:
// connection refused".
func (s HostStatus) String() string {
	text := s.State.String() + " since " + s.Since.Format(time.TimeOnly)
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	return text
}
