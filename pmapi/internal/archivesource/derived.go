package archivesource

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
)

// isRecorded reports whether records may have values of a metric. They have values of event.flags,
// event.missed and derived metrics only if a logger has computed and recorded them.
func (s *Source) isRecorded(id pdu.PMID) bool {
	if _, ok := s.meta.Desc(id); ok || id == pdu.NoPMID {
		return true
	}
	return id.Domain() != pdu.EventFlagsPMID.Domain()
}

// fetchDerived fetches metrics that are not recorded. They have no values. The position moves to
// the next record, as pmFetch(3) does.
func (s *Source) fetchDerived(ctx context.Context, q *request, r *pdu.Result) error {
	if err := s.find(ctx); err != nil {
		return err
	}
	for n := 1; ; n++ {
		if n%checkEvery == 0 {
			if err := s.check(ctx); err != nil { // of an archive with many marks
				return err
			}
		}
		if err := s.move(ctx); err != nil {
			return err
		}
		s.moveTo(s.cursor.Time())
		if !s.cursor.Mark() {
			break
		}
		s.noteMark()
	}
	s.w.Reset()
	for _, id := range q.ids {
		s.w.Begin(id)
	}
	s.noteMetadata(q)
	return s.take(s.cursor.Time(), r)
}
