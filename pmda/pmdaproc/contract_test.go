package pmdaproc_test

import (
	"log/slog"
	"testing"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContract checks that the agent keeps the contract of a Handler.
func TestContract(t *testing.T) {
	root := machine().write(t)
	start := func() pmda.Handler {
		a, err := pmdaproc.New(&pmdaproc.Options{Root: root, NoAccessChecks: true})
		if err != nil {
			t.Fatal(err)
		}
		a.Logger = slog.New(slog.DiscardHandler)
		return a
	}
	pmdatest.Run(t, start(), pmdatest.Texts(), pmdatest.MayFail("proc.namespaces.envid"), pmdatest.Restart(start), pmdatest.Stores(
		pmdatest.Store{Metric: "proc.control.all.threads", Value: "0"},
	))
}
