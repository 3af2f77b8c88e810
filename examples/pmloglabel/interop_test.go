package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/toolcmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestArchives compares what PCP's tool and ours print of archives.
func TestArchives(t *testing.T) {
	toolcmp.Archives(t, "pmloglabel", []string{"-vL"}, false, map[string]string{
		"-vL badarchives/badlabel-2": "PCP reports version 0 twice",
	})
}

// TestWrite compares the files that PCP's tool and ours write.
func TestWrite(t *testing.T) {
	const source = "/var/lib/pcp/testsuite/archives/"
	pcptest.Need(t, "pmloglabel", source)
	ours := pcptest.Build(t, "./examples/pmloglabel")
	for _, test := range []struct{ name, archive, args string }{
		{"all", "ok-foo", "-v -h newhost -p 42 -Z UTC"},
		{"long", "ok-foo", "-h " + strings.Repeat("x", 100) + " -Z " + strings.Repeat("y", 100)},
		{"volumes", "ok-mv-foo", "-vs"},
		{"same version", "ok-foo", "-V 2 -p -7"},
		{"pid with text", "ok-foo", "-p 43x"},
		{"no pid", "ok-foo", "-p foo"},
		{"version 3", "omnibus_v3", "-Z UTC"},
		{"no index", "ok-noti-bigbin", "-v -p 1"},
		{"compressed", "20190628.06.31", "-v -p 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			write := func(program string) (files map[string]string) {
				dir := t.TempDir()
				paths, _ := filepath.Glob(source + test.archive + ".*")
				for _, path := range paths {
					b, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				stdout, stderr, status := pcptest.RunIn(t, dir, nil, "", append(append([]string{program}, strings.Fields(test.args)...), test.archive)...)
				files = map[string]string{"output": fmt.Sprint(stdout, stderr, status)}
				for _, path := range paths {
					b, err := os.ReadFile(filepath.Join(dir, filepath.Base(path)))
					if err != nil {
						t.Fatal(err)
					}
					files[filepath.Base(path)] = string(b)
				}
				return files
			}
			if diff := cmp.Diff(write("pmloglabel"), write(ours)); diff != "" {
				t.Errorf("(-PCP +ours):\n%s", diff)
			}
		})
	}
}

// TestVersion checks that the version is not changed, which PCP's tool does at the cost of the
// first records.
func TestVersion(t *testing.T) {
	const source = "/var/lib/pcp/testsuite/archives/ok-foo"
	pcptest.Need(t, "pmloglabel", source+".0")
	dir := t.TempDir()
	var before []byte
	for _, suffix := range []string{".0", ".index", ".meta"} {
		b, err := os.ReadFile(source + suffix)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, b...)
		if err := os.WriteFile(dir+"/ok-foo"+suffix, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, stderr, status := pcptest.RunIn(t, dir, nil, "", pcptest.Build(t, "./examples/pmloglabel"), "-V", "3", "ok-foo")
	if want := "pmloglabel: cannot change version 2 of the archive to 3: its records have another layout\n"; stderr != want || status != 1 {
		t.Errorf("status %d, %q, want 1, %q", status, stderr, want)
	}
	var after []byte
	for _, suffix := range []string{".0", ".index", ".meta"} {
		b, err := os.ReadFile(dir + "/ok-foo" + suffix)
		if err != nil {
			t.Fatal(err)
		}
		after = append(after, b...)
	}
	if string(before) != string(after) {
		t.Error("the files have changed")
	}
}
