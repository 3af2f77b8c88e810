package remote

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A slot is what the agent knows of a place for clients in the collector.
type slot struct {
	seq       uint64 // of who is there, or was last
	gone      bool   // who was there has left
	container bool   // whose container the agent was told
}

// A news is what is to be told about a slot: that somebody has left it, then the
// attributes of who has it now.
type news struct {
	end   bool
	attrs []pdu.Attr
}

// EndClient tells the agent that a client has gone, if it has heard of it. It
// does not wait: the agent is told when it is free and ready, before anything
// else about the client's slot.
func (m *Agent) EndClient(c *pmda.Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, known := m.slots[c.ID]
	if m.state == dead || known && c.Seq < s.seq {
		return
	}
	if known && !s.gone {
		m.news[c.ID] = news{end: true}
	}
	m.slots[c.ID] = slot{seq: c.Seq, gone: true}
	m.startTelling()
}

// Attributes tells the agent what is known of a client, if it wants to know, as
// EndClient does. A client that has gone has no attributes any more.
func (m *Agent) Attributes(c *pmda.Client) {
	if m.wants&(pdu.FeatureAuth|pdu.FeatureContainer) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slots[c.ID]
	attrs := attributes(c, s.container && s.seq == c.Seq)
	if len(attrs) == 0 || !m.occupy(c) {
		return
	}
	s = m.slots[c.ID]
	s.container = s.container || c.Container != ""
	m.slots[c.ID] = s
	m.news[c.ID] = news{end: m.news[c.ID].end, attrs: attrs}
	m.startTelling()
}

// occupy notes that the agent hears of a client, and that who was in its slot
// has gone, even if nobody said so. It reports whether the client is there.
func (m *Agent) occupy(c *pmda.Client) bool {
	s, known := m.slots[c.ID]
	switch {
	case m.state == dead:
		return false
	case known && s.seq == c.Seq:
		return !s.gone
	case known && s.seq > c.Seq:
		return false
	case known && !s.gone:
		m.news[c.ID] = news{end: true}
	}
	m.slots[c.ID] = slot{seq: c.Seq}
	return true
}

// attributes are what an agent is told of a client; with container, also that it
// has no container.
func attributes(c *pmda.Client, container bool) []pdu.Attr {
	var attrs []pdu.Attr
	add := func(k pdu.Attribute, v string) {
		attrs = append(attrs, pdu.Attr{Attr: k, Value: append([]byte(v), 0)})
	}
	if c.PID >= 0 {
		add(pdu.AttrProcessID, strconv.Itoa(c.PID))
	}
	if c.GID >= 0 {
		add(pdu.AttrGroupID, strconv.Itoa(c.GID))
	}
	if c.UID >= 0 {
		add(pdu.AttrUserID, strconv.Itoa(c.UID))
	}
	if c.User != "" {
		add(pdu.AttrUsername, c.User)
	}
	if c.Container != "" || container {
		add(pdu.AttrContainer, c.Container)
	}
	return attrs
}

// startTelling lets a goroutine tell the agent the news, so that a client's end
// never waits for an agent. The caller has mu.
func (m *Agent) startTelling() {
	if m.state == ready && len(m.news) > 0 && !m.telling {
		m.telling = true
		m.wg.Go(m.tell)
	}
}

// tell tells the agent the news, unless a request takes them along. While the
// agent is not ready or late it waits to be started again.
func (m *Agent) tell() {
	for m.goOnTelling() {
		m.turn <- struct{}{} // at the end, too, everybody leaves
		if m.refuses() == nil {
			m.queueNews(nil)
			m.flush(time.Time{})
		}
		m.leave()
	}
}

func (m *Agent) goOnTelling() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.telling = m.state == ready && len(m.news) > 0
	return m.telling
}

// queueNews encodes the news, before a request of c if it is not nil. The caller
// has the turn.
func (m *Agent) queueNews(c *pmda.Client) {
	pending := m.takeNews(c)
	if pending == nil {
		return // without what follows, which allocates
	}
	for _, id := range slices.Sorted(maps.Keys(pending)) {
		n := pending[id]
		if n.end {
			m.conn.Queue(int32(id), pdu.Status{Code: pdu.ErrNotConn})
			m.strays++
		}
		for _, a := range n.attrs {
			m.conn.Queue(int32(id), a)
		}
	}
}

// takeNews takes all news, nil if there is none.
func (m *Agent) takeNews(c *pmda.Client) map[uint32]news {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c != nil {
		m.occupy(c)
	}
	if len(m.news) == 0 {
		return nil
	}
	pending := m.news
	m.news = map[uint32]news{}
	return pending
}
