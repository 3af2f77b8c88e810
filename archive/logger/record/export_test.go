package record

// Errors of calls in the wrong order.
var (
	ErrStarted    = errStarted
	ErrNotStarted = errNotStarted
	ErrNoHosts    = errNoHosts
	ErrDefault    = errDefault
)

// Base returns the common prefix of the names of the session's files.
func (s *Session) Base() string { return s.base }
