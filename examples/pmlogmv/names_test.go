package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestNames runs the program by each of its names. PCP 6.0.3 has only the first.
func TestNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no symbolic links")
	}
	program := pcptest.Build(t, "./examples/pmlogmv")
	for _, test := range []struct{ line, stdout, stderr, files string }{
		{"pmlogls a", "a.0\na.index\na.meta\n", "", "a.0 a.index a.meta"},
		{"pmlogls -V ./d/../a.meta", "d/../a.0\nd/../a.index\nd/../a.meta\n", "", "a.0 a.index a.meta"},
		{"pmlogls nosuch", "", "", "a.0 a.index a.meta"},
		{"pmlogls -V nosuch", "", "pmlogls: Cannot open archive \"nosuch\": No such file or directory\n", "a.0 a.index a.meta"},
		{"pmlogls a b", "", "Usage: pmlogls [options] srcname\n", "a.0 a.index a.meta"},
		{"pmlogls -N a", "", "pmlogls: invalid option -- 'N'\n", "a.0 a.index a.meta"},
		{"pmlogcp -N ./a b", "+ cp a.0 b.0\n+ cp a.index b.index\n+ cp a.meta b.meta\n", "", "a.0 a.index a.meta"},
		{"pmlogcp -V a b", "copy a.0 -> b.0\ncopy a.index -> b.index\ncopy a.meta -> b.meta\n", "", "a.0 a.index a.meta b.0 b.index b.meta"},
		{"pmlogcp a d", "", "", "a.0 a.index a.meta d/a.0 d/a.index d/a.meta"},
		{"pmlogcp a a", "", "pmlogcp: a.0: already exists\n", "a.0 a.index a.meta"},
		{"pmlogcp nosuch a", "", "pmlogcp: Cannot open archive \"nosuch\": No such file or directory\n", "a.0 a.index a.meta"},
		{"pmlogcp a b`", "", "pmlogcp: dstname (b`) unsafe [shell metacharacter '`']\n", "a.0 a.index a.meta"},
		{"pmlogcp a", "", "Usage: pmlogcp [options] srcname dstname\n", "a.0 a.index a.meta"},
		{"pmlogcp a nosuch/b", "", "pmlogcp: copy a.0 -> nosuch/b.0 failed: No such file or directory\n", "a.0 a.index a.meta"},
		{"pmlogmv a d", "", "", "d/a.0 d/a.index d/a.meta"},
		{"pmlogmv a b", "", "", "b.0 b.index b.meta"},
		{"pmlogrm a", "", "pmlogrm: Arrgh, not pmlogmv nor pmlogcp nor pmlogls so I don't know who I am!\n", "a.0 a.index a.meta"},
	} {
		dir := t.TempDir()
		writeArchive(t, dir)
		args := strings.Fields(test.line)
		name := filepath.Join(t.TempDir(), args[0])
		if err := os.Symlink(program, name); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, status := pcptest.RunIn(t, dir, nil, "", append([]string{name}, args[1:]...)...)
		if i := strings.Index(stderr, "\nOptions:"); i >= 0 {
			stderr = stderr[:i]
			if i := strings.Index(stderr, "\nUsage:"); i >= 0 {
				stderr = stderr[:i+1]
			}
		}
		var files []string
		for _, pattern := range []string{"*.*", "*/*.*"} {
			paths, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, path := range paths {
				rel, _ := filepath.Rel(dir, path)
				files = append(files, rel)
			}
		}
		got := []string{stdout, stderr, strings.Join(files, " ")}
		if diff := cmp.Diff([]string{test.stdout, test.stderr, test.files}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.line, diff)
		}
		if failed := test.stderr != "" || test.line == "pmlogls nosuch"; (status != 0) != failed {
			t.Errorf("%s: exit status %d", test.line, status)
		}
	}
}

// writeArchive makes an archive a and a directory d.
func writeArchive(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	id := pdu.MakePMID(60, 1, 1)
	if err := w.WriteMetric(archive.Metric{Desc: pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, Names: []string{"a.b"}}); err != nil {
		t.Fatal(err)
	}
	s := pdu.ResultWriter{Time: time.Unix(1e9, 0)}
	s.Begin(id)
	s.Atom(pdu.NoInst, pdu.Uint32(1))
	if err := w.WriteSets(&s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
