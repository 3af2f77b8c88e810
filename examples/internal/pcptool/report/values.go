package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A series is what it takes to get the values of a Metric.
type series struct {
	spec Spec
	conversion
	selected map[pdu.InstID]bool // by filters from the start; nil for all
	live     []filter            // filters of each sample
	set      valueSet
	fetched  []Value // scratch
	best     []Value // of an overall ranking
}

// A valueSet is a pmapi.Set of some type.
type valueSet interface {
	// appendTo appends the values of the latest fetch.
	appendTo(values []Value) []Value
}

type setOf[T pdu.Scalar] struct{ *pmapi.Set[T] }

func (s setOf[T]) appendTo(values []Value) []Value {
	for inst, v := range s.All() {
		values = append(values, Value{Inst: inst, Atom: pdu.AtomOf(v)})
	}
	return values
}

// addTo adds the metric to a group.
func (c *series) addTo(g *pmapi.Group, m *Metric, counterWrap bool) {
	opts := []pmapi.ItemOption{pmapi.Scale(c.scale)}
	if counterWrap {
		opts = append(opts, pmapi.CounterWrap())
	}
	switch c.typ {
	case pdu.Type32:
		c.set = setOf[int32]{pmapi.AddSet[int32](g, m.Name, opts...)}
	case pdu.TypeU32:
		c.set = setOf[uint32]{pmapi.AddSet[uint32](g, m.Name, opts...)}
	case pdu.Type64:
		c.set = setOf[int64]{pmapi.AddSet[int64](g, m.Name, opts...)}
	case pdu.TypeU64:
		c.set = setOf[uint64]{pmapi.AddSet[uint64](g, m.Name, opts...)}
	case pdu.TypeFloat:
		c.set = setOf[float32]{pmapi.AddSet[float32](g, m.Name, opts...)}
	case pdu.TypeString:
		c.set = setOf[string]{pmapi.AddSet[string](g, m.Name)}
	default:
		c.set = setOf[float64]{pmapi.AddSet[float64](g, m.Name, opts...)}
	}
}

// collect replaces values by those of the latest fetch that the filters from the start select, in
// their order.
func (c *series) collect(values []Value, m *Metric) []Value {
	values = values[:0]
	if c.selected == nil {
		return c.set.appendTo(values)
	}
	c.fetched = c.set.appendTo(c.fetched[:0])
	for _, inst := range m.Instances {
		i, ok := slices.BinarySearchFunc(c.fetched, inst.ID, func(v Value, id pdu.InstID) int { return cmp.Compare(v.Inst.ID, id) })
		if ok {
			values = append(values, c.fetched[i])
		}
	}
	return values
}

// sample makes the sample of the latest fetch.
func (r *Report) sample(s *Sample) {
	for i, c := range r.series {
		s.Values[i] = c.collect(s.Values[i], &r.header.Metrics[i])
		if !r.opts.InvertFilter {
			s.Values[i] = c.filterLive(s.Values[i])
		}
	}
	clear(r.survivors)
	for _, i := range r.predicates {
		if r.opts.Rank != 0 {
			s.Values[i] = r.rank(s.Values[i])
		}
		r.noteSurvivors(r.header.Metrics[i].Desc.InDom, s.Values[i])
	}
	for i, c := range r.series {
		survivors, guarded := r.survivors[r.header.Metrics[i].Desc.InDom]
		switch {
		case slices.Contains(r.predicates, i):
			s.Values[i] = r.limit(s.Values[i])
		case guarded:
			s.Values[i] = slices.DeleteFunc(s.Values[i], func(v Value) bool { return !survivors[v.Inst.ID] })
			s.Values[i] = r.limit(s.Values[i])
		default:
			s.Values[i] = r.limit(s.Values[i])
			if r.opts.Rank != 0 {
				s.Values[i] = r.rank(s.Values[i])
			}
		}
		if r.opts.InvertFilter {
			s.Values[i] = c.filterLive(s.Values[i])
		}
	}
}

// noteSurvivors notes the instances of a predicate's domain that are reported.
func (r *Report) noteSurvivors(d pdu.InDom, values []Value) {
	survivors := map[pdu.InstID]bool{}
	for _, v := range values {
		survivors[v.Inst.ID] = true
	}
	r.survivors[d] = survivors
}

// filterLive leaves the instances that pass the live filters.
func (c *series) filterLive(values []Value) []Value {
	if len(c.live) == 0 {
		return values
	}
	return slices.DeleteFunc(values, func(v Value) bool { return !passes(c.live, v.Inst.Name) })
}

// limit leaves the values that are within the limit.
func (r *Report) limit(values []Value) []Value {
	limit := cmp.Or(r.opts.LimitFilterForce, r.opts.LimitFilter)
	if limit == 0 {
		return values
	}
	return slices.DeleteFunc(values, func(v Value) bool {
		if v.Atom.Type == pdu.TypeString {
			return false
		}
		x, _ := pdu.As[float64](v.Atom)
		return limit > 0 && x < float64(limit) || limit < 0 && x > -float64(limit)
	})
}

// rank leaves the values of highest rank, in the order of their instances.
func (r *Report) rank(values []Value) []Value {
	if len(values) == 1 {
		return values
	}
	values = r.best(values)
	slices.SortStableFunc(values, func(a, b Value) int { return cmp.Compare(a.Inst.ID, b.Inst.ID) })
	return values
}

// best leaves the values of highest rank, that of the highest first.
func (r *Report) best(values []Value) []Value {
	n := r.opts.Rank
	slices.SortStableFunc(values, func(a, b Value) int {
		if n > 0 {
			a, b = b, a
		}
		return compareValues(a.Atom, b.Atom)
	})
	return values[:min(len(values), max(n, -n))]
}

// compareValues compares numbers with numbers, or texts with texts.
func compareValues(a, b pdu.Atom) int {
	switch a.Type {
	case pdu.TypeString:
		return strings.Compare(string(a.Bytes()), string(b.Bytes()))
	case pdu.TypeU64:
		x, _ := pdu.As[uint64](a)
		y, _ := pdu.As[uint64](b)
		return cmp.Compare(x, y)
	case pdu.TypeFloat, pdu.TypeDouble:
		x, _ := pdu.As[float64](a)
		y, _ := pdu.As[float64](b)
		return cmp.Compare(x, y)
	}
	x, _ := pdu.As[int64](a)
	y, _ := pdu.As[int64](b)
	return cmp.Compare(x, y)
}

// rankOverall keeps the best values of the samples so far and of a new sample. Of equal values the
// later ones come first.
func (r *Report) rankOverall(s *Sample) {
	for i, c := range r.series {
		if r.header.Metrics[i].Desc.Type == pdu.TypeString {
			continue
		}
		merged := slices.Clone(s.Values[i])
		for _, old := range c.best {
			at := slices.IndexFunc(merged, func(v Value) bool { return v.Inst.ID == old.Inst.ID })
			if at < 0 {
				merged = append(merged, old)
				continue
			}
			if order := compareValues(old.Atom, merged[at].Atom); r.opts.Rank > 0 && order > 0 || r.opts.Rank < 0 && order < 0 {
				merged[at] = old
			}
		}
		c.best = r.best(merged)
	}
}

// ranking is the overall ranking.
func (r *Report) ranking() []Ranked {
	var all []Ranked
	for i, c := range r.series {
		for _, v := range c.best {
			all = append(all, Ranked{Metric: i, Value: v})
		}
	}
	return all
}
