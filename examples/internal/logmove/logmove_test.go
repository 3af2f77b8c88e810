package logmove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		do    func(o Options, f archive.Files, base string) error
		o     Options
		taken string // a file that is there
		err   error
		want  []string
		steps string
	}{
		{"move", func(o Options, f archive.Files, base string) error { return o.Move(t.Context(), f, base) },
			Options{}, "", nil, moved, "[link link link link remove remove remove remove]"},
		{"copy", func(o Options, f archive.Files, base string) error { return o.Copy(t.Context(), f, base) },
			Options{Verify: true}, "", nil, slices.Concat(old, moved), "[copy copy copy copy]"},
		{"remove", func(o Options, f archive.Files, base string) error { return o.Remove(f) },
			Options{}, "", nil, nil, "[remove remove remove remove]"},
		{"move nothing", func(o Options, f archive.Files, base string) error { return o.Move(t.Context(), f, base) },
			Options{DryRun: true}, "", nil, old, "[link link link link remove remove remove remove]"},
		{"taken", func(o Options, f archive.Files, base string) error { return o.Move(t.Context(), f, base) },
			Options{}, "b.index", fs.ErrExist, append(slices.Clone(old), "b.index="), "[link link link! undo undo]"},
		{"copy to taken", func(o Options, f archive.Files, base string) error { return o.Copy(t.Context(), f, base) },
			Options{}, "b.meta.gz", fs.ErrExist, append(slices.Clone(old), "b.meta.gz="), "[copy copy copy copy! undo undo undo]"},
		{"no directory", func(o Options, f archive.Files, base string) error {
			return o.Move(t.Context(), f, filepath.Join(base, "c"))
		}, Options{}, "", fs.ErrNotExist, old, "[link!]"},
		{"ended", func(o Options, f archive.Files, base string) error { return o.Move(ended, f, base) },
			Options{}, "", context.Canceled, old, "[link!]"},
	} {
		dir := t.TempDir()
		files := movable(t, dir)
		if test.taken != "" {
			if err := os.WriteFile(filepath.Join(dir, test.taken), nil, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		var steps []string
		test.o.Step = func(s Step) {
			step := s.Action
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
		if d := cmp.Diff(test.want, contents(t, dir)); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
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
		err := Options{Step: func(Step) {
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
		if d := cmp.Diff(before, contents(t, dir)); d != "" {
			t.Errorf("ended after %d (-want +got):\n%s", after, d)
		}
	}
}
