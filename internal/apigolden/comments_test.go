package apigolden

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestComments wants a comment on every exported name of the packages that
// programs may import: on itself, or on the group of constants or variables that
// it belongs to.
func TestComments(t *testing.T) {
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == "internal" || name == "examples" || name == "testdata" || name == ".git"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, n := range uncommented(f) {
			t.Errorf("%v: %s has no comment", files.Position(n.Pos()), n.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// uncommented returns the exported names of a file that have no comment.
func uncommented(f *ast.File) []*ast.Ident {
	var names []*ast.Ident
	add := func(n *ast.Ident, comments ...*ast.CommentGroup) {
		if !n.IsExported() {
			return
		}
		for _, c := range comments {
			if c != nil {
				return
			}
		}
		names = append(names, n)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || receiverIsExported(d.Recv.List[0].Type) {
				add(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name, d.Doc, s.Doc)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						add(n, d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
	return names
}

// receiverIsExported reports whether the type of a receiver is exported.
func receiverIsExported(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverIsExported(e.X)
	case *ast.IndexExpr:
		return receiverIsExported(e.X)
	case *ast.IndexListExpr:
		return receiverIsExported(e.X)
	case *ast.Ident:
		return e.IsExported()
	}
	return false
}
