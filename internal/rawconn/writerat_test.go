package rawconn

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWriterAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := NewWriterAt(f)
	for _, put := range []struct {
		text string
		off  int64
	}{{"world", 6}, {"hello ", 0}, {"", 3}} {
		if n, err := w.WriteAt([]byte(put.text), put.off); n != len(put.text) || err != nil {
			t.Errorf("%q: %d, %v", put.text, n, err)
		}
	}
	if b, err := os.ReadFile(path); string(b) != "hello world" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	b := make([]byte, 4096)
	if n := testing.AllocsPerRun(10, func() { w.WriteAt(b, 0) }); n != 0 {
		t.Errorf("%v allocations a write", n)
	}
	f.Close()
	for what, w := range map[string]func([]byte, int64) (int, error){"direct": w.WriteAt, "file": f.WriteAt} {
		_, err := w([]byte("late"), 0)
		if e, ok := errors.AsType[*fs.PathError](err); !ok || !errors.Is(err, fs.ErrClosed) || e.Op != "write" || e.Path != path {
			t.Errorf("%s, of a closed file: %v", what, err)
		}
	}
}

// What cannot be written is the error of the file.
func TestWriterAtFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, want := f.WriteAt([]byte("text"), 0)
	n, err := NewWriterAt(f).WriteAt([]byte("text"), 0)
	if n != 0 || err == nil || want == nil || err.Error() == "" || errors.Unwrap(err) != errors.Unwrap(want) {
		t.Errorf("%d, %v, want %v", n, err, want)
	}
}
