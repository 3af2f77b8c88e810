package pmda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
)

// An InDom is an instance domain of an Agent: a set of instances that several
// metrics share. AddInDom makes one; Attach enters one that is made by hand.
//
// The exported fields are set before the agent serves. The instances may change
// at any time, from any goroutine. It is pmdaIndom of the C library.
type InDom struct {
	// Serial is its number within the agent, 0 to pdu.MaxInDomSerial.
	Serial int
	// Name says what an instance is, for messages.
	Name string
	// Text is the one-line help text; Help the long one. Empty means none.
	Text, Help string
	// Labels is a JSON object with the labels of the domain. Empty means none.
	Labels string
	// InstanceLabels gives a JSON object with the labels of an instance; nil, or
	// an empty answer, means none. LabelJSON makes one of a map. It may be called by
	// several goroutines at once.
	InstanceLabels func(i pdu.Instance) string
	// Refresh, if not nil, is called before the instances are looked at for a
	// request: before each fetch of a metric of this domain, once, and before each
	// question about instances. It may call Set or Update. An error fails the
	// request, or the metrics of the domain in a fetch. It may be called by
	// several goroutines at once.
	Refresh func(ctx context.Context, r *Request) error
	// Group, if not nil, is refreshed at the same occasions, after Refresh. Where
	// a group's refresh finds both the instances and their values, it calls
	// Update, and the domain and its metrics name the group. Where it fails with
	// pdu.ErrAppVersion there are no instances.
	Group *Group
	// File, if not empty, is where Update keeps the IDs of the names that it has seen,
	// so that they are the same when the agent runs again: a file of the C library's
	// cache of instances, such as /var/lib/pcp/config/pmda/60.1, which it may share
	// with a C agent that does not run at the same time. It is read before the first
	// Update, and replaced when there is a new name. What is wrong with it is logged,
	// and does not hinder Update; a file that is no such file, or cannot be read, is
	// left alone. Names that the format cannot hold, longer than 959 bytes or
	// beginning with a blank or bracket, are not kept. The counterpart of the
	// operations LOAD and SAVE of pmdaCacheOp(3).
	File string

	agent atomic.Pointer[Agent]
	insts atomic.Pointer[instances]

	trouble     trouble // of Refresh
	fileTrouble trouble
	labelsWrong atomic.Bool

	mu      sync.Mutex            // for Set and Update
	ids     map[string]pdu.InstID // of all names that Update has seen; nil after Set
	next    int64
	updated []string      // what Update was last given; nil after Set
	file    *instanceFile // nil until it is read
}

// instances are a state of an instance domain, which never changes.
type instances struct {
	list   []pdu.Instance
	byID   map[pdu.InstID]int // index in list; nil if the IDs are the indexes
	byName map[string]int     // by the part of the name up to the first space
}

// AddInDom enters an instance domain with the next free serial, 0 first, and
// instances numbered from 0 in the order of their names, which are unique up to
// the first space.
func (a *Agent) AddInDom(name string, instances ...string) *InDom {
	d := &InDom{Name: name, Serial: nextSerial}
	if err := a.Attach(d); err == nil {
		if err := d.update(instances); err != nil {
			a.refuse(fmt.Sprintf("instance domain %q", name), err)
		}
	}
	return d
}

// nextSerial asks attach to choose.
const nextSerial = -1 << 31

// Attach enters an instance domain. Errors: a serial that is in use or out of
// range, labels that are not JSON, an InDom or Group that another agent has.
func (a *Agent) Attach(d *InDom) error {
	if err := a.attach(d); err != nil {
		return a.refuse(fmt.Sprintf("instance domain %q", d.Name), err)
	}
	return nil
}

func (a *Agent) attach(d *InDom) error {
	if err := checkLabels("Labels", d.Labels); err != nil {
		return err
	}
	if d.Group != nil && d.Group.agent != a {
		return fmt.Errorf("its Group belongs to agent %s", d.Group.agent.Name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.agent.Load() != nil {
		return errors.New("it is attached already")
	}
	if d.Serial == nextSerial {
		for a.indoms[a.serial] != nil {
			a.serial++
		}
		d.Serial = a.serial
	}
	if d.Serial < 0 || d.Serial > pdu.MaxInDomSerial {
		return fmt.Errorf("serial %d out of range (0..%d)", d.Serial, pdu.MaxInDomSerial)
	}
	if o := a.indoms[d.Serial]; o != nil {
		return fmt.Errorf("serial %d is in use by %q", d.Serial, o.Name)
	}
	if !d.agent.CompareAndSwap(nil, a) {
		return errors.New("it is attached already")
	}
	if a.indoms == nil {
		a.indoms = map[int]*InDom{}
	}
	a.indoms[d.Serial] = d
	a.tables.Store(nil)
	return nil
}

// id is the identifier; that of no domain if d is nil.
func (d *InDom) id(domain pdu.Domain) pdu.InDom {
	if d == nil {
		return pdu.NoInDom
	}
	return pdu.MakeInDom(domain, d.Serial)
}

// ID is the identifier under the agent's present Domain, pdu.NoInDom while no
// agent has d.
func (d *InDom) ID() pdu.InDom {
	a := d.agent.Load()
	if a == nil {
		return pdu.NoInDom
	}
	return d.id(a.Domain)
}

// fresh refreshes the domain for a request that is no fetch, and returns what it
// has.
func (d *InDom) fresh(ctx context.Context, r *Request) (*instances, error) {
	if d.Refresh != nil {
		if err := d.Refresh(ctx, r); err != nil {
			return nil, err
		}
	}
	if g := d.Group; g != nil {
		if err := g.lock(ctx); err != nil {
			return nil, err
		}
		defer g.unlock()
		if err := g.run(ctx, r); errors.Is(err, pdu.ErrAppVersion) {
			return noInstances, nil // what there is none of has no instances
		} else if err != nil {
			return nil, err
		}
	}
	return d.state(), nil
}

var noInstances = new(instances)

func (d *InDom) state() *instances {
	if s := d.insts.Load(); s != nil {
		return s
	}
	return noInstances
}

// Instances returns the instances in the order in which clients get them. Do not
// change the slice.
func (d *InDom) Instances() []pdu.Instance { return d.state().list }

// Set replaces the instances and what Update knows. IDs and names must be
// unique, names up to the first space; a name must not be empty, an ID not
// negative. The slice is copied.
func (d *InDom) Set(instances ...pdu.Instance) error {
	s, err := newInstances(slices.Clone(instances))
	if err != nil {
		return fmt.Errorf("instance domain %q: %w", d.Name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.insts.Store(s)
	d.ids, d.updated, d.file = nil, nil, nil
	return nil
}

// Update replaces the instances by name. Names are unique up to the first space,
// as for Set: "/order 200" and "/order 500" are not, "/order::200" and
// "/order::500" are; on an error the instances stay as they were. A name seen before gets the ID that it
// had, also after it was gone for a while, a new one the next. Clients get them
// in ascending order of ID. All names are remembered until Set, and beyond in the
// File. An Update with the names of the one before costs little. The counterpart of
// pmdaCacheStore(3) for all instances at once.
func (d *InDom) Update(names ...string) error {
	if err := d.update(names); err != nil {
		return fmt.Errorf("instance domain %q: %w", d.Name, err)
	}
	return nil
}

func (d *InDom) update(names []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.updated != nil && slices.Equal(names, d.updated) {
		return nil
	}
	if d.ids == nil {
		d.learn()
	}
	if d.File != "" && d.file == nil {
		d.load()
	}
	list := make([]pdu.Instance, len(names))
	free, isNew := freeIDs{d: d, next: d.next}, false
	for i, n := range names {
		id, ok := d.ids[n]
		if !ok {
			var err error
			if id, err = free.take(); err != nil {
				return err
			}
			isNew = true
		}
		list[i] = pdu.Instance{ID: id, Name: n}
	}
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	s, err := newInstances(list)
	if err != nil {
		return err
	}
	for _, i := range list {
		d.ids[i.Name] = i.ID
	}
	d.insts.Store(s)
	d.next, d.updated = free.next, append(d.updated[:0], names...)
	if isNew && d.file != nil {
		d.save(names)
	}
	return nil
}

// learn starts Update's memory with the instances that there are.
func (d *InDom) learn() {
	d.ids, d.next = map[string]pdu.InstID{}, 0
	for _, i := range d.Instances() {
		d.ids[i.Name] = i.ID
		d.next = max(d.next, int64(i.ID)+1)
	}
}

// newInstances checks and indexes a list, which it keeps.
func newInstances(list []pdu.Instance) (*instances, error) {
	s := &instances{list: list, byName: make(map[string]int, len(list))}
	for at, i := range list {
		if i.Name == "" || i.ID < 0 {
			return nil, fmt.Errorf("instance %d %q: needs a name and an ID of 0 or more", i.ID, i.Name)
		}
		short, _, _ := strings.Cut(i.Name, " ")
		if other, ok := s.byName[short]; ok && list[other].Name == i.Name {
			return nil, fmt.Errorf("instance %q is given twice", i.Name)
		} else if ok {
			return nil, fmt.Errorf("instances %q and %q are the same up to the first space", list[other].Name, i.Name)
		}
		s.byName[short] = at
		if s.byID == nil && int(i.ID) != at {
			s.byID = make(map[pdu.InstID]int, len(list))
			for before := range at {
				s.byID[list[before].ID] = before
			}
		}
		if s.byID != nil {
			if other, ok := s.byID[i.ID]; ok {
				return nil, fmt.Errorf("instances %q and %q have the same ID %d", list[other].Name, i.Name, i.ID)
			}
			s.byID[i.ID] = at
		}
	}
	return s, nil
}

// id finds an instance by its ID.
func (s *instances) id(id pdu.InstID) (pdu.Instance, bool) {
	at, ok := int(id), id >= 0 && int(id) < len(s.list)
	if s.byID != nil {
		at, ok = s.byID[id]
	}
	if !ok {
		return pdu.Instance{}, false
	}
	return s.list[at], true
}

// name finds an instance by its name, or by the part up to the first space.
func (s *instances) name(name string) (pdu.Instance, bool) {
	short, _, _ := strings.Cut(name, " ")
	at, ok := s.byName[short]
	if !ok || name != short && name != s.list[at].Name {
		return pdu.Instance{}, false
	}
	return s.list[at], true
}
