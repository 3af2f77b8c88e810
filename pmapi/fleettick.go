package pmapi

import (
	"fmt"
	"iter"
	"time"
)

// A FleetTick has the replies of all hosts of a Fleet at one time. It is valid until the next
// iteration of the loop.
type FleetTick[T any] struct {
	// Time is the time of the tick by this computer's clock, the same for all hosts.
	Time time.Time
	// Missed is the number of ticks that were left out before this one because the loop was too
	// slow for its interval.
	Missed int
	// Rows has all hosts, in the order of Fleet.Add.
	Rows []FleetRow[T]
}

// A FleetRow is one host in a tick.
type FleetRow[T any] struct {
	Host   string // the name of the host in the Fleet
	Status HostStatus
	// Time is the time of the values by the host's clock, or zero if there are no values.
	Time time.Time
	// Items has the values if Status.State is HostUp. Otherwise it is the zero T, because a late
	// fetch may still change the values; pointers in T are then nil.
	Items T

	group *Group
}

// Err returns the Group.Err of the host: the errors of items whose metric or instance the host
// lacks. It is nil if the host is not up.
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

// Counts returns the number of hosts in each state.
func (t *FleetTick[T]) Counts() map[HostState]int {
	counts := map[HostState]int{}
	for i := range t.Rows {
		counts[t.Rows[i].Status.State]++
	}
	return counts
}

// A HostState is the state of a host of a Fleet.
type HostState int

// The states of a host.
const (
	HostConnecting HostState = iota // there is no connection yet, or one that no tick has used
	HostUp                          // there are values
	HostLate                        // the reply did not come in time
	HostFailing                     // there is a connection, but no metric has a value
	HostDown                        // there is no connection
	HostEnded                       // the source has no more values, or none that can be read
)

var hostStates = [...]string{"connecting", "up", "late", "failing", "down", "ended"}

// String returns the name of the state: "up", "down", ...
func (s HostState) String() string {
	if s < 0 || int(s) >= len(hostStates) {
		return fmt.Sprintf("HostState(%d)", int(s))
	}
	return hostStates[s]
}

// A HostStatus is the present state of a host of a Fleet, with its latest error and some counts.
type HostStatus struct {
	State HostState
	// Since is the start of the state, by this computer's clock.
	Since time.Time
	// Err is the latest error of the host. It stays set in the state HostConnecting, and is nil in
	// the state HostUp or if there was no error.
	Err error
	// Missing is the number of items that cannot have values, because this host has no such metric
	// or instance. FleetRow.Err names them.
	Missing int
	// Reconnects is the number of connections after the first.
	Reconnects int
}
