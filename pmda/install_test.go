package pmda_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var installed = flag.String("installed", "simple", "the agents of examples that TestInteropInstall installs, separated by commas: simple,trivial,mmv,trace,linux")

// TestInteropInstall lets PCP's scripts install and remove agents in a private PCP installation
// with C's pmcd or ours.
func TestInteropInstall(t *testing.T) {
	for _, tt := range []struct {
		agent, program string
		metrics        string // with values when it is installed
		want           string // of pminfo -f metrics
	}{
		{"simple", "simple", "simple.numfetch simple.color", simpleFetched},
		{"trivial", "trivial", "trivial.time", "\ntrivial.time\n    value "},
		{"mmv", "pmdammv", "mmv.control.debug", "\nmmv.control.debug\n    value 0\n"},
		{"trace", "pmdatrace", "trace.control.period", "\ntrace.control.period\n    value "},
		{"linux", "pmdalinux", "hinv.ncpu kernel.all.load", "\nhinv.ncpu\n    value "},
	} {
		if !strings.Contains(","+*installed+",", ","+tt.agent+",") {
			continue
		}
		for name, pmcd := range map[string]string{"C": "", "Go": "./examples/pmcd"} {
			t.Run(tt.agent+"/"+name, func(t *testing.T) {
				t.Parallel()
				if pmcd != "" {
					pmcd = pcptest.Build(t, pmcd)
				}
				testInstall(t, pcptest.NewRoot(t, pmcd), tt.agent, tt.program, strings.Fields(tt.metrics), tt.want)
			})
		}
	}
}

const simpleFetched = `
simple.numfetch
    value 1

simple.color
    inst [0 or "red"] value 1
    inst [1 or "green"] value 101
    inst [2 or "blue"] value 201
`

func testInstall(t *testing.T, root *pcptest.Root, agent, program string, metrics []string, want string) {
	before := root.Files()
	dir := filepath.Join(root.Dir, "pmdas", agent)
	program = pcptest.Build(t, "./examples/"+program)
	if out, errs, status := root.Run("pmdas", program, "--install="+dir); status != 0 || errs != "" || !strings.Contains(out, "./Install") {
		t.Fatalf("--install: exit status %d\n%s%s", status, out, errs)
	}
	script := func(name string) (out, errs string, status int) {
		out, errs, status = root.Run("pmdas/"+agent, "./"+name)
		return out, chowns.ReplaceAllString(errs, ""), status
	}
	out, errs, status := script("Install")
	if status != 0 || errs != "" || !strings.Contains(out, "metrics have appeared") || strings.Contains(out, "have appeared ... 0 metrics") {
		t.Fatalf("Install: exit status %d\n%s%s", status, out, errs)
	}
	if root.Files()["etc/pmcd.conf"] == before["etc/pmcd.conf"] {
		t.Errorf("Install has not changed pmcd.conf:\n%s", out)
	}
	fetch := append([]string{"pminfo", "-f"}, metrics...)
	root.Restart() // with which the agent begins anew
	if out, errs, status := root.Run("", fetch...); status != 0 || errs != "" || !strings.HasPrefix(out, want) {
		t.Errorf("after a restart of pmcd: exit status %d\n%s\n%s, want\n%s", status, errs, out, want)
	}
	if out, errs, status := root.Run("", "pminfo", "-T", metrics[0]); status != 0 || errs != "" || !strings.Contains(out, "Help:\n") {
		t.Errorf("help text: exit status %d\n%s%s", status, out, errs)
	}

	out, errs, status = script("Remove")
	if status != 0 || errs != "" || !strings.Contains(out, "metrics have gone away ... OK") {
		t.Errorf("Remove: exit status %d\n%s%s", status, out, errs)
	}
	after := root.Files()
	after["etc/pmcd.conf"] = strings.ReplaceAll(after["etc/pmcd.conf"], "\n\n", "\n") // the scripts add empty lines
	before["etc/pmcd.conf"] = strings.ReplaceAll(before["etc/pmcd.conf"], "\n\n", "\n")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("what Remove leaves (-before +after):\n%s", diff)
	}
	if _, errs, status := root.Run("", fetch...); status == 0 || !strings.Contains(errs, "Unknown metric name") {
		t.Errorf("after Remove: exit status %d\n%s", status, errs)
	}
	for _, name := range []string{"help.dir", "help.pag"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := programs(t, dir); len(left) > 0 {
		t.Errorf("processes %q run on", left)
	}
}

// chowns matches the messages of PCP's scripts if they do not run as root.
var chowns = regexp.MustCompile(`(?m)^chown: .*: Operation not permitted\n`)

// programs returns the processes whose program is in a directory.
func programs(t *testing.T, dir string) (pids []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if exe, err := os.Readlink(l); err == nil && strings.HasPrefix(exe, dir+"/") {
			pids = append(pids, filepath.Base(filepath.Dir(l)))
		}
	}
	return pids
}
