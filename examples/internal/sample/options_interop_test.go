package sample_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropOptions compares messages about command lines with those of PCP's agents sample and
// trivial. PCP's trivial has no options for sockets.
func TestInteropOptions(t *testing.T) {
	pcptest.Need(t, programPath(), "gcc", "make")
	_, trivial := pcptest.BuildAgent(t, "trivial")
	const sockets, more = "\nExactly one of the following", "\nOption for agents on sockets"
	for _, agent := range []struct{ name, theirs, until string }{{"sample", programPath(), more}, {"trivial", trivial, sockets}} {
		dir := t.TempDir()
		ours := filepath.Join(dir, filepath.Base(agent.theirs))
		if err := os.Symlink(pcptest.Build(t, "./examples/"+agent.name), ours); err != nil {
			t.Fatal(err)
		}
		lines := []string{"-?", "--help", "-d", "-d abc", "-d 12x", "-x", "--foo", "-D nosuch", "-Dpdu,nosuch", "-h help", "extra -d abc", "-? -x", "-l", "-U",
			"-D", "--domain", "--log", "--d", "--username", "-d 0x10", "-D pdu -D nosuch", "-V", "--help-text", "-hx", "-xyz"}
		if agent.until == more {
			lines = append(lines, "-p -i 3333", "-i 3333 -u x", "-p -u x -i 3 -6 4", "-i", "-u", "-6", "--unix", "--inet=1 --unix=x --pipe", "-d abc -i 3 -p --foo")
		}
		for _, line := range lines {
			run := func(program string) (errs string, status int) {
				out, errs, status := pcptest.RunIn(t, dir, nil, "", append([]string{program}, strings.Fields(line)...)...)
				errs, _, _ = strings.Cut(out+errs, agent.until)
				return errs, status
			}
			want, wantStatus := run(agent.theirs)
			got, status := run(ours)
			if diff := cmp.Diff(want, got); diff != "" || status != wantStatus {
				t.Errorf("%s %s: exit status %d, want %d; (-C +Go):\n%s", agent.name, line, status, wantStatus, diff)
			}
		}
	}
}
