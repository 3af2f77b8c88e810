package filesys_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/internal/filesys"
)

// TestCopy copies a file, as it is and converted, and leaves nothing after an error.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, []byte("values"), 0o640); err != nil {
		t.Fatal(err)
	}
	fails := errors.New("it fails")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(fails)
	upper := func(w io.Writer, r io.Reader) error {
		b, err := io.ReadAll(r)
		_, err2 := w.Write(bytes.ToUpper(b))
		return errors.Join(err, err2)
	}
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		convert func(io.Writer, io.Reader) error
		want    string
		err     error
	}{
		{"as it is", t.Context(), nil, "values", nil},
		{"converted", t.Context(), upper, "VALUES", nil},
		{"that fails", t.Context(), func(w io.Writer, _ io.Reader) error { w.Write([]byte("x")); return fails }, "", fails},
		{"ended", ended, nil, "", fails},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := os.Open(from)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := filesys.Copy(tt.ctx, to, in, tt.convert); !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			got, err := os.ReadFile(to)
			if tt.err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("after the error there is %q, %v", got, err)
				}
				return
			}
			if err != nil || string(got) != tt.want {
				t.Errorf("%q, %v", got, err)
			}
			was, _ := in.Stat()
			if is, err := os.Stat(to); err != nil || is.Mode() != was.Mode() {
				t.Errorf("mode %v, %v, want %v", is.Mode(), err, was.Mode())
			}
			if err := filesys.Copy(tt.ctx, to, in, nil); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over a file: %v", err)
			}
			if err := errors.Join(filesys.SyncDir(dir), os.Remove(to)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := filesys.SyncDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that there is not: %v", err)
	}
}
