package apigolden

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestComments wants a comment on every exported name of the packages that
// programs may import: on itself, or on the group of constants or variables that
// it belongs to.
func TestComments(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if strings.HasSuffix(f.path, "_test.go") || !isPublic(f.path) {
			continue
		}
		for _, n := range uncommented(f.File) {
			t.Errorf("%v: %s has no comment", parsed.Position(n.Pos()), n.Name)
		}
	}
}

// TestCommentNames wants comments to name what they are on: a comment on a declaration
// that begins with an identifier begins with the declared one, so that no comment is left
// behind when something is renamed.
func TestCommentNames(t *testing.T) {
	for _, f := range sourceFiles(t) {
		each(f.File, func(doc *ast.CommentGroup, names []*ast.Ident, isType bool) {
			got, ok := firstIdentifier(doc.Text(), isType)
			if ok && !slices.ContainsFunc(names, func(n *ast.Ident) bool { return n.Name == got }) {
				t.Errorf("%v: the comment on %s begins with %s", parsed.Position(doc.Pos()), names[0].Name, got)
			}
		})
	}
}

// maxCommentWidth is the maximum width of a line that is only a comment, in columns. A tab counts
// as 4.
const maxCommentWidth = 100

// TestCommentWidth checks the width of comment lines. Directives have no limit.
func TestCommentWidth(t *testing.T) {
	for _, f := range sourceFiles(t) {
		n := 0
		for line := range bytes.Lines(f.text) {
			n++
			line = bytes.TrimRight(line, "\r\n")
			comment := bytes.TrimSpace(line)
			if !bytes.HasPrefix(comment, []byte("//")) || bytes.HasPrefix(comment, []byte("//go:")) {
				continue
			}
			if width := utf8.RuneCount(line) + 3*bytes.Count(line, []byte("\t")); width > maxCommentWidth {
				t.Errorf("%s:%d: the comment has %d columns, want at most %d",
					strings.TrimPrefix(f.path, "../../"), n, width, maxCommentWidth)
			}
		}
	}
}

// TestFirstIdentifier: words of English are no identifiers.
func TestFirstIdentifier(t *testing.T) {
	for _, tt := range []struct {
		comment string
		isType  bool
		want    string // empty if none
	}{
		{"record is a line.", false, "record"},
		{"maxKept's unit is bytes.", false, "maxKept"},
		{"TextDirect is a flag.", false, "TextDirect"},
		{"A Case is a run.", true, "Case"},
		{"An option is a setting.", true, "option"},
		{"A connection is kept.", false, ""},
		{"The widths of columns.", true, ""},
		{"PCP_DIR is a directory, TLS a protocol.", false, ""},
		{"", true, ""},
	} {
		got, ok := firstIdentifier(tt.comment, tt.isType)
		if ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.comment, got, ok, tt.want)
		}
	}
}

// A sourceFile is a file of the module.
type sourceFile struct {
	path string // relative to the directory of this package, with slashes
	text []byte
	*ast.File
}

// parsed holds the positions in the files that parse returns.
var parsed = token.NewFileSet()

// parse parses every source file of the module, once.
var parse = sync.OnceValues(func() (files []sourceFile, err error) {
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(parsed, path, text, parser.ParseComments|parser.SkipObjectResolution)
		files = append(files, sourceFile{filepath.ToSlash(path), text, f})
		return err
	})
	return files, err
})

// sourceFiles returns every source file of the module.
func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	files, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// each calls f for the comments on the declarations of a file, on single names in groups
// of them, on fields and on methods of interfaces.
func each(file *ast.File, f func(doc *ast.CommentGroup, names []*ast.Ident, isType bool)) {
	call := func(doc *ast.CommentGroup, isType bool, names ...*ast.Ident) {
		if doc != nil {
			f(doc, names, isType)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			call(d.Doc, false, d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					call(s.Doc, true, s.Name)
					for _, m := range members(s.Type) {
						call(m.Doc, false, m.Names...)
					}
					if !d.Lparen.IsValid() {
						call(d.Doc, true, s.Name)
					}
				case *ast.ValueSpec:
					call(s.Doc, false, s.Names...)
					if !d.Lparen.IsValid() {
						call(d.Doc, false, s.Names...)
					}
				}
			}
		}
	}
}

// members returns the fields of a struct, or the methods of an interface, that have names.
func members(e ast.Expr) (named []*ast.Field) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		if len(f.Names) > 0 {
			named = append(named, f)
		}
	}
	return named
}

// firstIdentifier returns the identifier that a comment begins with, not ok if it begins
// with a word of English. An identifier begins with a small letter, or has a capital
// after a small letter. In comments on types an article may be before it, and then it
// may be any word.
func firstIdentifier(comment string, isType bool) (name string, ok bool) {
	words := strings.Fields(comment)
	if len(words) > 1 && isType && (words[0] == "A" || words[0] == "An") {
		return words[1], true
	}
	if len(words) == 0 {
		return "", false
	}
	name = words[0]
	if end := strings.IndexFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }); end >= 0 {
		name = name[:end]
	}
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && unicode.IsLower(rune(name[i-1])) {
			return name, true
		}
	}
	return name, name != "" && unicode.IsLower(rune(name[0]))
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
