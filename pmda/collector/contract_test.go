package collector_test

import (
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContract checks that the Server's own agent fulfils the contract of a Handler.
func TestContract(t *testing.T) {
	b := collector.NewFixture(t, &collector.Server{})
	if err := b.Add(collectortest.EmptyAgent("zebra", 250)); err != nil {
		t.Fatal(err)
	}
	pmdatest.Run(t, b.LocalAgent(pmcdagent.Domain), pmdatest.Texts(), pmdatest.Stores(
		pmdatest.Store{Metric: "pmcd.control.timeout", Value: "7", Client: b.Me},
		pmdatest.Store{Metric: "pmcd.control.timeout", Value: "8", Err: pdu.ErrPermission},
		pmdatest.Store{Metric: "pmcd.control.register", Instance: "3", Value: "-5", Client: b.Me},
		pmdatest.Store{Metric: "pmcd.control.traceconn", Value: "2", Client: b.Me, Err: pdu.ErrBadStore},
		pmdatest.Store{Metric: "pmcd.numagents", Value: "2", Client: b.Me, Err: pdu.ErrPMID},
		// Any value increments it.
		pmdatest.Store{Metric: "pmcd.seqnum", Value: "1", Shows: "pmcd.numagents", Want: "2"},
	))
}
