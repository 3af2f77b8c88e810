package pmapitest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Value is the Go type of a metric's values. A type of numbers, strings or bytes determines the
// metric's PCP type. For pdu.Atom, Metric.Type does.
type Value interface{ pdu.Scalar | pdu.Atom }

// A Metric is a metric of a Source. Set its fields before Add, and call the methods of Add's
// result.
type Metric[T Value] struct {
	Name string
	// PMID is the metric's PMID; 0 means that Add chooses one.
	PMID pdu.PMID
	// Sem is the semantics; 0 means pdu.SemInstant.
	Sem   pdu.Sem
	Units pdu.Units
	// Type is the PCP type of a Metric[pdu.Atom]. Other metrics ignore it.
	Type pdu.Type
	// InDom is the instance domain; nil means that the metric is singular.
	InDom *InDom
	// Text and Help are the one-line and the long help text; "" means none.
	Text, Help string
	// Labels are the metric's own labels, as a JSON object; may be empty.
	Labels string
	// Value, if not nil, returns the value of an instance at each fetch. The instance is pdu.NoInst
	// for a singular metric. The error pdu.ErrValue means that the instance has no value; any other
	// error is that of the metric.
	Value func(now time.Time, i pdu.Instance) (T, error)

	s *Source
	m *metric
}

// A metric is a Metric without its type parameter.
type metric struct {
	name               string
	desc               pdu.Desc
	text, help, labels string
	values             []value
	value              func(now time.Time, i pdu.Instance) (pdu.Atom, error)
	events             *eventQueue // of AddEvents
	err                error       // replaces the values
	descErr            error       // replaces the descriptor
}

// A value is the value of an instance.
type value struct {
	inst pdu.InstID
	atom pdu.Atom
}

// Add adds a metric to a source and returns it for changes. It panics if another metric has its
// name or PMID, if the name is invalid, and for a source of Replay.
func Add[T Value](s *Source, d Metric[T]) *Metric[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.archives != nil {
		panic(fmt.Sprintf("pmapitest: %s: a source of Replay has no metrics of its own", d.Name))
	}
	if s.byName(d.Name) != nil {
		panic(fmt.Sprintf("pmapitest: %s: another metric has this name", d.Name))
	}
	if d.PMID == 0 {
		d.PMID = pdu.MakePMID(domain, s.serial/1024, s.serial%1024)
		s.serial++
	}
	if s.byPMID(d.PMID) != nil {
		panic(fmt.Sprintf("pmapitest: %s: another metric has the PMID %v", d.Name, d.PMID))
	}
	if d.Sem == 0 {
		d.Sem = pdu.SemInstant
	}
	m := &metric{
		name: d.Name, text: d.Text, help: d.Help, labels: d.Labels,
		desc: pdu.Desc{PMID: d.PMID, Type: typeOf[T](d.Type), InDom: pdu.NoInDom, Sem: d.Sem, Units: d.Units},
	}
	if d.InDom != nil {
		m.desc.InDom = d.InDom.id
	}
	if f := d.Value; f != nil {
		m.value = func(now time.Time, i pdu.Instance) (pdu.Atom, error) {
			v, err := f(now, i)
			return atomOf(v), err
		}
	}
	d.s, d.m = s, m
	s.metrics = append(s.metrics, m)
	s.tree() // panics if the name is invalid
	s.notify(pdu.ChangeNames)
	return &d
}

// change changes the metric by calling f. The next fetch of each context reports changed.
func (m *Metric[T]) change(changed pdu.Change, f func(*metric)) {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	f(m.m)
	m.s.notify(changed)
}

// Set replaces the values: at most one of a singular metric, otherwise those of the instances in
// their order. With fewer values than instances, the last instances have no value. Set cancels an
// earlier Fail. It panics if there are more values than instances.
func (m *Metric[T]) Set(values ...T) {
	m.change(0, func(d *metric) {
		d.err, d.values = nil, nil
		for i, v := range values {
			inst := pdu.NoInst
			if in := m.s.indom(d.desc.InDom); in != nil {
				inst = in.list[i].ID
			}
			d.values = append(d.values, value{inst, atomOf(v)})
		}
	})
}

// SetInstance sets the value of one instance, which the domain need not have. It
// cancels an earlier Fail.
func (m *Metric[T]) SetInstance(inst pdu.InstID, v T) {
	m.change(0, func(d *metric) {
		d.err = nil
		d.set(inst, atomOf(v))
	})
}

func (m *metric) set(inst pdu.InstID, a pdu.Atom) {
	m.values = slices.DeleteFunc(m.values, func(old value) bool { return old.inst == inst })
	m.values = append(m.values, value{inst, a})
}

// Clear drops all values that have been set, and cancels an earlier Fail.
func (m *Metric[T]) Clear() { m.change(0, func(d *metric) { d.err, d.values = nil, nil }) }

// Fail replaces the values by an error, until Fail(nil), Set, SetInstance or Clear.
func (m *Metric[T]) Fail(err error) { m.change(0, func(d *metric) { d.err = err }) }

// FailDesc replaces the descriptor by an error, until FailDesc(nil).
func (m *Metric[T]) FailDesc(err error) { m.change(0, func(d *metric) { d.descErr = err }) }

// Desc returns the descriptor.
func (m *Metric[T]) Desc() pdu.Desc {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	return m.m.desc
}

// SetDesc replaces the descriptor with its PMID, like the start of another version of an agent.
func (m *Metric[T]) SetDesc(d pdu.Desc) {
	m.change(pdu.ChangeNames, func(old *metric) { old.desc = d })
}

// SetLabels replaces the metric's own labels with a JSON object, or "" for none.
func (m *Metric[T]) SetLabels(labels string) {
	m.change(pdu.ChangeLabels, func(d *metric) { d.labels = labels })
}

// Rename changes the name of the metric.
func (m *Metric[T]) Rename(name string) {
	m.change(pdu.ChangeNames, func(d *metric) { d.name = name })
}

// Remove removes the metric from its source.
func (m *Metric[T]) Remove() {
	m.change(pdu.ChangeNames, func(d *metric) {
		m.s.metrics = slices.DeleteFunc(m.s.metrics, func(other *metric) bool { return other == d })
	})
}

// typeOf returns the PCP type of a Go type. For pdu.Atom it returns atoms.
func typeOf[T Value](atoms pdu.Type) pdu.Type {
	var v T
	if _, ok := any(v).(pdu.Atom); ok {
		return atoms
	}
	return atomOf(v).Type
}

// atomOf returns v as an atom.
func atomOf[T Value](v T) pdu.Atom {
	if a, ok := any(v).(pdu.Atom); ok {
		return a
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int32:
		return pdu.Int32(int32(r.Int()))
	case reflect.Uint32:
		return pdu.Uint32(uint32(r.Uint()))
	case reflect.Int64:
		return pdu.Int64(r.Int())
	case reflect.Uint64:
		return pdu.Uint64(r.Uint())
	case reflect.Float32:
		return pdu.Float32(float32(r.Float()))
	case reflect.Float64:
		return pdu.Float64(r.Float())
	case reflect.String:
		return pdu.String(r.String())
	default:
		return pdu.Aggregate(slices.Clone(r.Bytes()))
	}
}
