package archivesource

import (
	"context"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A request is a list of metrics, as Fetch needs it.
type request struct {
	ids     []pdu.PMID
	slots   []int            // of each of ids
	metrics []pdu.PMID       // of each slot: ids without repetition
	indoms  []pdu.InDom      // of each slot
	slotOf  map[pdu.PMID]int // the inverse of metrics
	domains []*archive.InDom // of the metrics, without repetition
	layout  []layoutEntry    // of the record before
	found   []int            // of each slot: the index of its set in the record, or -1
}

// A layoutEntry is the metric of a value set, and its slot or -1. Adjacent records often have the
// same metrics in the same order.
type layoutEntry struct {
	id   pdu.PMID
	slot int
}

// prepare makes req the request for ids.
func (s *Source) prepare(ids []pdu.PMID) *request {
	if s.req.slotOf != nil && slices.Equal(ids, s.req.ids) {
		return &s.req
	}
	q := request{ids: slices.Clone(ids), slotOf: map[pdu.PMID]int{}}
	for _, id := range ids {
		slot, ok := q.slotOf[id]
		if !ok {
			slot = len(q.metrics)
			q.slotOf[id] = slot
			q.metrics = append(q.metrics, id)
			q.indoms = append(q.indoms, pdu.NoInDom)
			if d, ok := s.meta.Desc(id); ok {
				q.indoms[slot] = d.InDom
			}
			if d := s.meta.InDom(q.indoms[slot]); d != nil && !slices.Contains(q.domains, d) {
				q.domains = append(q.domains, d)
			}
		}
		q.slots = append(q.slots, slot)
	}
	q.found = make([]int, len(q.metrics))
	s.req = q
	return &s.req
}

// find sets found, and reports whether the record has any of the metrics.
func (q *request) find(r *pdu.Result) bool {
	for i := range q.found {
		q.found[i] = -1
	}
	any := false
	for i := range r.Len() {
		id := r.At(i).PMID
		if i == len(q.layout) {
			q.layout = append(q.layout, layoutEntry{pdu.NoPMID, -1})
		}
		e := &q.layout[i]
		if e.id != id {
			slot, ok := q.slotOf[id]
			if !ok {
				slot = -1
			}
			*e = layoutEntry{id, slot}
		}
		if e.slot >= 0 && q.found[e.slot] < 0 {
			q.found[e.slot], any = i, true
		}
	}
	return any
}

// fewMetrics is how many metrics are looked for in a record before it is decoded.
const fewMetrics = 8

// checkEvery is how many records are read between two looks at whether the request has ended.
const checkEvery = 256

// Fetch replaces r with the values of metrics.
func (s *Source) Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	q := s.prepare(ids)
	s.noteNames(q.domains)
	var err error
	if s.mode == ModeInterp {
		err = s.fetchInterpolated(ctx, q, profile, r)
	} else {
		err = s.fetchRecorded(ctx, q, profile, r)
		if err == nil {
			s.noteNames(q.domains)
		}
	}
	return s.failure(err)
}

// fetchRecorded fetches from the next record that has one of the metrics.
func (s *Source) fetchRecorded(ctx context.Context, q *request, profile *pdu.Profile, r *pdu.Result) error {
	if err := s.find(); err != nil {
		return err
	}
	rec, err := s.readWith(ctx, q)
	if err != nil {
		return err
	}
	s.w.Reset()
	for i, slot := range q.slots {
		if q.found[slot] < 0 {
			s.w.Begin(q.ids[i])
			continue
		}
		s.w.CopySelected(rec.At(q.found[slot]), profile.For(q.indoms[slot]))
	}
	return s.take(s.cursor.Time(), r)
}

// find moves the cursor to the position, if it is not there.
func (s *Source) find() error {
	if !s.seek {
		return nil
	}
	var err error
	if s.mode == ModeBack {
		err = s.cursor.SeekPrev(s.position)
	} else {
		err = s.cursor.SeekNext(s.position)
	}
	s.seek = err != nil
	return err
}

// move reads the next record in the direction of the mode.
func (s *Source) move() error {
	if s.mode == ModeBack {
		return s.cursor.Prev()
	}
	return s.cursor.Next()
}

// readWith reads up to the next record that has one of the metrics.
func (s *Source) readWith(ctx context.Context, q *request) (*pdu.Result, error) {
	for n := 1; ; n++ {
		if n%checkEvery == 0 {
			if err := s.check(ctx); err != nil {
				return nil, err
			}
		}
		before := s.cursor.Pos()
		if err := s.move(); err != nil {
			return nil, err
		}
		s.moveTo(s.cursor.Time()) // also if the record is passed over, as in the C library
		if s.cursor.Mark() {
			s.noteMark()
			continue
		}
		if len(q.metrics) <= fewMetrics && !s.cursor.Contains(q.metrics...) {
			continue
		}
		rec, err := s.cursor.Result()
		if err != nil {
			s.cursor.SetPos(before) // every fetch has the error
			return nil, err
		}
		if q.find(rec) {
			return rec, nil
		}
	}
}

// noteMark begins a new epoch, since there are no rates across a mark.
func (s *Source) noteMark() {
	s.mu.Lock()
	s.epoch.Connection++
	s.mu.Unlock()
}

// take makes r what was written.
func (s *Source) take(t time.Time, r *pdu.Result) error {
	s.w.Time = t
	if cap(s.buf) < pdu.HeaderLen {
		s.buf = make([]byte, pdu.HeaderLen)
	}
	b, err := s.w.Append(s.buf[:pdu.HeaderLen], pdu.FormatHighRes)
	if err != nil {
		return err
	}
	s.buf = b
	r.Format = pdu.FormatHighRes
	if err := r.Decode(b[pdu.HeaderLen:]); err != nil {
		return err
	}
	r.Time = t // also at the time 0, which Decode takes for none
	return nil
}

// FetchRecord makes r the next record as it is; a mark has no sets. It is pmFetchArchive(3).
func (s *Source) FetchRecord(ctx context.Context, r *pdu.Result) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if s.mode == ModeInterp {
		return pdu.ErrMode
	}
	if err := s.find(); err != nil {
		return s.failure(err)
	}
	if err := s.move(); err != nil {
		return s.failure(err)
	}
	if s.cursor.Mark() {
		s.noteMark()
	}
	if err := s.cursor.Decode(r); err != nil {
		return s.failure(err)
	}
	s.moveTo(s.cursor.Time())
	return nil
}
