package pmdammv

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestFileClock changes a directory after fileClock has returned. The directory's time is not
// before that, although it is before time.Now.
func TestFileClock(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		before := fileClock()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.ModTime().Before(before) {
			t.Fatalf("the directory changed at %v, after fileClock returned %v", info.ModTime(), before)
		}
	}
}
