package pmapi_test

import (
	"flag"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
)

// How much of the comparison with the C library is made.
var (
	replayRequests = flag.Int("archive.requests", 60, "make `n` random requests of each archive")
	replayEvery    = flag.Int("archive.every", 9, "use every `n`th of PCP's test archives")
	replayOnly     = flag.String("archive.only", "", "use the archives with this in their `name` alone")
)

const testArchives = "/var/lib/pcp/testsuite/archives"

// archiveBases are the base names of archives in PCP's test-suite.
func archiveBases(t testing.TB) []string {
	t.Helper()
	pcptest.Need(t, testArchives)
	var bases []string
	err := filepath.WalkDir(testArchives, func(path string, _ os.DirEntry, err error) error {
		if base, _, ok := strings.Cut(path, ".meta"); ok && strings.HasPrefix(path, base+".meta") && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bases
}

// otherwiseRead are archives of which the C library reads something else, and why.
var otherwiseRead = map[string]string{
	"procpid-encode2":                "of times less than a millisecond after the end, INTERP has one or the other without a pattern",
	"960624.08.17_v2":                "its blocks have no type: INTERP takes the bytes of 64-bit values in the wrong order",
	"binning":                        "an entry of the index is past the end of the volume: FORW after a seek fails",
	"pcp-mpstat3":                    "entries of the index are wrong: reading after a seek fails",
	"multi-corrupted/20150508.11.50": "INTERP reads up to the malformed record, here only if it must",
}

// TestInteropArchiveRequests makes the same random requests of the C library and of a context.
func TestInteropArchiveRequests(t *testing.T) {
	for i, base := range archiveBases(t) {
		name := strings.TrimPrefix(base, testArchives+"/")
		if *replayOnly == "" && i%*replayEvery != 0 || !strings.Contains(base, *replayOnly) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if why := otherwiseRead[name]; why != "" && *replayOnly == "" {
				t.Skip("the C library differs by intent: " + why)
			}
			c, err := pmapi.Open(t.Context(), base)
			if err != nil {
				if want := pcptest.ReplayArchive(t, base, []string{"end"}); want[0] != code(err) {
					t.Errorf("open: %v, C has %s", err, want[0])
				}
				return
			}
			defer c.Close()
			h := fnv.New64()
			h.Write([]byte(filepath.Base(base)))
			requests := newRequester(t, c, h.Sum64()).requests(*replayRequests)
			want := pcptest.ReplayArchive(t, base, requests)
			got := replayArchive(t, base, requests)
			compareReplays(t, requests, want[1:], got[1:], hasMark(t, base))
		})
	}
}

// hasMark reports whether an archive has a mark.
func hasMark(t *testing.T, base string) bool {
	t.Helper()
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for c := set.Cursor(); c.Next() == nil; {
		if c.Mark() {
			return true
		}
	}
	return false
}

// compareReplays reports the requests whose answers differ, with the mode that they were in.
//
// Beside a mark, whether the C library interpolates a metric depends on the records that it has read for other
// ones, and before: there, a metric may have values in one answer and none in the other.
func compareReplays(t *testing.T, requests, want, got []string, marks bool) {
	t.Helper()
	mode, wrong := "", 0
	for i := range want {
		if marks && strings.HasPrefix(requests[i], "fetch") {
			want[i], got[i] = dropMissing(want[i], got[i])
		}
	}
	for i, q := range requests {
		if strings.HasPrefix(q, "mode") {
			mode = q
		}
		if want[i] == got[i] {
			continue
		}
		if wrong++; wrong <= 5 {
			c, g := firstDifference(want[i], got[i])
			t.Errorf("request %d: %.200q after %q\n C: %.1000s\nGo: %.1000s", i, q, mode, c, g)
		}
	}
	if wrong > 5 {
		t.Errorf("%d of %d answers differ", wrong, len(requests))
	}
}

// dropMissing leaves out value sets that are empty in one of two answers.
func dropMissing(want, got string) (string, string) {
	w, g := strings.Fields(want), strings.Fields(got)
	for i := 1; i < min(len(w), len(g)); i++ {
		if strings.HasSuffix(w[i], ":0") || strings.HasSuffix(g[i], ":0") {
			w[i], g[i] = "", ""
		}
	}
	return strings.Join(w, " "), strings.Join(g, " ")
}

// firstDifference is the time and the first value set in which two answers differ.
func firstDifference(want, got string) (string, string) {
	w, g := strings.Fields(want), strings.Fields(got)
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return w[0] + " … " + w[i], g[0] + " … " + g[i]
		}
	}
	return want, got
}
