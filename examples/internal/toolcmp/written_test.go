package toolcmp

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// writers write an archive of a version each: all types of values, instances that come and go,
// labels, texts, several volumes.
var writers = []struct {
	name  string
	write func(t *testing.T, base string, version int)
}{
	{"imported", writeImported},
	{"logged", writeLogged},
	{"logged of the agent sample", writeSample},
}

// TestInteropWritten compares what PCP's tools and ours print of archives that packages logimport
// and logger write. PCP's pmlogcheck must find no fault in them. Usually each archive is given to
// pmdumplog and one other tool.
func TestInteropWritten(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", "pmdumplog", "pmval", "pmrep", "pmlogextract", "pmlogsummary")
	for i, w := range writers {
		for _, version := range []int{2, 3} {
			t.Run(fmt.Sprint(w.name, " ", version), func(t *testing.T) {
				base := filepath.Join(t.TempDir(), "a")
				w.write(t, base, version)
				checkArchive(t, base)
				if volumes, err := filepath.Glob(base + ".[0-9]*"); len(volumes) < 3 {
					t.Errorf("%d volumes, %v", len(volumes), err)
				}
				t.Parallel()
				for n, line := range writtenLines(t, base) {
					if *all || n == 0 || n == 1+2*i+version-2 {
						compareWritten(t, line)
					}
				}
				if *all {
					compareExtracts(t, base)
				}
			})
		}
	}
}

// checkArchive has PCP's pmlogcheck look at an archive.
func checkArchive(t *testing.T, base string) {
	t.Helper()
	if out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", base); status != 0 || out+stderr != "" {
		t.Errorf("pmlogcheck: %d %s%s", status, out, stderr)
	}
}

// writtenLines are command lines about an archive, the most important first.
func writtenLines(t *testing.T, base string) (lines [][]string) {
	t.Helper()
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var all, reported, counted []string // reported by pmrep, and those of them that are numbers
	for m := range set.Metadata().Metrics() {
		if m.Type == pdu.TypeAggregate || m.Type == pdu.TypeEvent || m.Type == pdu.TypeHighResEvent {
			continue
		}
		all = append(all, m.Names[0])
		if in := set.Metadata().InDom(m.InDom); in != nil && len(in.All()) > len(in.State(in.Len()-1)) {
			continue // see knownInstances of pmapi: what PCP's pmrep has of instances that go depends on how far it has read ahead
		}
		reported = append(reported, m.Names[0])
		if m.Type != pdu.TypeString {
			counted = append(counted, m.Names[0])
		}
	}
	if len(counted) < 6 {
		t.Errorf("metrics %q", all)
	}
	line := func(words ...string) { lines = append(lines, words) }
	line("pmdumplog", "-a", base)
	line("pmrep", "-z", "-p", "-t", "500msec", "-a", base, counted[len(counted)/2], counted[len(counted)-1])
	line("pmlogsummary", "-a", base)
	line("pmval", "-z", "-t", "1.5sec", "-a", base, all[len(all)-1])
	line("pmval", "-z", "-t", "1sec", "-f", "3", "-a", base, counted[len(counted)/2])
	line("pmlogsummary", "-albBfFiImMNsvxy", "-B", "3", base)
	line("pmdumplog", "-mxrz", base)
	line("pmlogcheck", base)
	// With -u there are no marks for PCP's pmrep, which has rates from values before them, so that
	// samples end before the first one.
	line(append([]string{"pmrep", "-z", "-p", "-u", "-s", "10", "-o", "csv", "-a", base}, counted...)...)
	line(append([]string{"pmrep", "-z", "-p", "-r", "-t", "1sec", "-a", base}, reported...)...)
	for _, m := range all {
		line("pmval", "-z", "-t", "0.5sec", "-a", base, m)
		line("pmval", "-z", "-U", base, m)
	}
	return lines
}

// compareWritten compares PCP's tool and ours.
func compareWritten(t *testing.T, line []string) {
	t.Helper()
	env := []string{"PATH=/usr/bin:" + os.Getenv("PATH")} // with PCP's own Python
	var texts [2]string
	ours := pcptest.Build(t, "./examples/"+line[0])
	for i, program := range []string{pcptest.Tool(t, line[0]), ours} {
		out, stderr, status := pcptest.Run(t, env, "", append([]string{program}, line[1:]...)...)
		texts[i] = fmt.Sprintf("%sstandard error:\n%sexit status: %d\n", out, stderr, status)
	}
	if d := diff(texts[0], texts[1]); d != "" {
		t.Errorf("%s (-PCP +ours):\n%s", strings.Join(line, " "), d)
	}
}

// extractMasks are for what differs between extracts. PCP's pmlogextract loses how many records of
// HIGHRES_EVENT were missed.
var extractMasks = regexp.MustCompile(`PID for pmlogger: \d+|\d+ (\(and \d+ missed\) )?event records?|==> \d+ missed`)

// compareExtracts compares the archives that PCP's pmlogextract and ours write, except for label
// sets and the index. PCP's tool keeps an arbitrary label set of several for an identifier, and the
// index depends on the label sets.
func compareExtracts(t *testing.T, base string) {
	t.Helper()
	var dumps [2]string
	ours := pcptest.Build(t, "./examples/pmlogextract")
	for i, program := range []string{pcptest.Tool(t, "pmlogextract"), ours} {
		to := filepath.Join(t.TempDir(), "extracted")
		if out, stderr, status := pcptest.Run(t, nil, "", program, base, to); status != 0 || out+stderr != "" {
			t.Errorf("%s: %d %s%s", program, status, out, stderr)
		}
		checkArchive(t, to)
		dump, stderr, status := pcptest.Run(t, nil, "", "pmdumplog", "-dhIilms", to)
		dumps[i] = extractMasks.ReplaceAllString(fmt.Sprintf("%s%s%d\n", dump, stderr, status), "")
	}
	if d := diff(dumps[0], dumps[1]); d != "" {
		t.Errorf("pmlogextract (-PCP +ours):\n%s", d)
	}
}
