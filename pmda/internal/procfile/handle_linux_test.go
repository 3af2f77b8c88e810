package procfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestFileForgotten: the descriptor of an unreachable File is closed.
func TestFileForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	func() {
		f := &File{Path: path}
		if _, err := f.Read(); err != nil {
			t.Fatal(err)
		}
		if !isOpen(t, path) {
			t.Fatal("the file does not stay open")
		}
		runtime.KeepAlive(f)
	}()
	for range 500 {
		runtime.GC()
		if !isOpen(t, path) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the file is still open")
}

// isOpen reports whether this process has a file open.
func isOpen(t *testing.T, path string) bool {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if name, err := os.Readlink(fd); err == nil && strings.HasPrefix(name, path) {
			return true
		}
	}
	return false
}
