package pmdammv

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// maxReaders is the number of files that a fetch can read alternately without reading anything
// twice.
const maxReaders = 32

// maxTries is how often a fetch tries to read a metric whose file changes meanwhile.
const maxTries = 8

// A fetch is the state of a Fetch. It is reused.
type fetch struct {
	now     time.Time
	readers [maxReaders]reader
	n       int  // the number of readers in use
	last    int  // the reader that was used last
	evict   int  // the reader to reuse next
	checked bool // fresh was called for an unknown metric
}

// A reader reads values of one file.
type reader struct {
	mmv.Reader
	e *entry
}

// Fetch writes the values of metrics.
func (h handler) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	a := h.a
	f, _ := a.fetches.Get().(*fetch)
	if f == nil {
		f = new(fetch)
	}
	defer a.fetches.Put(f)
	f.now, f.n, f.last, f.evict, f.checked = time.Now(), 0, 0, 0, false
	s, err := a.recent(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if w.Err() != nil {
			break
		}
		if e, at, ok := s.singular(id); ok { // the fast path
			if t, bits, ok := f.reader(e).NumberAt(at); ok {
				w.Number(id, t, bits)
				continue
			}
		}
		if s, err = a.fetchMetric(ctx, r, f, s, id, w); err != nil {
			return err
		}
	}
	return w.Err()
}

// fetchMetric writes the values of one metric. It returns the snapshot that it used.
func (a *agent) fetchMetric(ctx context.Context, r *pmda.Request, f *fetch, s *snapshot, id pdu.PMID, w *pdu.ResultWriter) (*snapshot, error) {
	var err error
	c, own := controlOf(id)
	m := s.metric(id)
	if m == nil && !f.checked { // the metric may be new; a control metric needs all files checked
		f.checked = true
		if s, err = a.fresh(ctx); err != nil {
			return nil, err
		}
		m = s.metric(id)
	}
	var v pdu.Atom
	var none error
	for range maxTries {
		if m == nil {
			break
		}
		if m.desc.InDom == pdu.NoInDom {
			v, none, err = f.singular(m)
		} else {
			err = f.load(m)
		}
		if err == nil {
			break
		}
		next, scanErr := a.scan(ctx, s)
		if scanErr != nil {
			return nil, scanErr
		}
		s, m = next, next.metric(id)
	}
	w.Begin(id)
	switch {
	case m != nil && err != nil:
		w.Fail(pdu.ErrAgain) // the file keeps changing
	case own:
		w.Int32(pdu.NoInst, c.value(a, s))
	case m == nil:
		w.Fail(pdu.ErrPMID)
	case m.desc.InDom != pdu.NoInDom:
		if m.indom != nil {
			f.writeInstances(m, r.Profile.For(m.desc.InDom), w)
		}
	case none == nil:
		w.Atom(pdu.NoInst, v)
	case !errors.Is(none, mmv.ErrNoValue):
		w.Fail(pdu.FromError(none))
	}
	return s, nil
}

// reader returns the reader of a file.
func (f *fetch) reader(e *entry) *mmv.Reader {
	if f.n > 0 && f.readers[f.last].e == e {
		return &f.readers[f.last].Reader
	}
	return f.otherReader(e)
}

// otherReader is like reader, for a file other than that of the last call.
func (f *fetch) otherReader(e *entry) *mmv.Reader {
	for i := range f.n {
		if f.readers[i].e == e {
			f.last = i
			return &f.readers[i].Reader
		}
	}
	if f.n < maxReaders {
		f.last = f.n
		f.n++
	} else {
		f.last = f.evict
		f.evict = (f.evict + 1) % maxReaders
	}
	rd := &f.readers[f.last]
	rd.e = e
	rd.Reset(e.file, f.now)
	return &rd.Reader
}

// load reads everything that the values of a metric need, so that writing them needs no further
// reads.
func (f *fetch) load(m *metric) error {
	for i := range m.in {
		e := m.in[i].e
		if err := f.reader(e).Load(m.in[i].m); err != nil {
			e.failed.Store(true)
			return err
		}
	}
	return nil
}

// singular returns the value of a metric without instance domain, from the first file that has one.
// If a file has a domain for the metric, the first value counts. If there is no value, none says
// why. err is not nil if a file has changed.
func (f *fetch) singular(m *metric) (v pdu.Atom, none, err error) {
	none = pdu.ErrInst
	for i := range m.in {
		p := &m.in[i]
		if len(p.m.Instances) == 0 {
			continue
		}
		rd := f.reader(p.e)
		v, none = rd.Value(p.m, 0)
		if none == nil {
			return v, nil, nil
		}
		if err = rd.Err(); err != nil {
			p.e.failed.Store(true)
			return v, none, err
		}
		if errors.Is(none, mmv.ErrNoValue) {
			break
		}
	}
	return v, none, nil
}

// writeInstances writes the values of the instances that the client wants.
func (f *fetch) writeInstances(m *metric, rule pdu.InDomProfile, w *pdu.ResultWriter) {
	n, last := 0, error(nil)
	all := rule.All()
	rd := f.reader(m.in[0].e)
	for i, inst := range m.indom.instances() {
		if !all && !rule.Includes(inst.ID) {
			continue
		}
		var v pdu.Atom
		var err error
		if m.steps == nil {
			v, err = rd.Value(m.in[0].m, i)
		} else {
			v, err = f.value(m, m.steps[i], inst.ID)
		}
		switch {
		case err == nil:
			w.Atom(inst.ID, v)
			n++
		case !errors.Is(err, mmv.ErrNoValue):
			last = err
		}
	}
	if n == 0 && last != nil {
		w.Fail(pdu.FromError(last))
	}
}

// value returns the value of an instance from the first file that has one.
func (f *fetch) value(m *metric, at step, id pdu.InstID) (v pdu.Atom, err error) {
	if at.index < 0 {
		return v, pdu.ErrInst
	}
	p := &m.in[at.file]
	v, err = f.reader(p.e).Value(p.m, int(at.index))
	if err == nil || errors.Is(err, mmv.ErrNoValue) {
		return v, err
	}
	for i := int(at.file) + 1; i < len(m.in); i++ { // rare: a damaged file before a good one
		p := &m.in[i]
		k := slices.Index(p.m.Instances, id)
		if p.singular() {
			k = 0
		}
		if k < 0 {
			continue
		}
		v, err = f.reader(p.e).Value(p.m, k)
		if err == nil || errors.Is(err, mmv.ErrNoValue) {
			break
		}
	}
	return v, err
}
