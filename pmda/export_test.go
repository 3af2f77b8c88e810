package pmda_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

func zero(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 0, nil }

// hostAgent has names at several depths and tops, and texts that need care.
func hostAgent() *pmda.Agent {
	a := &pmda.Agent{Name: "Pmda2host", Domain: 18}
	d := a.AddInDom("cpu", "cpu0")
	d.Text, d.Help = "the processors", "#1 is not a comment\n@ nor is this an entry\n\nlast line"
	pmda.Register(a, pmda.Metric[int32]{Name: "Pmda2host.cpu.user", Text: "user time", Value: zero})
	pmda.Register(a, pmda.Metric[int32]{Name: "Pmda2host.load", ID: pmda.Item(7, 1023), Help: "Only\nlong.", Value: zero})
	pmda.Register(a, pmda.Metric[int32]{Name: "Pmda2host.cpu.sys.all", Text: "two\nlines", InDom: d, Value: zero})
	pmda.Register(a, pmda.Metric[int32]{Name: "disk.all", Value: zero})
	return a
}

const installScript = `#!/bin/sh
. $PCP_DIR/etc/pcp.env
. $PCP_SHARE_DIR/lib/pmdaproc.sh

iam=Pmda2host
pmns_name="Pmda2host disk"

pmdaSetup
pmdaInstall
exit
`

func TestInstallFiles(t *testing.T) {
	got, err := pmda.InstallFilesOf(hostAgent())
	if err != nil {
		t.Fatal(err)
	}
	want := []pmda.InstallFile{
		{Name: "domain.h", Data: []byte("#define _2HOST 18\n")},
		{Name: "pmns", Data: []byte(`Pmda2host {
	cpu
	load	_2HOST:7:1023
}

Pmda2host.cpu {
	user	_2HOST:0:0
	sys
}

Pmda2host.cpu.sys {
	all	_2HOST:0:1
}
`)},
		{Name: "pmns.disk", Data: []byte("disk {\n\tall\t_2HOST:0:2\n}\n")},
		{Name: "root", Data: []byte(`#include "domain.h"

root {
	Pmda2host
	disk
}

#include "pmns"

#include "pmns.disk"
`)},
		{Name: "help", Data: []byte(`@ _2HOST.0 the processors
 #1 is not a comment
 @ nor is this an entry

last line
@ Pmda2host.cpu.user user time
@ Pmda2host.cpu.sys.all two lines
@ Pmda2host.load 
Only
long.
`)},
		{Name: "Install", Data: []byte(installScript), Script: true},
		{Name: "Remove", Data: []byte(strings.Replace(installScript, "pmdaInstall", "pmdaRemove\nrm -f help.dir help.pag", 1)), Script: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestInstallFilesOneTop checks that an agent needs only one file pmns if all its metrics are below
// one name that differs from the agent's name.
func TestInstallFilesOneTop(t *testing.T) {
	a := &pmda.Agent{Name: "pmda", Domain: 18}
	pmda.Register(a, pmda.Metric[int32]{Name: "disk.all", Value: zero})
	files, err := pmda.InstallFilesOf(a)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		got[f.Name] = string(f.Data)
	}
	if len(got) != 6 || got["pmns"] != "disk {\n\tall\tPMDA:0:0\n}\n" || !strings.Contains(got["Install"], "\niam=pmda\npmns_name=\"disk\"\n") {
		t.Errorf("files %q", got)
	}
}

func TestInstallFilesRefuses(t *testing.T) {
	agent := func(name string, metrics ...string) *pmda.Agent {
		a := &pmda.Agent{Name: name, Domain: 18}
		for _, m := range metrics {
			pmda.Register(a, pmda.Metric[int32]{Name: m, Value: zero})
		}
		return a
	}
	for want, a := range map[string]*pmda.Agent{
		"has no metrics":          agent("x"),
		`"y" cannot be installed`: agent("x", "x.a", "y"),
		"letters, digits and":     agent("x y", "x.a"),
		"without a Name":          agent("", "x.a"),
		"in use":                  agent("x", "x.a", "x.a"),
	} {
		if files, err := pmda.InstallFilesOf(a); err == nil || !strings.Contains(err.Error(), want) || files != nil {
			t.Errorf("error %v, want one with %q; %d files", err, want, len(files))
		}
	}
}

// TestInstallFilesLongTexts: no line of the help source is too long for newhelp(1), unless a single
// word is.
func TestInstallFilesLongTexts(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("words ", 30))
	long := strings.Repeat("x", 150)
	a := &pmda.Agent{Name: "a", Domain: 18}
	pmda.Register(a, pmda.Metric[int32]{Name: "a.one", Text: words, Value: zero})
	pmda.Register(a, pmda.Metric[int32]{Name: "a.two", Text: words, Help: words + "\n\n#" + words, Value: zero})
	pmda.Register(a, pmda.Metric[int32]{Name: "a.word", Text: long, Help: long + " " + long, Value: zero})
	files, err := pmda.InstallFilesOf(a)
	if err != nil {
		t.Fatal(err)
	}
	n := func(n int) string { return strings.TrimSpace(strings.Repeat("words ", n)) }
	want := "@ a.one " + n(19) + "\n" + n(11) + "\n" +
		"@ a.two " + n(19) + "\n" + n(11) + "\n" + n(21) + "\n" + n(9) + "\n\n #" + n(20) + "\n" + n(10) + "\n" +
		"@ a.word " + long + "\n" + long + "\n" + long + "\n"
	for _, f := range files {
		if diff := cmp.Diff(want, string(f.Data)); f.Name == "help" && diff != "" {
			t.Errorf("help source (-want +got):\n%s", diff)
		}
	}
}

// TestRunInstallFiles checks that --install adds the Files of the Daemon but keeps existing ones.
func TestRunInstallFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "clock")
	d := pmda.Daemon{Agent: clockAgent(), Files: []pmda.InstallFile{
		{Name: "clock.conf", Data: []byte("default\n")}, {Name: "adjust", Data: []byte("#!/bin/sh\n"), Script: true}}}
	for _, want := range []string{"default\n", "changed\n"} {
		var errs strings.Builder
		if status := d.Run(t.Context(), []string{"x", "--install", dir}, nil, io.Discard, &errs); status != 0 {
			t.Fatalf("status %d, %s", status, &errs)
		}
		path := filepath.Join(dir, "clock.conf")
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%v, %q, want %q", err, b, want)
		}
		if st, err := os.Stat(filepath.Join(dir, "adjust")); err != nil || st.Mode().Perm()&0o111 == 0 && runtime.GOOS != "windows" {
			t.Errorf("%v, mode %v", err, st.Mode())
		}
		if err := os.WriteFile(path, []byte("changed\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRunPrint(t *testing.T) {
	var out, errs strings.Builder
	d := pmda.Daemon{Agent: hostAgent()}
	// The domain is that of the command line.
	if status := d.Run(t.Context(), []string{"x", "--print", "domain.h", "-d", "19"}, nil, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Errorf("status %d, %s", status, &errs)
	}
	if want := "#define _2HOST 19\n"; out.String() != want {
		t.Errorf("printed %q, want %q", &out, want)
	}
}

// install lets an agent write its files to a directory.
func install(t *testing.T, a *pmda.Agent) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "new", a.Name)
	var errs strings.Builder
	d := pmda.Daemon{Agent: a}
	for _, inPCP := range []bool{false, true} { // again over the first
		want := fmt.Sprintf("Installed in %s. Next, add this line to a pmcd.conf, and start pmcd with -c and the name space -n %s:\n%s\t18\tpipe\tbinary\t%s -d 18\n",
			dir, filepath.Join(dir, "root"), a.Name, filepath.Join(dir, "pmda"+a.Name))
		t.Setenv("PCP_PMDAS_DIR", t.TempDir())
		if inPCP {
			t.Setenv("PCP_PMDAS_DIR", filepath.Dir(dir))
			want = "Installed in " + dir + ". Next, as root: cd " + dir + " && ./Install\n"
		}
		var out strings.Builder
		if status := d.Run(t.Context(), []string{"x", "--install=" + dir}, nil, &out, &errs); status != 0 {
			t.Fatalf("status %d, %s", status, &errs)
		}
		if out.String() != want {
			t.Errorf("printed %q, want %q", &out, want)
		}
	}
	return dir
}

// TestInstallOccupied checks that an installation that cannot write all files leaves the directory
// as it is.
func TestInstallOccupied(t *testing.T) {
	for _, occupied := range []string{"domain.h", "help", "pmdaPmda2host", "extra"} {
		dir := filepath.Join(t.TempDir(), hostAgent().Name)
		if err := os.MkdirAll(filepath.Join(dir, occupied), 0o755); err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		d := pmda.Daemon{Agent: hostAgent(), Files: []pmda.InstallFile{{Name: "extra.conf"}}}
		status := d.Run(t.Context(), []string{"x", "--install=" + dir}, nil, &out, &errs)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if occupied == "extra" {
			if status != 0 || len(entries) != 10 {
				t.Errorf("another directory: status %d, %s, %d files", status, &errs, len(entries))
			}
			continue
		}
		if want := "the directory " + occupied + " is in the place of a file"; status != 1 || !strings.Contains(errs.String(), want) || len(entries) != 1 {
			t.Errorf("%s: status %d, %s%s, want %q; left %v", occupied, status, &out, &errs, want, entries)
		}
	}
}

func TestRunInstall(t *testing.T) {
	dir := install(t, hostAgent())
	got := map[string]fs.FileMode{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = info.Mode()
	}
	want := map[string]fs.FileMode{"domain.h": 0o644, "pmns": 0o644, "pmns.disk": 0o644, "root": 0o644, "help": 0o644,
		"Install": 0o755, "Remove": 0o755, "pmdaPmda2host": 0o755}
	if runtime.GOOS == "windows" { // has no bits for all that
		for name := range want {
			want[name] = 0o666
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err1 := os.ReadFile(self)
	b, err2 := os.ReadFile(filepath.Join(dir, "pmdaPmda2host"))
	if err1 != nil || err2 != nil || string(a) != string(b) {
		t.Errorf("the program is not this one: %v, %v, %d and %d bytes", err1, err2, len(a), len(b))
	}
}

// TestInstalledFilesInC lets PCP's tools read the files as its installation
// scripts do.
func TestInstalledFilesInC(t *testing.T) {
	pcptest.Need(t, "pminfo", "newhelp", "chkhelp")
	dir := install(t, hostAgent())
	out, errs, status := pcptest.RunIn(t, dir, nil, "", "pminfo", "-n", "root", "-m", "Pmda2host", "disk")
	want := `Pmda2host.cpu.user PMID: 18.0.0
Pmda2host.cpu.sys.all PMID: 18.0.1
Pmda2host.load PMID: 18.7.1023
disk.all PMID: 18.0.2
`
	if diff := cmp.Diff(want, out); diff != "" || status != 0 || errs != "" {
		t.Errorf("pminfo: status %d, %s (-want +got):\n%s", status, errs, diff)
	}
	// pmdaproc.sh puts the domain in the symbol's place in the same way.
	help, err := os.ReadFile(filepath.Join(dir, "help"))
	if err != nil {
		t.Fatal(err)
	}
	source := strings.ReplaceAll(string(help), "@ _2HOST.", "@ 18.")
	if out, errs, status := pcptest.RunIn(t, dir, nil, source, "newhelp", "-n", "root", "-o", "help"); status != 0 || out+errs != "" {
		t.Errorf("newhelp: status %d, %s%s", status, out, errs)
	}
	out, errs, status = pcptest.RunIn(t, dir, nil, "", "chkhelp", "-n", "root", "-OHpi", "help")
	for _, want := range []string{"InDom 18.0: the processors\n #1 is not a comment\n @ nor is this an entry\n\nlast line",
		"Pmda2host.cpu.user: user time", "Pmda2host.cpu.sys.all: two lines", "Pmda2host.load: <no one line available>\nOnly\nlong."} {
		if !strings.Contains(out, want) {
			t.Errorf("chkhelp: status %d, no %q in:\n%s%s", status, want, out, errs)
		}
	}
}

// TestInstallScript checks the script's syntax.
func TestInstallScript(t *testing.T) {
	pcptest.Need(t, "sh")
	dir := install(t, hostAgent())
	for _, s := range []string{"Install", "Remove"} {
		if _, errs, status := pcptest.Run(t, nil, "", "sh", "-n", filepath.Join(dir, s)); status != 0 {
			t.Errorf("%s: %s", s, errs)
		}
	}
}

func TestRunPrintHelp(t *testing.T) {
	var source strings.Builder
	if status := (&pmda.Daemon{Agent: clockAgent()}).Run(t.Context(), []string{"clock", "--print=help"}, nil, &source, &source); status != 0 {
		t.Fatal(&source)
	}
	want := `@ CLOCK.0 hands of the clock
What turns.
@ clock.angle where the hands are
In degrees.
`
	if diff := cmp.Diff(want, source.String()); diff != "" {
		t.Errorf("help source (-want +got):\n%s", diff)
	}
}
