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
	made   map[int][]pdu.Instance // states that were requested, and checkpoints
	recent []int                  // those in made that are not checkpoints
	all    []pdu.Instance         // see All
}

// An InDom keeps the latest recentStates states that were requested. On the way to a state it also
// keeps checkpoints: a state becomes one if the deltas since the previous checkpoint have as many
// instances as the state, and at least leastDeltas. So all checkpoints together have at most as
// many instances as the records.
const (
	leastDeltas  = 64
	recentStates = 8
)

// Len returns the number of states.
func (d *InDom) Len() int { return len(d.states.dated) }

// Time returns the start of state i. Times ascend. Of several states with the same time, only the
// last one ever holds.
func (d *InDom) Time(i int) time.Time { return d.states.dated[i].from }

// Index returns the index of the state that holds at t, or -1 before the first one.
func (d *InDom) Index(t time.Time) int { return d.states.index(t) }

// At returns the instances at t, ascending by ID, or nil before the first state. The slice must not
// be changed. At is the counterpart of pmGetInDom(3).
func (d *InDom) At(t time.Time) []pdu.Instance {
	i := d.Index(t)
	if i < 0 {
		return nil
	}
	return d.State(i)
}

// State returns the instances of state i, ascending by ID. The slice must not be changed.
func (d *InDom) State(i int) []pdu.Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.make(i)
}

// make makes state i. It begins with the last earlier state that has been made or that is a full
// record.
func (d *InDom) make(i int) []pdu.Instance {
	from := i
	for from > 0 && d.made[from] == nil && d.states.dated[from].state.delta {
		from--
	}
	state := d.made[from]
	if state == nil {
		// A delta without a full state before it stands for itself.
		state = d.states.dated[from].state.instances()
	}
	switch i - from {
	case 0:
	case 1:
		state = d.states.dated[i].state.after(state)
	default:
		state = d.replay(from, i, state)
	}
	d.keep(i, state)
	return state
}

// replay makes state i from the earlier state number from, and keeps checkpoints.
func (d *InDom) replay(from, i int, state []pdu.Instance) []pdu.Instance {
	names := make(map[pdu.InstID]string, len(state))
	for _, inst := range state {
		names[inst.ID] = inst.Name
	}
	changes := 0
	for j := from + 1; j <= i; j++ {
		delta := &d.states.dated[j].state
		delta.apply(names)
		changes += delta.len()
		if j < i && changes >= max(leastDeltas, len(names)) {
			d.hold(j, instancesOf(names))
			changes = 0
		}
	}
	return instancesOf(names)
}

// instancesOf returns a map of names as a list of instances, ascending by ID.
func instancesOf(names map[pdu.InstID]string) []pdu.Instance {
	state := make([]pdu.Instance, 0, len(names))
	for id, name := range names {
		state = append(state, pdu.Instance{ID: id, Name: name})
	}
	sortInstances(state)
	return state
}

// keep keeps a state that was requested.
func (d *InDom) keep(i int, state []pdu.Instance) {
	if d.made[i] != nil {
		return
	}
	if len(d.recent) == recentStates {
		delete(d.made, d.recent[0])
		d.recent = append(d.recent[:0], d.recent[1:]...)
	}
	d.hold(i, state)
	d.recent = append(d.recent, i)
}

func (d *InDom) hold(i int, state []pdu.Instance) {
	if d.made == nil {
		d.made = map[int][]pdu.Instance{}
	}
	d.made[i] = state
}

// All returns all instances that ever existed, ascending by ID, each with its latest name. The
// slice must not be changed. All is the counterpart of pmGetInDomArchive(3).
func (d *InDom) All() []pdu.Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		// An instance that a delta omits is in an earlier record.
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

// instances returns the instances of a record, ascending by ID.
func (s *indomState) instances() []pdu.Instance {
	instances, _ := s.decode()
	sortInstances(instances)
	return instances
}

// after applies the delta s to a state and returns the new state. Like the C library, it tolerates
// contradictions: an added instance that exists already keeps its name, and a deleted instance that
// does not exist is ignored.
func (s *indomState) after(before []pdu.Instance) []pdu.Instance {
	added, deleted := s.decode()
	sortInstances(added)
	slices.Sort(deleted)
	after := make([]pdu.Instance, 0, len(before)+len(added))
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

// apply is like after for a state that is a map.
func (s *indomState) apply(names map[pdu.InstID]string) {
	added, deleted := s.decode()
	deleted = slices.DeleteFunc(deleted, func(id pdu.InstID) bool { // this record adds them
		_, there := names[id]
		return !there
	})
	for _, inst := range added {
		if _, there := names[inst.ID]; !there {
			names[inst.ID] = inst.Name
		}
	}
	for _, id := range deleted {
		delete(names, id)
	}
}

// finish sorts the states by time. Of identical records with the same time it keeps the last one.
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

// lastOfEqual returns the list with only the last one of identical states. It changes the list.
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

// mergeInDoms merges two histories of a domain. a may be nil.
func mergeInDoms(a, b *InDom) *InDom {
	if a == nil {
		return b
	}
	d := &InDom{ID: a.ID}
	d.states = a.states.merge(b.states)
	d.finish()
	return d
}
