package procfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestFile reads a file again and again while it changes, with each Record.
func TestFile(t *testing.T) {
	for _, record := range []int{0, Single, 512} {
		path := filepath.Join(t.TempDir(), "file")
		f := File{Path: path, Record: record}
		for round := range 3 {
			for _, n := range []int{0, 1, 511, 512, 513, 4095, 4096, 4097, 8191, 8192, 8193, 100_000, 10} {
				want := bytes.Repeat([]byte{byte('a' + round), '\n'}, n)[:n]
				if err := os.WriteFile(path, want, 0o666); err != nil {
					t.Fatal(err)
				}
				if got, err := f.Read(); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("round %d: %d bytes of %d, or others, %v", round, len(got), n, err)
				}
			}
			f.Close()
		}
		if n := testing.AllocsPerRun(100, func() { f.Read() }); n != 0 {
			t.Errorf("%v allocations a read", n)
		}
		f.Close()
	}
}

// TestIsLast checks which short reads are known to be the last of a file.
func TestIsLast(t *testing.T) {
	for _, tt := range []struct {
		record, n int
		want      bool
	}{
		{0, 1, false}, {0, 4000, false}, {Single, 1, true}, {Single, 100_000, true},
		{512, 1, true}, {512, 3584, true}, {512, 3585, false}, {512, 8000, false},
	} {
		f := File{Record: tt.record}
		if got := f.isLast(tt.n); got != tt.want {
			t.Errorf("with records of %d, a read of %d bytes is the last: %v", tt.record, tt.n, got)
		}
	}
}

// TestFileReopen: a file that another one takes the place of is read anew.
func TestFileReopen(t *testing.T) {
	dir := t.TempDir()
	f := File{Path: filepath.Join(dir, "file"), Reopen: true}
	for _, text := range []string{"one\n", "two\n"} {
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), f.Path); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Read(); err != nil || string(got) != text || f.h != nil {
			t.Errorf("%q, %v, want %q of a file that is closed again", got, err, text)
		}
	}
}

// TestFileErrors reads what cannot be read, again and again.
func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	missing := File{Path: filepath.Join(dir, "missing")}
	for range 3 {
		if _, err := missing.Read(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing: %v", err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	directory := File{Path: dir}
	for range 3 {
		if got, err := directory.Read(); err == nil || directory.h != nil {
			t.Errorf("a directory: %q, %v", got, err)
		}
	}
	closed := File{Path: filepath.Join(dir, "closed")}
	if err := os.WriteFile(closed.Path, []byte("text\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := closed.Read(); err != nil {
		t.Fatal(err)
	}
	closed.h.close()
	var pathErr *fs.PathError
	if _, err := closed.Read(); !errors.As(err, &pathErr) || pathErr.Path != closed.Path || closed.h != nil {
		t.Errorf("closed: %v", err)
	}
	if got, err := closed.Read(); err != nil || string(got) != "text\n" {
		t.Errorf("opened again: %q, %v", got, err)
	}
}

// TestSmall reads small files, and files that are too long.
func TestSmall(t *testing.T) {
	buf := make([]byte, MaxSmall+1)
	for _, n := range []int{0, 1, MaxSmall, MaxSmall + 1, MaxSmall + 2} {
		path := filepath.Join(t.TempDir(), "file")
		want := bytes.Repeat([]byte("x"), n)
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := OpenSmall(path)
		if err != nil || !s.IsOpen() {
			t.Fatal(err)
		}
		for _, read := range []func([]byte) (int, error){s.Read, s.Read, func(b []byte) (int, error) { return ReadSmall(path, b) }} {
			got, err := read(buf)
			switch {
			case n > MaxSmall && !errors.Is(err, ErrTooLong):
				t.Errorf("%d bytes: %v", n, err)
			case n <= MaxSmall && (err != nil || !bytes.Equal(buf[:got], want)):
				t.Errorf("%d bytes: %d, or others, %v", n, got, err)
			}
		}
		if s.Close(); s.IsOpen() {
			t.Error("open after Close")
		}
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if s, err := OpenSmall(missing); !errors.Is(err, fs.ErrNotExist) || s.IsOpen() {
		t.Errorf("missing: %v", err)
	}
	if n, err := ReadSmall(missing, buf); !errors.Is(err, fs.ErrNotExist) || n != 0 {
		t.Errorf("missing: %d bytes, %v", n, err)
	}
}
