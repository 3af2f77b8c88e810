package archivesource

import (
	"math"
	"time"

	"github.com/pcp-go/pcp/archive"
)

// AllMarks is the Options.IgnoreMarks that ignores all marks.
const AllMarks time.Duration = math.MaxInt64

// ignoredMarks tells which marks are ignored.
type ignoredMarks struct {
	set   *archive.Set
	limit time.Duration

	around *archive.Cursor // nil until it is needed
	at     time.Time       // the latest mark
	short  bool            // whether that was ignored
}

// mark reports whether the mark that a cursor has read last is ignored: whether the records before
// and after it, which are no marks, are at most the limit apart.
func (m *ignoredMarks) mark(c *archive.Cursor) bool {
	switch {
	case m.limit <= 0 || m.limit == AllMarks:
		return m.limit > 0
	case !m.at.IsZero() && m.at.Equal(c.Time()):
		return m.short
	case m.around == nil:
		m.around = m.set.Cursor()
	}
	m.at, m.short = c.Time(), false
	if before, ok := m.record(c.Pos(), m.around.Prev); ok {
		if after, ok := m.record(c.Pos(), m.around.Next); ok {
			m.short = after.Sub(before) <= m.limit
		}
	}
	return m.short
}

// record is the time of the next record from a place in a direction that is no mark.
func (m *ignoredMarks) record(from archive.Pos, move func() error) (t time.Time, ok bool) {
	for m.around.SetPos(from); ; {
		if err := move(); err != nil {
			return t, false
		}
		if !m.around.Mark() {
			return m.around.Time(), true
		}
	}
}
