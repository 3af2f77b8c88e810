package collector

import (
	"cmp"
	"iter"
	"slices"

	"github.com/pcp-go/pcp/pmda"
)

// A clientTable numbers clients: by slots, the lowest free one first, and by a
// sequence number that never comes again.
type clientTable struct {
	slots []*client
	n     int
	seq   uint64
}

func (t *clientTable) len() int { return t.n }

// all yields the clients by slot, but for those who are leaving.
func (t *clientTable) all() iter.Seq[*client] {
	return func(yield func(*client) bool) {
		for _, c := range t.slots {
			if c != nil && !c.leaving && !yield(c) {
				return
			}
		}
	}
}

// enter gives a client its numbers.
func (t *clientTable) enter(c *client) {
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

// leave takes a client out. Every agent is told before its slot can be used
// again.
func (s *Server) leave(c *client) {
	c.giveUpPlaces()
	s.mu.Lock()
	c.leaving = true // from now on no agent that comes hears of it
	agents := s.agents.Load().list
	s.mu.Unlock()
	info := c.info.Load()
	for _, a := range agents {
		if h := a.current(); h != nil {
			s.protect(nil, h, "end of client", func() { h.EndClient(info) })
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients.slots[info.ID] = nil
	s.clients.n--
}

// known reports whether agents may want to hear of the client.
func known(info *pmda.Client) bool { return info.UID >= 0 || info.GID >= 0 || info.Container != "" }

// announce tells all agents about the client's attributes.
func (s *Server) announce(info *pmda.Client) {
	for _, a := range s.agents.Load().list {
		s.tellAttributes(a.current(), info)
	}
}

func (s *Server) tellAttributes(h pmda.Handler, info *pmda.Client) {
	if h != nil {
		s.protect(nil, h, "attributes", func() { h.Attributes(info) })
	}
}

// clientList is the clients in the order in which they have come.
func (s *Server) clientList() []*client {
	s.mu.Lock()
	list := slices.AppendSeq(make([]*client, 0, s.clients.len()), s.clients.all())
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b *client) int { return cmp.Compare(a.info.Load().Seq, b.info.Load().Seq) })
	return list
}

// clientOf is the client that agents know as info, nil if it has gone.
func (s *Server) clientOf(info *pmda.Client) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(info.ID) >= len(s.clients.slots) {
		return nil
	}
	c := s.clients.slots[info.ID]
	if c == nil || c.leaving || c.info.Load().Seq != info.Seq {
		return nil
	}
	return c
}
