package pmda

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// A Group refreshes what the values of several metrics come from, once per
// fetch, before the first of them is asked for. The refresh and the values of a
// group's metrics run under the group's lock, one fetch at a time, so that they
// may share buffers.
type Group struct {
	agent   *Agent
	index   int
	refresh func(context.Context, *Request) error
	turn    chan struct{} // its one place is the lock: waiting for it can be cancelled
}

// Group makes a group. An error of refresh is that of the group's metrics in
// the fetch.
func (a *Agent) Group(refresh func(ctx context.Context, r *Request) error) *Group {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &Group{agent: a, index: len(a.groups), refresh: refresh, turn: make(chan struct{}, 1)}
	a.groups = append(a.groups, g)
	return g
}

func (g *Group) lock(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *Group) unlock() { <-g.turn }

// A fetch is the state of one default Fetch, kept for the next.
type fetch struct {
	metrics []*metric
	groups  []groupState // in the order of their index, which is that of locking
	indoms  []indomState
	one     metricFetch
}

type groupState struct {
	g      *Group
	locked bool
	err    error
}

type indomState struct {
	d   *InDom
	err error
}

// A metricFetch is what the function of one metric gets.
type metricFetch struct {
	w     *pdu.ResultWriter
	insts []pdu.Instance   // all of the domain; nil if singular
	rule  pdu.InDomProfile // which of them are wanted
	n     int              // values written
	indom *InDom
}

var fetches = sync.Pool{New: func() any { return new(fetch) }}

// Fetch writes the values of metrics from the tables.
func (d defaults) Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	a := d.a
	t := a.snapshot()
	f := fetches.Get().(*fetch)
	defer f.release()
	for _, id := range ids {
		m := t.metric(id)
		f.metrics = append(f.metrics, m)
		if m == nil {
			continue
		}
		if m.group != nil {
			f.addGroup(m.group)
		}
		if m.indom != nil && m.indom.Refresh != nil {
			f.addInDom(m.indom)
		}
	}
	for i := range f.indoms {
		f.indoms[i].err = f.indoms[i].d.Refresh(ctx, r)
	}
	for i := range f.groups {
		s := &f.groups[i]
		if s.err = s.g.lock(ctx); s.err == nil {
			s.locked = true
			s.err = s.g.refresh(ctx, r)
		}
	}
	for i, id := range ids {
		w.Begin(id)
		if m := f.metrics[i]; m == nil {
			w.Fail(pdu.ErrPMID)
		} else if err := f.value(ctx, r, m, t, w); err != nil {
			a.logValue(id, err)
		}
	}
	if c := a.changed.Swap(0); c != 0 {
		w.Changed |= pdu.Change(c)
	}
	return nil
}

// release unlocks the groups, also when a callback panics.
func (f *fetch) release() {
	for i := range f.groups {
		if f.groups[i].locked {
			f.groups[i].g.unlock()
		}
	}
	clear(f.metrics)
	clear(f.groups)
	clear(f.indoms)
	*f = fetch{metrics: f.metrics[:0], groups: f.groups[:0], indoms: f.indoms[:0]}
	fetches.Put(f)
}

func (f *fetch) addGroup(g *Group) {
	i := len(f.groups)
	for ; i > 0 && f.groups[i-1].g.index >= g.index; i-- {
		if f.groups[i-1].g == g {
			return
		}
	}
	f.groups = append(f.groups, groupState{})
	copy(f.groups[i+1:], f.groups[i:])
	f.groups[i] = groupState{g: g}
}

func (f *fetch) addInDom(d *InDom) {
	for _, s := range f.indoms {
		if s.d == d {
			return
		}
	}
	f.indoms = append(f.indoms, indomState{d: d})
}

// ready is what failed before the values of a metric could be asked for.
func (f *fetch) ready(m *metric) error {
	for i := range f.groups {
		if f.groups[i].g == m.group {
			if err := f.groups[i].err; err != nil {
				return err
			}
			break
		}
	}
	for i := range f.indoms {
		if f.indoms[i].d == m.indom {
			return f.indoms[i].err
		}
	}
	return nil
}

// value writes the values of one metric. The error is that of the last instance
// without one, for the log; it is in the result if no instance has a value.
func (f *fetch) value(ctx context.Context, r *Request, m *metric, t *tables, w *pdu.ResultWriter) error {
	err := f.ready(m)
	if err == nil {
		f.one = metricFetch{w: w}
		if m.indom != nil {
			f.one.indom = m.indom
			f.one.insts = m.indom.Instances()
			f.one.rule = r.Profile.For(m.indom.id(t.domain))
		}
		err = m.fetch(ctx, r, &f.one)
	}
	if err == NoValue {
		err = nil
	}
	if err != nil && f.one.n == 0 {
		w.Fail(pdu.FromError(err))
	}
	f.one.n = 0
	return err
}

// logValue logs an error that a callback ought not to return.
func (a *Agent) logValue(id pdu.PMID, err error) {
	switch pdu.FromError(err) {
	case pdu.ErrValue, pdu.ErrAppVersion, pdu.ErrPermission, pdu.ErrAgain, pdu.ErrNYI:
		return
	}
	a.log().Warn("fetch callback failed", slog.String("pmid", id.String()), slog.Any("err", err))
}

// fetchEach asks Value for every instance that is wanted.
func fetchEach[T pdu.Scalar](value func(context.Context, *Request, pdu.Instance) (T, error), t pdu.Type) func(context.Context, *Request, *metricFetch) error {
	return func(ctx context.Context, r *Request, f *metricFetch) error {
		if f.indom == nil {
			v, err := value(ctx, r, pdu.Instance{ID: pdu.NoInst})
			if err != nil {
				return err
			}
			put(f, t, pdu.NoInst, v)
			return nil
		}
		var last error
		all := f.rule.All()
		for _, i := range f.insts {
			if !all && !f.rule.Includes(i.ID) {
				continue
			}
			v, err := value(ctx, r, i)
			if err != nil {
				if last == nil || !errors.Is(err, NoValue) {
					last = err
				}
				continue
			}
			put(f, t, i.ID, v)
		}
		return last
	}
}

// put writes one value. The cases spare the common types the way through an
// Atom, which would copy a string.
func put[T pdu.Scalar](f *metricFetch, t pdu.Type, id pdu.InstID, value T) {
	f.n++
	switch v := any(value).(type) {
	case uint64:
		f.w.Uint64(id, v)
	case int64:
		f.w.Int64(id, v)
	case uint32:
		f.w.Uint32(id, v)
	case int32:
		f.w.Int32(id, v)
	case float64:
		f.w.Float64(id, v)
	case string:
		f.w.String(id, v)
	case []byte:
		f.w.Bytes(t, id, v)
	default:
		a := pdu.AtomOf(value)
		a.Type = t
		f.w.Atom(id, a)
	}
}

// fetchAll lets Values write what it has.
func fetchAll[T pdu.Scalar](values func(context.Context, *Request, *Set[T]) error, t pdu.Type) func(context.Context, *Request, *metricFetch) error {
	sets := sync.Pool{New: func() any { return new(Set[T]) }}
	return func(ctx context.Context, r *Request, f *metricFetch) error {
		s := sets.Get().(*Set[T])
		s.f, s.typ = f, t
		err := values(ctx, r, s)
		s.f = nil
		sets.Put(s)
		return err
	}
}

// A Set takes the values of a metric for all instances at once. It is valid
// until Values returns.
type Set[T pdu.Scalar] struct {
	f   *metricFetch
	typ pdu.Type
}

// Put gives the value of an instance, pdu.NoInst if the metric is singular. That
// of an instance that the client does not want is dropped.
func (s *Set[T]) Put(id pdu.InstID, v T) {
	if s.f.indom == nil {
		id = pdu.NoInst
	} else if !s.f.rule.Includes(id) {
		return
	}
	put(s.f, s.typ, id, v)
}

// Wants reports whether the client wants an instance, for values that are dear.
func (s *Set[T]) Wants(id pdu.InstID) bool { return s.f.indom == nil || s.f.rule.Includes(id) }

// Instances yields the instances that the client wants.
func (s *Set[T]) Instances() iter.Seq[pdu.Instance] {
	return func(yield func(pdu.Instance) bool) {
		for _, i := range s.f.insts {
			if s.Wants(i.ID) && !yield(i) {
				return
			}
		}
	}
}
