package main

import (
	"testing"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pmda/pmdammv"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContract: the agent that exports the metrics keeps the contract of a Handler.
func TestContract(t *testing.T) {
	for i, name := range names {
		products.Add(mmv.Instance{Name: name})
		count.With(name).Add(uint64(i))
		busy.With(name).Inc()
		queued.With(name).Inc()
	}
	pmdatest.Run(t, pmdammv.Of(&acme))
}
