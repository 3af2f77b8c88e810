// Package apigolden compares the exported API of every package that programs
// may import with a file in testdata, so that a change of the API is seen in
// review.
package apigolden

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const module = "github.com/pcp-go/pcp"

var update = flag.Bool("update", false, "write the files in testdata")

func TestAPI(t *testing.T) {
	packages := exported(t)
	files := make(map[string]string)
	for _, p := range packages {
		files[fileName(p.Path())] = describe(p)
	}
	if *update {
		write(t, files)
	}
	kept, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range kept {
		if _, ok := files[f]; !ok {
			t.Errorf("%s is of no package; run go test ./internal/apigolden -update", f)
		}
	}
	for f, got := range files {
		want, err := os.ReadFile(f)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		lines := func(s string) []string { return strings.SplitAfter(s, "\n") }
		if diff := gocmp.Diff(lines(string(want)), lines(got)); diff != "" {
			t.Errorf("%s has not the API (-file +package); if the change is wanted, run go test ./internal/apigolden -update\n%s", f, diff)
		}
	}
}

// fileName is the file with the API of a package.
func fileName(path string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	return filepath.Join("testdata", strings.ReplaceAll(cmp.Or(name, "pcp"), "/", "_")+".txt")
}

// write replaces all files.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	old, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	for f, text := range files {
		if err := os.WriteFile(f, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// exported returns the packages that programs may import and that export
// anything, as they are on Linux.
func exported(t *testing.T) []*types.Package {
	t.Helper()
	c := listed(t, "linux", "amd64")
	var packages []*types.Package
	for _, s := range c.ordered {
		if !s.ours() || s.Name == "main" || !isPublic(s.ImportPath) {
			continue
		}
		p, err := c.check(s.ImportPath)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(p.Scope().Names(), token.IsExported) {
			packages = append(packages, p)
		}
	}
	return packages
}

// isPublic reports whether the package or file at path is neither internal nor
// part of an example.
func isPublic(path string) bool {
	return !strings.Contains(path, "/internal/") && !strings.Contains(path, "/examples/")
}

// describe lists what a package exports, a line for each name: constants,
// functions, types and variables in the order of their names, below each type
// its fields and methods.
func describe(p *types.Package) string {
	d := description{qualify: func(other *types.Package) string {
		if other == p {
			return ""
		}
		return other.Name()
	}}
	d.line("package %s // import %q", p.Name(), p.Path())
	for _, name := range p.Scope().Names() {
		if token.IsExported(name) {
			d.object(p.Scope().Lookup(name))
		}
	}
	return d.String()
}

// A description is a text in the making.
type description struct {
	strings.Builder
	qualify types.Qualifier
}

func (d *description) line(format string, args ...any) {
	fmt.Fprintf(d, format+"\n", args...)
}

func (d *description) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		d.line("const %s %s = %s", o.Name(), d.typeOf(o), o.Val().ExactString())
	case *types.TypeName:
		d.typeName(o)
	default:
		d.line("%s", types.ObjectString(o, d.qualify))
	}
}

func (d *description) typeOf(o types.Object) string { return types.TypeString(o.Type(), d.qualify) }

// typeName describes a type. Its fields and methods have separate lines.
func (d *description) typeName(o *types.TypeName) {
	named, ok := o.Type().(*types.Named)
	if o.IsAlias() || !ok {
		d.line("%s", types.ObjectString(o, d.qualify))
		return
	}
	head := "type " + o.Name() + typeParams(named, d.qualify)
	switch u := named.Underlying().(type) {
	case *types.Struct:
		d.line("%s struct", head)
		d.fields(u)
	case *types.Interface:
		if u.IsMethodSet() {
			d.line("%s interface", head)
			d.interfaceMethods(u)
			return
		}
		d.line("%s %s", head, types.TypeString(u, d.qualify))
	default:
		d.line("%s %s", head, types.TypeString(u, d.qualify))
	}
	d.methods(named)
}

func typeParams(n *types.Named, q types.Qualifier) string {
	var params []string
	for p := range n.TypeParams().TypeParams() {
		params = append(params, p.Obj().Name()+" "+types.TypeString(p.Constraint(), q))
	}
	if params == nil {
		return ""
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// fields lists the exported fields of a struct, and those that an unexported
// embedded struct gives it.
func (d *description) fields(s *types.Struct) {
	for f := range s.Fields() {
		inner, isStruct := f.Type().Underlying().(*types.Struct)
		switch {
		case f.Exported() && f.Embedded():
			d.line("\tembedded %s", d.typeOf(f))
		case f.Exported():
			d.line("\tfield %s %s", f.Name(), d.typeOf(f))
		case f.Embedded() && isStruct:
			d.fields(inner)
		}
	}
}

// methods lists the exported methods of a type, promoted ones included.
func (d *description) methods(n *types.Named) {
	values := types.NewMethodSet(n)
	for m := range types.NewMethodSet(types.NewPointer(n)).Methods() {
		f := m.Obj().(*types.Func)
		if !f.Exported() {
			continue
		}
		receiver := n.Obj().Name()
		if values.Lookup(f.Pkg(), f.Name()) == nil {
			receiver = "*" + receiver
		}
		d.line("\tmethod (%s) %s%s", receiver, f.Name(), d.signature(f))
	}
}

// interfaceMethods lists the methods of an interface, embedded ones included. An
// interface with unexported methods cannot be implemented elsewhere.
func (d *description) interfaceMethods(i *types.Interface) {
	closed := false
	for m := range i.Methods() {
		if !m.Exported() {
			closed = true
			continue
		}
		d.line("\tmethod %s%s", m.Name(), d.signature(m))
	}
	if closed {
		d.line("\tunexported methods")
	}
}

func (d *description) signature(f *types.Func) string {
	return strings.TrimPrefix(types.TypeString(f.Type(), d.qualify), "func")
}
