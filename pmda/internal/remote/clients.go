package remote

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// EndClient sends the agent the end of a client, if the agent knows the client. It
// does not wait: the notice is sent when the agent is free and ready, before
// anything else about the client's slot.
func (a *Agent) EndClient(c *pmda.Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == disconnected {
		return
	}
	a.clients.end(c)
	a.startNotices()
}

// SetClient sends the agent the attributes of a client, if the agent has requested attributes in
// its CREDS. Like EndClient, it does not wait. After a client's end it does nothing.
func (a *Agent) SetClient(c *pmda.Client) {
	if a.wants&(pdu.FeatureAuth|pdu.FeatureContainer) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == disconnected {
		return
	}
	a.clients.setAttributes(c)
	a.startNotices()
}

// startNotices starts the goroutine that sends the notices, so that EndClient and
// SetClient do not wait for the agent. The caller has mu.
func (a *Agent) startNotices() {
	if a.state == ready && len(a.clients.notices) > 0 && !a.sending {
		a.sending = true
		a.wg.Go(a.sendNotices)
	}
}

// sendNotices sends the notices, unless a request is sent first and carries them. It
// ends when the agent is no longer ready; setState starts it again.
func (a *Agent) sendNotices() {
	for a.keepSending() {
		turn := a.turns.Wait(noClient)
		<-turn.Ready() // not for ever: exchanges end, after Close too
		a.beginTurn(turn)
		if a.unavailable() == nil {
			a.queueNotices(nil)
			a.flush(time.Time{})
		}
		a.endTurn()
	}
}

// noClient is the number of the client that notices are for.
const noClient = math.MaxUint64

// keepSending decides, under the lock that startNotices has, whether sendNotices
// goes on.
func (a *Agent) keepSending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sending = a.state == ready && len(a.clients.notices) > 0
	return a.sending
}

// queueNotices encodes all notices, before a request of c if that is not nil. The
// caller has the turn.
func (a *Agent) queueNotices(c *pmda.Client) {
	notices := a.takeNotices(c)
	if notices == nil {
		return // before the sorting, which allocates
	}
	for _, id := range slices.Sorted(maps.Keys(notices)) {
		n := notices[id]
		if n.ended {
			a.conn.Queue(int32(id), pdu.Status{Code: pdu.ErrNotConn})
			a.unsolicited.possible++
		}
		for _, attr := range n.attrs {
			a.conn.Queue(int32(id), attr)
		}
	}
}

// takeNotices notes that c has its slot. Then it removes and returns all notices, or nil.
func (a *Agent) takeNotices(c *pmda.Client) map[uint32]notice {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == disconnected {
		return nil
	}
	if c != nil {
		a.clients.enter(c)
	}
	return a.clients.removeNotices()
}

// A clientTable has the clients that an agent knows and the pending notices about them. An agent
// knows a client by the number of its slot, which the collector reuses after the client has
// disconnected. The zero value is usable only at the end of a connection.
type clientTable struct {
	slots   map[uint32]slot
	notices map[uint32]notice // by slot, too
}

// A slot is a place for one client at a time in the collector.
type slot struct {
	seq   uint64       // of the present or last client
	ended bool         // the client has disconnected
	told  attributeSet // the attributes that the agent knows
}

// A notice is the news about a slot that the agent gets before the next request: the end of a
// client, and the attributes of the client that has the slot now.
type notice struct {
	ended bool
	attrs []pdu.Attr
}

func newClientTable() clientTable {
	return clientTable{map[uint32]slot{}, map[uint32]notice{}}
}

// end notes that a client has gone.
func (t *clientTable) end(c *pmda.Client) {
	s, known := t.slots[c.ID]
	if known && s.seq > c.Seq {
		return // another has the slot
	}
	if known && !s.ended {
		t.notices[c.ID] = notice{ended: true}
	}
	t.slots[c.ID] = slot{seq: c.Seq, ended: true}
}

// enter notes that a client has its slot, and that the one before has gone, even if
// EndClient was not called for it. It returns false if the client itself has gone.
func (t *clientTable) enter(c *pmda.Client) bool {
	s, known := t.slots[c.ID]
	switch {
	case known && s.seq == c.Seq:
		return !s.ended
	case known && s.seq > c.Seq:
		return false
	case known && !s.ended:
		t.notices[c.ID] = notice{ended: true}
	}
	t.slots[c.ID] = slot{seq: c.Seq}
	return true
}

// setAttributes notes the attributes of a client.
func (t *clientTable) setAttributes(c *pmda.Client) {
	var told attributeSet
	if s := t.slots[c.ID]; s.seq == c.Seq {
		told = s.told
	}
	attrs := attributes(c, told.has(pdu.AttrContainer))
	if len(attrs) == 0 && told == 0 || !t.enter(c) {
		return
	}
	s := t.slots[c.ID]
	s.told = 0
	for _, a := range attrs {
		s.told |= 1 << a.Key
	}
	t.slots[c.ID] = s
	// The protocol cannot tell an agent that the user has become unknown. It can report the end
	// of the client and a new one.
	t.notices[c.ID] = notice{ended: t.notices[c.ID].ended || told&^s.told != 0, attrs: attrs}
}

// An attributeSet is a set of attributes, a bit for each.
type attributeSet uint32

func (s attributeSet) has(a pdu.Attribute) bool { return s&(1<<a) != 0 }

// removeNotices removes and returns the notices, or nil.
func (t *clientTable) removeNotices() map[uint32]notice {
	if len(t.notices) == 0 {
		return nil
	}
	notices := t.notices
	t.notices = map[uint32]notice{}
	return notices
}

// attributes returns the known attributes of a client. With container it includes an empty
// container.
func attributes(c *pmda.Client, container bool) []pdu.Attr {
	var attrs []pdu.Attr
	add := func(k pdu.Attribute, v string) {
		attrs = append(attrs, pdu.Attr{Key: k, Value: append([]byte(v), 0)})
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
