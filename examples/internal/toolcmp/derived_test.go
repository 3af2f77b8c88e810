package toolcmp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropDerived compares tools with the derived metrics that PCP ships, and with those of a file, on archives.
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
			"pminfo -a ARCHIVE",
			"pminfo -df -a ARCHIVE kernel disk",
			"pminfo -tTm -a ARCHIVE disk.dev.await kernel.cpu",
			"pminfo -c FILE -dft -a ARCHIVE q",
			"pminfo -c /nosuch -m -a ARCHIVE event",
			"pmval -a ARCHIVE -s 3 disk.dev.util",
			"pmval -a ARCHIVE -r -s 3 kernel.cpu.util.user",
			"pmval -a ARCHIVE --derived=FILE -s 2 q.load",
			"pmval -a ARCHIVE --derived=/nosuch -s 2 q.load",
			"pmval -a ARCHIVE --derived=FILE -s 3 q.fixed",
			"pmval -a ARCHIVE --derived=FILE -t 0.5 -s 3 -O 1 q.known",
			"pmprobe -v -a ARCHIVE kernel.cpu disk.dm",
		} {
			l := Line{Args: strings.Fields(strings.NewReplacer("ARCHIVE", path, "FILE", file).Replace(args)),
				Env: []string{"PCP_DERIVED_CONFIG=/var/lib/pcp/config/derived"}}
			if d := runner.Compare(t, l); d != "" {
				t.Errorf("%s %s\n%s", archive, args, d)
			}
		}
	}
}
