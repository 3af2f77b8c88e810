package archive

import (
	"slices"
	"sort"
	"time"
)

// A history is a list of states in the order of time.
type history[S any] struct {
	dated    []dated[S]
	unsorted bool // some state was added after a later one
}

// A dated state holds from a time until the next one.
type dated[S any] struct {
	from  time.Time
	state S
}

// add adds a state. Call sort after the last one.
func (h *history[S]) add(from time.Time, s S) {
	if n := len(h.dated); n > 0 && from.Before(h.dated[n-1].from) {
		h.unsorted = true
	}
	h.dated = append(h.dated, dated[S]{from, s})
}

// sort sorts the states by time. Of several states of the same time, the one that was added last
// holds.
func (h *history[S]) sort() {
	if h.unsorted {
		slices.SortStableFunc(h.dated, func(a, b dated[S]) int { return a.from.Compare(b.from) })
		h.unsorted = false
	}
}

// index returns the index of the state that holds at t, or -1 before the first one.
func (h *history[S]) index(t time.Time) int {
	return sort.Search(len(h.dated), func(i int) bool { return h.dated[i].from.After(t) }) - 1
}

// merge returns the states of both histories. Those of b come after those of h of the same time.
// Call sort after it.
func (h *history[S]) merge(b history[S]) history[S] {
	return history[S]{dated: slices.Concat(h.dated, b.dated), unsorted: true}
}
