package archivesource

import "github.com/pcp-go/pcp/pdu"

// isRecorded reports whether records may have values of a metric. They have none of event.flags, event.missed and derived
// metrics, but for those that a logger has computed.
func (s *Source) isRecorded(id pdu.PMID) bool {
	if _, ok := s.meta.Desc(id); ok || id == pdu.NoPMID {
		return true
	}
	return id.Domain() != pdu.EventFlagsPMID.Domain()
}

// fetchDerived fetches nothing of metrics that are not recorded, as of the next record whatever it has, since that is where
// pmFetch(3) goes then.
func (s *Source) fetchDerived(q *request, r *pdu.Result) error {
	if err := s.find(); err != nil {
		return err
	}
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
	s.noteMetadata(q)
	return s.take(s.cursor.Time(), r)
}
