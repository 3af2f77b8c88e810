package pmns

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

func TestLoadFiles(t *testing.T) {
	for _, c := range slices.Concat(goodFiles, badFiles) {
		t.Run(c.name, func(t *testing.T) {
			l := Loader{Open: openMap(c.all())}
			tree, err := l.Load("n")
			if c.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.names, listing(tree)); diff != "" {
					t.Errorf("names (-want +got):\n%s", diff)
				}
				return
			}
			if err == nil || tree != nil {
				t.Fatalf("got tree %v and error %v, want only the error", tree, err)
			}
			if diff := cmp.Diff(c.err, err.Error()); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if !errors.Is(err, pdu.ErrPMNS) {
				t.Errorf("errors.Is(%v, pdu.ErrPMNS) is false", err)
			}
			if perr, ok := errors.AsType[*ParseError](err); !ok || perr.File == "" {
				t.Errorf("no file in %#v", err)
			}
		})
	}
}

func TestLoaderUnique(t *testing.T) {
	tests := []struct{ name, text, err string }{
		{"none", "root { a 1:2:3 b 1:2:4 }\n", ""},
		{"dynamic roots", "root { a b } b { x 5 } a { y 5:*:* }\n", ""},
		{"siblings", "root { a 1:2:3 b 1:2:3 c 1:2:3 }\n", `Duplicate metric id (1.2.3) in name space for metrics "b" and "a"`},
		{"order of the tree", "root { c b a } a { x 1:2:3 } b { y 1:1:1 } c { z 1:1:1 w 1:2:3 }\n",
			`Duplicate metric id (1.1.1) in name space for metrics "b.y" and "c.z"`},
		{"depth first", "root { a b 1:2:3 }\na { x 1:2:3 }\n", `Duplicate metric id (1.2.3) in name space for metrics "b" and "a.x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Loader{Unique: true}
			_, err := l.Parse("n", strings.NewReader(tt.text))
			got := ""
			if perr, ok := errors.AsType[*ParseError](err); ok {
				got = perr.Msg
			}
			if got != tt.err {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}
}

// TestIncludeSearch: the search order is: as written, the main file's directory, the
// installed files.
func TestIncludeSearch(t *testing.T) {
	t.Setenv("PCP_VAR_DIR", "/v")
	found := func(name string) string {
		var tried []string
		l := Loader{Open: func(name string) (io.ReadCloser, error) {
			tried = append(tried, name)
			return nil, fs.ErrNotExist
		}}
		l.Parse("dir/n", strings.NewReader("#include <"+name+">\n"))
		return strings.Join(tried, " ")
	}
	tests := []struct{ name, want string }{
		{"f", "f dir/f /v/pmns/f"},
		{"../f", "../f f /v/f"},
		{"/abs/f", "/abs/f"},
	}
	for _, tt := range tests {
		if got := found(tt.name); got != tt.want {
			t.Errorf("#include <%s> looked for %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestLoadFromDisk(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("pmns/stdpmid", "#define X 4\n")
	root := write("pmns/root", "#include <stdpmid>\nroot { a X:1:1 }\n")
	other := write("other", "#include <near>\nroot { near NEAR:1:1 }\n")
	write("near", "#define NEAR 9\n")
	onDir := write("ondir", "#include \""+filepath.ToSlash(dir)+"\"\n")
	t.Setenv("PCP_VAR_DIR", dir)

	for _, tt := range []struct{ file, env, want string }{
		{root, "", "a 4.1.1"},
		{"", "", "a 4.1.1"},
		{"", other, "near 9.1.1"},
	} {
		t.Setenv("PMNS_DEFAULT", tt.env)
		tree, err := Load(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		if got := listing(tree); got != tt.want {
			t.Errorf("Load(%q): got %q, want %q", tt.file, got, tt.want)
		}
	}
	if _, err := Load(filepath.Join(dir, "nosuch")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	want := "pmcpp: " + dir + ":\npmcpp: Error: No such file or directory\nError Parsing ASCII PMNS: pmcpp returned non-zero exit status"
	if _, err := Load(dir); !errors.Is(err, pdu.ErrPMNS) || err.Error() != want {
		t.Errorf("directory: got %v", err)
	}
	if _, err := Load(onDir); !errors.Is(err, pdu.ErrPMNS) {
		t.Errorf("include of a directory: got %v", err)
	}
}

func TestParseReadError(t *testing.T) {
	r := io.MultiReader(strings.NewReader("root {\n"), iotest.ErrReader(fs.ErrPermission))
	_, err := Parse("n", r)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "\"n\": line 2") {
		t.Errorf("got %v", err)
	}
}

// endless gives the same bytes for ever.
type endless string

func (e endless) Read(b []byte) (int, error) {
	n := 0
	for n+len(e) <= len(b) {
		n += copy(b[n:], e)
	}
	return n, nil
}

func TestLimits(t *testing.T) {
	many := Loader{Open: openMap(map[string]string{
		"n": strings.Repeat("#include \"e\"\n", 100), "e": strings.Repeat("#include \"f\"\n", 100), "f": "",
	})}
	tests := []struct {
		name string
		load func() (*Tree, error)
		msg  string
	}{
		{"endless line", func() (*Tree, error) { return Parse("n", endless("x")) }, "Absurdly long line"},
		{"endless blank lines", func() (*Tree, error) { return Parse("n", endless(strings.Repeat(" ", 200)+"\n")) }, "bytes of input"},
		{"endless comment", func() (*Tree, error) {
			return Parse("n", io.MultiReader(strings.NewReader("/*"), endless(strings.Repeat("comment ", 100)+"\n")))
		}, "bytes of input"},
		{"includes", func() (*Tree, error) { return many.Load("n") }, "More than 4096 #include lines"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.load()
			perr, ok := errors.AsType[*ParseError](err)
			if !ok || !strings.Contains(perr.Msg, tt.msg) {
				t.Fatalf("got %v, want %q", err, tt.msg)
			}
			if perr.Line == 0 {
				t.Errorf("no line in %v", err)
			}
		})
	}
}

// TestIncludesClosed: the Loader closes every file that it has opened, also after an error.
func TestIncludesClosed(t *testing.T) {
	for _, text := range []string{"root { }\n#include \"a\"\n", "#include \"a\"\n%\n", "#include \"b\"\n"} {
		open := openMap(map[string]string{"n": text, "a": "\n", "b": "%\n"})
		now, opened := 0, 0
		l := Loader{Open: func(name string) (io.ReadCloser, error) {
			f, err := open(name)
			if err != nil {
				return nil, err
			}
			now++
			opened++
			return closeFunc{f, func() { now-- }}, nil
		}}
		_, err := l.Load("n")
		if now != 0 || opened != 2 {
			t.Errorf("%q: %d of %d files still open (%v)", text, now, opened, err)
		}
	}
}

type closeFunc struct {
	io.Reader
	onClose func()
}

func (c closeFunc) Close() error {
	c.onClose()
	return nil
}
