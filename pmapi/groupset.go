package pmapi

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/pdu"
)

// A Set has the values of all instances of one metric of a Group, each as a T, in the order
// of the instances' numbers.
type Set[T pdu.Scalar] struct {
	groupMetric
	conv    converter[T]
	at      time.Time // of the values before, for rates
	started bool      // there have been rows
	gen     int       // of the list that names are from
	rows    []row[T]
	old     []row[T] // scratch
	labels  labelSelection
}

// A row is one instance of a Set.
type row[T pdu.Scalar] struct {
	inst  pdu.Instance
	last  difference.Sample
	code  pdu.Error
	value T
}

// AddSet adds all instances of a metric to a group, or those that Where selects. After each Fetch
// the Set has the instances with a value. For a metric without instances this is one, pdu.NoInst
// with an empty name. AddSet converts values as Add does. The counterpart of
// pmExtendFetchGroup_indom(3).
func AddSet[T pdu.Scalar](g *Group, metric string, opts ...ItemOption) *Set[T] {
	s := new(Set[T])
	add[T](g, s, metric, "", opts)
	return s
}

// Err returns why the metric as a whole has no values after the latest Fetch. It is nil if the
// metric has values, or has no instances at present. If no value converts to T, it is the error of
// the first instance, with both types.
func (s *Set[T]) Err() error {
	if err := s.err(); err != nil || s.Len() == 0 {
		return err
	}
	for i := range s.Len() {
		if !isMisfit(s.row(i).code) {
			return nil
		}
	}
	return s.conversionFailure("", s.desc.Type, s.row(0).code)
}

// Len returns the number of instances of the latest Fetch, including those whose value does not
// convert or has no rate yet. It is 0 if the metric as a whole has no values.
func (s *Set[T]) Len() int {
	if s.why != nil || s.code != 0 {
		return 0
	}
	if s.labels.filter != nil {
		return len(s.labels.shown)
	}
	return len(s.rows)
}

// row returns the row of instance i, which is below Len.
func (s *Set[T]) row(i int) *row[T] { return &s.rows[s.labels.index(i)] }

// At returns the instance at an index below Len, with its value or an error (see Group). The name
// is empty if the collector has no name for the instance.
func (s *Set[T]) At(i int) (pdu.Instance, T, error) {
	if i < 0 || i >= s.Len() {
		panic(fmt.Sprintf("pmapi: index %d of a Set of %d instances", i, s.Len()))
	}
	r := s.row(i)
	if r.code != 0 {
		var none T
		return r.inst, none, s.conversionFailure(r.inst.Name, s.desc.Type, r.code)
	}
	return r.inst, r.value, nil
}

// Get returns the value of the instance with this name, or with this name up to the first space.
// The error is pdu.ErrInst if the latest Fetch did not return the instance. Get searches the
// instances one by one. The value of a metric without instances has the name "".
func (s *Set[T]) Get(name string) (T, error) {
	at := -1
	for i := range s.Len() {
		is := s.row(i).inst.Name
		if is == name {
			at = i
			break
		}
		if first, _, ok := strings.Cut(is, " "); ok && first == name && at < 0 {
			at = i
		}
	}
	if at < 0 {
		var none T
		err := s.err()
		if err == nil {
			err = s.failure(name, pdu.ErrInst)
		}
		return none, err
	}
	_, v, err := s.At(at)
	return v, err
}

// All yields the instances that have a value. A loop over it allocates nothing, unless
// the function with the loop is generic.
func (s *Set[T]) All() iter.Seq2[pdu.Instance, T] {
	return func(yield func(pdu.Instance, T) bool) {
		for i := range s.Len() {
			if r := s.row(i); r.code == 0 && !yield(r.inst, r.value) {
				return
			}
		}
	}
}

func (s *Set[T]) setDesc(d, _ pdu.Desc) error {
	if s.opts.hasInstance {
		return fmt.Errorf("a Set has all instances: use Add with Instance: %w", pdu.ErrArg)
	}
	s.labels.reset(s.opts.where)
	return s.conv.setDesc(d, &s.opts)
}

func (s *Set[T]) resetRates() { s.dropRows() }

// dropRows drops all instances.
func (s *Set[T]) dropRows() { s.rows, s.labels.shown = s.rows[:0], s.labels.shown[:0] }

func (s *Set[T]) setValues(ctx context.Context, v pdu.ValueSet) error {
	if s.keepsValues(v) && len(s.rows) > 0 {
		s.code = 0
		return nil
	}
	if s.setMissing(v) {
		for i := range s.rows {
			s.rows[i].last.OK = false
		}
		if v.Err() == nil { // no instances at present
			s.dropRows()
			s.code = 0
		}
		return nil
	}
	if !s.hasInstancesOf(v) {
		if err := s.setInstances(ctx, v); err != nil {
			return err
		}
		if err := s.labels.update(ctx, &s.groupMetric, v); err != nil {
			if !isReply(err) {
				return err
			}
			s.dropRows()
			s.setCode(pdu.FromError(err))
			return nil
		}
	}
	now := s.g.result.Time
	step := s.g.step(s.at)
	for i := range s.rows {
		r := &s.rows[i]
		r.code = s.conv.convert(&r.value, v.Atom(i, s.desc.Type), &r.last, step)
	}
	s.at, s.code = now, 0
	return nil
}

// hasInstancesOf reports whether values are of the same instances as the rows.
func (s *Set[T]) hasInstancesOf(v pdu.ValueSet) bool {
	if v.Len() != len(s.rows) || s.domain != nil && s.domain.gen != s.gen || !s.labels.isCurrent(s.g) {
		return false
	}
	for i := range s.rows {
		if s.rows[i].inst.ID != v.Inst(i) {
			return false
		}
	}
	return true
}

// setInstances makes the rows for the instances of v, which are in order as the rows are. A new
// instance may have the number of a former one, so setInstances requests the names again for it.
func (s *Set[T]) setInstances(ctx context.Context, v pdu.ValueSet) error {
	if s.domain != nil {
		if err := s.domain.ensureNames(ctx, v, s.started && s.adds(v)); err != nil {
			return err
		}
		if s.gen = s.domain.gen; !s.domain.current {
			s.gen-- // so that the next fetch gets here, too
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

// skip returns the rows without those of instances before one.
func skip[T pdu.Scalar](rows []row[T], id pdu.InstID) []row[T] {
	for len(rows) > 0 && rows[0].inst.ID < id {
		rows = rows[1:]
	}
	return rows
}
