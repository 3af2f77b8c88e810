package logreduce

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A metric is a metric of the new archive.
type metric struct {
	in, out   pdu.Desc
	instances []instance // ascending by id
	walk      []int      // indexes of instances, in the order of the new archive
	inPlace   bool       // its floats are stored in situ, as in very old archives
}

// An instance is an instance that a metric has at any time.
type instance struct {
	id      pdu.InstID
	seen    int  // interval in which an input record last had it
	written bool // the new archive has it
	value   int  // 1 + its index in the current value set, or 0
}

// describe finds the metrics and writes their descriptors.
func (r *reducer) describe(ctx context.Context) error {
	names, err := r.interp.Traverse(ctx, "")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.addMetric(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// recordedDerived is the first cluster of derived metrics that were recorded. Those that a context
// defines, and the metrics of event records, have lower clusters.
const recordedDerived = 2048

// addMetric adds the metric called name, unless it was added under another name.
func (r *reducer) addMetric(ctx context.Context, name string) error {
	ids, err := r.interp.Lookup(ctx, []string{name})
	if err != nil {
		return err
	}
	id := ids[0]
	_, known := r.byID[id]
	if known || id.Domain() == pdu.DynamicDomain && id.Cluster() < recordedDerived {
		return nil
	}
	d, err := r.interp.Desc(ctx, id)
	if err != nil {
		return err
	}
	switch d.Type {
	case pdu.TypeAggregate, pdu.TypeAggregateStatic, pdu.TypeEvent, pdu.TypeHighResEvent:
		r.byID[id] = nil
		if r.Skipped != nil {
			r.Skipped(name, d.Type)
		}
		return nil
	}
	m := &metric{in: d, out: d}
	if d.Sem == pdu.SemCounter {
		switch d.Type {
		case pdu.Type32:
			m.out.Type = pdu.Type64
		case pdu.TypeU32:
			m.out.Type = pdu.TypeU64
		}
	}
	if err := r.findInstances(ctx, m); err != nil {
		return err
	}
	all, err := r.interp.Names(ctx, id)
	if err != nil {
		return err
	}
	r.metrics, r.ids, r.byID[id] = append(r.metrics, m), append(r.ids, id), m
	return r.out.WriteMetric(archive.Metric{Desc: m.out, Names: all})
}

// findInstances finds all instances that a metric has at any time. It orders them as the C library
// does when it interpolates: the library hashes n instances into n lists, prepends each one to its
// list, and then walks the lists.
func (r *reducer) findInstances(ctx context.Context, m *metric) error {
	all := []pdu.Instance{{ID: pdu.NoInst}}
	if m.in.InDom != pdu.NoInDom {
		var err error
		if all, err = r.interp.InstancesEver(ctx, m.in.InDom); err != nil && !errors.Is(err, pdu.ErrInDomLog) {
			return err
		}
	}
	lists := make([][]pdu.InstID, len(all))
	for _, i := range all {
		m.instances = append(m.instances, instance{id: i.ID})
		at := uint32(i.ID) % uint32(len(all))
		lists[at] = append(lists[at], i.ID)
	}
	slices.SortFunc(m.instances, func(a, b instance) int { return cmp.Compare(a.id, b.id) })
	for _, list := range lists {
		for _, id := range slices.Backward(list) {
			m.walk = append(m.walk, m.find(id))
		}
	}
	return nil
}

// find returns the index of an instance, or -1 if the metric never has it.
func (m *metric) find(id pdu.InstID) int {
	if m.in.InDom == pdu.NoInDom {
		return 0 // old archives have other numbers than NoInst
	}
	n, ok := slices.BinarySearchFunc(m.instances, id, func(i instance, id pdu.InstID) int { return cmp.Compare(i.id, id) })
	if !ok {
		return -1
	}
	return n
}

// see marks the instances of set as seen in the interval now.
func (m *metric) see(set pdu.ValueSet, now int) {
	m.inPlace = m.in.Type == pdu.TypeFloat && set.Len() > 0 && set.Atom(0, pdu.TypeU32).Type == pdu.TypeU32
	for n := range set.Len() {
		if i := m.find(set.Inst(n)); i >= 0 {
			m.instances[i].seen = now
		}
	}
}

// copy adds set to the record. It omits instances that no input record had in the interval now,
// unless they are new. It returns false if the set has values and all were omitted.
func (m *metric) copy(to *pdu.ResultWriter, set pdu.ValueSet, now int) bool {
	if err := set.Err(); err != nil {
		to.Begin(set.PMID)
		to.Fail(pdu.FromError(err))
		return true
	}
	if set.Len() == 0 {
		to.Begin(set.PMID)
		return true
	}
	for n := range set.Len() {
		if i := m.find(set.Inst(n)); i >= 0 {
			m.instances[i].value = n + 1
		}
	}
	begun := false
	for _, at := range m.walk {
		i := &m.instances[at]
		n := i.value - 1
		i.value = 0
		if n < 0 || i.written && i.seen != now {
			continue
		}
		if !begun {
			to.Begin(set.PMID)
			begun = true
		}
		i.written = true
		m.add(to, i.id, set.Atom(n, m.in.Type))
	}
	return begun
}

// add adds a value.
func (m *metric) add(to *pdu.ResultWriter, id pdu.InstID, a pdu.Atom) {
	switch {
	case m.inPlace:
		v, _ := pdu.As[float32](a)
		to.Uint32(id, math.Float32bits(v))
	case m.out.Type == pdu.Type64:
		v, _ := pdu.As[int64](a) // cannot fail for a shorter type
		to.Int64(id, v)
	case m.out.Type == pdu.TypeU64:
		v, _ := pdu.As[uint64](a)
		to.Uint64(id, v)
	default:
		to.Atom(id, a)
	}
}

// updateInDom writes the instances of domain d at time t, unless they are the ones last written.
func (r *reducer) updateInDom(ctx context.Context, d pdu.InDom, t time.Time) error {
	now, err := r.interp.Instances(ctx, d) // at the next interval, as in PCP's pmlogreduce
	if err != nil {
		return err
	}
	sameID := func(a, b pdu.Instance) bool { return a.ID == b.ID }
	if last, known := r.inDoms[d]; known && slices.EqualFunc(last, now, sameID) {
		return nil
	}
	r.inDoms[d] = slices.Clone(now)
	changed, err := r.out.UpdateInDom(t, d, now)
	r.changed = r.changed || changed
	return err
}
