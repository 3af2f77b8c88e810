package mmv

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/pcp-go/pcp/pdu"
)

// An InDom is an instance domain: a set of things, such as disks, products or routes, for each of
// which a metric has one value. Its methods register metrics. A metric has a value for each
// instance that Vec.With was called with. Instances can be added and removed at any time.
type InDom struct {
	registry  *Registry
	name      string
	domain    Domain
	serial    int
	index     int // in Registry.domains
	bad       bool
	where     uintptr
	instances []*instance // those that an image has
	byName    map[string]*instance
	byWord    map[string]*instance // by the name up to its first space
	byID      map[pdu.InstID]*instance
	drop      []func(name string) // has each metric forget its handle for an instance
}

// A Domain describes an instance domain at its registration. All fields are optional.
type Domain struct {
	Text string // one line that says what the instances are, up to 255 bytes
	Help string // more than one line, up to 255 bytes

	// Serial is the number of the domain in the file, 1 to 2047. 0 means a number computed
	// from the name, like Metric.Item.
	Serial int

	Labels Labels
}

// An Instance describes an instance that InDom.Add adds.
type Instance struct {
	Name string

	// ID is the number of the instance, at least 0, such as new(pdu.InstID(0)). nil means a number
	// computed from the name. It is the same after every restart, unless two names give the same
	// number.
	ID *pdu.InstID

	Labels Labels
}

// autoID is in place of the number of an instance that the registry numbers.
const autoID = pdu.NoInst

// An instance is a registered instance.
type instance struct {
	dom      *InDom
	name     string
	id       pdu.InstID
	index    int  // in InDom.instances
	bad      bool // it is in no image
	removed  bool
	children []*instance // in other domains, which go with this one
}

// InDom registers an instance domain. The name identifies it in errors and determines its number;
// tools do not show it.
func (r *Registry) InDom(name string, d Domain) *InDom {
	r.mu.Lock()
	defer r.unlock()
	dom := r.inDom(r.start(), name, d)
	r.grow()
	return dom
}

func (r *Registry) inDom(where uintptr, name string, d Domain) *InDom {
	dom := &InDom{registry: r, name: name, domain: d, where: where, serial: d.Serial,
		byName: make(map[string]*instance), byWord: make(map[string]*instance), byID: make(map[pdu.InstID]*instance)}
	var errs []error
	if same := r.inDoms[name]; same != nil {
		errs = append(errs, fmt.Errorf("already registered at %s", site(same.where)))
	}
	if d.Serial < 0 || d.Serial > safeSerial {
		errs = append(errs, fmt.Errorf("serial %d is out of range (1..%d)", d.Serial, safeSerial))
	} else if same := r.serials[d.Serial]; same != nil {
		errs = append(errs, fmt.Errorf("serial %d is that of %q, registered at %s", d.Serial, same.name, site(same.where)))
	}
	if len(r.domains) == safeSerial {
		errs = append(errs, fmt.Errorf("there are %d instance domains, which is the limit", safeSerial))
	}
	dom.bad = errs != nil
	r.failEach(where, fmt.Sprintf("instance domain %q", name), errors.Join(append(errs, checkTexts(d.Text, d.Help))...))
	if dom.bad {
		return dom
	}
	if dom.serial == 0 {
		dom.serial = free(r.serials, hash(name), 1, safeSerial)
	}
	dom.index = len(r.domains)
	r.domains = append(r.domains, dom)
	r.serials[dom.serial], r.inDoms[name] = dom, dom
	r.addLabels(where, fmt.Sprintf("instance domain %q", name), d.Labels, pdu.LabelInDom, uint32(dom.serial), nil)
	return dom
}

// Add adds instances with numbers or labels. Other instances need no Add, because Vec.With adds
// them. If an instance exists already, Add adds the labels to it; a different number is an error.
func (d *InDom) Add(instances ...Instance) {
	r := d.registry
	r.mu.Lock()
	defer r.unlock()
	where := r.start()
	for _, in := range instances {
		i := d.add(where, in.Name, in.ID)
		if !i.bad {
			r.addLabels(where, fmt.Sprintf("instance %q of %q", in.Name, d.name), in.Labels, pdu.LabelInstances, uint32(d.serial), i)
		}
	}
	r.grow()
}

// add returns the instance with a name, and adds it if it is new. It adds an error if the instance
// cannot have the number *id. With a nil id, any number will do.
func (d *InDom) add(where uintptr, name string, id *pdu.InstID) *instance {
	if id == nil {
		return d.instance(where, name, autoID)
	}
	known := d.byName[name] != nil
	if !known && *id < 0 {
		d.registry.fail(where, "instance %q of %q: the number %d is negative", name, d.name, *id)
		return d.instance(where, name, autoID)
	}
	in := d.instance(where, name, *id)
	if known && !in.bad && in.id != *id {
		d.registry.fail(where, "instance %q of %q has the number %d, not %d", name, d.name, in.id, *id)
	}
	return in
}

// instance returns the instance with a name, and adds it if it is new. An instance that cannot be
// exported is marked as bad.
func (d *InDom) instance(where uintptr, name string, id pdu.InstID) *instance {
	if in := d.byName[name]; in != nil {
		return in
	}
	in := &instance{dom: d, name: name, id: id, bad: d.bad}
	d.byName[name] = in
	if err := d.check(in); err != nil {
		d.registry.fail(where, "instance %q of %q: %w", name, d.name, err)
		in.bad = true
	}
	if in.bad {
		return in
	}
	if in.id == autoID {
		in.id = free(d.byID, hash(name), 0, pdu.InstID(1<<31-1))
	}
	in.index = len(d.instances)
	d.instances = append(d.instances, in)
	d.byID[in.id], d.byWord[firstWord(name)] = in, in
	if len(name) > maxShortName {
		d.registry.version = max(d.registry.version, version2)
	}
	return in
}

// firstWord returns the first word of an instance's name. Tools find the instance by it.
func firstWord(name string) string {
	word, _, _ := strings.Cut(name, " ")
	return word
}

// check returns an error if an instance is invalid.
func (d *InDom) check(in *instance) error {
	word := firstWord(in.name)
	switch limit := d.registry.maxName(); {
	case word == "":
		return errors.New("a name must not be empty nor begin with a space")
	case len(in.name) > limit:
		return fmt.Errorf("the name has %d bytes, limit %d", len(in.name), limit)
	case strings.ContainsFunc(in.name, unicode.IsControl):
		return errors.New("a name must not have control characters")
	case d.byWord[word] != nil:
		return fmt.Errorf("%q, all up to the first space, by which tools find an instance, is also that of %q",
			word, d.byWord[word].name)
	case in.id != autoID && d.byID[in.id] != nil:
		return fmt.Errorf("the number %d is that of %q: without Instance.ID it gets one that is free", in.id, d.byID[in.id].name)
	}
	return nil
}

// Remove removes instances and their values from all metrics of the domain. Handles of a removed
// instance still count but are not exported. With then returns a new handle, which starts at 0. A
// call takes time in proportion to all instances and values of the registry, so remove many
// instances with one call.
func (d *InDom) Remove(names ...string) {
	r := d.registry
	r.mu.Lock()
	defer r.unlock()
	found := false
	for _, name := range names {
		if in := d.byName[name]; in != nil {
			in.remove()
			found = true
		}
	}
	if found {
		r.forget()
		r.stale = true
		r.grow()
	}
}

// remove takes an instance out of its domain.
func (in *instance) remove() {
	d := in.dom
	in.removed = true
	delete(d.byName, in.name)
	if !in.bad {
		delete(d.byWord, firstWord(in.name))
		delete(d.byID, in.id)
	}
	for _, drop := range d.drop {
		drop(in.name)
	}
	for _, child := range in.children {
		child.remove()
	}
}

// forget takes what belongs to removed instances out of the lists for images.
func (r *Registry) forget() {
	r.cells = slices.DeleteFunc(r.cells, func(c *cell) bool {
		gone := c.inst != nil && c.inst.removed
		if gone {
			c.settle(c.move(newSlot(c.typ)))
		}
		return gone
	})
	maps.DeleteFunc(r.histograms, func(_ *Histogram, in *instance) bool { return in != nil && in.removed })
	r.labels = slices.DeleteFunc(r.labels, func(l label) bool { return l.instance != nil && l.instance.removed })
	for _, d := range r.domains {
		d.instances = slices.DeleteFunc(d.instances, func(in *instance) bool { return in.removed })
		for i, in := range d.instances {
			in.index = i
		}
	}
}
