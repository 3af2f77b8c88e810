package sample_test

import (
	"testing"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

func newAgent(t testing.TB, opts sample.Options) *pmda.Agent {
	t.Helper()
	a := sample.New(opts)
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestContract: the agent keeps the contract of a Handler but where PCP's agent breaks it.
func TestContract(t *testing.T) {
	start := func() pmda.Handler { return newAgent(t, sample.Options{}) }
	pmdatest.Run(t, start(), pmdatest.Changing(), pmdatest.Texts(), pmdatest.Restart(start),
		pmdatest.MayFail("sample.needprofile", "sample.bad.fetch.again", "sample.bad.nosupport", "sample.error_check"),
		pmdatest.Known(
			"29.0.54",                                                  // the PMID of a name without a metric
			"the set of the unknown metric",                            // has no values and no error
			"sample.bogus_bin",                                         // has other instances than the profile says
			"sample.dynamic.meta.metric",                               // has another descriptor in each reply
			"sample.error_check", "error -12 (Cannot allocate memory)", // its code, of which a whole fetch fails
			"which the profile excludes", // labels are of all instances
			`pmdatest"): got no error`,   // there is nothing below an unknown name
			"sample.event.type has type U32",
			"a record of 0 missed events",
			"Store of instance 2147483646", // one store sets all instances
		))
}
