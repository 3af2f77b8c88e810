package readme

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// pages are the files whose links and names the tests check. Those below examples are optional.
var pages = []string{"README.md", "doc.go", "examples/README.md", "examples/pmcd/README.md"}

// moduleRoot returns the directory of this module.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// rootFile reads a file of this module.
func rootFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runPages runs a subtest for each page.
func runPages(t *testing.T, test func(t *testing.T, page, text string)) {
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			_, err := os.Stat(filepath.Join(moduleRoot(t), filepath.FromSlash(page)))
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("there is no such page")
			}
			test(t, page, rootFile(t, page))
		})
	}
}
