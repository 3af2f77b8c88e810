package archivesource

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
)

// isRecorded reports whether records may have values of a metric. They have none of event.flags,
// event.missed and derived metrics, but for those that a logger has computed.
func (s *Source) isRecorded(id pdu.PMID) bool {
	if _, ok := s.meta.Desc(id); ok || id == pdu.NoPMID {
		return true
	}
	return id.Domain() != pdu.EventFlagsPMID.Domain()
}

// fetchDerived fetches nothing of metrics that are not recorded, as of the next record whatever it
// has, since that is where pmFetch(3) goes then.
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
