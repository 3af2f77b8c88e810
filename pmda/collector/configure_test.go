package collector

import (
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// TestRequestsWhileConfiguring checks that requests wait for agents that Configure is about to
// start, at most until their deadline, and for no other agents.
func TestRequestsWhileConfiguring(t *testing.T) {
	for _, timeout := range []time.Duration{time.Minute, 20 * time.Millisecond} {
		t.Run(timeout.String(), func(t *testing.T) { testRequestsWhileConfiguring(t, timeout) })
	}
}

func testRequestsWhileConfiguring(t *testing.T, timeout time.Duration) {
	starting, start := make(chan struct{}), make(chan struct{})
	slow := func(d pdu.Domain) (pmda.Handler, error) {
		close(starting)
		<-start
		return &collectortest.Agent{Name: "slow", Domain: d}, nil
	}
	s := collectortest.CloseAtEnd(t, &Server{Timeout: timeout, DSO: map[string]func(pdu.Domain) (pmda.Handler, error){"slow_init": slow}})
	collectortest.Add(t, s, &collectortest.Agent{Name: "there", Domain: 40})
	configured := make(chan error, 1)
	go func() {
		configured <- s.Configure(&pmcdconf.Config{Agents: []pmcdconf.Agent{{Name: "slow", Domain: 41, Kind: "dso", Entry: "slow_init"}}})
	}()
	<-starting
	for d, want := range map[pdu.Domain]pdu.Error{40: 0, 42: pdu.ErrNoAgent} {
		if got := codesOf(t, s, d); got[0] != want {
			t.Errorf("domain %d: %v, want %v", d, got[0], want)
		}
	}
	if timeout < time.Minute { // the deadline comes before the agent
		if got, want := codesOf(t, s, 41), [2]pdu.Error{pdu.ErrNoAgent, pdu.ErrPMID}; got != want {
			t.Errorf("after the time-out: %v, want %v", got, want)
		}
		close(start)
		<-configured
		return
	}
	codes := make(chan [2]pdu.Error, 1)
	go func() { codes <- codesOf(t, s, 41) }()
	select {
	case got := <-codes:
		t.Errorf("%v before the agent has started", got)
	case <-time.After(50 * time.Millisecond): // long enough for an unexpected reply
	}
	close(start)
	if err := <-configured; err != nil {
		t.Error(err)
	}
	if got := <-codes; got != [2]pdu.Error{} {
		t.Errorf("codes once the agent has started: %v", got)
	}
}

// codesOf returns the codes of requests for a value and a descriptor of a domain.
func codesOf(t *testing.T, s *Server, d pdu.Domain) [2]pdu.Error {
	g, id := collectortest.Connect(t, s), pdu.MakePMID(d, 0, 1)
	var value pdu.Error
	if err := g.Fetch(id).At(0).Err(); err != nil {
		value = pdu.FromError(err)
	}
	return [2]pdu.Error{value, g.Code(pdu.DescReq{PMID: id})}
}
