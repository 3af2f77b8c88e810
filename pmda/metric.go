package pmda

import (
	"context"
	"errors"
	"fmt"

	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// NoValue is the error that Value and Values return when there is no value now. That is not a
// failure: the result omits the instance.
//
//lint:ignore ST1012 It is a result like io.EOF, not a failure.
var NoValue = errors.New("no value available")

// An ItemID is the agent's part of a PMID. A zero ItemID lets the Agent choose: the next item of
// cluster 0 in order of registration. When most items of cluster 0 are in use, the Agent adds the
// clusters 4095, 4094 and so on. It reuses the number of a removed metric only after all other
// numbers of these clusters. A metric that is registered again with the same name, type, semantics,
// units and InDom gets its old number if that is free. To keep archives comparable across releases,
// give each metric a fixed number with Item.
type ItemID uint32

const explicitItem ItemID = 1 << 31

// Item returns the ItemID of a cluster, 0 to pdu.MaxCluster, and an item, 0 to pdu.MaxItem.
// Register fails for the result of other numbers. Item is the counterpart of PMDA_PMID.
func Item(cluster, item int) ItemID {
	if cluster < 0 || cluster > pdu.MaxCluster || item < 0 || item > pdu.MaxItem {
		return ^ItemID(0)
	}
	return explicitItem | ItemID(cluster<<10|item)
}

// number returns the cluster and item as in a PMID.
func (i ItemID) number() uint32 { return uint32(i &^ explicitItem) }

// A Metric describes a metric for Register. Exactly one of Value and Values is set.
type Metric[T pdu.Scalar] struct {
	// Name is the full dotted name. Names at and below "event" are reserved, because clients define
	// event.flags and event.missed themselves.
	Name string
	// Text is the one-line help text, Help the long one. Clients that request an empty Help get
	// Text, and those that request an empty Text get pdu.ErrText.
	Text, Help string
	// ID is the metric's number within the agent; see ItemID.
	ID ItemID
	// Type is the type of the values. Zero means the type of T. If T is []byte, Type may also be
	// pdu.TypeEvent, TypeHighResEvent or TypeAggregateStatic.
	Type pdu.Type
	// Sem is the semantics. Zero means pdu.SemInstant.
	Sem pdu.Sem
	// Units are the dimension and scale.
	Units pdu.Units
	// InDom is the instance domain; nil for a singular metric.
	InDom *InDom
	// Group, if not nil, is refreshed before the values are needed.
	Group *Group
	// Labels is a JSON object with the labels of the metric; see LabelJSON. Empty
	// means none.
	Labels string

	// Value returns the value of one instance, or of Instance{pdu.NoInst, ""} if the metric is
	// singular. It is called for the instances that the client wants. An error leaves the instance
	// out. If no instance has a value, the last error becomes the metric's error, unless it is
	// NoValue.
	Value func(ctx context.Context, r *Request, i pdu.Instance) (T, error)
	// Values puts the values of all instances into s. If it puts no value, its error, other than
	// NoValue, becomes the metric's error.
	Values func(ctx context.Context, r *Request, s *Values[T]) error
	// Store sets a value. Nil means that clients have no permission to store. Its error is
	// pdu.ErrBadStore for an invalid value, or another pdu.Error, or wraps one. The client gets
	// only that code, or pdu.ErrGeneric for an error without a code, because the protocol has no
	// room for the text. Errors are logged, except pdu.ErrBadStore, ErrConv, ErrTrunc, ErrSign,
	// ErrType, ErrInst, ErrValue, ErrAppVersion, ErrPermission, ErrAgain and ErrNYI.
	//
	// For an event metric, v has the bytes of the text that a client stores. pmevent(1) -x stores a
	// filter that way. See EventQueue.SetFilter.
	Store func(ctx context.Context, r *Request, i pdu.Instance, v T) error
}

// A metric is an entry of the tables, without the type parameter of Metric.
type metric struct {
	name, text, help, labels string
	item                     ItemID
	typ                      pdu.Type
	sem                      pdu.Sem
	units                    pdu.Units
	indom                    *InDom
	serial                   int // of indom
	group                    *Group

	fetch  func(ctx context.Context, r *Request, f *setBox) error
	number func(ctx context.Context, r *Request) (uint64, error)                   // or nil; see numberOf
	store  func(ctx context.Context, r *Request, i pdu.Instance, a pdu.Atom) error // or nil

	valueLog, storeLog logOnce

	names []*nameNode // all of them, the name above first; Agent.mu guards them
}

func (m *metric) pmid(d pdu.Domain) pdu.PMID {
	return pdu.MakePMID(d, int(m.item>>10&pdu.MaxCluster), int(m.item&pdu.MaxItem))
}

// indomID returns the identifier of the instance domain, or pdu.NoInDom for a singular metric.
func (m *metric) indomID(d pdu.Domain) pdu.InDom {
	if m.indom == nil {
		return pdu.NoInDom
	}
	return pdu.MakeInDom(d, m.serial)
}

// Register adds a metric to an Agent. Errors: a name or ID that is in use or malformed, both or
// neither of Value and Values, an InDom that is not attached, an InDom or Group of another agent, a
// Type that T cannot have, labels that are not JSON. The Agent remembers the first error, and Main,
// Serve and collectors report it, so a program may ignore the result.
func Register[T pdu.Scalar](a *Agent, m Metric[T]) error {
	return a.register("register", m.Name, func(t *tables) error {
		e, err := newMetric(m)
		if err != nil {
			return err
		}
		return t.add(e)
	})
}

// newMetric makes the entry of a metric.
func newMetric[T pdu.Scalar](m Metric[T]) (*metric, error) {
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
		return nil, err
	}
	switch {
	case m.Value != nil && m.Values == nil:
		if e.fetch = fetchEach(m.Value); m.InDom == nil {
			e.number = numberOf(m.Value)
		}
	case m.Values != nil && m.Value == nil:
		e.fetch = fetchAll(m.Values)
	case m.Value == nil:
		return nil, errors.New("has no values: set Value or Values")
	default:
		return nil, errors.New("has both Value and Values: set one of them")
	}
	if m.Store != nil {
		e.store = func(ctx context.Context, r *Request, i pdu.Instance, at pdu.Atom) error {
			v, err := stored[T](at, e.typ)
			if err != nil {
				return fmt.Errorf("a value of type %s for a metric of type %s: %w", wording.Type(at.Type), wording.Type(e.typ), err)
			}
			return m.Store(ctx, r, i, v)
		}
	}
	if e.name == "" {
		return nil, errors.New("no name")
	}
	switch e.sem {
	case pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete:
	default:
		return nil, fmt.Errorf("no semantics have the number %d", e.sem)
	}
	return e, checkLabels("Labels", e.labels)
}

// stored converts a value that a client stores into a metric of type t to a T. It accepts a text
// for event metrics: see Metric.Store.
func stored[T pdu.Scalar](at pdu.Atom, t pdu.Type) (T, error) {
	if at.Type == pdu.TypeString && (t == pdu.TypeEvent || t == pdu.TypeHighResEvent) {
		text, err := pdu.As[string](at)
		if err != nil {
			var none T
			return none, err
		}
		at = pdu.Aggregate([]byte(text))
	}
	return pdu.As[T](at)
}

// checkType returns an error for a type that values of T cannot have.
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
	return fmt.Errorf("type %s cannot hold Go values of type %s", wording.Type(t), wording.Type(ofT))
}

// add adds a metric to tables.
func (t *tables) add(m *metric) error {
	if m.indom != nil {
		switch home := m.indom.home.Load(); {
		case home == nil:
			return errors.New("its InDom belongs to no agent: make it with AddInDom or Attach it")
		case home.agent != t.agent:
			return fmt.Errorf("its InDom belongs to agent %s", home.agent.Name)
		case !t.has(m.indom):
			return errors.New("its InDom is not attached")
		default:
			m.serial = home.serial
		}
	}
	if m.group != nil && m.group.agent != t.agent {
		return fmt.Errorf("its Group belongs to agent %s", m.group.agent.Name)
	}
	name, err := t.names.add(m.name)
	if err != nil {
		return err
	}
	chosen := m.item == 0
	if m.item, err = t.number(m); err != nil {
		name.prune()
		return err
	}
	name.metric, m.names = m, []*nameNode{name}
	t.noteName(name)
	t.items.set(m.item.number(), m)
	if m.indom != nil {
		if t.users == nil {
			t.users = map[*InDom]int{}
		}
		t.users[m.indom]++
	}
	t.agent.numbers.note(m, chosen)
	return nil
}
