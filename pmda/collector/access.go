package collector

import (
	"io"
	"slices"

	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// SetAccess replaces the access rules. Nil allows everything. Connected clients are checked against
// the new rules; a refused client gets an error and is disconnected. SetAccess does not change the
// field Access, which has the rules at the start.
func (s *Server) SetAccess(rules *pmcdconf.Access) {
	s.init()
	s.access.Store(access.New(rules))
	s.mu.Lock()
	clients := slices.Collect(s.clients.all())
	s.mu.Unlock()
	for _, c := range clients {
		c.recheck()
	}
}

// WriteAccess writes the access rules, with the number of connections that count against each, in
// the layout of pmcd's log.
func (s *Server) WriteAccess(w io.Writer) error {
	s.init()
	return s.access.Load().WriteTables(w)
}
