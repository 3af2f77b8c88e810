package collector_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmns"
)

// named returns an agent with one metric.
func named(t *testing.T, domain pdu.Domain, metric string) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "a", Domain: domain}
	err := pmda.Register(a, pmda.Metric[uint32]{Name: metric, ID: pmda.Item(0, 0), Sem: pdu.SemInstant,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 1, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestNameInUse checks that an agent cannot be added while another one has one of its names.
func TestNameInUse(t *testing.T) {
	s := collectortest.CloseAtEnd(t, new(collector.Server))
	collectortest.Add(t, s, named(t, 10, "some.name"))
	for _, name := range []string{"some.name", "some.name.below", "some"} {
		err := s.Add(named(t, 11, name))
		if err == nil || !strings.Contains(err.Error(), `agent "a": a name is in use: `) || !strings.Contains(err.Error(), `"some`) {
			t.Errorf("agent with %s beside one with some.name: %v", name, err)
		}
	}
	collectortest.Add(t, s, named(t, 12, "some.other"))
	if err := s.Remove(10); err != nil {
		t.Fatal(err)
	}
	collectortest.Add(t, s, named(t, 11, "some.name"))
}

// TestNamesOrder checks that the names of a metric have the order of the C library: the last one in
// the file comes first.
func TestNamesOrder(t *testing.T) {
	tree, err := pmns.Parse("names", strings.NewReader("root { a b c 10:0:1 } a { z 10:0:1 y } a.y { q 10:0:1 } b { w 10:0:1 v 10:0:2 }"))
	if err != nil {
		t.Fatal(err)
	}
	s := collectortest.CloseAtEnd(t, &collector.Server{Names: tree})
	const want = "{Names:[c b.w a.y.q a.z] Statuses:[] Err:No error}"
	if got := collectortest.Connect(t, s).Request(pdu.PMIDList{PMIDs: []pdu.PMID{pdu.MakePMID(10, 0, 1)}}); got != want {
		t.Errorf("names %s, want %s", got, want)
	}
}

// TestNameInUseAtOnce checks that one of two agents with the same name is added if both are added
// concurrently.
func TestNameInUseAtOnce(t *testing.T) {
	for range 300 {
		s := collectortest.CloseAtEnd(t, new(collector.Server))
		agents := []*pmda.Agent{named(t, 10, "some.name"), named(t, 11, "some.name")}
		errs := make([]error, len(agents))
		var adding sync.WaitGroup
		for i, a := range agents {
			adding.Go(func() { errs[i] = s.Add(a) })
		}
		adding.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v and %v", errs[0], errs[1])
		}
	}
}
