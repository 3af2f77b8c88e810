package remote_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
	"github.com/pcp-go/pcp/pmda/pmdatest"
	"github.com/pcp-go/pcp/pmns"
)

// TestInteropContract holds agents of PCP to the contract of a Handler. Agents in C keep it,
// except for their own known deviations.
func TestInteropContract(t *testing.T) {
	for _, c := range []struct {
		name   string
		domain pdu.Domain
		source bool // is all there is
		known  []string
	}{
		{"simple", 253, true, nil},
		{"trivial", 250, true, nil},
		{"trace", 10, false, nil},
		{"mmv", 70, false, []string{"of an unknown metric: got error -12358", "Store of the unknown metric"}},
		{"sample", 29, false, []string{
			"29.0.54", // the PMID of a name without a metric
			"the set of the unknown metric", "sample.bogus_bin", "sample.dynamic.meta", "sample.error_check", "sample.scramble",
			"which the profile excludes", // labels are of all instances
			`pmdatest"): got no error`,   // there is nothing below an unknown name
			"an event of instance", "Store of instance",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), c.name, "pmda"+c.name)
			if c.source {
				_, program = pcptest.BuildAgent(t, c.name)
			}
			pcptest.Need(t, program)
			root := filepath.Join(t.TempDir(), "root")
			if err := os.WriteFile(root, []byte(pcptest.Names(t, c.name)), 0o666); err != nil {
				t.Fatal(err)
			}
			tree, err := pmns.Load(root)
			if err != nil {
				t.Fatal(err)
			}
			a := startAgent(t, pmda.Info{Name: c.name, Domain: c.domain}, program)
			pmdatest.Run(t, a, pmdatest.Names(tree), pmdatest.Changing(), pmdatest.MayFail(c.name), pmdatest.Known(c.known...))
		})
	}
}

// startAgent starts an agent of PCP on pipes.
func startAgent(t *testing.T, info pmda.Info, program string) *remote.Agent {
	t.Helper()
	near, far := streams["pipe"](t)
	theirs := far.(twoPipes)
	dir := t.TempDir()
	cmd := exec.Command(program, "-d", strconv.Itoa(int(info.Domain)), "-l", filepath.Join(dir, "log"))
	cmd.Dir, cmd.Env = dir, pcptest.Env()
	cmd.Stdin, cmd.Stdout = theirs.r, theirs.w
	err := cmd.Start()
	if err := errors.Join(err, theirs.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() }) // it ends with its input, with any status
	a, err := remote.New(t.Context(), info, near, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}
