package trivial_test

import (
	"testing"

	"github.com/pcp-go/pcp/examples/internal/trivial"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContract: the agent keeps the contract of a Handler.
func TestContract(t *testing.T) {
	pmdatest.Run(t, trivial.New(), pmdatest.Texts(), pmdatest.Stores(),
		pmdatest.Restart(func() pmda.Handler { return trivial.New() }))
}
