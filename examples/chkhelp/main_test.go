package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

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

// setUp makes a directory with help texts and a name space, which becomes the working
// directory.
func setUp(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	a, indom := pdu.TextOfMetric(pdu.MakePMID(1, 2, 3)), pdu.TextOfInDom(pdu.MakeInDom(7, 2))
	dir, pag, err := helptext.Compile([]helptext.Entry{
		{Key: "a", Of: a, OneLine: "One line for a", Help: "Full text line 1\n\nline 3"},
		{Key: "7.2", Of: indom, OneLine: "indom", Help: "text"},
		{Key: "b", Of: pdu.TextOfMetric(pdu.MakePMID(1, 0, 4)), OneLine: "bynum"},
		{Key: "z.c", Of: pdu.TextOfMetric(pdu.MakePMID(2, 0, 1)), Help: "x"},
		{Key: "9.1", Of: pdu.TextOfInDom(pdu.MakeInDom(9, 1))},
		{Key: "z.dyn", Of: pdu.TextOfMetric(pdu.DynamicRoot(5)), OneLine: "dynone", Help: "dyntext"},
		{Key: "33.44.55", Of: pdu.TextOfMetric(pdu.MakePMID(33, 44, 55)), OneLine: "nopmns", Help: "noname"},
		{Key: "event.flags", Of: pdu.TextOfMetric(pdu.EventFlagsPMID), OneLine: "flags", Help: "event"},
		{Key: "a2", Of: a, OneLine: "second a", Help: "not found"},
		{Key: "7.2", Of: indom, OneLine: "second indom", Help: "found"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"root": namespace, "bad": "root { a }\n", "h.dir": string(dir), "h.pag": string(pag),
		"swapped.dir": string(pag), "swapped.pag": string(dir), "alone.dir": string(dir), "single.pag": string(pag), "empty.dir": "", "empty.pag": "",
		"cut.dir": string(dir[:40]), "cut.pag": string(pag)} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"d.dir", "d.pag"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

func runOurs(args []string) string {
	var out, errs strings.Builder
	status := run(append([]string{"chkhelp"}, args...), &out, &errs)
	return fmt.Sprintf("status %d\n%s\n%s", status, &errs, &out)
}

func runC(t *testing.T, args []string) string {
	t.Helper()
	program := pcptest.Tool(t, "chkhelp")
	out, errs, status := pcptest.Run(t, nil, "", append([]string{program}, args...)...)
	return fmt.Sprintf("status %d\n%s\n%s", status, strings.ReplaceAll(errs, program, "chkhelp"), out)
}

func TestRun(t *testing.T) {
	setUp(t)
	for args, want := range map[string]string{
		"-n root h": "status 0\n\n",
		"-n root -pi h": `status 0


PMID 2.0.1 z.c: <no one line available>

PMID 511.0.1 event.flags: flags

PMID 1.0.4 b: bynum

PMID 1.2.3 a2 or a: One line for a

PMID 1.2.3 a2 or a: One line for a

PMID 5.*.*: dynone

PMID 33.44.55: nopmns

InDom 9.1: <no one line available>

InDom 7.2: second indom

InDom 7.2: second indom
`,
		"-n root -OH h a b z z.q z.dyn.x": `status 0


PMID 1.2.3 a: One line for a
Full text line 1

line 3

PMID 1.0.4 b: bynum
<no full text available>

z: Metric name is not a leaf in PMNS

PMID 300.1.1 z.q: <empty one line string>
<empty full text string>

PMID 5.*.* z.dyn.x: dynone
dyntext
`,
		"-n root -e h":        "status 0\n\nz.q\nevent.missed\n",
		"-n root -e h nosuch": "status 0\nError: pmTraversePMNS(\"nosuch\", ...): Unknown metric name\n\n",
		"nosuch":              "status 1\npmdaOpenHelp: failed to open \"nosuch\": No such file or directory\n\n",
		"swapped":             "status 1\npmdaOpenHelp: failed to open \"swapped\": Bad format, not version 2 PCP help text\n\n",
		"cut":                 "status 1\npmdaOpenHelp: failed to open \"cut\": entry 2: the directory ends, it should have 10 entries\n\n",
		"-n bad h": "status 1\nError Parsing ASCII PMNS: Cannot find definition for non-terminal node \"a\" in name space\n" +
			"pmLoadASCIINameSpace(bad, 1): Problems parsing PMNS definitions\n\n",
		"-x":   "status 1\nchkhelp: invalid option -- 'x'\nchkhelp: missing helpfile argument\n\n" + usage + "\n",
		"-O h": "status 1\nchkhelp: -O or -H require metricname arguments or -i or -p\n\n" + usage + "\n",
	} {
		if diff := cmp.Diff(want, runOurs(strings.Fields(args))); diff != "" {
			t.Errorf("chkhelp %s (-want +got):\n%s", args, diff)
		}
	}
}

// TestInterop compares the output of chkhelp with all options on all kinds of operands.
func TestInterop(t *testing.T) {
	pcptest.Need(t, "chkhelp")
	setUp(t)
	var lines [][]string
	for set := range 1 << 5 {
		args := []string{"-n", "root"}
		for i, o := range []string{"-e", "-H", "-O", "-i", "-p"} {
			if set>>i&1 != 0 {
				args = append(args, o)
			}
		}
		for _, operands := range []string{"", "h", "h a", "h a b z.c nosuch z z.dyn z.dyn.foo 7.2 1.0.4 event event.flags event.missed"} {
			lines = append(lines, append(args[:len(args):len(args)], strings.Fields(operands)...))
		}
	}
	for _, line := range strings.Split(`nosuch
-n
-n nosuch h
-n nosuch nosuch
-n bad h
-Z h
-v 2 h
-v 1 h
-v x h
-v h
-v 2x h
-v -2 h
-v +2 h
h -n root -p
-D nosuch h
-D appl5 h
-D 4096 h
-?
-? h
--help
--help h
-- h
-n root -- h -p
-e -p
-ep h x
-n root -e h z nosuch z.dyn.foo a
h.dir
swapped
alone
single
empty
d
.
/
./h
-n root -x -y h -n`, "\n") {
		lines = append(lines, strings.Fields(line))
	}
	lines = append(lines, []string{""}, []string{"-v", "", "h"}, []string{"-v", " 2", "h"}, []string{"-n", "", "h"}, []string{"-n", "root", "h", ""})
	for _, args := range lines {
		if diff := cmp.Diff(runC(t, args), runOurs(args)); diff != "" {
			t.Errorf("chkhelp %q (-C +ours):\n%s", args, diff)
		}
	}
}

// TestInteropInstalled compares the output for the compiled texts that PCP installs.
func TestInteropInstalled(t *testing.T) {
	pcptest.Need(t, "chkhelp")
	found, err := filepath.Glob(pcptest.Conf("PCP_PMDAS_DIR") + "/*/help.dir")
	if err != nil || len(found) == 0 {
		t.Fatalf("no compiled help texts are installed: %v", err)
	}
	for _, dir := range found {
		base := strings.TrimSuffix(dir, ".dir")
		for _, args := range [][]string{{base}, {"-piOH", base}, {"-e", base}, {"-OH", base, "hinv.ncpu", "kernel.all.load", "proc.psinfo.pid"}} {
			if diff := cmp.Diff(runC(t, args), runOurs(args)); diff != "" {
				t.Errorf("chkhelp %q (-C +ours):\n%s", args, diff)
			}
		}
	}
}
