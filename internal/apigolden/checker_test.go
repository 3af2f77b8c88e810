package apigolden

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A source is a package as the go command lists it.
type source struct {
	Name, ImportPath, Dir string
	GoFiles               []string
	ImportMap             map[string]string // from a path in an import declaration, where it differs

	types *types.Package // nil until checked
}

// ours reports whether the package belongs to this module.
func (s *source) ours() bool {
	return s.ImportPath == module || strings.HasPrefix(s.ImportPath, module+"/")
}

// A checker type-checks packages and what they import, each once. It reads
// sources, which takes less time than a compilation for another system.
type checker struct {
	arch    string
	bodies  bool // check the bodies of this module's functions, too
	sources map[string]*source
	ordered []*source
	files   *token.FileSet
}

// listed returns a checker of the module's packages and those that they import,
// as they are on a system. The arguments are further ones of "go list".
func listed(t *testing.T, system, arch string, args ...string) *checker {
	t.Helper()
	args = append([]string{"list", "-deps", "-json=Name,ImportPath,Dir,GoFiles,ImportMap"}, args...)
	list := exec.Command("go", append(args, module+"/...")...)
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	c := &checker{arch: arch, sources: make(map[string]*source), files: token.NewFileSet()}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		s := new(source)
		if err := dec.Decode(s); err == io.EOF {
			return c
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		c.sources[s.ImportPath] = s
		c.ordered = append(c.ordered, s)
	}
}

// check returns the package at path, as "go list" names it.
func (c *checker) check(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	s, ok := c.sources[path]
	if !ok {
		return nil, fmt.Errorf("go list does not list %s", path)
	}
	if s.types != nil {
		return s.types, nil
	}
	var files []*ast.File
	for _, name := range s.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.Dir, name)
		}
		f, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{
		IgnoreFuncBodies: !c.bodies || !s.ours(),
		Sizes:            types.SizesFor("gc", c.arch),
		Importer: importerFunc(func(path string) (*types.Package, error) {
			return c.check(cmp.Or(s.ImportMap[path], path))
		}),
	}
	var err error
	path, _, _ = strings.Cut(path, " [") // of a package that is compiled with its tests
	s.types, err = conf.Check(path, c.files, files, nil)
	return s.types, err
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
