// Package readme tests the front page of the repository, README.md, the map of the packages in
// doc.go, and the pages README.md links to: their programs, links and names.
package readme

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxLines is the maximum number of lines of README.md.
const maxLines = 250

func TestLength(t *testing.T) {
	if n := strings.Count(rootFile(t, "README.md"), "\n"); n > maxLines {
		t.Errorf("README.md has %d lines, want at most %d", n, maxLines)
	}
}

// TestMap compares the packages that doc.go lists with the public packages of this module.
func TestMap(t *testing.T) {
	listed := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z][\w/]*)  +\S`).FindAllStringSubmatch(rootFile(t, "doc.go"), -1) {
		listed[m[1]]++
	}
	for _, pkg := range publicPackages(t) {
		if listed[pkg] != 1 {
			t.Errorf("doc.go lists package %s %d times, want once", pkg, listed[pkg])
		}
		delete(listed, pkg)
	}
	for pkg := range listed {
		t.Errorf("doc.go lists %s, which is not a public package", pkg)
	}
}

// publicPackages returns the directories of the packages that programs may import, without the
// root of the module.
func publicPackages(t *testing.T) []string {
	t.Helper()
	var packages []string
	err := fs.WalkDir(os.DirFS(moduleRoot(t)), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case !d.IsDir() || name == ".":
			return nil
		case name == "examples", base == "internal", base == "testdata", strings.ContainsAny(base[:1], "._"):
			return fs.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(moduleRoot(t), filepath.FromSlash(name), "*.go"))
		if err != nil {
			return err
		}
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				packages = append(packages, name)
				break
			}
		}
		return nil
	})
	if err != nil || len(packages) < 10 {
		t.Fatalf("found packages %q, %v", packages, err)
	}
	return packages
}
