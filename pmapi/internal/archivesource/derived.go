package archivesource

import "github.com/pcp-go/pcp/pdu"

// isRecorded reports whether archives may have values of a metric: derived ones and those of event records are in none.
func isRecorded(id pdu.PMID) bool { return id.Domain() != pdu.EventFlagsPMID.Domain() }

// fetchDerived fetches nothing of metrics that are not recorded, as of the next record whatever it has, since that is where
// pmFetch(3) goes then.
func (s *Source) fetchDerived(q *request, r *pdu.Result) error {
	for {
		if err := s.move(); err != nil {
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
	return s.take(s.cursor.Time(), r)
}
