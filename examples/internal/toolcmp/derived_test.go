package toolcmp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropDerived compares tools with the derived metrics that PCP ships, and with those of a
// file, on archives. PCP 6.0.3 lists the names of metrics that cannot be computed there. PCP 7 does
// not, nor do our tools.
func TestInteropDerived(t *testing.T) {
	pcptest.Need(t, "pminfo", "pmval", "pmprobe", testSuite+"/archives", "/var/lib/pcp/config/derived")
	file := filepath.Join(t.TempDir(), "derived")
	text := "q.load = kernel.all.load * 2\nq.load(oneline) = \"twice\"\nq.bad = nosuch + 1\nq.wrong = 1 +\n" +
		"q.fixed = 5\nq.known = defined(nosuch)\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	runner := Runner{Program: func(tool string) string { return pcptest.Build(t, "./examples/"+tool) }}
	for _, archive := range []string{"ok-foo", "20180127.08.40", "cputime", "dm-io", "log-derived", "bad-derived"} {
		path := testSuite + "/archives/" + archive
		for _, args := range []string{
			"pminfo -c FILE -dft -a ARCHIVE q.fixed q.known",
			"pminfo -c /nosuch -m -a ARCHIVE event",
			"pmval -a ARCHIVE --derived=/nosuch -s 2 q.load",
			"pmval -a ARCHIVE --derived=FILE -s 3 q.fixed",
			"pmval -a ARCHIVE --derived=FILE -t 0.5 -s 3 -O 1 q.known",
		} {
			l := Line{Args: strings.Fields(strings.NewReplacer("ARCHIVE", path, "FILE", file).Replace(args)),
				Env: []string{"PCP_DERIVED_CONFIG=/var/lib/pcp/config/derived"}}
			if d := runner.Compare(t, l); d != "" {
				t.Errorf("%s %s\n%s", archive, args, d)
			}
		}
		compareDerivedNames(t, path)
	}
}

// compareDerivedNames compares the names in an archive with those of C that can be computed.
func compareDerivedNames(t *testing.T, path string) {
	t.Helper()
	env := []string{"PCP_DERIVED_CONFIG=/var/lib/pcp/config/derived"}
	probes, _, _ := pcptest.Run(t, env, "", "pmprobe", "-v", "-a", path)
	var want []string
	failed := ""
	for line := range strings.Lines(probes) {
		name, rest, _ := strings.Cut(line, " ")
		if strings.HasPrefix(rest, "-12409 ") {
			failed = name
		} else {
			want = append(want, name)
		}
	}
	if failed == "" {
		t.Errorf("%s: C can compute all derived metrics", path)
	}
	names, _, _ := pcptest.Run(t, env, "", pcptest.Build(t, "./examples/pminfo"), "-a", path)
	got := strings.Fields(names)
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: names (-want +got):\n%s", path, diff)
	}
	_, errs, status := pcptest.Run(t, env, "", pcptest.Build(t, "./examples/pmval"), "-a", path, failed)
	if want := "pmval: pmLookupName(" + failed + "): Unknown metric name\n"; errs != want || status != 1 {
		t.Errorf("%s: status %d, error %q, want %q", path, status, errs, want)
	}
}
