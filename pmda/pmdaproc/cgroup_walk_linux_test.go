package pmdaproc

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCgroupTree checks that each request reads a hierarchy once.
func TestCgroupTree(t *testing.T) {
	root := t.TempDir()
	mkdir := func(name string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("a")
	var trees cgroupTrees
	first, second := new(view), new(view)
	for range 2 {
		if got := string(trees.of(first, root).paths); got != "\x00/a\x00" {
			t.Errorf("%q", got)
		}
		if _, err := os.Stat(filepath.Join(root, "a", "b")); err != nil {
			mkdir("a/b")
		}
	}
	if got := string(trees.of(second, root).paths); got != "\x00/a\x00/a/b\x00" {
		t.Errorf("%q", got)
	}
	if got := trees.of(second, filepath.Join(root, "none")).paths; len(got) != 0 || len(second.trees) != 2 {
		t.Errorf("%q", got)
	}
	trees.release(first)
	if trees.release(second); len(first.trees)+len(second.trees) != 0 {
		t.Error("trees are kept")
	}
}
