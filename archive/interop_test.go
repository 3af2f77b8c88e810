package archive_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

var all = flag.Bool("all", false, "compare larger archives of PCP's test-suite, too")

// suite is the directory of the archives of PCP's test suite.
const suite = "/var/lib/pcp/testsuite/archives"

// suiteArchives returns archives of the test suite. Without -all it returns only those of at most
// limit bytes.
func suiteArchives(t *testing.T, limit int64) []string {
	pcptest.Need(t, "pmdumplog", "pminfo", filepath.Join(suite, "omnibus_v3.meta"))
	var bases []string
	for _, dir := range []string{suite, suite + "/multi", suite + "/multi-xz"} {
		found, err := archive.Options{}.Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			size := int64(0)
			for _, path := range append(volumePaths(f), f.Meta) {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				size += info.Size()
				if strings.HasSuffix(path, ".xz") || strings.HasSuffix(path, ".bz2") {
					size += 10 * info.Size()
				}
			}
			if size <= limit || *all && size <= 4_000_000 {
				bases = append(bases, f.Base)
			}
		}
	}
	return bases
}

func volumePaths(f archive.Files) []string {
	var paths []string
	for _, v := range f.Volumes {
		paths = append(paths, v.Path)
	}
	return paths
}

// TestInteropSuite checks that this package reads from the archives of the test suite what the C
// tools print.
func TestInteropSuite(t *testing.T) {
	bases := suiteArchives(t, 60_000)
	for _, base := range bases {
		t.Run(strings.TrimPrefix(base, suite+"/"), func(t *testing.T) {
			t.Parallel()
			s, err := archive.Open(t.Context(), base)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			compare(t, "label", labelText(t, s), dump(t, "-L", base, isLabelLine))
			compare(t, "data records", dataText(t, s), dump(t, "-mx", base, isDataLine))
			if lines := indomText(s); !strings.Contains(strings.Join(lines, ""), "\n") { // which pmdumplog does not quote
				compare(t, "instance domains", lines, dumpedInDoms(t, base))
			}
			var names []string
			for name := range s.Metadata().Names().All() {
				names = append(names, name)
			}
			out, _, _ := pcptest.Run(t, nil, "", "pminfo", "-a", base)
			want := slices.DeleteFunc(strings.Fields(out), func(name string) bool {
				return name == pdu.EventFlagsName || name == pdu.EventMissedName // libpcp has them, not the archive
			})
			slices.Sort(names)
			slices.Sort(want)
			compare(t, "names", names, want)
		})
	}
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-C +ours):\n%.2000s", what, diff)
	}
}

// dump returns the lines of pmdumplog's output that keep accepts, with single spaces between words.
func dump(t *testing.T, option, base string, keep func(string) bool) []string {
	out, _, _ := pcptest.Run(t, nil, "", "pmdumplog", "-Z", "UTC", option, base)
	var lines []string
	for line := range strings.SplitSeq(out, "\n") {
		if keep(line) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return lines
}

func isLabelLine(line string) bool {
	return strings.Contains(line, "host ") || strings.Contains(line, "commencing") || strings.Contains(line, "ending")
}

func isDataLine(line string) bool {
	return line != "" && line[0] != ' ' && line[0] != '\t' && (strings.HasSuffix(line, "<mark>") || strings.HasSuffix(line, " metrics") || strings.HasSuffix(line, " metric"))
}

// fraction returns the fraction of seconds as pmdumplog prints it.
func fraction(s *archive.Set, t time.Time) string {
	if s.Label().Version == 2 {
		return t.Format(".000000")
	}
	return t.Format(".000000000")
}

func dateText(s *archive.Set, t time.Time) string {
	t = t.UTC()
	return t.Format("Mon Jan 2 15:04:05") + fraction(s, t) + t.Format(" 2006")
}

func labelText(t *testing.T, s *archive.Set) []string {
	end, err := s.End()
	if err != nil {
		t.Error(err)
	}
	return []string{
		"Performance metrics from host " + s.Label().Host,
		"commencing " + dateText(s, s.Start()),
		"ending " + dateText(s, end),
	}
}

func dataText(t *testing.T, s *archive.Set) []string {
	var lines []string
	c := s.Cursor()
	for {
		err := c.Next()
		if errors.Is(err, pdu.ErrEOL) {
			return lines
		}
		r, decodeErr := c.Result()
		if err := errors.Join(err, decodeErr); err != nil {
			t.Fatal(err)
		}
		switch n := r.Len(); {
		case c.Mark():
			lines = append(lines, dateText(s, c.Time())+" <mark>")
		case n == 1:
			lines = append(lines, dateText(s, c.Time())+" 1 metric")
		default:
			lines = append(lines, fmt.Sprintf("%s %d metrics", dateText(s, c.Time()), n))
		}
	}
}

// noBlanks returns s without spaces and tabs, because dump changes them.
func noBlanks(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, " ", ""), "\t", "") }

func indomText(s *archive.Set) []string {
	var lines []string
	for d := range s.Metadata().InDoms() {
		for i := range d.Len() {
			line := fmt.Sprint(d.ID, d.Time(i).UTC().Format(" 15:04:05"), fraction(s, d.Time(i)))
			var insts []string
			for _, inst := range d.State(i) {
				insts = append(insts, noBlanks(fmt.Sprintf("%d or \"%s\"", inst.ID, inst.Name)))
			}
			slices.Sort(insts)
			lines = append(lines, line+" "+strings.Join(insts, ","))
		}
	}
	slices.Sort(lines)
	return lines
}

// dumpedInDoms returns the lines of indomText from the output of pmdumplog -i.
func dumpedInDoms(t *testing.T, base string) []string {
	var lines, insts []string
	indom, head := "", ""
	flush := func() {
		if head != "" {
			slices.Sort(insts)
			lines = append(lines, indom+" "+head+" "+strings.Join(insts, ","))
		}
		head, insts = "", nil
	}
	for _, line := range dump(t, "-i", base, func(string) bool { return true }) {
		switch {
		case strings.HasPrefix(line, "InDom: "):
			flush()
			indom = line[len("InDom: "):]
		case strings.HasSuffix(line, " instances"):
			flush()
			head, _, _ = strings.Cut(line, " ")
		case strings.Contains(line, ` or "`):
			insts = append(insts, noBlanks(line))
		}
	}
	flush()
	slices.Sort(lines)
	return lines
}
