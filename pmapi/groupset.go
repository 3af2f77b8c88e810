package pmapi

import (
	"context"
	"iter"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Set is the values of all instances of one metric of a Group, each as a T, in
// the order of the instances' numbers.
type Set[T pdu.Scalar] struct {
	groupMetric
	conv    converter[T]
	at      time.Time // of the values before, for rates
	started bool      // there have been rows
	gen     int       // of the list that names are from
	rows    []row[T]
	old     []row[T] // scratch
}

// A row is what a Set has of an instance.
type row[T pdu.Scalar] struct {
	inst  pdu.Instance
	last  sample
	code  pdu.Error
	value T
}

// AddSet enters all instances of a metric into a group: those that there are at
// each Fetch. A singular metric is one instance, pdu.NoInst without a name. For
// conversions see Add. The counterpart of pmExtendFetchGroup_indom(3).
func AddSet[T pdu.Scalar](g *Group, metric string, opts ...ItemOption) *Set[T] {
	s := new(Set[T])
	g.add(s, metric, "", opts)
	return s
}

// Err is why the latest Fetch brought no values of the metric at all; nil if it did,
// and if there are no instances at present.
func (s *Set[T]) Err() error { return s.err() }

// Len is the number of instances of the latest Fetch, those included whose value
// is missing; 0 if Err is not nil.
func (s *Set[T]) Len() int {
	if s.why != nil || s.code != 0 {
		return 0
	}
	return len(s.rows)
}

// At is the instance at an index below Len, with its value or why there is none: see
// Group. An instance of which the collector does not know the name has none.
func (s *Set[T]) At(i int) (pdu.Instance, T, error) {
	r := &s.rows[:s.Len()][i]
	if r.code != 0 {
		var none T
		return r.inst, none, s.failure(r.inst.Name, r.code)
	}
	return r.inst, r.value, nil
}

// All yields the instances that have a value. A loop over it allocates nothing, unless
// the function with the loop is generic.
func (s *Set[T]) All() iter.Seq2[pdu.Instance, T] {
	return func(yield func(pdu.Instance, T) bool) {
		for i := range s.Len() {
			if r := &s.rows[i]; r.code == 0 && !yield(r.inst, r.value) {
				return
			}
		}
	}
}

func (s *Set[T]) accept(d, _ pdu.Desc) error {
	if s.opts.hasInstance {
		return pdu.ErrArg
	}
	return s.conv.accept(d, &s.opts)
}

func (s *Set[T]) forget() {
	s.rows = s.rows[:0]
}

func (s *Set[T]) take(ctx context.Context, v pdu.ValueSet) error {
	if s.keeps(v) && len(s.rows) > 0 {
		s.code = 0
		return nil
	}
	if s.unavailable(v) {
		for i := range s.rows {
			s.rows[i].last.ok = false
		}
		if v.Err() == nil { // there are none at present
			s.rows, s.code = s.rows[:0], 0
		}
		return nil
	}
	if !s.same(v) {
		if err := s.renew(ctx, v); err != nil {
			return err
		}
	}
	now := s.g.result.Time
	since := now.Sub(s.at)
	for i := range s.rows {
		r := &s.rows[i]
		r.code = s.conv.convert(&r.value, v.Atom(i, s.desc.Type), &r.last, since)
	}
	s.at, s.code = now, 0
	return nil
}

// same reports whether the values are of the instances that there were before.
func (s *Set[T]) same(v pdu.ValueSet) bool {
	if v.Len() != len(s.rows) || s.domain != nil && s.domain.gen != s.gen {
		return false
	}
	for i := range s.rows {
		if s.rows[i].inst.ID != v.Inst(i) {
			return false
		}
	}
	return true
}

// renew makes the rows for other instances than before. Both are in order. An
// instance that was not there before may have its number from another, so that the
// name is asked for.
func (s *Set[T]) renew(ctx context.Context, v pdu.ValueSet) error {
	if s.domain != nil {
		if err := s.domain.know(ctx, v, s.started && s.adds(v)); err != nil {
			return err
		}
		if s.gen = s.domain.gen; !s.domain.asked {
			s.gen-- // the next time, again
		}
	}
	was := s.rows
	rest := was
	s.rows = s.old[:0]
	for i := range v.Len() {
		r := row[T]{inst: pdu.Instance{ID: v.Inst(i)}}
		rest = skip(rest, r.inst.ID)
		if len(rest) > 0 && rest[0].inst.ID == r.inst.ID {
			r, rest = rest[0], rest[1:]
		}
		if s.domain != nil {
			r.inst.Name = s.domain.names[r.inst.ID]
		}
		s.rows = append(s.rows, r)
	}
	clear(was)
	s.old, s.started = was, true
	return nil
}

// adds reports whether there is an instance that was not there before.
func (s *Set[T]) adds(v pdu.ValueSet) bool {
	rest := s.rows
	for i := range v.Len() {
		id := v.Inst(i)
		if rest = skip(rest, id); len(rest) == 0 || rest[0].inst.ID != id {
			return true
		}
	}
	return false
}

// skip passes over the rows of instances before one.
func skip[T pdu.Scalar](rows []row[T], id pdu.InstID) []row[T] {
	for len(rows) > 0 && rows[0].inst.ID < id {
		rows = rows[1:]
	}
	return rows
}
