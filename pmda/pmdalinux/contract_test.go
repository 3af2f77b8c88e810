package pmdalinux_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContract checks that the agent keeps the contract of a Handler on a tree of an old kernel,
// one of a large machine, and this machine. Any kernel lacks some metrics.
func TestContract(t *testing.T) {
	for _, name := range []string{"linux-2.6.9", "vm"} {
		t.Run(name, func(t *testing.T) {
			o := pmdalinux.Options{Root: readTree(t, filepath.Join("testdata", name+".tree")).write(t), StateDir: t.TempDir()}
			a := newLinux(t, o)
			pmdatest.Run(t, a, pmdatest.Texts(), pmdatest.MayFail(topNames(a)...), pmdatest.Stores(),
				pmdatest.Restart(func() pmda.Handler { return newLinux(t, o) }))
		})
	}
	t.Run("this machine", func(t *testing.T) {
		a := newLinux(t, pmdalinux.Options{})
		pmdatest.Run(t, a, pmdatest.MayFail(topNames(a)...), pmdatest.Changing())
	})
}

func newLinux(t *testing.T, o pmdalinux.Options) *pmda.Agent {
	t.Helper()
	a, err := pmdalinux.New(o)
	if err != nil {
		t.Skip(err)
	}
	a.Logger = slog.New(slog.DiscardHandler) // the kernels lack many metrics
	return a
}

// topNames returns the first components of the names.
func topNames(a *pmda.Agent) (tops []string) {
	for name := range a.Namespace().All() {
		if top, _, _ := strings.Cut(name, "."); len(tops) == 0 || tops[len(tops)-1] != top {
			tops = append(tops, top)
		}
	}
	return tops
}
