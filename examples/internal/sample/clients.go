package sample

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// clients are counts of the PDUs of each client, by its ID.
type clients struct {
	counts     map[uint32]*clientCounts
	present    uint32 // whose request it is
	slots      int32  // one more than the highest ID
	start, end int32  // clients that have come and gone
}

type clientCounts struct{ received, sent int32 }

func (s *sample) registerClients() {
	c := &s.dynamic.clients
	c.counts = map[uint32]*clientCounts{}
	counter := func(item int, name string, count func(p *clientCounts) int32) {
		add(s, item, pmda.Metric[int32]{Name: name, Sem: pdu.SemCounter, Units: pdu.UnitCount,
			Value: of(func() int32 { return count(c.counts[c.present]) })})
	}
	counter(43, "percontext.pdu", func(p *clientCounts) int32 { return p.received + p.sent })
	counter(44, "percontext.recv_pdu", func(p *clientCounts) int32 { return p.received })
	counter(45, "percontext.xmit_pdu", func(p *clientCounts) int32 { return p.sent })
	control := func(item int, name string, v func() int32) {
		add(s, item, pmda.Metric[int32]{Name: name, Units: pdu.UnitCount, Value: of(v)})
	}
	control(122, "percontext.control.ctx", func() int32 { return c.slots })
	control(123, "percontext.control.active", func() int32 { return int32(len(c.counts)) })
	control(124, "percontext.control.start", func() int32 { return c.start })
	control(125, "percontext.control.end", func() int32 { return c.end })
}

// countClient counts the PDUs of a client.
func (s *sample) countClient(client *pmda.Client, received, sent int) {
	c := &s.dynamic.clients
	c.present = client.ID
	p := c.counts[client.ID]
	if p == nil {
		p = new(clientCounts)
		c.counts[client.ID] = p
		c.slots = max(c.slots, int32(client.ID)+1)
		c.start++
	}
	p.received += int32(received)
	p.sent += int32(sent)
}

// clear clears the counts of one or both directions.
func (c *clients) clear(received, sent bool) {
	for _, p := range c.counts {
		if received {
			p.received = 0
		}
		if sent {
			p.sent = 0
		}
	}
}

// EndClient removes a client.
func (h handler) EndClient(client *pmda.Client) {
	c := &h.s.dynamic.clients
	if c.counts[client.ID] != nil {
		delete(c.counts, client.ID)
		c.end++
	}
	delete(h.s.known, client.ID)
	h.Handler.EndClient(client)
}
