package archive_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropWriter checks that the C tools read an archive of a Writer without errors, and that
// their pmdumplog prints the same as examples/pmdumplog.
func TestInteropWriter(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", "pmdumplog", "pmval", "pmrep", "pmlogextract")
	dumplog := pcptest.Build(t, "./examples/pmdumplog")
	for _, version := range []int{2, 3} {
		w := created(t, archive.WriterOptions{Label: archive.Label{Version: version}, VolumeRecords: 10})
		writeAll(t, w, 0, 40)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkWithC(t, w.Base())
		ours, _, _ := pcptest.Run(t, nil, "", dumplog, "-a", w.Base())
		theirs, _, _ := pcptest.Run(t, nil, "", "pmdumplog", "-a", w.Base())
		if diff := cmp.Diff(theirs, ours); diff != "" || len(theirs) < 10_000 {
			t.Errorf("version %d: pmdumplog (-C +ours):\n%s", version, diff)
		}
		for _, argv := range [][]string{
			{"pmval", "-r", "-z", "-t", "1", "-a", w.Base(), "disk.dev.read"},
			{"pmval", "-z", "-t", "1", "-a", w.Base(), "types.string"},
			{"pmrep", "-z", "-t", "1", "-a", w.Base(), "disk.dev.read"},
			{"pmlogextract", w.Base(), w.Base() + "-extracted"},
		} {
			// pmrep needs the Python that has PCP's modules.
			if out, stderr, status := pcptest.Run(t, []string{"PATH=/usr/bin:" + os.Getenv("PATH")}, "", argv...); status != 0 || stderr != "" {
				t.Errorf("%v: %d %s%s", argv, status, out, stderr)
			}
		}
		checkWithC(t, w.Base()+"-extracted")
	}
}

// checkWithC checks an archive with the C pmlogcheck.
func checkWithC(t *testing.T, base string) {
	t.Helper()
	if out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", base); status != 0 || out+stderr != "" {
		t.Errorf("pmlogcheck %s: %d %s%s", base, status, out, stderr)
	}
}
