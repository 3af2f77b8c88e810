package getopt_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// unlisted are the options that usage messages leave out, as those of PCP do, by file and name.
// None lists the option debug.
var unlisted = map[string]bool{
	"examples/pcp-free/main.go wide": true,
	"examples/pmclient/main.go g":    true,
	"examples/pmclient/main.go p":    true,
	"examples/pmlogcheck/main.go r":  true,
	"examples/pmlogcheck/main.go R":  true,
	"examples/pmprobe/main.go e":     true,
}

// ownUsage are the programs whose usage messages are constants, as in PCP.
var ownUsage = map[string]bool{"chkhelp": true, "pmtrace": true}

// Usage messages list all options, except those that PCP's do not list.
func TestOptionsAreListed(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range []string{"examples", "pmapi/tool", "pmda"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			if ownUsage[filepath.Base(filepath.Dir(path))] {
				return nil
			}
			name, _ := filepath.Rel(root, path)
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.CompositeLit)
				if !ok {
					return true
				}
				option, listed := optionOf(lit)
				if key := filepath.ToSlash(name) + " " + option; option != "" && option != "debug" && !listed && !unlisted[key] {
					t.Errorf("%s has no Help", key)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// optionOf returns the name or the letter of an option that a literal is, and whether the usage
// message lists it. The name is empty for another literal.
func optionOf(lit *ast.CompositeLit) (name string, listed bool) {
	fields := map[string]string{}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return "", false
		}
		key, ok := kv.Key.(*ast.Ident)
		if !ok {
			return "", false
		}
		text := ""
		if value, ok := kv.Value.(*ast.BasicLit); ok {
			text = strings.Trim(value.Value, "\"'")
		}
		fields[key.Name] = text
	}
	_, listed = fields["Help"]
	if name = fields["Long"]; name == "" {
		name = fields["Short"]
	}
	return name, listed
}
