package pmlc

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMapFiles(t *testing.T) {
	dir := t.TempDir()
	pid := os.Getpid()
	want := Process{PID: pid, Port: 4331, Host: "web1", Archive: "/var/tmp/archives/web1", Note: "a note"}
	if list, err := Processes(filepath.Join(dir, "none")); list != nil || err != nil {
		t.Errorf("no directory: %v, %v", list, err)
	}
	if err := WriteMap(dir, want, true); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(pid)))
	if diff := cmp.Diff("4331\nweb1\n/var/tmp/archives/web1\na note\n", string(text)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, name := range []string{"abc", "0", "-1", "0" + strconv.Itoa(pid), strconv.Itoa(pid) + "x", "999999999", "99999999999"} { // no processes
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	primary := want
	primary.PID = Primary
	list, err := Processes(dir)
	if diff := cmp.Diff([]Process{want, primary}, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, p := range list {
		if got, err := Find(dir, p.PID); err != nil || got != p {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if err := RemoveMap(dir, pid); err != nil {
		t.Error(err)
	}
	if list, err := Processes(dir); len(list) > 0 || err != nil {
		t.Errorf("after RemoveMap: %v, %v", list, err)
	}
	for _, pid := range []int{pid, Primary, -1, 999999999} {
		if p, err := Find(dir, pid); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%d: %+v, %v", pid, p, err)
		}
	}
}

func TestMapFileErrors(t *testing.T) {
	pid := os.Getpid()
	for _, tt := range []struct {
		text, problem string
		want          Process // nothing for one that is not listed
	}{
		{"", "empty", Process{}},
		{"x\n", "no port number", Process{}},
		{"12x\nhost\n", "no port number", Process{}},
		{"12", "no port number", Process{}},
		{"99999999999999\nhost\n/a\n", "no port number", Process{}},
		{"12\n", "no PMCD host name", Process{PID: pid, Port: 12}},
		{"12\nh", "no archive base pathname", Process{PID: pid, Port: 12, Host: "h"}},
		{" 12\nh\n/a\n", "", Process{PID: pid, Port: 12, Host: "h", Archive: "/a"}},
		{"12\nh\n/a\n" + strings.Repeat("n", 1<<20), "", Process{PID: pid, Port: 12, Host: "h", Archive: "/a", Note: strings.Repeat("n", maxMapFile-8)}},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(pid)), []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		list, err := Processes(dir)
		e, _ := errors.AsType[*MapFileError](err)
		if (e != nil) != (tt.problem != "") || e != nil && e.Problem != tt.problem {
			t.Errorf("%.20q: %v, want %s", tt.text, err, tt.problem)
		}
		var want []Process
		if tt.want != (Process{}) {
			want = []Process{tt.want}
		}
		if diff := cmp.Diff(want, list); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// A map file that is a directory, or a loop of links, is an error and no more.
func TestMapFileStrange(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(os.Getpid())), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("primary", filepath.Join(dir, "primary")); err != nil {
		t.Fatal(err)
	}
	if list, err := Processes(dir); len(list) > 0 || err == nil {
		t.Errorf("%v, %v", list, err)
	}
}

// TestWriteMapTemporary checks that other users can neither block the writing of a map file nor
// redirect it to another file.
func TestWriteMapTemporary(t *testing.T) {
	dir := t.TempDir()
	pid := strconv.Itoa(os.Getpid())
	if err := os.MkdirAll(filepath.Join(dir, "."+pid+"."+pid, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := Process{PID: os.Getpid(), Port: 1, Host: "h", Archive: "/a"}
	if err := WriteMap(dir, want, true); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(dir, Primary); err != nil || got.Port != want.Port {
		t.Errorf("%+v, %v", got, err)
	}
	victim := filepath.Join(dir, "victim")
	if err := os.Symlink(victim, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := createFile(filepath.Join(dir, "link"), "text"); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	if _, err := os.Lstat(victim); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made through a link: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 { // the map file, the link, and what the test has made
		t.Errorf("%v, %v", entries, err)
	}
}
