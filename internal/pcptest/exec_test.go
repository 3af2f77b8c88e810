package pcptest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ownPrograms are programs that tests start without this package: all systems that these tests
// run on have them.
var ownPrograms = []string{"/bin/sh", "cat", "chmod", "echo", "go", "kill", "none", "sh", "sleep"}

// TestDecision checks that only this package decides whether PCP is installed: tests, and
// packages that help tests, do not look for its programs and headers.
func TestDecision(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || path == filepath.Join(root, "internal", "pcptest")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(path, "_test.go") && !bytes.Contains(text, []byte(`/internal/pcptest"`)) {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for pos, text := range decisions(file) {
			t.Errorf("%s: %s", set.Position(pos), text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files", files)
	}
}

func TestDecisions(t *testing.T) {
	const text = `package p
func f() {
	exec.LookPath("x")
	look := exec.LookPath
	exec.Command("gcc", "x.c")
	exec.CommandContext(ctx, "python3")
	exec.Command("sleep", "1")
	exec.Command(program)
	pcptest.Run(t, nil, "", "cc", "x.c")
	pcptest.RunIn(t, dir, nil, "", "gcc", "x.c")
	pcptest.Run(t, nil, "", "make", "cc")
	user.Lookup("pcp")
	user.Lookup("nobody")
	os.Getenv("PCP_INTEROP")
	os.Stat("/usr/include/pcp/pmapi.h")
}`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for pos := range decisions(file) {
		lines = append(lines, set.Position(pos).Line)
	}
	slices.Sort(lines)
	if want := []int{3, 4, 5, 6, 9, 10, 12, 14, 15}; !slices.Equal(lines, want) {
		t.Errorf("lines %d, want %d", lines, want)
	}
}

// decisions returns what a file does that only this package may do, by its place.
func decisions(file *ast.File) map[token.Pos]string {
	found := map[token.Pos]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if selected(n) == "exec.LookPath" {
				found[n.Pos()] = "exec.LookPath: use Need, Has, Tool or Optional of pcptest"
			}
		case *ast.BasicLit:
			switch s := text(n); {
			case strings.HasPrefix(s, "/usr/include/"):
				found[n.Pos()] = s + ": give pcptest.Need the header as pcp/NAME.h"
			case s == "PCP_INTEROP":
				found[n.Pos()] = s + ": use pcptest.Required"
			}
		case *ast.CallExpr:
			name := selected(n.Fun)
			switch program := argument(n, programIndex[name]); {
			case program == "":
			case name == "user.Lookup":
				if program == "pcp" {
					found[n.Pos()] = `use pcptest.Need or Has with "user pcp"`
				}
			case strings.HasPrefix(name, "exec."):
				if !slices.Contains(ownPrograms, program) {
					found[n.Pos()] = name + " of " + program + ": use Run, Tool, Optional or BuildC of pcptest"
				}
			case slices.Contains([]string{"gcc", "cc", "clang"}, program):
				found[n.Pos()] = name + " of " + program + ": use pcptest.BuildC"
			}
		}
		return true
	})
	return found
}

// programIndex says which argument of a function is the name of a program or a user.
var programIndex = map[string]int{
	"exec.Command": 0, "exec.CommandContext": 1, "user.Lookup": 0, "pcptest.Run": 3, "pcptest.RunIn": 4,
}

// selected returns "x.y" for the expression x.y.
func selected(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// argument returns an argument that is a literal, or "".
func argument(call *ast.CallExpr, index int) string {
	if _, ok := programIndex[selected(call.Fun)]; !ok || index >= len(call.Args) {
		return ""
	}
	lit, _ := call.Args[index].(*ast.BasicLit)
	return text(lit)
}

func text(lit *ast.BasicLit) string {
	if lit == nil || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}
