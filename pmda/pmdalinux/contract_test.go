package pmdalinux_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContract: the agent keeps the contract of a Handler, on the trees of testdata and on
// the machine that the test runs on.
func TestContract(t *testing.T) {
	list, err := filepath.Glob("testdata/*.tree")
	if err != nil || len(list) == 0 {
		t.Fatal("no trees", err)
	}
	for _, path := range list {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".tree"), func(t *testing.T) {
			root := readTree(t, path).write(t)
			start := func() pmda.Handler { return newLinux(t, pmdalinux.Options{Root: root}) }
			pmdatest.Run(t, start(), pmdatest.Texts(), pmdatest.Restart(start))
		})
	}
	t.Run("this machine", func(t *testing.T) { pmdatest.Run(t, newLinux(t, pmdalinux.Options{}), pmdatest.Changing()) })
}

func newLinux(t *testing.T, o pmdalinux.Options) *pmda.Agent {
	t.Helper()
	a, err := pmdalinux.New(o)
	if err != nil {
		t.Skip(err)
	}
	return a
}
