package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/toolcmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "run all command lines, and extract all archives of PCP's test suite, which takes minutes, and not only some")

const suite = "/var/lib/pcp/testsuite/"

// labels is the reason that leaves only the label sets of a line out of the comparison.
const labels = "of several label sets that an identifier has over time PCP's tool keeps an arbitrary one"

// A run is what a command line has left behind.
type run struct {
	text  string            // standard output, standard error, exit status
	files map[string][]byte // of the output, by their suffixes
}

// runLine runs a line with a program that writes the archive out in dir.
func runLine(t *testing.T, program string, l toolcmp.Line, dir string) run {
	t.Helper()
	for name, text := range configs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{program}
	for _, a := range l.Args[1:] {
		a = strings.ReplaceAll(strings.ReplaceAll(a, "A:", suite+"archives/"), "B:", suite+"badarchives/")
		args = append(args, a)
	}
	stdout, stderr, status := pcptest.RunIn(t, dir, append([]string{"TZ=UTC"}, l.Env...), "", args...)
	r := run{text: fmt.Sprintf("%sstandard error:\n%sexit status: %d\n", stdout, stderr, status), files: map[string][]byte{}}
	paths, err := filepath.Glob(filepath.Join(dir, "out.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) >= 12 {
			copy(b[8:12], "pid ") // in the label
		}
		r.files[strings.TrimPrefix(filepath.Base(path), "out.")] = b
	}
	return r
}

// difference is how two runs differ, "" if they do not.
func (r run) difference(of run) string {
	if r.text != of.text {
		return fmt.Sprintf("%s\nwant\n%s", of.text, r.text)
	}
	for _, files := range []map[string][]byte{r.files, of.files} {
		for suffix := range files {
			if want, got := r.files[suffix], of.files[suffix]; !bytes.Equal(want, got) {
				return fmt.Sprintf("file out.%s differs: %d bytes, want %d", suffix, len(got), len(want))
			}
		}
	}
	return ""
}

// withoutLabels leaves out the label sets of an archive, and what the index says of the places of
// metadata.
func (r run) withoutLabels(t *testing.T, dir string) run {
	t.Helper()
	set, err := archive.Open(t.Context(), filepath.Join(dir, "out"))
	if err != nil {
		return r // there is no output
	}
	defer set.Close()
	for rec, err := range set.Records() {
		if err != nil {
			t.Fatal(err)
		}
		suffix := strings.TrimPrefix(filepath.Base(rec.File.Path()), "out.")
		if rec.Kind == archive.KindLabel {
			r.files[suffix] = nil
		}
		switch raw := bytes.Clone(rec.Raw); rec.Kind {
		case archive.KindLabels, archive.KindLabel:
		case archive.KindIndex:
			meta := len(raw) - 8 // and the offset of data, of 4 bytes each
			if len(raw) == 32 {
				meta = 16
			}
			clear(raw[meta : len(raw)-(len(raw)-meta)/2])
			fallthrough
		default:
			r.files[suffix] = append(r.files[suffix], raw...)
		}
	}
	return r
}

// compare runs a line with PCP's tool and with ours, and reports how they differ.
func compare(t *testing.T, ours string, l toolcmp.Line) string {
	t.Helper()
	dirs := [2]string{t.TempDir(), t.TempDir()}
	var runs [2]run
	for i, program := range []string{pcptest.Tool(t, "pmlogextract"), ours} {
		runs[i] = runLine(t, program, l, dirs[i])
		if l.Differs == labels {
			runs[i] = runs[i].withoutLabels(t, dirs[i])
		}
	}
	return runs[0].difference(runs[1])
}

// TestInteropLines runs the command lines of testdata/lines with PCP's tool and with ours, and
// compares the messages, the exit status, and the bytes of the archives. Usually it runs some of
// them.
func TestInteropLines(t *testing.T) {
	pcptest.Need(t, "pmlogextract", suite+"archives")
	ours := pcptest.Build(t, "./examples/pmlogextract")
	lines, err := toolcmp.ReadTable("testdata/lines", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 100 {
		t.Errorf("%d lines", len(lines))
	}
	for i, l := range lines {
		if !*all && (i%7 != 0 || strings.Contains(l.Text, "2018")) {
			continue
		}
		difference := compare(t, ours, l)
		switch onPurpose := l.Differs != "" && l.Differs != labels; {
		case difference != "" && !onPurpose:
			t.Errorf("%s: %s", l, difference)
		case difference == "" && onPurpose:
			t.Errorf("%s no longer differs: %s", l, l.Differs)
		}
	}
}

// TestInteropArchives copies archives of PCP's test suite with PCP's tool and with ours: each with
// another set of options in turn, and with -all all archives with all options.
func TestInteropArchives(t *testing.T) {
	pcptest.Need(t, "pmlogextract", suite+"archives")
	ours := pcptest.Build(t, "./examples/pmlogextract")
	options := []string{"", "-V 3", "-v 7 -s 40", "-S 1sec -T -1sec -Z EST-10"}
	n, compared := 0, 0
	for _, dir := range []string{"archives", "badarchives"} {
		files, err := filepath.Glob(suite + dir + "/*.meta*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			base, _, _ := strings.Cut(filepath.Base(file), ".meta")
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			n++
			for i, o := range options {
				if !*all && (n%16 != 0 || n/16%len(options) != i || info.Size() > 20_000) {
					continue
				}
				l := toolcmp.Line{Args: append(append([]string{"pmlogextract"}, strings.Fields(o)...), suite+dir+"/"+base, "out")}
				difference := compare(t, ours, l)
				if difference != "" && exceptions[base] == "" && (o != "-V 3" || !unsorted[base]) {
					t.Errorf("pmlogextract %s %s/%s: %s", o, dir, base, difference)
				}
				compared++
			}
		}
	}
	if compared < 8 {
		t.Errorf("%d runs compared", compared)
	}
	t.Logf("%d runs compared", compared)
}
