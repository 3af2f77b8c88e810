package archive

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An InDom is an instance domain over time: a list of states, each from the time of one
// record to that of the next one. It does not change and is safe for concurrent use.
type InDom struct {
	ID     pdu.InDom
	states history[indomState]

	mu     sync.Mutex
	made   map[int][]pdu.Instance // states that were asked for; see keep
	recent []int                  // of made, the ones that are not checkpoints
	every  int                    // the distance of checkpoints; 0 means checkpointEvery
	held   int                    // the instances in all checkpoints
	all    []pdu.Instance         // see All
}

// Of the states that come about by deltas, every checkpointEvery-th is kept once it was
// made, and of all states the recentStates last ones. When the checkpoints have maxHeld
// instances, they are dropped and become half as many.
const (
	checkpointEvery = 64
	recentStates    = 8
	maxHeld         = 1 << 20
)

// Len is the number of states.
func (d *InDom) Len() int { return len(d.states.dated) }

// Time is when state i begins. Times ascend; of states that begin at the same time only the
// last one ever holds.
func (d *InDom) Time(i int) time.Time { return d.states.dated[i].from }

// Delta reports whether the record of state i has the changes only.
func (d *InDom) Delta(i int) bool { return d.states.dated[i].state.delta }

// Index is the state that holds at a time, -1 before the first one.
func (d *InDom) Index(t time.Time) int { return d.states.index(t) }

// At is the instances at a time, ascending by ID, nil before the first state. The slice
// must not be changed. The counterpart of pmGetInDom(3).
func (d *InDom) At(t time.Time) []pdu.Instance {
	i := d.Index(t)
	if i < 0 {
		return nil
	}
	return d.State(i)
}

// State is the instances of state i, ascending by ID. The slice must not be changed.
func (d *InDom) State(i int) []pdu.Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.make(i)
}

// make makes state i from the last one before it that is full, or was made.
func (d *InDom) make(i int) []pdu.Instance {
	from := i
	for from > 0 && d.made[from] == nil && d.Delta(from) {
		from--
	}
	state := d.made[from]
	if state == nil {
		// A delta without a full state before it stands for itself.
		state = d.states.dated[from].state.instances()
	}
	// Only states that are kept need memory of their own.
	var spare [2][]pdu.Instance
	for j := from + 1; j <= i; j++ {
		delta := &d.states.dated[j].state
		switch {
		case j == i:
			state = delta.appendAfter(nil, state)
		case d.checkpoint(j):
			state = delta.appendAfter(nil, state)
			d.keep(j, state)
		default:
			spare[j%2] = delta.appendAfter(spare[j%2][:0], state)
			state = spare[j%2]
		}
	}
	d.keep(i, state)
	return state
}

// checkpoint reports whether state i is one.
func (d *InDom) checkpoint(i int) bool { return d.Delta(i) && i%cmp.Or(d.every, checkpointEvery) == 0 }

// keep keeps a state that was made.
func (d *InDom) keep(i int, state []pdu.Instance) {
	if d.made[i] != nil {
		return
	}
	if d.made == nil {
		d.made = map[int][]pdu.Instance{}
	}
	if d.checkpoint(i) {
		if d.held += len(state); d.held > maxHeld {
			d.every = 2 * cmp.Or(d.every, checkpointEvery)
			d.held, d.recent = 0, nil
			clear(d.made)
			return
		}
		d.made[i] = state
		return
	}
	if len(d.recent) == recentStates {
		delete(d.made, d.recent[0])
		d.recent = append(d.recent[:0], d.recent[1:]...)
	}
	d.made[i] = state
	d.recent = append(d.recent, i)
}

// All is the instances that there ever were, ascending by ID, each by its latest name. The
// slice must not be changed. The counterpart of pmGetInDomArchive(3).
func (d *InDom) All() []pdu.Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		// What a delta leaves out was in a record before it.
		seen := map[pdu.InstID]bool{}
		for i := d.Len() - 1; i >= 0; i-- {
			s := &d.states.dated[i].state
			for j := range s.len() {
				if id, off := s.at(j); off >= 0 && !seen[id] {
					seen[id] = true
					d.all = append(d.all, pdu.Instance{ID: id, Name: s.name(off)})
				}
			}
		}
		sortInstances(d.all)
	}
	return d.all
}

func sortInstances(s []pdu.Instance) {
	byID := func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(s, byID) {
		slices.SortStableFunc(s, byID)
	}
}

// instances are those of a record, ascending.
func (s *indomState) instances() []pdu.Instance {
	instances, _ := s.decode()
	sortInstances(instances)
	return instances
}

// appendAfter appends the state that comes after another one by the delta s. What cannot be is
// tolerated as in the C library: who comes with another name keeps the one that he has, and
// who goes without having been there does nothing.
func (s *indomState) appendAfter(after, before []pdu.Instance) []pdu.Instance {
	added, deleted := s.decode()
	sortInstances(added)
	slices.Sort(deleted)
	for len(added) > 0 || len(deleted) > 0 {
		comes := len(deleted) == 0 || len(added) > 0 && added[0].ID <= deleted[0]
		var id pdu.InstID
		if comes {
			id = added[0].ID
		} else {
			id = deleted[0]
		}
		at, there := slices.BinarySearchFunc(before, id, func(i pdu.Instance, id pdu.InstID) int { return cmp.Compare(i.ID, id) })
		after, before = append(after, before[:at]...), before[at:]
		switch {
		case !comes && there:
			before, deleted = before[1:], deleted[1:]
		case !comes:
			deleted = deleted[1:]
		case there || len(after) > 0 && after[len(after)-1].ID == id:
			added = added[1:]
		default:
			after, added = append(after, added[0]), added[1:]
		}
	}
	return append(after, before...)
}

// finish puts the states in order. Of identical records of one time the last one counts.
func (d *InDom) finish() {
	d.states.sort()
	list := d.states.dated
	kept := list[:0]
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end].from.Equal(list[i].from) {
			end++
		}
		kept = append(kept, lastOfEqual(list[i:end])...)
		i = end
	}
	clear(list[len(kept):])
	d.states.dated = kept
}

// lastOfEqual leaves the last one of identical states. It changes the list.
func lastOfEqual(list []dated[indomState]) []dated[indomState] {
	if len(list) == 1 {
		return list
	}
	type content struct {
		delta bool
		text  string
	}
	seen := map[content]bool{}
	kept := len(list)
	for i := len(list) - 1; i >= 0; i-- {
		s := &list[i].state
		key := content{s.delta, string(slices.Concat(s.ids, s.offs, s.texts))}
		if !seen[key] {
			seen[key] = true
			kept--
			list[kept] = list[i]
		}
	}
	return list[kept:]
}

// mergeInDoms makes one history of two, either of which may be nil.
func mergeInDoms(a, b *InDom) *InDom {
	if a == nil {
		return b
	}
	d := &InDom{ID: a.ID}
	d.states = a.states.merge(b.states)
	d.finish()
	return d
}
