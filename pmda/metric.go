package pmda

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// NoValue is what Value returns when there is no value now. It is no failure:
// the instance is left out of the result.
//
//lint:ignore ST1012 It is an answer like io.EOF, not a failure.
var NoValue = errors.New("no value available")

// An ItemID is the agent's part of a PMID. The zero ItemID takes the next free
// item of cluster 0 in order of registration; a program whose archives shall
// stay comparable over releases gives each metric its own with Item.
type ItemID uint32

const explicitItem ItemID = 1 << 31

// Item is the ItemID of a cluster, 0 to pdu.MaxCluster, and an item, 0 to
// pdu.MaxItem. The counterpart of PMDA_PMID.
func Item(cluster, item int) ItemID {
	if cluster < 0 || cluster > pdu.MaxCluster || item < 0 || item > pdu.MaxItem {
		return ^ItemID(0)
	}
	return explicitItem | ItemID(cluster<<10|item)
}

// A Metric is what Register enters. Exactly one of Value and Values is set.
type Metric[T pdu.Scalar] struct {
	// Name is the full dotted name.
	Name string
	// Text is the one-line help text; Help the long one. Empty means none.
	Text, Help string
	// ID is the metric's number within the agent; see ItemID.
	ID ItemID
	// Type is the type of the values where T does not say it: an event array or a
	// static aggregate among []byte. Zero means the type of T.
	Type pdu.Type
	// Sem is the semantics. Zero means pdu.SemInstant.
	Sem pdu.Sem
	// Units are the dimension and scale.
	Units pdu.Units
	// InDom is the instance domain; nil for a singular metric.
	InDom *InDom
	// Group, if not nil, is refreshed before the values are asked for.
	Group *Group
	// Labels is a JSON object with the labels of the metric; see LabelJSON. Empty
	// means none.
	Labels string

	// Value gives the value of one instance, of Instance{pdu.NoInst, ""} if the
	// metric is singular. It is called for the instances that the client wants.
	// NoValue leaves the instance out; any other error does so too, and is the
	// metric's error if no instance has a value.
	Value func(ctx context.Context, r *Request, i pdu.Instance) (T, error)
	// Values gives the values of all instances at once.
	Values func(ctx context.Context, r *Request, s *Set[T]) error
	// Store sets a value; nil means that clients have no permission to. Its error is
	// the client's: pdu.ErrBadStore for a value that cannot be, or another pdu.Error.
	Store func(ctx context.Context, r *Request, i pdu.Instance, v T) error
}

// A metric is an entry of the table, where the type parameter has ended.
type metric struct {
	name, text, help, labels string
	item                     ItemID
	typ                      pdu.Type
	sem                      pdu.Sem
	units                    pdu.Units
	indom                    *InDom
	group                    *Group

	fetch func(ctx context.Context, r *Request, f *setBox) error
	store func(ctx context.Context, r *Request, i pdu.Instance, a pdu.Atom) error // or nil

	trouble, storeTrouble trouble
}

func (m *metric) pmid(d pdu.Domain) pdu.PMID {
	return pdu.MakePMID(d, int(m.item>>10&pdu.MaxCluster), int(m.item&pdu.MaxItem))
}

// Register enters a metric into the tables of an agent. Errors: a name or ID
// that is in use or malformed, no or two ways to values, an InDom or Group of
// another agent, labels that are not JSON. The Agent remembers the first error,
// so that a program may leave it to Main, Serve or a collector to report it.
func Register[T pdu.Scalar](a *Agent, m Metric[T]) error {
	e := &metric{
		name: m.Name, text: m.Text, help: m.Help, labels: m.Labels, item: m.ID,
		typ: m.Type, sem: m.Sem, units: m.Units, indom: m.InDom, group: m.Group,
	}
	ofT := pdu.ScalarType[T]()
	if e.typ == 0 {
		e.typ = ofT
	}
	if e.sem == 0 {
		e.sem = pdu.SemInstant
	}
	if err := checkType(e.typ, ofT); err != nil {
		return a.refuseMetric(m.Name, err)
	}
	switch {
	case m.Value != nil && m.Values == nil:
		e.fetch = fetchEach(m.Value)
	case m.Values != nil && m.Value == nil:
		e.fetch = fetchAll(m.Values)
	case m.Value == nil:
		return a.refuseMetric(m.Name, errors.New("has no values: set Value or Values"))
	default:
		return a.refuseMetric(m.Name, errors.New("has both Value and Values: set one of them"))
	}
	if m.Store != nil {
		e.store = func(ctx context.Context, r *Request, i pdu.Instance, at pdu.Atom) error {
			v, err := pdu.As[T](at)
			if err != nil {
				return err
			}
			return m.Store(ctx, r, i, v)
		}
	}
	return a.enter(e)
}

// checkType refuses a type that values of T cannot have.
func checkType(t, ofT pdu.Type) error {
	bytes := ofT == pdu.TypeAggregate
	switch t {
	case ofT:
		return nil
	case pdu.TypeAggregateStatic, pdu.TypeEvent, pdu.TypeHighResEvent:
		if bytes {
			return nil
		}
	}
	return fmt.Errorf("type %v cannot hold Go values of type %v", t, ofT)
}

func (a *Agent) refuseMetric(name string, err error) error {
	return a.refuse(fmt.Sprintf("register %q", name), err)
}

// refuse makes, remembers and returns the error of a registration.
func (a *Agent) refuse(what string, err error) error {
	err = fmt.Errorf("pmda: agent %s: %s: %w", a.Name, what, err)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failLocked(err)
	return err
}

// enter puts a metric into the tables.
func (a *Agent) enter(m *metric) error {
	if err := a.tryEnter(m); err != nil {
		return a.refuseMetric(m.name, err)
	}
	return nil
}

func (a *Agent) tryEnter(m *metric) error {
	if m.name == "" {
		return errors.New("no name")
	}
	switch m.sem {
	case pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete:
	default:
		return fmt.Errorf("no semantics have the number %d", m.sem)
	}
	if err := checkLabels("Labels", m.labels); err != nil {
		return err
	}
	if m.indom != nil {
		switch o := m.indom.agent.Load(); o {
		case a:
		case nil:
			return errors.New("its InDom belongs to no agent: make it with AddInDom or Attach it")
		default:
			return fmt.Errorf("its InDom belongs to agent %s", o.Name)
		}
	}
	if m.group != nil && m.group.agent != a {
		return fmt.Errorf("its Group belongs to agent %s", m.group.agent.Name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	next, err := a.numberLocked(m)
	if err != nil {
		return err
	}
	// The PMID of a name does not matter here, but that every name has its own does.
	if err := a.names.Add(m.name, m.pmid(0)); errors.Is(err, pdu.ErrPMID) {
		return errors.New("the name is in use")
	} else if err != nil {
		return err
	}
	if a.ids == nil {
		a.ids = map[ItemID]string{}
	}
	a.ids[m.item], a.next = m.name, next
	a.metrics = append(a.metrics, m)
	a.tables.Store(nil)
	if a.last != nil { // somebody has seen the names
		a.Notify(pdu.ChangeNames)
	}
	return nil
}

// AddDynamic enters a dynamic root: a name of which, and of all below it,
// collectors ask the agent. Callbacks.PMID, Names and Children answer; the
// metrics are in no table, so that Desc, Fetch and Text have to know them too.
// Errors: a name that is in use or malformed. It is "*:*" in a PMNS file.
func (a *Agent) AddDynamic(root string) error {
	if err := a.tryDynamic(root); err != nil {
		return a.refuse(fmt.Sprintf("dynamic root %q", root), err)
	}
	return nil
}

func (a *Agent) tryDynamic(root string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.Contains(a.roots, root) {
		return errors.New("it has been added already")
	}
	if err := a.names.Add(root, pdu.DynamicRoot(0)); errors.Is(err, pdu.ErrPMID) {
		return errors.New("the name is in use")
	} else if err != nil {
		return err
	}
	a.roots = append(a.roots, root)
	a.tables.Store(nil)
	if a.last != nil {
		a.Notify(pdu.ChangeNames)
	}
	return nil
}

// numberLocked gives a metric its place in the PMID, and returns what comes after
// all that are in use in cluster 0.
func (a *Agent) numberLocked(m *metric) (next ItemID, err error) {
	if m.item == 0 {
		next = a.next
		for a.ids[explicitItem|next] != "" {
			next++
		}
		if next > pdu.MaxItem {
			return 0, fmt.Errorf("cluster 0 is full: give metrics an ID")
		}
		m.item = explicitItem | next
		return next + 1, nil
	}
	if m.item&explicitItem == 0 || m.item&^explicitItem > pdu.MaxCluster<<10|pdu.MaxItem {
		return 0, fmt.Errorf("ID out of range (0..%d, 0..%d): make it with Item", pdu.MaxCluster, pdu.MaxItem)
	}
	if other := a.ids[m.item]; other != "" {
		return 0, fmt.Errorf("the ID %d.%d is in use by %q", m.item&^explicitItem>>10, m.item&pdu.MaxItem, other)
	}
	return a.next, nil
}
