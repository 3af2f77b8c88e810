package pmapi

import (
	"fmt"
	"iter"
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
}
