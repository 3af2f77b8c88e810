package pmda

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"reflect"
	"sync"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// A Group is a set of metrics whose values come from one source. Each fetch refreshes the source
// once, before the first value. The refresh, the values and the stores of a group's metrics run
// under the group's lock, one request at a time, so they may share buffers. They must not fetch
// metrics of the group from their own agent: that would be a deadlock.
type Group struct {
	agent   *Agent
	index   int
	refresh func(context.Context, *Request) error
	turn    ctxwait.Mutex // the lock
	log     logOnce       // of refresh
}

// Group makes a group. If refresh fails, the group's metrics fail with its error in that fetch. A
// group with a nil refresh is only a lock. A group needs no removal: it is garbage-collected when
// no metric and no instance domain uses it.
func (a *Agent) Group(refresh func(ctx context.Context, r *Request) error) *Group {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &Group{agent: a, index: a.groups, refresh: refresh, turn: ctxwait.NewMutex()}
	a.groups++
	return g
}

// run refreshes the group. The caller holds its lock.
func (g *Group) run(ctx context.Context, r *Request) error {
	if g.refresh == nil {
		return nil
	}
	return g.refresh(ctx, r)
}

// A fetch is the state of one Fetch from the tables. A pool reuses it.
type fetch struct {
	metrics []*metric
	groups  []groupState // in the order of their index, which is also the order of locking
	indoms  []indomState
	one     setBox
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

var fetches = sync.Pool{New: func() any { return new(fetch) }}

// Fetch writes the values of metrics from the tables.
func (h tableHandler) Fetch(ctx context.Context, r *Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	t := h.a.snapshot()
	f := fetches.Get().(*fetch)
	defer f.release()
	for _, id := range ids {
		m := t.metric(id)
		f.metrics = append(f.metrics, m)
		if m != nil && (m.group != nil || m.indom != nil) {
			f.addSources(m)
		}
	}
	if err := f.refresh(ctx, r, h.a); err != nil {
		return err
	}
	for next := 0; next < len(ids) && w.Err() == nil; {
		next = f.values(ctx, r, h.a, t.domain, ids, next, w)
	}
	return w.Err()
}

// values writes the values of the metrics from index from on. It returns the index to continue at:
// after the last metric, or after one whose function has panicked.
func (f *fetch) values(ctx context.Context, r *Request, a *Agent, domain pdu.Domain, ids []pdu.PMID, from int, w *pdu.ResultWriter) (next int) {
	at, sets := from, w.Len()
	defer func() {
		if p := recover(); p != nil {
			if w.Len() == sets+at-from {
				w.Begin(ids[at])
			}
			w.Fail(pdu.ErrGeneric)
			a.panicked(f.metrics[at], "Value", p)
			next = at + 1
		}
	}()
	for ; at < len(ids) && w.Err() == nil; at++ { // the rest would be in vain
		m := f.metrics[at]
		if m != nil && m.number != nil && (m.group == nil || f.ready(m) == nil) {
			bits, err := m.number(ctx, r)
			if err == nil {
				w.Number(ids[at], m.typ, bits) // which takes half of the time that Begin and value take
				m.valueLog.reset()
			} else {
				f.noNumber(ctx, a, m, ids[at], err, w)
			}
			continue
		}
		w.Begin(ids[at])
		if m != nil {
			f.value(ctx, r, a, m, domain, w)
		} else {
			w.Fail(pdu.ErrPMID)
		}
	}
	return at
}

// noNumber writes the value set of a singular metric whose Value has returned an error.
func (f *fetch) noNumber(ctx context.Context, a *Agent, m *metric, id pdu.PMID, err error, w *pdu.ResultWriter) {
	w.Begin(id)
	s := &f.one.set
	s.err = nil
	if s.failed(pdu.NoInst, err); s.err == nil {
		m.valueLog.reset()
		return
	}
	w.Fail(pdu.FromError(err))
	a.logValue(ctx, m, s)
}

// numberOf converts value to a function that returns the bits of the number for
// ResultWriter.Number. It returns nil for other types.
func numberOf[T pdu.Scalar](value func(context.Context, *Request, pdu.Instance) (T, error)) func(context.Context, *Request) (uint64, error) {
	one := pdu.Instance{ID: pdu.NoInst}
	switch f := any(value).(type) {
	case func(context.Context, *Request, pdu.Instance) (uint64, error):
		return func(ctx context.Context, r *Request) (uint64, error) { return f(ctx, r, one) }
	case func(context.Context, *Request, pdu.Instance) (int64, error):
		return func(ctx context.Context, r *Request) (uint64, error) {
			v, err := f(ctx, r, one)
			return uint64(v), err
		}
	case func(context.Context, *Request, pdu.Instance) (uint32, error):
		return func(ctx context.Context, r *Request) (uint64, error) {
			v, err := f(ctx, r, one)
			return uint64(v), err
		}
	case func(context.Context, *Request, pdu.Instance) (int32, error):
		return func(ctx context.Context, r *Request) (uint64, error) {
			v, err := f(ctx, r, one)
			return uint64(v), err
		}
	case func(context.Context, *Request, pdu.Instance) (float64, error):
		return func(ctx context.Context, r *Request) (uint64, error) {
			v, err := f(ctx, r, one)
			return math.Float64bits(v), err
		}
	}
	return nil
}

// release unlocks the groups and returns f to the pool, even when a function of the agent panics.
func (f *fetch) release() {
	for i := range f.groups {
		if f.groups[i].locked {
			f.groups[i].g.turn.Unlock()
		}
	}
	clear(f.metrics)
	clear(f.groups)
	clear(f.indoms)
	*f = fetch{metrics: f.metrics[:0], groups: f.groups[:0], indoms: f.indoms[:0]}
	fetches.Put(f)
}

// addSources adds the groups and the instance domain that a metric needs refreshed.
func (f *fetch) addSources(m *metric) {
	if m.group != nil {
		f.addGroup(m.group)
	}
	if m.indom != nil && m.indom.Group != nil {
		f.addGroup(m.indom.Group)
	}
	if m.indom != nil && m.indom.Refresh != nil {
		f.addInDom(m.indom)
	}
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

// refresh refreshes the instance domains and the groups, and keeps the groups
// locked. It fails if ctx ends while it waits for a group.
func (f *fetch) refresh(ctx context.Context, r *Request, a *Agent) error {
	for i := range f.indoms {
		s := &f.indoms[i]
		s.err = s.d.Refresh(ctx, r)
		a.refreshed(ctx, &s.d.refreshLog, s.err, "refresh of an instance domain failed", slog.String("indom", s.d.Name))
	}
	for i := range f.groups {
		s := &f.groups[i]
		if err := s.g.turn.Lock(ctx); err != nil {
			return err
		}
		s.locked = true
		if s.err = s.g.run(ctx, r); s.err != nil || s.g.log.last.Load() != nil {
			a.refreshed(ctx, &s.g.log, s.err, "refresh of a group failed", slog.String("metric", f.nameOf(s.g)))
		}
	}
	return nil
}

// lock locks the groups without a refresh.
func (f *fetch) lock(ctx context.Context) error {
	for i := range f.groups {
		s := &f.groups[i]
		if err := s.g.turn.Lock(ctx); err != nil {
			return err
		}
		s.locked = true
	}
	return nil
}

// nameOf returns the name of the first metric that needs the group, because a group has no name.
func (f *fetch) nameOf(g *Group) string {
	for _, m := range f.metrics {
		if m != nil && (m.group == g || m.indom != nil && m.indom.Group == g) {
			return m.name
		}
	}
	return ""
}

// ready returns the error of a refresh that the values of a metric depend on.
func (f *fetch) ready(m *metric) error {
	for i := range f.groups {
		s := &f.groups[i]
		if s.err != nil && (s.g == m.group || m.indom != nil && s.g == m.indom.Group) {
			return s.err
		}
	}
	for i := range f.indoms {
		if s := &f.indoms[i]; s.err != nil && s.d == m.indom {
			return s.err
		}
	}
	return nil
}

// value writes the values of one metric.
func (f *fetch) value(ctx context.Context, r *Request, a *Agent, m *metric, domain pdu.Domain, w *pdu.ResultWriter) {
	s := &f.one.set
	// The list and the rule stay, unused, if the metric is singular.
	s.w, s.typ, s.indom, s.n, s.err = w, m.typ, m.indom != nil, 0, nil
	if err := f.ready(m); err != nil {
		w.Fail(pdu.FromError(err))
		return
	}
	if s.indom {
		s.list = m.indom.Instances()
		s.rule = r.Profile.For(m.indomID(domain))
		if len(s.list) == 0 || s.rule.Exclude && len(s.rule.Insts) == 0 {
			return // as in the C library, no function is called
		}
	}
	err := m.fetch(ctx, r, &f.one)
	if err != nil && s.n == 0 && !errors.Is(err, NoValue) {
		w.Fail(pdu.FromError(err))
	}
	if s.err != nil {
		a.logValue(ctx, m, s)
	} else if !s.indom || s.rule.All() { // an instance that the client has excluded may still fail
		m.valueLog.reset()
	}
}

// A set is the state of the function of one metric.
type set struct {
	w     *pdu.ResultWriter
	typ   pdu.Type
	indom bool             // the metric has an instance domain
	list  []pdu.Instance   // all instances of the domain
	rule  pdu.InDomProfile // which of them the client wants
	n     int              // values written

	err     error // the last error to log
	errInst pdu.InstID
}

// A setBox has the layout of every Values[T], so that one setBox serves all types without an
// allocation.
type setBox struct{ set set }

// failed keeps the error of an instance for the log.
func (s *set) failed(id pdu.InstID, err error) {
	if !errors.Is(err, NoValue) {
		s.err, s.errInst = err, id
	}
}

// fetchEach calls value for every instance that the client wants. The error is that of the last
// instance without a value, as in the C library.
func fetchEach[T pdu.Scalar](value func(context.Context, *Request, pdu.Instance) (T, error)) func(context.Context, *Request, *setBox) error {
	fetchMany := fetchColumn(value)
	if fetchMany == nil {
		fetchMany = func(ctx context.Context, r *Request, s *set) error { return fetchInstances(ctx, r, s, value) }
	}
	return func(ctx context.Context, r *Request, box *setBox) error {
		s := &box.set
		if s.indom {
			return fetchMany(ctx, r, s)
		}
		v, err := value(ctx, r, pdu.Instance{ID: pdu.NoInst})
		if err != nil {
			s.failed(pdu.NoInst, err)
			return err
		}
		put(s, pdu.NoInst, v)
		return nil
	}
}

// fetchInstances calls value for the wanted instances and writes the values one by one.
func fetchInstances[T pdu.Scalar](ctx context.Context, r *Request, s *set, value func(context.Context, *Request, pdu.Instance) (T, error)) error {
	var last error
	for _, i := range s.list {
		if !s.rule.Includes(i.ID) {
			continue
		}
		v, err := value(ctx, r, i)
		if err != nil {
			s.failed(i.ID, err)
			last = err
			continue
		}
		put(s, i.ID, v)
	}
	return last
}

// put writes one value. The cases avoid reflection for common types, because it is slower.
func put[T pdu.Scalar](s *set, id pdu.InstID, value T) {
	s.n++
	switch v := any(value).(type) {
	case uint64:
		s.w.Uint64(id, v)
	case int64:
		s.w.Int64(id, v)
	case uint32:
		s.w.Uint32(id, v)
	case int32:
		s.w.Int32(id, v)
	case float64:
		s.w.Float64(id, v)
	case float32:
		s.w.Float32(id, v)
	case string:
		s.w.String(id, v)
	case []byte:
		s.w.Bytes(s.typ, id, v)
	default:
		putNamed(s, id, value)
	}
}

// fetchAll calls values, and values writes all values.
func fetchAll[T pdu.Scalar](values func(context.Context, *Request, *Values[T]) error) func(context.Context, *Request, *setBox) error {
	return func(ctx context.Context, r *Request, box *setBox) error {
		err := values(ctx, r, (*Values[T])(box))
		if err != nil {
			box.set.failed(pdu.NoInst, err)
		}
		return err
	}
}

// Values receives the values of all instances from the function Metric.Values. It is valid until
// that function returns. Only one goroutine at a time may use it.
type Values[T pdu.Scalar] struct{ set set }

// Put writes the value of an instance of the domain, or of pdu.NoInst if the metric is singular. It
// drops the value of an instance that the client does not want. Call it at most once for each
// instance.
func (s *Values[T]) Put(id pdu.InstID, v T) {
	if !s.set.indom {
		id = pdu.NoInst
	} else if !s.set.rule.All() && !s.set.rule.Includes(id) {
		return
	}
	put(&s.set, id, v)
}

// Wants reports whether the client wants an instance. It helps to skip values that are expensive to
// compute.
func (s *Values[T]) Wants(id pdu.InstID) bool { return !s.set.indom || s.set.rule.Includes(id) }

// Instances yields the instances that the client wants, and nothing for a singular metric.
func (s *Values[T]) Instances() iter.Seq[pdu.Instance] {
	return func(yield func(pdu.Instance) bool) {
		if !s.set.indom {
			return
		}
		for _, i := range s.set.list {
			if s.Wants(i.ID) && !yield(i) {
				return
			}
		}
	}
}

// putNamed writes a value of a named type.
func putNamed[T pdu.Scalar](s *set, id pdu.InstID, value T) {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Uint64:
		s.w.Uint64(id, v.Uint())
	case reflect.Int64:
		s.w.Int64(id, v.Int())
	case reflect.Uint32:
		s.w.Uint32(id, uint32(v.Uint()))
	case reflect.Int32:
		s.w.Int32(id, int32(v.Int()))
	case reflect.Float64:
		s.w.Float64(id, v.Float())
	case reflect.Float32:
		s.w.Float32(id, float32(v.Float()))
	case reflect.String:
		s.w.String(id, v.String())
	default:
		s.w.Bytes(s.typ, id, v.Bytes())
	}
}
