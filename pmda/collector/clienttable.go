package collector

import (
	"cmp"
	"iter"
	"slices"

	"github.com/pcp-go/pcp/pmda"
)

// A clientTable holds the clients of a Server. Each client has the lowest slot that was free, and
// a sequence number that is never reused.
type clientTable struct {
	slots []*client
	n     int
	seq   uint64
}

func (t *clientTable) len() int { return t.n }

// all yields the connected clients in the order of their slots.
func (t *clientTable) all() iter.Seq[*client] {
	return func(yield func(*client) bool) {
		for _, c := range t.slots {
			if c != nil && !c.gone && !yield(c) {
				return
			}
		}
	}
}

// add adds a client and assigns its slot and sequence number.
func (t *clientTable) add(c *client) {
	slot := len(t.slots)
	if t.n < len(t.slots) {
		for i, o := range t.slots {
			if o == nil {
				slot = i
				break
			}
		}
		t.slots[slot] = c
	} else {
		t.slots = append(t.slots, c)
	}
	info := pmda.NewClient(uint32(slot), t.seq)
	info.PID, info.UID, info.GID = peer(c.conn)
	c.info.Store(info)
	t.n++
	t.seq++
}

// removeClient removes a client that has disconnected. Its slot is reused only after every agent
// has learned of its end.
func (s *Server) removeClient(c *client) {
	c.endAdmission()
	s.mu.Lock()
	c.gone = true // agents that are added from now on do not learn of the client
	agents := s.agents.Load().list
	s.mu.Unlock()
	info := c.info.Load()
	for _, a := range agents {
		if h := a.current(); h != nil {
			s.protect(nil, h, "end of client", func() { h.EndClient(info) })
		}
	}
	s.mu.Lock()
	s.clients.slots[info.ID] = nil
	s.clients.n--
	s.mu.Unlock()
}

// hasAttributes reports whether a client has attributes that agents may need.
func hasAttributes(info *pmda.Client) bool {
	return info.UID >= 0 || info.GID >= 0 || info.User != "" || info.Container != ""
}

// sendAttributes sends a client's attributes to all agents.
func (s *Server) sendAttributes(info *pmda.Client) {
	for _, a := range s.agents.Load().list {
		s.sendAttributesTo(a.current(), info)
	}
}

// sendAttributesTo sends a client's attributes to an agent, unless h is nil.
func (s *Server) sendAttributesTo(h pmda.Handler, info *pmda.Client) {
	if h != nil {
		s.protect(nil, h, "attributes", func() { h.SetClient(info) })
	}
}

// clientList returns the clients, ordered by when they connected.
func (s *Server) clientList() []*client {
	s.mu.Lock()
	list := slices.AppendSeq(make([]*client, 0, s.clients.len()), s.clients.all())
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b *client) int { return cmp.Compare(a.info.Load().Seq, b.info.Load().Seq) })
	return list
}

// clientOf returns the client that agents know by info, or nil if it has disconnected.
func (s *Server) clientOf(info *pmda.Client) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(info.ID) >= len(s.clients.slots) {
		return nil
	}
	c := s.clients.slots[info.ID]
	if c == nil || c.gone || c.info.Load().Seq != info.Seq {
		return nil
	}
	return c
}
