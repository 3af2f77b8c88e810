package collector

import (
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestAgentLatencies checks that each call of an agent counts, even a failed one.
func TestAgentLatencies(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &Server{})
	collectortest.Add(t, s, collectortest.EmptyAgent("one", 7))
	collectortest.Add(t, s, collectortest.EmptyAgent("other", 8))
	g := collectortest.Connect(t, s)
	for range 3 {
		g.Request(pdu.DescReq{PMID: pdu.MakePMID(7, 0, 1)})
	}
	l := &s.agents.Load().get(7).latencies
	if l.Count() != 3 || l.Max() <= 0 || l.Total() < l.Max() || l.Quantile(0.5) > l.Max() {
		t.Errorf("%d calls, longest %v, total %v, half in %v", l.Count(), l.Max(), l.Total(), l.Quantile(0.5))
	}
	if n := s.agents.Load().get(8).latencies.Count(); n != 0 {
		t.Errorf("%d calls of an agent that nobody has asked for anything", n)
	}
}
