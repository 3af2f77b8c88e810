//go:build amd64 || arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x

package pmdalinux

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestQuick: files of the kernel are read the quick way, which stops the program
// while it waits, and no others.
func TestQuick(t *testing.T) {
	other := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(other, []byte("text\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		want bool
	}{{"/proc/self/stat", true}, {"/sys/kernel/uevent_seqnum", true}, {other, false}} {
		f := file{path: tt.path}
		if _, err := f.read(); err != nil {
			t.Log(err) // there is no /sys in some containers
			continue
		}
		for range 2 {
			f.quick.took = time.Nanosecond
			if _, err := f.read(); err != nil {
				t.Fatal(err)
			}
			if got := f.quick.raw != nil; got != tt.want {
				t.Errorf("%s is read the quick way: %v, want %v", tt.path, got, tt.want)
			}
		}
		f.f.Close()
	}
}
