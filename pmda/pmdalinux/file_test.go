package pmdalinux

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestFile reads a file again and again while it changes.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var f file
	f.path = path
	for round := range 3 {
		for _, n := range []int{0, 1, 4095, 4096, 4097, 8192, 100_000, 10} {
			want := bytes.Repeat([]byte{byte('a' + round), '\n'}, n)[:n]
			if err := os.WriteFile(path, want, 0o666); err != nil {
				t.Fatal(err)
			}
			if got, err := f.read(); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("round %d: %d bytes of %d, or others, %v", round, len(got), n, err)
			}
		}
		g := f // a copy reads on by itself
		f = file{path: path}
		if got, err := g.read(); err != nil || len(got) != 10 {
			t.Fatalf("a copy: %q, %v", got, err)
		}
		g.f.Close()
	}
	if n := testing.AllocsPerRun(100, func() { f.read() }); n != 0 {
		t.Errorf("%v allocations a read", n)
	}
}

// TestFileErrors reads what cannot be read, again and again.
func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	missing := file{path: filepath.Join(dir, "missing")}
	for range 3 {
		if _, err := missing.read(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing: %v", err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	directory := file{path: dir}
	for range 3 {
		if got, err := directory.read(); err == nil || directory.f != nil {
			t.Errorf("a directory: %q, %v", got, err)
		}
	}
	closed := file{path: filepath.Join(dir, "closed")}
	if err := os.WriteFile(closed.path, []byte("text\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 3 { // from the second time on the quick way
		if _, err := closed.read(); err != nil {
			t.Fatal(err)
		}
	}
	closed.f.Close()
	if _, err := closed.read(); err == nil || closed.f != nil {
		t.Errorf("closed: %v", err)
	}
	if got, err := closed.read(); err != nil || string(got) != "text\n" {
		t.Errorf("opened again: %q, %v", got, err)
	}
}
