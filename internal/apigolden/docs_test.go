package apigolden

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocsNameExported requires that the documentation of public packages names only what
// a program can import: no internal package, and no unexported name of the same package.
func TestDocsNameExported(t *testing.T) {
	for _, files := range publicPackages(t) {
		hidden := unexported(files)
		for _, f := range files {
			for _, doc := range documentation(f.File) {
				for _, line := range doc.List {
					for _, name := range hiddenNames(line.Text, hidden) {
						t.Errorf("%v: the comment names %s, which programs cannot import", parsed.Position(line.Pos()), name)
					}
				}
			}
		}
	}
}

// TestHiddenNames: a word of English that is also an unexported name is not reported.
func TestHiddenNames(t *testing.T) {
	hidden := map[string]bool{"dialAll": true, "reader": true}
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"// Dial uses dialAll.", []string{"dialAll"}},
		{"// A [reader] or a [reader.next].", []string{"reader", "reader"}},
		{"//\treader[reader]", nil},
		{"// The reader of dialAllHosts.", nil},
		{"// See internal/xdr.", []string{"internal/xdr"}},
	} {
		if got := hiddenNames(tt.line, hidden); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
		}
	}
}

// TestPackageComments requires a package comment of some lines in each public
// package. Its first screenful explains the package to users of Go, so that tables of C
// names come later.
func TestPackageComments(t *testing.T) {
	const minLines, screenful = 5, 15
	// A C function, a C constant or a manual page, in a line of a list or of code.
	cName := regexp.MustCompile(`^\s.*(\bpm[A-Z]\w|\bPM_[A-Z]|\(3\))`)
	for dir, files := range publicPackages(t) {
		var docs []*ast.CommentGroup
		for _, f := range files {
			if f.Doc != nil {
				docs = append(docs, f.Doc)
			}
		}
		if len(docs) != 1 {
			t.Errorf("%s: %d files have a package comment, want 1", dir, len(docs))
			continue
		}
		pos := parsed.Position(docs[0].Pos())
		lines := strings.Split(strings.TrimSpace(docs[0].Text()), "\n")
		if len(lines) < minLines {
			t.Errorf("%v: the package comment has %d lines, want at least %d", pos, len(lines), minLines)
		}
		for i, line := range lines[:min(len(lines), screenful)] {
			if cName.MatchString(line) {
				t.Errorf("%s:%d: C names in the first %d lines: %s", pos.Filename, pos.Line+i, screenful, strings.TrimSpace(line))
				break
			}
		}
	}
}

// publicPackages returns the files of the packages that programs may import, by directory,
// without their tests.
func publicPackages(t *testing.T) map[string][]sourceFile {
	t.Helper()
	packages := make(map[string][]sourceFile)
	for _, f := range sourceFiles(t) {
		if isPublic(f.path) && !strings.HasSuffix(f.path, "_test.go") && f.Name.Name != "main" {
			packages[path.Dir(f.path)] = append(packages[path.Dir(f.path)], f)
		}
	}
	return packages
}

// unexported returns the unexported names that the files of a package declare at top level.
func unexported(files []sourceFile) map[string]bool {
	names := make(map[string]bool)
	add := func(idents ...*ast.Ident) {
		for _, n := range idents {
			if !n.IsExported() {
				names[n.Name] = true
			}
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						add(s.Names...)
					}
				}
			}
		}
	}
	return names
}

// documentation returns the comments of a file that are on the package or on exported names.
func documentation(f *ast.File) (docs []*ast.CommentGroup) {
	add := func(exported bool, comments ...*ast.CommentGroup) {
		for _, c := range comments {
			if exported && c != nil {
				docs = append(docs, c)
			}
		}
	}
	anyExported := func(names []*ast.Ident) bool { return slices.ContainsFunc(names, (*ast.Ident).IsExported) }
	add(true, f.Doc)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name.IsExported() && (d.Recv == nil || receiverIsExported(d.Recv.List[0].Type)), d.Doc)
		case *ast.GenDecl:
			grouped := false // whether the comment on the group is on an exported name
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name.IsExported(), s.Doc, s.Comment)
					for _, m := range members(s.Type) {
						add(s.Name.IsExported() && anyExported(m.Names), m.Doc, m.Comment)
					}
					grouped = grouped || s.Name.IsExported()
				case *ast.ValueSpec:
					add(anyExported(s.Names), s.Doc, s.Comment)
					grouped = grouped || anyExported(s.Names)
				}
			}
			add(grouped && d.Tok != token.IMPORT, d.Doc)
		}
	}
	return docs
}

var (
	internalPath = regexp.MustCompile(`\binternal/[\w/]*`)
	docLink      = regexp.MustCompile(`\[\*?(\w+)(?:\.\w+)?\]`)
	camelCase    = regexp.MustCompile(`\b[a-z]\w*[a-z0-9][A-Z]\w*\b`)
)

// hiddenNames returns the internal packages that a line of a comment names, and those names
// in hidden that are doc links or mixed-case words in it.
func hiddenNames(line string, hidden map[string]bool) []string {
	names := internalPath.FindAllString(line, -1)
	isCode := strings.HasPrefix(line, "//\t")
	for _, link := range docLink.FindAllStringSubmatch(line, -1) {
		if hidden[link[1]] && !isCode {
			names = append(names, link[1])
		}
	}
	for _, word := range camelCase.FindAllString(line, -1) {
		if hidden[word] {
			names = append(names, word)
		}
	}
	return names
}
