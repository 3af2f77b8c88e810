package pmda

import (
	"context"
	"errors"
	"fmt"
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
	// Serial is its number within the agent, such as InDomSerial(3). Zero means the next free one,
	// which ID shows once the InDom is attached.
	Serial SerialID
	// Name says what an instance is, such as "disk". It appears only in errors and in the log.
	Name string
	// Text is the one-line help text, Help the long one. Clients that request an empty Help get
	// Text, and those that request an empty Text get pdu.ErrText.
	Text, Help string
	// Labels is a JSON object with the labels of the domain; see LabelJSON. Empty means
	// none.
	Labels string
	// InstanceLabels, if not nil, returns a JSON object with the labels of an instance, or an empty
	// text without labels. See LabelJSON. It must be safe for concurrent use. Call Agent.Notify
	// when labels have changed.
	InstanceLabels func(i pdu.Instance) string
	// Refresh, if not nil, is called before a request uses the instances: once before each fetch of
	// a metric of this domain, and before each request for instances or their labels. It may set
	// the instances. An error fails the request, or the metrics of the domain in a fetch. Refresh
	// must be safe for concurrent use.
	Refresh func(ctx context.Context, r *Request) error
	// Group, if not nil, is refreshed on the same occasions, after Refresh. If one source has both
	// the instances and their values, use one Group for the domain and its metrics, and let its
	// refresh call SetNames. If the refresh fails with pdu.ErrAppVersion, requests for the
	// instances get an empty list.
	Group *Group
	// File, if not empty, is where SetNames keeps the IDs of the names that it has seen, so that
	// they survive a restart of the agent. It has the format of the C library's cache, such as
	// /var/lib/pcp/config/pmda/60.1. A C agent may use the file while this agent does not run.
	//
	// SetNames reads the file before its first use, and replaces it when a name is new. Errors of
	// the file are logged, and SetNames works without it. A file that has a different format or
	// cannot be read is left alone. Names that the format cannot hold, see Cache.Save, are not
	// kept. File is the counterpart of the operations LOAD and SAVE of pmdaCacheOp(3).
	File string
	// Cache is nil or a *Cache. With a Cache, the domain has the instances that are active in it,
	// and SetNames, NameIDs and SetInstances fail. File must be empty, because the Cache has its
	// own.
	Cache InstanceCache

	home  atomic.Pointer[indomHome]     // nil until the InDom is attached for the first time
	table atomic.Pointer[instanceTable] // nil until instances have been set

	refreshLog logOnce
	fileLog    logOnce
	labelsLog  logOnce

	mu      sync.Mutex   // guards what follows
	cache   *cacheTable  // of SetNames; nil after SetInstances
	names   []string     // of the last SetNames; nil after SetInstances
	nameIDs []pdu.InstID // their IDs
	loaded  bool         // the file has been read into the cache
}

// An instanceTable has the instances of a domain for a request.
type instanceTable interface {
	list() []pdu.Instance                       // never changes
	id(id pdu.InstID) (pdu.Instance, bool)      // finds an instance by its ID
	name(name string) (i pdu.Instance, ok bool) // or by its name, or the part of that up to the first space
}

// A SerialID is the agent's part of the identifier of an instance domain. InDomSerial makes one
// from a number. The zero SerialID means that the Agent chooses the next serial that no domain has
// or had.
type SerialID uint32

const explicitSerial SerialID = 1 << 31

// InDomSerial returns the SerialID of a number, 0 to pdu.MaxInDomSerial. Attach fails for the
// result of any other number.
func InDomSerial(n int) SerialID {
	if n < 0 || n > pdu.MaxInDomSerial {
		return ^SerialID(0)
	}
	return explicitSerial | SerialID(n)
}

// indomHome is the agent and the serial of an instance domain. They never change.
type indomHome struct {
	agent  *Agent
	serial int
}

// AddInDom adds an instance domain with the next free serial, beginning with 0, and returns it. Its
// instances have the IDs 0, 1 and so on, in the order of their names. See SetNames for valid names
// and Agent.Err for errors.
func (a *Agent) AddInDom(name string, instances ...string) *InDom {
	d := &InDom{Name: name}
	_ = a.register("add instance domain", name, func(t *tables) error { // which remembers the error
		if _, err := d.setNames(instances); err != nil {
			return err
		}
		return t.attach(d)
	})
	return d
}

// Attach adds an instance domain. From then on it belongs to the Agent, even after Detach. Errors:
// a serial that is in use or out of range, labels that are not JSON, an InDom that is nil or
// attached already, an InDom or Group of another agent, a Cache of strings, both a Cache and a
// File.
func (a *Agent) Attach(d *InDom) error {
	if d == nil {
		return a.register("attach instance domain", "", func(*tables) error { return errors.New("the *InDom is nil") })
	}
	return a.register("attach instance domain", d.Name, func(t *tables) error { return t.attach(d) })
}

func (t *tables) attach(d *InDom) error {
	if err := checkLabels("Labels", d.Labels); err != nil {
		return err
	}
	if err := checkCache(d); err != nil {
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
	switch o := t.indoms.get(uint32(home.serial)); o {
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
	t.indoms.set(uint32(home.serial), d)
	return nil
}

// checkCache returns an error if the Cache of d cannot provide its instances.
func checkCache(d *InDom) error {
	if d.Cache == nil {
		return nil
	}
	switch t := d.Cache.instances(); {
	case t == nil:
		return errors.New("its Cache is nil")
	case d.Cache.strings():
		return errors.New("its Cache is one of strings, which are no names of instances")
	case d.File != "":
		return errors.New("it has a File and a Cache, which has a File of its own")
	}
	return nil
}

// chooseSerial returns the serial for an instance domain that is attached for the first time.
func (t *tables) chooseSerial(s SerialID) (int, error) {
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

// ID returns the identifier of d, which depends on the agent's Domain, or pdu.NoInDom before d is
// attached.
func (d *InDom) ID() pdu.InDom {
	home := d.home.Load()
	if home == nil {
		return pdu.NoInDom
	}
	return pdu.MakeInDom(home.agent.Domain, home.serial)
}

// fresh refreshes the domain for any request except a fetch, and returns its instances.
func (d *InDom) fresh(ctx context.Context, r *Request) (instanceTable, error) {
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
			return noInstances, nil // a source that does not exist has no instances
		} else if err != nil {
			return nil, err
		}
	}
	return d.state(), nil
}

func (d *InDom) state() instanceTable {
	if d.Cache != nil {
		return d.Cache.instances()
	}
	if t := d.table.Load(); t != nil {
		return *t
	}
	return noInstances
}

// Instances returns the instances in the same order as clients get them. The caller must not change
// the slice.
func (d *InDom) Instances() []pdu.Instance { return d.state().list() }

// ValidInstanceName reports whether name is a valid name of an instance. The part before the first
// space must not be empty, because tools such as pminfo identify an instance by that part. Control
// characters are not allowed, because they could break lines or move the cursor when a tool prints
// the name.
func ValidInstanceName(name string) bool { return checkInstanceName(name) == nil }

// hasControl reports whether a text has control characters.
func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f { // a control character, or any that is not ASCII
			return strings.ContainsFunc(s[i:], unicode.IsControl)
		}
	}
	return false
}

func checkInstanceName(name string) error {
	switch {
	case name == "":
		return errors.New("needs a name")
	case name[0] == ' ':
		return errors.New("the name must not begin with a space: up to the first space it tells instances apart")
	case hasControl(name):
		return errors.New("the name must not have control characters")
	}
	return nil
}
