package archivesource

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// A request is a list of metrics, as Fetch needs it.
type request struct {
	ids      []pdu.PMID
	slots    []int              // of each of ids
	metrics  []pdu.PMID         // of each slot: ids without repetition
	first    []int              // of each slot: the first index in ids
	indoms   []pdu.InDom        // of each slot
	domains  []*archive.InDom   // of the metrics, without repetition
	selected *pdu.Selection     // the sets of ids in the record that was read last
	profiles []pdu.InDomProfile // memory for profile
}

// prepare makes req the request for ids.
func (s *Source) prepare(ids []pdu.PMID) *request {
	if s.req.selected != nil && slices.Equal(ids, s.req.ids) {
		return &s.req
	}
	q := request{ids: slices.Clone(ids)}
	slotOf := map[pdu.PMID]int{} // the inverse of metrics
	for i, id := range ids {
		slot, ok := slotOf[id]
		if !ok {
			slot = len(q.metrics)
			slotOf[id] = slot
			q.metrics, q.first = append(q.metrics, id), append(q.first, i)
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
	q.selected = pdu.NewSelection(ids)
	s.req = q
	return &s.req
}

// profile is the selection of instances of each of ids, nil if all are selected.
func (q *request) profile(p *pdu.Profile) []pdu.InDomProfile {
	if everything(p) {
		return nil
	}
	q.profiles = q.profiles[:0]
	for _, slot := range q.slots {
		q.profiles = append(q.profiles, p.For(q.indoms[slot]))
	}
	return q.profiles
}

// everything reports whether a profile selects all instances of all domains.
func everything(p *pdu.Profile) bool { return p == nil || !p.Exclude && len(p.InDoms) == 0 }

// checkEvery is how many records are read between two looks at whether the request has ended.
const checkEvery = 256

// Fetch replaces r with the values of metrics.
func (s *Source) Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	q := s.prepare(ids)
	s.noteMetadata(q)
	var err error
	switch {
	case s.mode == ModeInterp:
		err = s.fetchInterpolated(ctx, q, profile, r)
	case !slices.ContainsFunc(q.ids, s.isRecorded):
		err = s.fetchDerived(ctx, q, r)
	default:
		err = s.fetchRecorded(ctx, q, func() error { return q.selected.Result(r, s.cursor.Time(), q.profile(profile)) })
	}
	return s.failure(err)
}

// FetchSets returns the values of a record without copying them. The sets are valid until the
// position moves. They are nil if the mode is ModeInterp, the profile excludes instances or no
// metric is recorded; Fetch must be used then.
func (s *Source) FetchSets(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile) (sets source.Sets, t time.Time, err error) {
	if s.mode == ModeInterp || !everything(profile) || !slices.ContainsFunc(ids, s.isRecorded) {
		return nil, t, nil
	}
	if err := s.check(ctx); err != nil {
		return nil, t, err
	}
	q := s.prepare(ids)
	s.noteMetadata(q)
	sets = q.selected
	err = s.fetchRecorded(ctx, q, func() error {
		if q.selected.InOrder() {
			return nil
		}
		sets = &s.unordered
		return q.selected.Result(&s.unordered, s.cursor.Time(), nil)
	})
	if err != nil {
		return nil, t, s.failure(err)
	}
	return sets, s.cursor.Time(), nil
}

// noteMetadata notes what the metadata of a request is at the position.
func (s *Source) noteMetadata(q *request) {
	s.noteNames(q.domains)
	s.noteLabels()
}

// fetchRecorded reads the next record with a value of one of the metrics, and calls take to read
// the values.
func (s *Source) fetchRecorded(ctx context.Context, q *request, take func() error) error {
	if err := s.find(ctx); err != nil {
		return err
	}
	before, err := s.readWith(ctx, q)
	if err != nil {
		return err
	}
	if err := take(); err != nil {
		s.cursor.SetPos(before) // every fetch has the error
		if errors.Is(err, pdu.ErrIPC) {
			err = malformed(s.cursor.Record(), "%v", err)
		}
		return err
	}
	s.noteMetadata(q)
	return nil
}

// find moves the cursor to the position, if it is not there.
func (s *Source) find(ctx context.Context) error {
	if !s.seek {
		return nil
	}
	var err error
	if s.mode == ModeBack {
		err = s.findBack(ctx)
	} else {
		err = s.cursor.SeekNext(s.position)
	}
	s.seek = err != nil
	return err
}

// findBack moves the cursor to where the records before the position are read from. If a malformed
// one is on the way there, this is found from the end of the archives; if there is one on that way
// too, the records before the former are read.
func (s *Source) findBack(ctx context.Context) error {
	err := s.cursor.SeekPrev(s.position)
	if !errors.Is(err, pdu.ErrLogRec) {
		return err
	}
	place := s.cursor.Pos()
	if err := s.cursor.SeekEnd(); err != nil {
		s.cursor.SetPos(place)
		return nil
	}
	for n := 1; ; n++ {
		if n%checkEvery == 0 {
			if err := s.check(ctx); err != nil {
				return err
			}
		}
		before := s.cursor.Pos()
		if err := step(s.cursor, (*archive.Cursor).Prev); err != nil {
			s.cursor.SetPos(place)
			return nil
		}
		if !s.cursor.Time().After(s.position) {
			s.cursor.SetPos(before)
			return nil
		}
	}
}

// move reads the next record in the direction of the mode. Like the C library it skips records
// whose time goes against that direction, unless they follow a mark.
func (s *Source) move(ctx context.Context) (err error) {
	for n := 1; ; n++ {
		if n%checkEvery == 0 {
			if err := s.check(ctx); err != nil {
				return err
			}
		}
		beside := s.cursor.Mark()
		if s.mode == ModeBack {
			err = step(s.cursor, (*archive.Cursor).Prev)
		} else {
			err = step(s.cursor, (*archive.Cursor).Next)
		}
		if err != nil || beside || s.mode == ModeBack && !s.cursor.Time().After(s.position) || s.mode != ModeBack && !s.cursor.Time().Before(s.position) {
			return err
		}
	}
}

// readWith reads up to the next record that has one of the metrics. It returns the place before
// that.
func (s *Source) readWith(ctx context.Context, q *request) (before archive.Pos, err error) {
	for n := 1; ; n++ {
		if n%checkEvery == 0 {
			if err := s.check(ctx); err != nil {
				return before, err
			}
		}
		before = s.cursor.Pos()
		if err := s.move(ctx); err != nil {
			return before, err
		}
		s.moveTo(s.cursor.Time()) // also if the record is passed over, as in the C library
		if s.cursor.Mark() {
			s.noteMark()
			continue
		}
		found, err := s.cursor.Select(q.selected)
		if err != nil {
			s.cursor.SetPos(before) // every fetch has the error
		}
		if found || err != nil {
			return before, err
		}
	}
}

// noteMark begins a new epoch, since there are no rates across a mark.
func (s *Source) noteMark() {
	s.mu.Lock()
	s.epoch.Connection++
	s.mu.Unlock()
}

// take moves the written result into r.
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
	if err := s.find(ctx); err != nil {
		return s.failure(err)
	}
	if err := s.move(ctx); err != nil {
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
