package simple_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContract: the agent keeps the contract of a Handler, with its configuration file and
// without.
func TestContract(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "simple.conf")
	if err := os.WriteFile(conf, []byte("sec,hour\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, conf := range map[string]string{"without a file": "", "with a file": conf} {
		t.Run(name, func(t *testing.T) {
			pmdatest.Run(t, newAgent(t, conf), pmdatest.Texts(),
				pmdatest.Restart(func() pmda.Handler { return simple.New(conf) }),
				pmdatest.Stores(
					pmdatest.Store{Metric: "simple.numfetch", Value: "100", Want: "101"}, // with the fetch that looks
					pmdatest.Store{Metric: "simple.color", Instance: "green", Value: "7", Want: "8"},
					pmdatest.Store{Metric: "simple.now", Instance: "sec", Value: "7", Err: pdu.ErrPermission},
				))
		})
	}
}
