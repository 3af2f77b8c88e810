package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pcp-go/pcp/archive"
)

// movable makes an archive of two volumes in a directory, and returns its files.
func movable(t *testing.T, dir string) archive.Files {
	t.Helper()
	base := filepath.Join(dir, "a")
	for _, suffix := range []string{".0", ".10.xz", ".index", ".meta.gz"} {
		if err := os.WriteFile(base+suffix, []byte(suffix), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	found, err := archive.Options{}.Find(base)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// contents returns the names and contents of the files in a directory.
func contents(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s=%s", e.Name(), b))
	}
	return list
}

func TestMove(t *testing.T) {
	old := []string{"a.0=.0", "a.10.xz=.10.xz", "a.index=.index", "a.meta.gz=.meta.gz"}
	moved := []string{"b.0=.0", "b.10.xz=.10.xz", "b.index=.index", "b.meta.gz=.meta.gz"}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, test := range []struct {
		name  string
		do    func(o archive.MoveOptions, f archive.Files, base string) error
		o     archive.MoveOptions
		taken string // a file that is there
		err   error
		want  []string
		steps string
	}{
		{"move", func(o archive.MoveOptions, f archive.Files, base string) error { return o.Move(t.Context(), f, base) },
			archive.MoveOptions{}, "", nil, moved, "[link link link link remove remove remove remove]"},
		{"copy", func(o archive.MoveOptions, f archive.Files, base string) error { return o.Copy(t.Context(), f, base) },
			archive.MoveOptions{Verify: true}, "", nil, slices.Concat(old, moved), "[copy copy copy copy]"},
		{"remove", func(o archive.MoveOptions, f archive.Files, base string) error { return o.Remove(f) },
			archive.MoveOptions{}, "", nil, nil, "[remove remove remove remove]"},
		{"move nothing", func(o archive.MoveOptions, f archive.Files, base string) error { return o.Move(t.Context(), f, base) },
			archive.MoveOptions{DryRun: true}, "", nil, old, "[link link link link remove remove remove remove]"},
		{"taken", func(o archive.MoveOptions, f archive.Files, base string) error { return o.Move(t.Context(), f, base) },
			archive.MoveOptions{}, "b.index", fs.ErrExist, append(slices.Clone(old), "b.index="), "[link link link! undo undo]"},
		{"copy to taken", func(o archive.MoveOptions, f archive.Files, base string) error { return o.Copy(t.Context(), f, base) },
			archive.MoveOptions{}, "b.meta.gz", fs.ErrExist, append(slices.Clone(old), "b.meta.gz="), "[copy copy copy copy! undo undo undo]"},
		{"no directory", func(o archive.MoveOptions, f archive.Files, base string) error {
			return o.Move(t.Context(), f, filepath.Join(base, "c"))
		}, archive.MoveOptions{}, "", fs.ErrNotExist, old, "[link!]"},
		{"ended", func(o archive.MoveOptions, f archive.Files, base string) error { return o.Move(ended, f, base) },
			archive.MoveOptions{}, "", context.Canceled, old, "[link!]"},
	} {
		dir := t.TempDir()
		files := movable(t, dir)
		if test.taken != "" {
			if err := os.WriteFile(filepath.Join(dir, test.taken), nil, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		var steps []string
		test.o.Step = func(s archive.MoveStep) {
			step := string(s.Action)
			if s.Err != nil {
				step += "!"
			}
			steps = append(steps, step)
			if test.o.Verify && (s.Sums[0] != s.Sums[1] || len(s.Sums[0]) != 32) {
				t.Errorf("%s: checksums %q", test.name, s.Sums)
			}
		}
		err := test.do(test.o, files, filepath.Join(dir, "b"))
		if !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", test.name, err, test.err)
		}
		diff(t, test.name, contents(t, dir), test.want)
		if got := fmt.Sprint(steps); got != test.steps {
			t.Errorf("%s: steps %s, want %s", test.name, got, test.steps)
		}
	}
}

// TestMoveEnded ends the context at several places. Move then undoes its work.
func TestMoveEnded(t *testing.T) {
	for after := 1; after <= 4; after++ {
		dir := t.TempDir()
		files := movable(t, dir)
		before := contents(t, dir)
		ctx, end := context.WithCancel(t.Context())
		left := after
		err := archive.MoveOptions{Step: func(archive.MoveStep) {
			if left--; left == 0 {
				end()
			}
		}}.Copy(ctx, files, filepath.Join(dir, "b"))
		if after == 4 && err == nil { // all was done
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		diff(t, fmt.Sprint("ended after ", after), contents(t, dir), before)
	}
}

// An archive moves to another directory, and its old name is removed.
func ExampleMoveOptions_Move() {
	dir, err := os.MkdirTemp("", "archives")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	found, err := archive.Options{}.Find("testdata/v3")
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := (archive.MoveOptions{}).Copy(ctx, found[0], filepath.Join(dir, "web1")); err != nil {
		panic(err)
	}
	found, err = archive.Options{}.Find(filepath.Join(dir, "web1"))
	if err != nil {
		panic(err)
	}
	o := archive.MoveOptions{Step: func(s archive.MoveStep) { fmt.Println(s.Action, filepath.Base(s.From)) }}
	if err := o.Move(ctx, found[0], filepath.Join(dir, "web2")); err != nil {
		panic(err)
	}
	// Output:
	// link web1.0
	// link web1.1
	// link web1.2
	// link web1.index
	// link web1.meta
	// remove web1.0
	// remove web1.1
	// remove web1.2
	// remove web1.index
	// remove web1.meta
}
