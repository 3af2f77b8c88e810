package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// commandLines are run in a directory with a copy of an archive, "in", files of rules "r", "bad"
// and "D/r", and an archive "there". $A stands for the directory of PCP's archives.
var commandLines = []string{
	"", "in", "in out more", "-i", "-i in out", "-?", "--help", "-Z in out", "-D foo",
	"-i nonesuch", "nonesuch out", "$A/../badarchives/empty out", "$A/../badarchives/badlabel-1 out",
	"-c nonesuch in out", "-c /dev/null in out", "-c nonesuch -V 7 -c r", "-V 7 -c nonesuch", "-V5 in out", "-Vx in out", "-V2 $A/omnibus_v3 out",
	"--version=3 in out", "--version 3 -v in out", "-vv -c r in out", "-v -c D in out", "-C -c r -c bad in out", "-c bad -i in", "-wc r -i in", "-v -i -c D in",
	"-qi -c r in", "-V3 -i in", "-ic t in", "-q in out", "-q -c r in out", "in there", "-v -c r in there", "in /nonesuch/out", "in in",
	"-c t in out", "-dc t in out", "--config=r --check in out", "--scale --warnings --quick --config r in out", "--desperate in out",
	"$A/../badarchives/badlog-1 out", "-d $A/../badarchives/badlog-1 out", "$A/../badarchives/badlen-1 out", "$A/../badarchives/badlen-3 out",
	"$A/../badarchives/badmeta-1 out", "$A/../badarchives/badti-1 out", "$A/20190628.06.31 out", "$A/ok-foo.0 out", "$A/no-such-file.meta out",
}

// TestInteropCommandLines compares what both programs say and leave behind.
func TestInteropCommandLines(t *testing.T) {
	c, ours := programs(t)
	for i, line := range commandLines {
		if !*all && i%10 != 0 {
			continue
		}
		args := strings.Fields(strings.ReplaceAll(line, "$A/", archives))
		run := func(program string) (result, map[string]string) {
			dir := t.TempDir()
			prepare(t, dir)
			r := runTool(t, dir, program, args...)
			r.Stderr = withoutAddress(r.Stderr)
			return r, left(t, dir)
		}
		want, wantFiles := run(c)
		want.Stderr = strings.Replace(want.Stderr, "required unless -i", "required unless -C or -i", 1) // as in PCP 7
		got, gotFiles := run(ours)
		if diff := cmp.Diff(want, got) + cmp.Diff(wantFiles, gotFiles); diff != "" {
			t.Errorf("pmlogrewrite %s (-PCP +ours)\n%s", line, diff)
		}
	}
}

// prepare fills the directory that a command line is run in.
func prepare(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, suffix := range []string{".meta", ".index", ".0"} {
		b, err := os.ReadFile(archives + "ok-foo" + suffix)
		if err != nil {
			t.Fatal(err)
		}
		write("in"+suffix, string(b))
		write("there"+suffix, "")
	}
	if err := os.Mkdir(filepath.Join(dir, "D"), 0o777); err != nil {
		t.Fatal(err)
	}
	const good = "metric sample.bin { type -> 64 } metric nope { delete }"
	write("r", good)
	write("D/r", good)
	write("D/.hidden", "foo")
	write("bad", "metric sample.colour { sem -> counter }\nfoo")
	write("t", "metric sample.colour { type -> double units -> 1,0,0,BYTE,0,0 } metric pmcd.pmlogger.port { type -> 32 } metric 29.0.46 { name -> x }")
}

// left are the sizes of the files in a directory, and of archives what pmdumplog prints.
func left(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if e.IsDir() {
			continue
		}
		files[e.Name()] = fmt.Sprint(info.Size())
		if base, ok := strings.CutSuffix(e.Name(), ".meta"); ok && base != "there" {
			r := runTool(t, dir, pcptest.Tool(t, "pmdumplog"), "-a", base)
			files[e.Name()] += labelPlace.ReplaceAllString(r.Stdout+r.Stderr, "value(N,")
		}
	}
	return files
}

// TestInteropShipped applies all rules that PCP ships to archives.
func TestInteropShipped(t *testing.T) {
	const shipped = "/var/lib/pcp/config/pmlogrewrite"
	pcptest.Need(t, shipped)
	c, ours := programs(t)
	names := []string{"old_xfs"}
	if *all {
		names = append(names, "nfsclient_32", "new_mysql", "mysql-1", "cgroups-units", "new_tcp", "new_snmp", "proc", "procsched", "pyapi", "snort-disks", "bug1057", "pcp-zeroconf", "20180415.09.16",
			"all-sles9-sp1", "dm-io", "numa", "coverage", "simple-nvme", "pcp-vmstat", "rep", "daily_report", "kenj-pc-2", "small", "iopct", "spotinstance", "nfsclient_64", "node_archive",
			"procpid-encode2", "pmproxy", "oview-short", "omnibus_v2")
	}
	for _, name := range names {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "rules"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		want, got := runBoth(t, dir, c, ours, []string{"-wv", "-c", shipped, archives + name, "out"})
		diff := cmp.Diff(want, got)
		if diff == "" && want.Status == 0 {
			diff = compareArchives(t, filepath.Join(dir, "c"), filepath.Join(dir, "o"), "")
		}
		if diff != "" {
			t.Errorf("%s (-PCP +ours)\n%s", name, diff)
		}
	}
}
