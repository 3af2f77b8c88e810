package goexpvar

import (
	"expvar"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContractOfChanges checks that clients see changed names when variables come and go.
func TestContractOfChanges(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"stays": integer(1), "shelf": mapOf("red", new(expvar.Int))})
	there := false
	pmdatest.Run(t, b.agent, pmdatest.Texts(), pmdatest.Stores(pmdatest.Store{Metric: "x.own", Value: "7", Err: pdu.ErrPermission}),
		pmdatest.ChangeNames(func() {
			if there = !there; there {
				b.set("goes", mapOf("in", new(expvar.Int), "out", new(expvar.Float)))
			} else {
				b.set("goes", nil)
			}
		}))
}
