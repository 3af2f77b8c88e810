package pmda

import (
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
	// an empty answer, means none.
	InstanceLabels func(i pdu.Instance) string
	// Refresh, if not nil, is called before the instances are looked at for a
	// request: before each fetch of a metric of this domain, once, and before each
	// question about instances. It may call Set or Update. An error fails the
	// request, or the metrics of the domain in a fetch.
	Refresh func(ctx context.Context, r *Request) error

	agent *Agent
	insts atomic.Pointer[[]pdu.Instance] // never changed in place

	mu   sync.Mutex
	ids  map[string]pdu.InstID // of all names that Update has seen
	next pdu.InstID
}

// AddInDom enters an instance domain with the next free serial, 0 first, and
// instances numbered from 0 in the order of their names.
func (a *Agent) AddInDom(name string, instances ...string) *InDom {
	d := &InDom{Name: name}
	a.mu.Lock()
	for slices.ContainsFunc(a.indoms, func(o *InDom) bool { return o.Serial == d.Serial }) {
		d.Serial++
	}
	a.mu.Unlock()
	if err := a.Attach(d); err == nil {
		if err := d.Update(instances...); err != nil {
			a.refuse("instance domain "+name, err)
		}
	}
	return d
}

// Attach enters an instance domain. Errors: a serial that is in use or out of
// range, an InDom that another agent has.
func (a *Agent) Attach(d *InDom) error {
	if err := a.attach(d); err != nil {
		return a.refuse("instance domain "+d.Name, err)
	}
	return nil
}

func (a *Agent) attach(d *InDom) error {
	if d.Serial < 0 || d.Serial > pdu.MaxInDomSerial {
		return fmt.Errorf("serial %d out of range (0..%d)", d.Serial, pdu.MaxInDomSerial)
	}
	if err := checkLabels(d.Labels); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.agent != nil {
		return errors.New("it is attached already")
	}
	for _, o := range a.indoms {
		if o.Serial == d.Serial {
			return fmt.Errorf("serial %d is in use by %q", d.Serial, o.Name)
		}
	}
	d.agent = a
	a.indoms = append(a.indoms, d)
	a.stale()
	return nil
}

// id is the identifier; that of no domain if d is nil.
func (d *InDom) id(domain pdu.Domain) pdu.InDom {
	if d == nil {
		return pdu.NoInDom
	}
	return pdu.MakeInDom(domain, d.Serial)
}

// ID is the identifier under the agent's present Domain.
func (d *InDom) ID() pdu.InDom { return d.id(d.agent.Domain) }

// Instances returns the instances in the order in which clients get them. Do not
// change the slice.
func (d *InDom) Instances() []pdu.Instance {
	if p := d.insts.Load(); p != nil {
		return *p
	}
	return nil
}

// Set replaces the instances. IDs and names must be unique, names up to the
// first space; a name must not be empty, an ID not pdu.NoInst. The slice is
// copied.
func (d *InDom) Set(instances ...pdu.Instance) error {
	if err := checkInstances(instances); err != nil {
		return fmt.Errorf("instance domain %s: %w", d.Name, err)
	}
	insts := slices.Clone(instances)
	d.insts.Store(&insts)
	return nil
}

func checkInstances(instances []pdu.Instance) error {
	ids := make(map[pdu.InstID]string, len(instances))
	names := make(map[string]string, len(instances))
	for _, i := range instances {
		short, _, _ := strings.Cut(i.Name, " ")
		if i.Name == "" || i.ID == pdu.NoInst {
			return fmt.Errorf("instance %d %q: needs a name and an ID other than %d", i.ID, i.Name, pdu.NoInst)
		}
		if other, ok := ids[i.ID]; ok {
			return fmt.Errorf("instances %q and %q have the same ID %d", other, i.Name, i.ID)
		}
		if other, ok := names[short]; ok {
			return fmt.Errorf("instances %q and %q are the same up to the first space", other, i.Name)
		}
		ids[i.ID], names[short] = i.Name, i.Name
	}
	return nil
}

// Update replaces the instances by name: a name seen before gets the ID that it
// had, also after it was gone for a while, a new one the next. Clients get them
// in ascending order of ID. The counterpart of pmdaCacheStore(3) for all
// instances at once.
func (d *InDom) Update(names ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	insts := make([]pdu.Instance, 0, len(names))
	next := d.next
	for _, n := range names {
		id, ok := d.ids[n]
		if !ok {
			id = next
			next++
		}
		insts = append(insts, pdu.Instance{ID: id, Name: n})
	}
	slices.SortFunc(insts, func(a, b pdu.Instance) int { return int(a.ID) - int(b.ID) })
	if err := d.Set(insts...); err != nil {
		return err
	}
	if d.ids == nil {
		d.ids = make(map[string]pdu.InstID, len(names))
	}
	for _, i := range insts {
		d.ids[i.Name] = i.ID
	}
	d.next = next
	return nil
}

// byID finds an instance.
func (d *InDom) byID(id pdu.InstID) (pdu.Instance, bool) {
	insts := d.Instances()
	// Most domains are numbered from 0 without gaps.
	if id >= 0 && int(id) < len(insts) && insts[id].ID == id {
		return insts[id], true
	}
	for _, i := range insts {
		if i.ID == id {
			return i, true
		}
	}
	return pdu.Instance{}, false
}

// byName finds an instance by its name, or by the part up to the first space.
func (d *InDom) byName(name string) (pdu.Instance, bool) {
	insts := d.Instances()
	for _, i := range insts {
		if i.Name == name {
			return i, true
		}
	}
	if strings.Contains(name, " ") {
		return pdu.Instance{}, false
	}
	for _, i := range insts {
		if short, _, _ := strings.Cut(i.Name, " "); short == name {
			return i, true
		}
	}
	return pdu.Instance{}, false
}
