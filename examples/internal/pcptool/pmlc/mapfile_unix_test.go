//go:build unix

package pmlc

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMapFileFIFO checks that a FIFO without a writer is an error at once in the place of a map
// file.
func TestMapFileFIFO(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strconv.Itoa(os.Getpid()), primaryName} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := Processes(dir); len(list) > 0 || !errors.Is(err, os.ErrInvalid) {
		t.Errorf("%v, %v", list, err)
	}
	if p, err := Find(dir, Primary); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("%+v, %v", p, err)
	}
}
