package archivesource

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// An interpolator finds values between records. It keeps the records beside a time that it has
// found, per instance, so that steps shorter than the time between records read nothing.
type interpolator struct {
	ignored ignoredMarks
	s       *Source
	start   time.Time
	metrics map[pdu.PMID]*metricState
	end     moment // of the archives, when it was last looked for

	placed  bool        // whether the cursor stands after the last record not later than placeAt
	place   archive.Pos // where it stands
	placeAt moment

	query   *request
	states  []*metricState // of each slot of query
	pending int            // how many instances the search at hand is for
	stop    moment         // where the first of them ends
}

func newInterpolator(s *Source) *interpolator {
	return &interpolator{s: s, ignored: ignoredMarks{set: s.shared.Set, limit: s.opts.IgnoreMarks}, start: s.shared.Start(), metrics: map[pdu.PMID]*metricState{}, end: beforeAll}
}

// reset drops the known values. It keeps the archives' metadata of metrics.
func (p *interpolator) reset() {
	p.placed = false
	for _, m := range p.metrics {
		for i := range m.insts {
			m.insts[i].forget()
		}
	}
}

// moment is a time since the start.
func (p *interpolator) moment(t time.Time) moment { return moment(t.Sub(p.start)) }

// seconds is the time from one moment to another, with the rounding of the C library, which
// subtracts seconds and nanoseconds by themselves.
func (p *interpolator) seconds(m moment) float64 {
	const second = int64(time.Second)
	nsec := int64(p.start.Nanosecond())
	sec, rest := int64(m)/second, int64(m)%second
	rest += nsec
	if rest < 0 {
		sec, rest = sec-1, rest+second
	}
	sec, rest = sec+rest/second, rest%second
	return float64(sec) + float64(rest-nsec)/float64(second)
}

// endSlack is how far before the start and after the end there still are fetches.
const endSlack = moment(time.Millisecond)

// checkEnd is pdu.ErrEOL for a time outside of the archives.
func (p *interpolator) checkEnd(t moment) error {
	if t < -endSlack {
		return pdu.ErrEOL
	}
	if p.end != beforeAll && t <= p.end+endSlack {
		return nil
	}
	if err := p.s.shared.CheckEnd(); err != nil {
		return err
	}
	end, err := p.s.shared.End()
	if err != nil && p.end == beforeAll { // no record at the end is good: only the start is known
		end = p.start
	}
	if e := p.moment(end); e != p.end {
		p.end = e
		p.reset() // what was the end may not be it any more
	}
	if t > p.end {
		return pdu.ErrEOL
	}
	return nil
}

// fetchInterpolated fetches the values at the position and moves that on by the step.
func (s *Source) fetchInterpolated(ctx context.Context, q *request, profile *pdu.Profile, r *pdu.Result) error {
	t := s.position
	s.moveTo(t.Add(s.step))
	p := s.interp
	if err := p.checkEnd(p.moment(t)); err != nil {
		return err
	}
	passed, err := p.findBounds(ctx, q, profile, p.moment(t))
	if err != nil {
		p.reset()
		return err
	}
	s.w.Reset()
	for i, slot := range q.slots {
		s.w.Begin(q.ids[i])
		if q.ids[i] != pdu.NoPMID {
			p.write(&s.w, p.states[slot], p.moment(t), passed)
		}
	}
	for _, m := range p.states {
		m.had = m.has
	}
	return s.take(t, r)
}

// findBounds finds the bounds of all instances in the profile. It reports whether a mark lies
// between the fetch before and this one.
func (p *interpolator) findBounds(ctx context.Context, q *request, profile *pdu.Profile, t moment) (passed bool, err error) {
	p.query, p.states, p.pending = q, p.states[:0], 0
	for slot, id := range q.metrics {
		m := p.metric(id)
		p.states = append(p.states, m)
		m.pending = 0
		e := profile.For(q.indoms[slot])
		all := e.All()
		for n := range m.insts {
			i := &m.insts[n]
			if i.wanted = all || e.Includes(i.id); i.wanted && i.moveTo(t) {
				m.pending++
			}
		}
		p.pending += m.pending
	}
	if p.pending > 0 {
		if passed, err = p.moveCursor(ctx, t); err == nil {
			err = p.searchPrior(ctx, t)
		}
		if err != nil {
			return false, err
		}
	}
	for _, m := range p.states {
		m.pending = 0
		for n := range m.insts {
			if i := &m.insts[n]; i.wanted && i.searchNext(t, m.needsNext()) {
				m.pending++
			}
		}
		p.pending += m.pending
	}
	if p.pending > 0 {
		if !p.placed || p.placeAt != t {
			if passed, err = p.moveCursor(ctx, t); err != nil {
				return false, err
			}
		}
		if err := p.searchNext(ctx, t); err != nil {
			return false, err
		}
	}
	return passed, nil
}

// farAway is how many records are read one after the other before the index is used. The index is
// not used if marks between the records matter.
const farAway = 16

// nearby is how many records are read whole on the way: they may be those with the values.
const nearby = 3

// needsMarks reports whether a mark since the fetch before leaves a metric without values.
func (p *interpolator) needsMarks() bool {
	return slices.ContainsFunc(p.states, func(m *metricState) bool { return m.had && m.desc.Sem == pdu.SemCounter })
}

// moveCursor moves the cursor to after the last record that is not later than t. It reports
// whether there is a mark on the way.
func (p *interpolator) moveCursor(ctx context.Context, t moment) (passed bool, err error) {
	c := p.s.cursor
	if !p.placed {
		return false, p.seek(t)
	}
	c.SetPos(p.place)
	back := t < p.placeAt
	last, place := beforeAll, p.place // the farthest record on the way, and the position behind it
	stepped := false                  // whether time has stepped against the direction since
	if back {
		last = afterAll
	}
	for n := 1; ; n++ {
		if n == farAway && !p.needsMarks() {
			return false, p.seek(t)
		}
		if n%checkEvery == 0 {
			if err := p.s.check(ctx); err != nil {
				return false, err
			}
		}
		switch {
		case n <= nearby && back:
			err = step(c, (*archive.Cursor).Prev)
		case n <= nearby:
			err = step(c, (*archive.Cursor).Next)
		case back:
			err = step(c, (*archive.Cursor).SkipPrev)
		default:
			err = step(c, (*archive.Cursor).SkipNext)
		}
		if isEnd(err) {
			break
		}
		if err != nil {
			return false, err
		}
		at := p.moment(c.Time())
		if later := at > t; later != back {
			break
		}
		switch ahead := at > last; {
		case at == last && !stepped, at != last && ahead != back:
			last, place, stepped = at, c.Pos(), false
		case at != last:
			stepped = true
		}
		passed = passed || p.isMark()
	}
	c.SetPos(place)
	p.place, p.placeAt = place, t
	return passed, nil
}

// seek is moveCursor by the index.
func (p *interpolator) seek(t moment) error {
	c := p.s.cursor
	if err := c.SeekPrev(p.start.Add(time.Duration(t))); err != nil && !isEnd(err) {
		return err
	}
	p.placed, p.place, p.placeAt = true, c.Pos(), t
	return nil
}

// isEnd reports whether there are no more records. One that is not complete counts as none: it may
// still be being written.
func isEnd(err error) bool {
	return err == error(pdu.ErrEOL) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isMark reports whether the record that was read last is a mark that counts.
func (p *interpolator) isMark() bool { return p.s.cursor.Mark() && !p.ignored.mark(p.s.cursor) }

// searchPrior reads back from the place until all searches have ended.
func (p *interpolator) searchPrior(ctx context.Context, t moment) error {
	c := p.s.cursor
	c.SetPos(p.place)
	p.findStop(false)
	stepped := false // whether a record was later than t
	for n := 1; p.pending > 0; n++ {
		if n%checkEvery == 0 {
			if err := p.s.check(ctx); err != nil {
				return err
			}
		}
		err := step(c, (*archive.Cursor).Prev)
		if err != nil && !isEnd(err) {
			return err
		}
		if err != nil {
			p.endSearch(func(i *instanceState) {
				if i.stop == beforeAll {
					i.prior.kind = nothing
				}
				i.foundPrior()
			})
			return nil
		}
		at := p.moment(c.Time())
		if stepped = stepped || at > t; stepped && !p.isMark() {
			if err := p.revise(t, at); err != nil {
				return err
			}
			if at > t {
				continue
			}
		}
		if at <= p.stop {
			p.endSearch(func(i *instanceState) {
				if at <= i.stop {
					i.foundPrior()
				}
			})
			if p.pending == 0 {
				break
			}
			p.findStop(false)
		}
		if p.isMark() {
			p.endSearch(func(i *instanceState) {
				i.prior.kind, i.prior.at = mark, at
				i.foundPrior()
			})
			continue
		}
		err = p.eachValue(false, func(i *instanceState, a pdu.Atom) {
			i.prior.set(at, a)
			i.foundPrior()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// searchNext reads on from the place until all searches have ended.
func (p *interpolator) searchNext(ctx context.Context, t moment) error {
	c := p.s.cursor
	c.SetPos(p.place)
	p.findStop(true)
	stepped := false // whether a record was earlier than t
	for n := 1; p.pending > 0; n++ {
		if n%checkEvery == 0 {
			if err := p.s.check(ctx); err != nil {
				return err
			}
		}
		err := step(c, (*archive.Cursor).Next)
		if err != nil && !isEnd(err) {
			return err
		}
		if err != nil {
			p.endSearch(func(i *instanceState) {
				if i.stop == afterAll {
					i.next.kind = nothing
				}
				i.foundNext()
			})
			return nil
		}
		at := p.moment(c.Time())
		if stepped = stepped || at < t; stepped && !p.isMark() {
			if err := p.revise(t, at); err != nil {
				return err
			}
			if at <= t {
				p.place = c.Pos()
				continue
			}
		}
		if at >= p.stop {
			p.endSearch(func(i *instanceState) {
				if at >= i.stop {
					i.foundNext()
				}
			})
			if p.pending == 0 {
				break
			}
			p.findStop(true)
		}
		if p.isMark() {
			p.endSearch(func(i *instanceState) {
				i.next.kind, i.next.at = mark, at
				i.foundNext()
			})
			continue
		}
		err = p.eachValue(false, func(i *instanceState, a pdu.Atom) {
			i.next.set(at, a)
			i.foundNext()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// endSearch calls f for all instances that the search is for.
func (p *interpolator) endSearch(f func(*instanceState)) {
	for _, m := range p.states {
		for n := range m.insts {
			if m.pending == 0 {
				break
			}
			i := &m.insts[n]
			if !i.search {
				continue
			}
			if f(i); !i.search {
				m.pending--
				p.pending--
			}
		}
	}
}

// findStop sets stop: the latest of those of the search back, or the earliest of the search on.
func (p *interpolator) findStop(forward bool) {
	p.stop = beforeAll
	if forward {
		p.stop = afterAll
	}
	for _, m := range p.states {
		if m.pending == 0 {
			continue
		}
		for n := range m.insts {
			switch i := &m.insts[n]; {
			case !i.search:
			case forward:
				p.stop = min(p.stop, i.stop)
			default:
				p.stop = max(p.stop, i.stop)
			}
		}
	}
}

// revise looks at a record beyond a place where time steps back in the archives. Its values replace
// bounds that are farther from t, as in the C library.
func (p *interpolator) revise(t, at moment) error {
	return p.eachValue(true, func(i *instanceState, a pdu.Atom) {
		if at <= t && i.prior.kind == value && i.prior.at <= at {
			i.prior.set(at, a)
			i.low = at
		}
		if at > t && !i.search && i.next.kind == value && at <= i.next.at {
			i.next.set(at, a)
			i.high = at
		}
		if at == t && i.prior.kind == value {
			i.next.kind, i.high, i.search = unknown, t, false
		}
	})
}

// eachValue calls f for the values of the record that was read last that the search is for, or
// for all that the fetch is for.
func (p *interpolator) eachValue(all bool, f func(*instanceState, pdu.Atom)) error {
	c, q := p.s.cursor, p.query
	found, err := c.Select(q.selected)
	if err != nil || !found {
		return err
	}
	for slot, m := range p.states {
		if !all && m.pending == 0 {
			continue
		}
		set := q.selected.At(q.first[slot])
		m.hint = 0
		for n := 0; n < set.Len() && (all || m.pending > 0); n++ {
			id := set.Inst(n)
			if m.desc.InDom == pdu.NoInDom {
				id = pdu.NoInst // old archives have other numbers there
			}
			i := m.find(id)
			if i == nil || !i.search && !(all && i.wanted) {
				continue
			}
			a := set.Atom(n, m.desc.Type)
			if a.Type != m.desc.Type {
				return malformed(c.Record(), "value of metric %v has type %v, its descriptor %v", set.PMID, a.Type, m.desc.Type)
			}
			searched := i.search
			if f(i, a); searched && !i.search {
				m.pending--
				p.pending--
			}
		}
	}
	return nil
}

// needsNext reports whether a value depends on the bounds on both sides.
func (m *metricState) needsNext() bool { return m.desc.Sem != pdu.SemDiscrete || m.nearest }

// metric is the state of a metric.
func (p *interpolator) metric(id pdu.PMID) *metricState {
	m := p.metrics[id]
	if m == nil {
		m = p.newMetric(id)
		p.metrics[id] = m
	}
	return m
}

func (p *interpolator) newMetric(id pdu.PMID) *metricState {
	d, ok := p.s.meta.Desc(id)
	m := &metricState{desc: d, nearest: d.Sem != pdu.SemCounter && isNumber(d.Type) && !p.s.opts.PriorValues}
	switch {
	case !ok || d.Type == pdu.TypeNoSupport:
		m.code = pdu.ErrPMIDLog
	case d.Sem == pdu.SemCounter && !isNumber(d.Type):
		m.code = pdu.ErrType
	case d.InDom == pdu.NoInDom:
		m.insts, m.order = []instanceState{{id: pdu.NoInst, born: beforeAll, died: afterAll}}, []int{0}
	default:
		m.insts, m.order = p.instances(d.InDom)
	}
	return m
}

// manyInstances is the least domain size that makes the C library check when instances exist.
const manyInstances = 16

// instances are the states of all instances that a domain ever has, and the order of their values.
func (p *interpolator) instances(id pdu.InDom) (insts []instanceState, order []int) {
	d := p.s.meta.InDom(id)
	if d == nil {
		return nil, nil
	}
	all := d.All()
	insts = make([]instanceState, len(all))
	for n, i := range all {
		insts[n] = instanceState{id: i.ID, born: beforeAll, died: afterAll}
	}
	m := metricState{insts: insts}
	present := make([]int, len(insts)) // the last state that had it and one more; 0 for none
	for n := range d.Len() {
		m.hint = 0
		for _, i := range d.State(n) {
			s := m.find(i.ID)
			at := m.hint - 1
			if present[at] == 0 && len(all) >= manyInstances {
				s.born = p.moment(d.Time(n))
			}
			present[at] = n + 1
		}
	}
	for n := range insts {
		if last := present[n]; last > 0 && last < d.Len() && len(all) >= manyInstances {
			insts[n].died = p.moment(d.Time(last))
		}
	}
	return insts, orderOfValues(insts, present)
}

// orderOfValues returns the order of the values of a domain in results of the C library. Programs
// that select values by their position depend on it. The C library has a hash table with one row
// for each instance that the domain ever has, and the newest entry of a row comes first. It enters
// the instances of the latest state in ascending order, then those that only earlier states have.
func orderOfValues(insts []instanceState, present []int) []int {
	order := make([]int, len(insts))
	for n := range order {
		order[n] = n
	}
	rows := uint32(len(insts))
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(uint32(insts[a].id)%rows, uint32(insts[b].id)%rows),
			cmp.Compare(present[a], present[b]),
			cmp.Compare(insts[b].id, insts[a].id))
	})
	return order
}

func isNumber(t pdu.Type) bool { return t >= pdu.Type32 && t <= pdu.TypeDouble }
