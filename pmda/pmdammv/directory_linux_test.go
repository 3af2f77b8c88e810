package pmdammv

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestFileClock checks that the time of a directory that changes after a call of fileClock is not
// before the result, although it may be before time.Now.
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
