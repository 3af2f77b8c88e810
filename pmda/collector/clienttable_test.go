package collector

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestMaxClients checks that clients beyond the limit are refused with an error.
func TestMaxClients(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &Server{MaxClients: 2})
	first := collectortest.Connect(t, s)
	collectortest.Connect(t, s)
	third := collectortest.Dial(t, s)
	if got, want := third.ReceiveAll(), "refused: "+pdu.ErrConnLimit.Error(); got != want {
		t.Errorf("third: %s", got)
	}
	first.Net.Close()
	collectortest.Eventually(t, "room", func() bool { return len(s.clientList()) == 1 })
	collectortest.Eventually(t, "slot", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.clients.len() == 1 })
	if got := collectortest.Connect(t, s).Request(pdu.ChildReq{Name: "nothing"}); got != "error: "+pdu.ErrName.Error() {
		t.Errorf("after one has gone: %s", got)
	}
}

// TestEndOfClients checks that a slot is reused only after every agent has learned that the
// previous client is gone. Each agent learns of the end of a client once.
func TestEndOfClients(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &Server{})
	slow := &slowEnd{Agent: collectortest.Agent{Name: "slow", Domain: 10}, enter: make(chan uint64), leave: make(chan struct{})}
	quick := &collectortest.Agent{Name: "quick", Domain: 11}
	collectortest.Add(t, s, quick, slow, collectortest.Panicking{Handler: collectortest.EmptyAgent("panicking", 12)})
	a := collectortest.Connect(t, s)
	a.Net.Close()
	if got := <-slow.enter; got != 0 {
		t.Errorf("client %d has gone", got)
	}
	if n := len(s.clientList()); n != 0 {
		t.Errorf("%d clients", n)
	}
	b := collectortest.Connect(t, s)
	if c := s.clientList()[0].info.Load(); c.ID != 1 || c.Seq != 1 {
		t.Errorf("slot %d, number %d of a client that came before the end of another was told", c.ID, c.Seq)
	}
	slow.leave <- struct{}{}
	collectortest.Eventually(t, "free slot", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.clients.slots[0] == nil })
	c := collectortest.Connect(t, s)
	if got := s.clientOf(pmda.NewClient(0, 2)); got == nil {
		t.Error("the lowest slot is not used again")
	}
	for i, g := range []*collectortest.Client{b, c} {
		g.Net.Close()
		if got := <-slow.enter; got != uint64(i+1) {
			t.Errorf("client %d has gone", got)
		}
		slow.leave <- struct{}{}
	}
	collectortest.Eventually(t, "ends", func() bool { quick.Mu.Lock(); defer quick.Mu.Unlock(); return len(quick.Ended) == 3 })
	if diff := cmp.Diff([]uint64{0, 1, 2}, quick.Ended); diff != "" {
		t.Error(diff)
	}
}

// A slowEnd is an agent whose EndClient waits for the test.
type slowEnd struct {
	collectortest.Agent
	enter chan uint64
	leave chan struct{}
}

func (s *slowEnd) EndClient(c *pmda.Client) {
	s.enter <- c.Seq
	<-s.leave
}
