package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var sources = flag.Int("sources", 60, "compare as many made up sources with PCP's newhelp")

const namespace = `root {
	a	1:2:3
	a2	1:2:3
	b	1:0:4
	z
}
z {
	c	2:0:1
	q	300:1:1
	dyn	5:*:*
}
`

// files are the sources of tests.
var files = map[string]string{
	"root": namespace, "bad": "root { a }\n",
	"f1": "@ a x\ny\n", "f2": "more\n@ b z\nw\n@ nosuch", "f3": "line\n@ nosuch2\n\n",
	"h1": "# comment\njunk before\n@ a One line for a\nFull text line 1\n\n# dropped\nline 3\n\n\n@ nosuch.metric foo\nbar\n@ 7.2 indom\ntext\n" +
		"@ 1.2.4 bynum\n@ 1.2.5\nx\n@ b\n@ z.c  two  blanks \ttrailing  \n@a2\ttab key\nt\n@ z\nnonleaf\n@ z.dyn dynroot\nxx\n@ z.dyn.foo below\n" +
		"@\nnothing\n@ \n @ notentry\n@ 1.2.3.4 x\n@ 999.1.1 x\n@ 7.-1 x\n@ 7 x\n@ 7. x\n@ .7 x\n@ 7.2 dup nonadj\n@ event.flags x\n@ event x\n",
}

// setUp makes a directory with the files, which becomes the working directory.
func setUp(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"d.dir", "e.pag"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// compiled returns the content of the compiled files in the working directory, and removes them.
func compiled(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("*.[dp][ia][rg]")
	if err != nil {
		t.Fatal(err)
	}
	hidden, _ := filepath.Glob(".[dp][ia][rg]")
	var all strings.Builder
	for _, name := range append(found, hidden...) {
		if st, err := os.Stat(name); err != nil || st.IsDir() {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s: %q\n", name, b)
		os.Remove(name)
	}
	return all.String()
}

// runOurs returns the output, the exit status, and the compiled files.
func runOurs(t *testing.T, stdin string, args []string) string {
	t.Helper()
	var errs strings.Builder
	status := run(args, strings.NewReader(stdin), &errs)
	return fmt.Sprintf("status %d\n%s\n%s", status, &errs, compiled(t))
}

// runC is runOurs with PCP's newhelp.
func runC(t *testing.T, stdin string, args []string) string {
	t.Helper()
	out, errs, status := pcptest.Run(t, nil, stdin, append([]string{"newhelp"}, args...)...)
	return fmt.Sprintf("status %d\n%s%s\n%s", status, out, errs, compiled(t))
}

func TestRun(t *testing.T) {
	setUp(t)
	for _, tt := range []struct{ args, stdin, want string }{
		{"-n root -o x f1", "", "status 0\n\nx.dir: \"hPcP\\x00\\x0021\\x01\\x00\\x00\\x00\\x03\\b@\\x00\\f\\x00\\x00\\x00\\x0e\\x00\\x00\\x00\"\nx.pag: \"PcPh22\\n\\n@ a x\\x00y\\x00\"\n"},
		{"-n root -V f1", "", "status 0\na\n\nf1.dir: \"hPcP\\x00\\x0021\\x01\\x00\\x00\\x00\\x03\\b@\\x00\\f\\x00\\x00\\x00\\x0e\\x00\\x00\\x00\"\nf1.pag: \"PcPh22\\n\\n@ a x\\x00y\\x00\"\n"},
		{"-n root -o x", "@ nosuch\n", "status 2\nnewhelp: [<stdin>:2] nosuch: Unknown metric name, entry abandoned\n\nx.dir: \"hPcP\\x00\\x0021\\x00\\x00\\x00\\x00\"\nx.pag: \"PcPh22\\n\"\n"},
		{"-n root", "", "status 2\nnewhelp: need either a -o option or a filename argument to name the output file\n\n"},
		{"-n bad f1", "", "status 2\nError Parsing ASCII PMNS: Cannot find definition for non-terminal node \"a\" in name space\n" +
			"newhelp: pmLoadASCIINameSpace(bad, 1): Problems parsing PMNS definitions\n\n"},
		{"-n root -o e f1", "", "status 2\nnewhelp: fopen(\"e.pag\", ...) failed: Is a directory\n\n"},
		{"-n root nosuch", "", "status 2\nnosuch: No such file or directory\n\n"},
		{"-n root d.dir", "", "status 2\nd.dir: Is a directory\n\nd.dir.pag: \"\"\n"},
	} {
		if got := runOurs(t, tt.stdin, strings.Fields(tt.args)); got != tt.want {
			t.Errorf("newhelp %s (-want +got):\n%s", tt.args, cmp.Diff(tt.want, got))
		}
	}
}

// TestFailureKeepsFiles: a source that is not there leaves the files of before.
func TestFailureKeepsFiles(t *testing.T) {
	setUp(t)
	var errs strings.Builder
	if status := run([]string{"-n", "root", "-o", "x", "f1"}, nil, &errs); status != 0 {
		t.Fatal(&errs)
	}
	before, _ := os.ReadFile("x.pag")
	if status := run([]string{"-n", "root", "-o", "x", "h1", "nosuch"}, nil, &errs); status != 2 {
		t.Errorf("status %d", status)
	}
	if after, _ := os.ReadFile("x.pag"); string(before) != string(after) {
		t.Errorf("x.pag had %q, has %q", before, after)
	}
}

// TestInteropOptions compares the effects of newhelp's command lines.
func TestInteropOptions(t *testing.T) {
	pcptest.Need(t, "newhelp")
	setUp(t)
	for line := range strings.Lines(`
-n root
-n root -o x
-n nosuch h1
-n nosuch
-n nosuch nofile
-n root nosuch
-n root nosuch f1
-n root f1 f2 f3
-n root -V f1 f2 f3
-V -n root h1
-n root h1
-n root -v 1 h1
-n root -v 2 h1
-n root -v 2x h1
-n root -v x h1
-n root -v +2 h1
-n root -v -2 h1
-n root -v '' h1
-v
-n
-o
-D
-D nosuch h1
-D appl5 -n root h1
-D 4096 -n root h1
-Z
--foo
-?
--help
--namespace=root h1
--names root h1
--output=q -n root h1
--ver
--vers=2 -n root h1
--verb -n root h1
-VV -n root h1
h1 -n root -V
-n root -- h1
-n root -- -V
-n root -
-n root -o nodir/x h1
-n root -o d h1
-n root -o e h1
-n bad h1
-Vn root h1
-nroot -ox h1
-n root h1 h1
-x -y -n
-n root -V -o /dev/null/x h1
-n root -n nosuch f1
-n root -o '' f1
-n '' f1
`) {
		args := strings.Fields(strings.ReplaceAll(line, "''", "\x01"))
		for i := range args {
			args[i] = strings.Trim(args[i], "\x01")
		}
		if len(args) == 0 {
			continue
		}
		for _, stdin := range []string{"", "@ a x\ny\n@ nosuch"} {
			if diff := cmp.Diff(runC(t, stdin, args), runOurs(t, stdin, args)); diff != "" {
				t.Errorf("newhelp %q (-C +ours):\n%s", args, diff)
			}
		}
	}
}

// TestInteropInstalled compiles all help texts that PCP and its test-suite install.
func TestInteropInstalled(t *testing.T) {
	pcptest.Need(t, "newhelp")
	var found []string
	for _, pattern := range []string{pcptest.Conf("PCP_PMDAS_DIR") + "/*/help", "/var/lib/pcp/testsuite/pmdas/*/*help*"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	if len(found) == 0 {
		t.Fatal("no help texts are installed")
	}
	setUp(t)
	symbol := regexp.MustCompile(`(?m)^@ [A-Z][A-Z0-9_]*\.`) // which an installation replaces
	for _, name := range found {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("help", symbol.ReplaceAll(b, []byte("@ 77.")), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"-V", "help"}, {"-n", filepath.Join(filepath.Dir(name), "root"), "-o", "x", "help"}} {
			want := runC(t, "", args)
			if strings.Contains(want, "pmcpp") {
				continue // a name space that needs files that are not installed
			}
			if diff := cmp.Diff(want, runOurs(t, "", args)); diff != "" {
				t.Errorf("newhelp %q of %s (-C +ours):\n%s", args, name, diff)
			}
		}
	}
}

// TestInteropMadeUp compiles sources with all that is unusual.
func TestInteropMadeUp(t *testing.T) {
	pcptest.Need(t, "newhelp")
	setUp(t)
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range *sources {
		args := []string{"-n", "root", "-o", "x"}
		if rnd.IntN(2) == 0 {
			args = append(args, "-V")
		}
		all := ""
		for i := range 1 + max(0, rnd.IntN(5)-2) {
			text := madeUp(rnd)
			name := fmt.Sprint("s", i)
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			args = append(args, name)
			all += fmt.Sprintf("%s: %q\n", name, text)
		}
		if diff := cmp.Diff(runC(t, "", args), runOurs(t, "", args)); diff != "" {
			t.Fatalf("newhelp %q, seed %d (-C +ours):\n%s\n%s", args, seed, diff, all)
		}
	}
}

// madeUp makes a source.
func madeUp(rnd *rand.Rand) string {
	choose := func(of ...string) string { return of[rnd.IntN(len(of))] }
	repeat := func(s string, least, most int) string { return strings.Repeat(s, least+rnd.IntN(most-least+1)) }
	var b strings.Builder
	for range rnd.IntN(26) {
		switch n := rnd.IntN(100); {
		case n < 25:
			key := choose("a", "a2", "b", "z", "z.c", "z.q", "z.dyn", "z.dyn.x", "nosuch", "7.2", "8.1", "1.2.3", "1.0.4", "1.2.x", "9", "", " ", "\t",
				"1.\v2", "a\r", "a\vx", "a\fq", "\r", "\v", "1.-2", "29.*", "600.1.5000", "99999999999.1", strings.Repeat("a", 130))
			b.WriteString("@" + choose("", " ", "  ", "\t") + key +
				choose("", " ", "\t", "  x ", " one line", " "+repeat("o", 100, 140), " "+repeat("o", 240, 270)) + "\n")
		case n < 32:
			b.WriteString("#" + choose("", "ccc", strings.Repeat("c", 125), strings.Repeat("c", 126), strings.Repeat("c", 127), strings.Repeat("c", 300)) + "\n")
		case n < 45:
			b.WriteString("\n")
		case n < 50:
			b.WriteString(repeat("y", 120, 400) + choose("\n", "\n", "#\n", "@ b z\n"))
		case n < 52:
			b.WriteString(repeat("n\x00q", 1, 3) + choose("\n", "", "\x00\n"))
		case n < 60:
			b.WriteString(repeat(repeat(choose("k", "l"), 90, 126)+"\n", 4, 14))
		default:
			b.WriteString(repeat(choose("x", "z", "\xff"), 0, 126) + "\n")
		}
	}
	if rnd.IntN(5) == 0 {
		return strings.TrimRight(b.String(), "\n")
	}
	return b.String()
}
