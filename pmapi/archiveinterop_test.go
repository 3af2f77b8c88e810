package pmapi_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// Limits of the comparison with the C library.
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

// otherwiseRead lists the archives that the C library reads differently, and why. The tests do not
// compare the differences described here.
var otherwiseRead = map[string]struct {
	why       string
	unindexed bool // the C library reads it without its index
	wideBytes bool // interpolated values of 64 bits
	logRec    bool // pdu.ErrLogRec in ModeInterp
}{
	"binning":                        {why: "an entry of the index is past the end of the volume: reading after a seek fails", unindexed: true},
	"pcp-mpstat3":                    {why: "entries of the index are wrong: the same", unindexed: true},
	"960624.08.17_v2":                {why: "its blocks have no type: the bytes of 64-bit values are in the order of the computer that wrote them", wideBytes: true},
	"babylon.pmview_v2":              {why: "the same", wideBytes: true},
	"bozo.client_v2":                 {why: "the same", wideBytes: true},
	"multi-corrupted/20150508.11.50": {why: "INTERP reads up to the malformed record, here only if it must", logRec: true},
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
			c, err := asPCP6.Open(t.Context(), base)
			if err != nil {
				if want := pcptest.ReplayArchive(t, base, []string{"end"}); want[0] != code(err) {
					t.Errorf("open: %v, C has %s", err, want[0])
				}
				return
			}
			defer c.Close()
			h := fnv.New64()
			h.Write([]byte(filepath.Base(base)))
			q := newRequester(t, c, h.Sum64())
			newReplay(t, base, q.end).compare(q.requests(*replayRequests))
		})
	}
}

// TestInteropIgnoreMarks interpolates across marks as the environment requests.
func TestInteropIgnoreMarks(t *testing.T) {
	pcptest.Need(t, testArchives)
	for _, name := range []string{"mark-bug", "interpmark", "gap", "pmiostat_mark"} {
		for _, interval := range []string{"", "1sec", "30sec", "10min", "2hour"} {
			t.Run(name+"/"+interval, func(t *testing.T) {
				if name == "interpmark" && interval == "1sec" {
					t.Skip("backward, the C library measures from the record before the last one before a mark, to the mark")
				}
				t.Setenv("PCP_IGNORE_MARK_RECORDS", interval)
				base := filepath.Join(testArchives, name)
				c, err := asPCP6.Open(t.Context(), base)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				q := newRequester(t, c, 7)
				newReplay(t, base, q.end).compare(q.requests(*replayRequests))
			})
		}
	}
}

// A replay compares what the C library and a context answer to requests of an archive.
//
// The C library may contradict itself. The values that it interpolates depend on the records that
// it has read for earlier requests and other metrics. The index may mislead it. It may or may not
// have values for times less than a millisecond after the end. So an answer that differs counts as
// right if a fresh context of the C library, with the index or without, gives the same answer.
type replay struct {
	*testing.T
	base         string
	reference    string // that the C library reads: base, or unindexed
	unindexed    string // the archive without its index
	end          time.Time
	contradicted int
	crashes      int
}

// mostContradicted is the percentage of answers of the C library that may differ from those of a
// fresh context.
const mostContradicted = 15

func newReplay(t *testing.T, base string, end time.Time) *replay {
	t.Helper()
	r := &replay{T: t, base: base, reference: base, end: end, unindexed: filepath.Join(t.TempDir(), filepath.Base(base))}
	paths, err := filepath.Glob(base + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if !strings.HasPrefix(path, base+".index") {
			if err := os.Symlink(path, filepath.Join(filepath.Dir(r.unindexed), filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if otherwiseRead[r.name()].unindexed {
		r.reference = r.unindexed
	}
	return r
}

func (r *replay) name() string { return strings.TrimPrefix(r.base, testArchives+"/") }

// compare makes requests of both libraries and compares the answers. If the C library crashes at a
// request, it goes on with a fresh context, from the next request that sets the mode.
func (r *replay) compare(requests []string) {
	r.Helper()
	if why := otherwiseRead[r.name()].why; why != "" {
		r.Log("the C library differs: " + why)
	}
	total := len(requests)
	for len(requests) > 0 {
		want := pcptest.ReplayArchive(r.T, r.reference, requests)[1:]
		n := len(want)
		r.compareAnswers(requests[:n], want, replayArchive(r.T, r.base, requests[:n])[1:])
		if n < len(requests) {
			r.crashes++
			r.Logf("the C library crashes, or loops, at request %d: %.200q", n, requests[n])
			for n++; n < len(requests) && !strings.HasPrefix(requests[n], "mode"); n++ {
			}
		}
		requests = requests[n:]
	}
	if r.contradicted > 0 {
		r.Logf("%d of %d answers of the C library differ from those of a fresh context", r.contradicted, total)
	}
	if r.contradicted*100 > total*mostContradicted {
		r.Errorf("%d of %d answers of the C library differ from those of a fresh context", r.contradicted, total)
	}
}

// compareAnswers reports the requests whose answers differ, with the mode that they were in.
func (r *replay) compareAnswers(requests, want, got []string) {
	r.Helper()
	mode, wrong, lost, last := "mode 2", 0, false, -1
	var profile []string
	for i, q := range requests {
		switch op, _, _ := strings.Cut(q, " "); op {
		case "mode":
			if want[i] == code(nil) {
				lost = lost && strings.Contains(q, " -1 ")
				mode, last = q, -1
			}
		case "add", "del":
			profile = append(profile, q)
		}
		if otherwiseRead[r.name()].logRec && strings.HasPrefix(mode, "mode 1") && want[i] == code(pdu.ErrLogRec) {
			lost = true // of the C library, which has not moved on
		}
		before := last
		if strings.HasPrefix(q, "fetch") {
			last = i
		}
		if lost || want[i] == got[i] || r.otherwise(mode, want[i], got[i]) {
			continue
		}
		follows := before >= 0 && strings.HasPrefix(mode, "mode 1") && r.follows(profile, requests[before], q, got[before], got[i])
		if follows || r.contradicts(profile, mode, q, want[i], got[i]) {
			r.contradicted++
			continue
		}
		if wrong++; wrong <= 5 {
			c, g := firstDifference(want[i], got[i])
			r.Errorf("request %d: %.200q after %q\n C: %.1000s\nGo: %.1000s", i, q, mode, c, g)
		}
	}
	if wrong > 5 {
		r.Errorf("%d of %d answers differ", wrong, len(requests))
	}
}

// widePattern matches values of 64 bits.
var widePattern = regexp.MustCompile(`=[0-9a-f]{16}\b`)

// otherwise reports whether two answers differ for a known reason.
func (r *replay) otherwise(mode, want, got string) bool {
	if !strings.HasPrefix(mode, "mode 1") {
		return false
	}
	o := otherwiseRead[r.name()]
	if o.wideBytes && widePattern.ReplaceAllString(want, "") == widePattern.ReplaceAllString(got, "") {
		return true
	}
	// The C library may or may not have values for times less than a millisecond after the end.
	at, ok := answerTime(want)
	other := got
	if !ok {
		at, ok = answerTime(got)
		other = want
	}
	return ok && other == code(pdu.ErrEOL) && at.After(r.end) && at.Sub(r.end) <= time.Millisecond
}

// answerTime is the time of an answer to a fetch.
func answerTime(answer string) (t time.Time, ok bool) {
	stamp, _, _ := strings.Cut(answer, " ")
	var sec, nsec int64
	n, _ := fmt.Sscanf(stamp, "%d.%d", &sec, &nsec)
	return time.Unix(sec, nsec), n == 2
}

// contradicts reports whether a fresh context of the C library gives our answer to a fetch, either
// the whole answer or that for each metric whose values differ.
func (r *replay) contradicts(profile []string, mode, q, want, got string) bool {
	at, ok := answerTime(got)
	if !ok || !strings.HasPrefix(q, "fetch") && q != "record" {
		return false
	}
	before := append(slices.Clone(profile), fmt.Sprintf("%.6s %d %d 0 0", mode, at.Unix(), at.Nanosecond()))
	if r.freshly(before, q, got) {
		return true
	}
	w, g := strings.Fields(want), strings.Fields(got)
	if q == "record" || len(w) != len(g) || w[0] != g[0] {
		return false
	}
	for i := range g {
		id, _, _ := strings.Cut(g[i], ":")
		if w[i] != g[i] && !r.freshly(before, "fetch "+id, g[0]+" "+g[i]) {
			return false
		}
	}
	return true
}

// follows reports whether a fresh context of the C library gives our answer to a fetch in
// ModeInterp if it makes the previous fetch too: values across a mark depend on that.
func (r *replay) follows(profile []string, q0, q, got0, got string) bool {
	at0, ok0 := answerTime(got0)
	at, ok := answerTime(got)
	if !ok0 || !ok {
		return false
	}
	step := at.Sub(at0)
	mode := fmt.Sprintf("mode 1 %d %d %d %d", at0.Unix(), at0.Nanosecond(), step/time.Second, step%time.Second)
	return r.freshly(append(slices.Clone(profile), mode, q0), q, got)
}

// freshly reports whether a fresh context of the C library gives an answer, with the index or
// without.
func (r *replay) freshly(before []string, q, answer string) bool {
	for _, base := range []string{r.base, r.unindexed} {
		for _, first := range []string{"label", "end"} {
			requests := append(append([]string{first}, before...), q)
			if fresh := pcptest.ReplayArchive(r.T, base, requests); fresh[len(fresh)-1] == answer {
				return true
			}
		}
	}
	return false
}

// firstDifference returns the times of two answers and the first value sets that differ.
func firstDifference(want, got string) (string, string) {
	w, g := strings.Fields(want), strings.Fields(got)
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return w[0] + " … " + w[i], g[0] + " … " + g[i]
		}
	}
	return want, got
}
