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
	"unicode"

	"github.com/pcp-go/pcp/pdu"
)

// An InDom is an instance domain of an Agent: a set of instances that several
// metrics share. AddInDom makes one; Attach adds one that is made by hand.
//
// The exported fields are set before the agent serves. The instances may change
// at any time, from any goroutine. It is pmdaIndom of the C library.
type InDom struct {
	// Serial is its number within the agent, such as InDomSerial(3). Zero means the
	// next free one. ID has the number when d is attached.
	Serial SerialID
	// Name says what an instance is, for messages.
	Name string
	// Text is the one-line help text; Help the long one. Empty means none.
	Text, Help string
	// Labels is a JSON object with the labels of the domain. Empty means none.
	Labels string
	// InstanceLabels returns a JSON object with the labels of an instance; nil, or
	// an empty text, means none. LabelJSON makes one of a map. It may be called by
	// several goroutines at once.
	InstanceLabels func(i pdu.Instance) string
	// Refresh, if not nil, is called before a request uses the instances: once before
	// each fetch of a metric of this domain, and before each request for instances or
	// their labels. It may set the instances. An error fails the
	// request, or the metrics of the domain in a fetch. It may be called by
	// several goroutines at once.
	Refresh func(ctx context.Context, r *Request) error
	// Group, if not nil, is refreshed on the same occasions, after Refresh. Where
	// a group's refresh finds both the instances and their values, it calls
	// SetNames, and the domain and its metrics name the group. Where it fails with
	// pdu.ErrAppVersion there are no instances.
	Group *Group
	// File, if not empty, is where SetNames keeps the IDs of the names that it has seen,
	// so that they are the same when the agent runs again: a file of the C library's
	// cache of instances, such as /var/lib/pcp/config/pmda/60.1, which it may share
	// with a C agent that does not run at the same time. It is read before the first
	// SetNames, and replaced when there is a new name. What is wrong with it is logged,
	// and does not hinder SetNames; a file that is no such file, or cannot be read, is
	// left alone. Names that the format cannot hold, longer than 959 bytes or
	// beginning with a bracket, are not kept. The counterpart of the
	// operations LOAD and SAVE of pmdaCacheOp(3).
	File string

	home  atomic.Pointer[indomHome] // nil until it is attached first
	insts atomic.Pointer[instances]

	refreshLog logOnce
	fileLog    logOnce
	labelsLog  logOnce

	mu      sync.Mutex            // guards what follows
	ids     map[string]pdu.InstID // of all names that SetNames has seen; nil after SetInstances
	next    int64                 // above all IDs of names
	names   []string              // of the last SetNames; nil after SetInstances
	nameIDs []pdu.InstID          // their IDs
	file    *instanceFile         // nil until it is read
}

// instances are a state of an instance domain, which never changes.
type instances struct {
	list   []pdu.Instance
	byID   map[pdu.InstID]int // index in list; nil if the IDs are the indexes
	byName map[string]int     // by the part of the name up to the first space
}

// A SerialID is the agent's part of the identifier of an instance domain. The zero
// SerialID means that the Agent chooses: the next serial that no domain has or had.
// InDomSerial makes one of a number.
type SerialID uint32

const explicitSerial SerialID = 1 << 31

// InDomSerial is the SerialID of a number, 0 to pdu.MaxInDomSerial.
func InDomSerial(n int) SerialID {
	if n < 0 || n > pdu.MaxInDomSerial {
		return ^SerialID(0)
	}
	return explicitSerial | SerialID(n)
}

// Number is the number of s, and -1 if s has none.
func (s SerialID) Number() int {
	if s&explicitSerial == 0 {
		return -1
	}
	return int(s &^ explicitSerial)
}

// indomHome is where an instance domain belongs, for as long as it is.
type indomHome struct {
	agent  *Agent
	serial int
}

// AddInDom adds an instance domain with the next free serial, 0 first, and
// instances numbered from 0 in the order of their names, which are unique up to
// the first space.
func (a *Agent) AddInDom(name string, instances ...string) *InDom {
	return addInDom(a, name, instances)
}

// AddInDom is Agent.AddInDom for these Tables.
func (t *Tables) AddInDom(name string, instances ...string) *InDom {
	return addInDom(t, name, instances)
}

func addInDom(to Registry, name string, instances []string) *InDom {
	d := &InDom{Name: name}
	_ = to.register("add instance domain", name, func(t *Tables) error { // which remembers the error
		if _, err := d.setNames(instances); err != nil {
			return err
		}
		return t.attach(d)
	})
	return d
}

// Attach adds an instance domain. From then on it belongs to the Agent, also
// when it is detached. Errors: a serial that is in use or out of range, labels that
// are not JSON, an InDom or Group that another agent has.
func (a *Agent) Attach(d *InDom) error { return attach(a, d) }

// Attach is Agent.Attach for these Tables. The InDom may be in other Tables of the
// same Agent too.
func (t *Tables) Attach(d *InDom) error { return attach(t, d) }

func attach(to Registry, d *InDom) error {
	if d == nil {
		return to.register("attach instance domain", "", func(*Tables) error { return errors.New("the *InDom is nil") })
	}
	return to.register("attach instance domain", d.Name, func(t *Tables) error { return t.attach(d) })
}

func (t *Tables) attach(d *InDom) error {
	if err := checkLabels("Labels", d.Labels); err != nil {
		return err
	}
	if d.Group != nil && d.Group.agent != t.agent {
		return fmt.Errorf("its Group belongs to agent %s", d.Group.agent.Name)
	}
	home := d.home.Load()
	if home == nil {
		serial, err := t.chooseSerial(d.Serial)
		if err != nil {
			return err
		}
		home = &indomHome{t.agent, serial}
	}
	if home.agent != t.agent {
		return fmt.Errorf("it belongs to agent %s", home.agent.Name)
	}
	switch o := t.indoms[home.serial]; o {
	case nil:
	case d:
		return errors.New("it is attached already")
	default:
		return fmt.Errorf("serial %d is in use by %q", home.serial, o.Name)
	}
	if !d.home.CompareAndSwap(nil, home) && d.home.Load() != home {
		return errors.New("it is attached to another agent just now")
	}
	t.agent.numbers.noteSerial(home.serial, d.Serial == 0)
	if t.indoms == nil {
		t.indoms = map[int]*InDom{}
	}
	t.indoms[home.serial] = d
	return nil
}

// chooseSerial is the number of an instance domain that has none yet.
func (t *Tables) chooseSerial(s SerialID) (int, error) {
	n := &t.agent.numbers
	serial := int(s &^ explicitSerial)
	if s == 0 {
		for serial = n.serial; n.serials[serial]; serial++ {
		}
	} else if s&explicitSerial == 0 {
		return 0, errors.New("its Serial is a plain number: make it with InDomSerial")
	}
	if serial > pdu.MaxInDomSerial {
		return 0, fmt.Errorf("its Serial is out of range (0..%d)", pdu.MaxInDomSerial)
	}
	return serial, nil
}

// ID is the identifier under the agent's present Domain, pdu.NoInDom before d is
// attached.
func (d *InDom) ID() pdu.InDom {
	home := d.home.Load()
	if home == nil {
		return pdu.NoInDom
	}
	return pdu.MakeInDom(home.agent.Domain, home.serial)
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
		if err := g.turn.Lock(ctx); err != nil {
			return nil, err
		}
		defer g.turn.Unlock()
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

// Instances returns the instances in the order in which clients get them. The
// caller does not change the slice.
func (d *InDom) Instances() []pdu.Instance { return d.state().list }

// SetInstances replaces the instances, and what SetNames remembers, and returns
// their IDs. IDs and names must be unique, names up to the first space; a name
// must be one that ValidInstanceName accepts, an ID not negative. On an error the
// instances stay as they were. The slice is copied.
func (d *InDom) SetInstances(instances ...pdu.Instance) ([]pdu.InstID, error) {
	s, err := newInstances(slices.Clone(instances))
	if err != nil {
		return nil, d.opError(err)
	}
	ids := make([]pdu.InstID, len(instances))
	for i := range instances {
		ids[i] = instances[i].ID
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.insts.Store(s)
	d.ids, d.names, d.file = nil, nil, nil
	return ids, nil
}

// SetNames replaces the instances by name, and returns the ID of each name, in the
// order of the names; do not change that slice. A name seen before gets the ID that
// it had, also after it was gone for a while, a new one the next. Clients get the
// instances in ascending order of ID.
//
// Names are unique up to the first space, as for SetInstances: "/order 200" and
// "/order 500" are not, "/order::200" and "/order::500" are; on an error the
// instances stay as they were. One bad name fails them all: a program that has names
// from elsewhere, such as those of devices, leaves out those that ValidInstanceName does
// not accept. All names are remembered until SetInstances, and
// beyond in the File. A call with the names of the one before costs little. The
// counterpart of pmdaCacheStore(3) for all instances at once.
func (d *InDom) SetNames(names ...string) ([]pdu.InstID, error) {
	ids, err := d.setNames(names)
	if err != nil {
		return nil, d.opError(err)
	}
	return ids, nil
}

func (d *InDom) opError(err error) error {
	e := &OpError{Op: "set instances of", Name: d.Name, Err: err}
	if home := d.home.Load(); home != nil {
		e.Agent = home.agent.Name
	}
	return e
}

func (d *InDom) setNames(names []string) ([]pdu.InstID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names != nil && slices.Equal(names, d.names) {
		return d.nameIDs, nil
	}
	if d.ids == nil {
		d.rememberIDs()
	}
	if d.File != "" && d.file == nil {
		d.load()
	}
	list := make([]pdu.Instance, len(names))
	ids := make([]pdu.InstID, len(names))
	free, isNew := freeIDs{d: d, above: d.next}, false
	for i, n := range names {
		id, ok := d.ids[n]
		if !ok {
			var err error
			if id, err = free.next(); err != nil {
				return nil, err
			}
			isNew = true
		}
		list[i], ids[i] = pdu.Instance{ID: id, Name: n}, id
	}
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	s, err := newInstances(list)
	if err != nil {
		return nil, err
	}
	for _, i := range list {
		d.ids[i.Name] = i.ID
	}
	d.insts.Store(s)
	d.next, d.nameIDs, d.names = free.above, ids, append(d.names[:0], names...)
	if isNew && d.file != nil {
		d.save(names)
	}
	return ids, nil
}

// rememberIDs makes SetNames know the IDs of the present instances.
func (d *InDom) rememberIDs() {
	d.ids, d.next = map[string]pdu.InstID{}, 0
	for _, i := range d.Instances() {
		d.ids[i.Name] = i.ID
		d.next = max(d.next, int64(i.ID)+1)
	}
}

// ValidInstanceName reports whether an instance may have a name. It may not be empty
// before the first space, since tools such as pminfo know an instance by that part, and
// may not have control characters, which could break lines and move the cursor where
// names are printed.
func ValidInstanceName(name string) bool { return checkInstanceName(name) == nil }

func checkInstanceName(name string) error {
	switch {
	case name == "":
		return errors.New("needs a name")
	case name[0] == ' ':
		return errors.New("the name must not begin with a space: up to the first space it tells instances apart")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("the name must not have control characters")
	}
	return nil
}

// newInstances checks and indexes a list, which it keeps.
func newInstances(list []pdu.Instance) (*instances, error) {
	s := &instances{list: list, byName: make(map[string]int, len(list))}
	for at, i := range list {
		if i.ID < 0 {
			return nil, fmt.Errorf("instance %d %q: needs an ID of 0 or more", i.ID, i.Name)
		}
		if err := checkInstanceName(i.Name); err != nil {
			return nil, fmt.Errorf("instance %d %q: %w", i.ID, i.Name, err)
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
