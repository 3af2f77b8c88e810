package sample_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda"
)

// fileInDoms are texts of the file of instances, one after the other, and what PCP's agent makes of
// each: its instances, and whether it finds a fault. No file is "-".
var fileInDoms = []struct {
	text  string
	want  string
	fault string // what the log says; PCP's agent has words of its own
}{
	{"-", "", ""},
	{"1 one\n5 five\n3 three\n", `1 "one" 5 "five" 3 "three" `, ""},
	{"1 one\n\n3 three\n", `1 "one" 3 "three" `, ""},
	{"1\none\n", "", "no name after the number 1"},
	{"1 one 2 two", `1 "one" 2 "two" `, ""},
	{"4194303 a\n", `4194303 "a" `, ""},
	{"4194304 a\n", "", "4194304 is no number of an instance"},
	{"7 seven\n-4 four", "", "-4 is no number of an instance"},
	{"7 seven\n8", "", "no name after the number 8"},
	{"7 seven\n8 \n", "", "no name after the number 8"},
	{"7 seven\n \t 9\tnine\r\n", `7 "seven" 9 "nine" `, ""},
	{"7x seven\n", "", `no number at "seven"`},
	{"7x 8y", `7 "x" 8 "y" `, ""},
	{"010 ten\n+3 three\n", `10 "ten" 3 "three" `, ""},
	{"# comment\n1 one\n", "", `no number at "# comment"`},
	{"5 five two\n", "", `no number at "two"`},
	{"", "", ""},
	{"30 c\n20 b\n10 a\n", `30 "c" 20 "b" 10 "a" `, ""},
	{"20 b\n10 aa\n", `20 "b" 10 "aa" `, ""},
	{"-", "", ""},
}

// TestFileInDom has all files in their order, with the fetches that count them.
func TestFileInDom(t *testing.T) {
	var log pcptest.LogBuffer
	dir := t.TempDir()
	a := newAgent(t, sample.Options{Dir: dir})
	a.Logger = log.Logger(0)
	playFiles(t, a, dir, func(i int, instances string) {
		if f := fileInDoms[i]; instances != f.want {
			t.Errorf("%q: instances %s, want %s", f.text, instances, f.want)
		}
		said := log.Take()
		if f := fileInDoms[i].fault; (said != "") != (f != "") || !strings.Contains(strings.ReplaceAll(said, `\"`, `"`), f) {
			t.Errorf("%q: the log says %q, want %q", fileInDoms[i].text, said, f)
		}
	})
}

// TestInteropFileInDom compares that with PCP's agent.
func TestInteropFileInDom(t *testing.T) {
	pcptest.Need(t, programPath())
	theirs, ours := readableDir(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(theirs, "sample"), 0o755); err != nil {
		t.Fatal(err)
	}
	var log pcptest.LogBuffer
	a := newAgent(t, sample.Options{Dir: ours})
	a.Logger = log.Logger(0)
	want := playFiles(t, startAgentIn(t, programPath(), theirs), filepath.Join(theirs, "sample"), func(int, string) {})
	if diff := cmp.Diff(want, playFiles(t, a, ours, func(int, string) {})); diff != "" {
		t.Errorf("replies (-C +Go):\n%s", diff)
	}
}

// playFiles writes the files and makes requests after each. It calls check with the instances.
func playFiles(t *testing.T, h pmda.Handler, dir string, check func(i int, instances string)) string {
	t.Helper()
	s := &session{t: t, h: h, request: pmda.Request{Client: pmda.NewClient(0, 1)}}
	path := filepath.Join(dir, "dynamic.indom")
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i, f := range fileInDoms {
		if f.text == "-" {
			os.Remove(path)
		} else {
			at = at.Add(time.Second) // files that differ have other times
			if err := os.WriteFile(path, []byte(f.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&s.out, "%q\n", f.text)
		s.do("instances 7")
		list := s.out.String()
		check(i, strings.TrimPrefix(list[strings.LastIndex(strings.TrimSuffix(list, "\n"), "\n")+1:len(list)-1], "  "))
		for _, line := range []string{"fetch 76", "fetch 77 78 76", "instances 7", "fetch 4", "fetch 78", "labels instances 7", "instances 7 inst 10",
			"instances 7 name one", "profile 7 1", "fetch 76", "profile all", "fetch 76"} {
			s.do(line)
		}
	}
	return s.out.String()
}
