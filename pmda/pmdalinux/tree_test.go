package pmdalinux_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// files is a small tree: texts by file name. A text that begins with -> is a link. A name that ends
// with a slash is an empty directory.
//
// As a text, a tree has one line such as these for each of its files:
//
//	-- proc/stat --
//	-- proc/tty/driver/ --
//	-- sys/block/sda -> ../devices/pci0000:00/block/sda --
//	-- proc/sys/kernel/hostname = "no\x00name" --
//
// The lines of the file follow the first form. The last form is for contents that are not lines of
// text. Text before the first file is a comment.
type files map[string]string

// parseTree reads the text of a tree.
func parseTree(text string) (files, error) {
	tree := files{}
	last := ""
	for line := range strings.Lines(text) {
		head, is := cutHead(line)
		if !is {
			if last != "" {
				tree[last] += line
			}
			continue
		}
		name, target, isLink := strings.Cut(head, " -> ")
		name, quoted, isQuoted := strings.Cut(name, " = ")
		switch _, again := tree[name]; {
		case name == "" || again:
			return nil, fmt.Errorf("%q: no name, or twice the same", line)
		case isLink:
			tree[name], last = "->"+target, ""
		case isQuoted:
			value, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%q: %v", line, err)
			}
			tree[name], last = value, ""
		default:
			tree[name], last = "", name
		}
	}
	return tree, nil
}

// cutHead returns the text between the dashes of the line before a file.
func cutHead(line string) (head string, is bool) {
	head, is1 := strings.CutPrefix(line, "-- ")
	head, is2 := strings.CutSuffix(strings.TrimSuffix(head, "\n"), " --")
	return head, is1 && is2
}

// String returns the text of a tree.
func (f files) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f)) {
		text := f[name]
		target, isLink := strings.CutPrefix(text, "->")
		switch {
		case isLink:
			fmt.Fprintf(&b, "-- %s -> %s --\n", name, target)
		case !isText(text):
			fmt.Fprintf(&b, "-- %s = %q --\n", name, text)
		default:
			fmt.Fprintf(&b, "-- %s --\n%s", name, text)
		}
	}
	return b.String()
}

// isText reports whether a file consists of lines of text that cannot be mistaken for the line
// before a file.
func isText(s string) bool {
	if strings.Contains(s, "\x00") || !utf8.ValidString(s) {
		return false
	}
	for line := range strings.Lines(s) {
		if _, is := cutHead(line); is || !strings.HasSuffix(line, "\n") {
			return false
		}
	}
	return true
}

// readTree reads a tree from testdata.
func readTree(t testing.TB, path string) files {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parseTree(string(text))
	if err != nil {
		t.Fatal(path, err)
	}
	return tree
}

// write writes the tree to a new directory.
func (f files) write(t testing.TB) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range f {
		if target, is := strings.CutPrefix(text, "->"); is {
			link(t, root, name, target)
		} else if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(name)), 0o777); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, root, name, text)
		}
	}
	return root
}

// valuesOf returns the values of metrics on a tree.
func (f files) valuesOf(t testing.TB, names ...string) string {
	t.Helper()
	return ourAgent(t, f.write(t)).snapshot(names).String()
}

// TestTreeText checks that a tree stays the same when it is written and read.
func TestTreeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([ -~]{0,9}\n|-- [a-z =>]{1,9} --\n){0,3}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		text = text.Filter(func(s string) bool { return !strings.HasPrefix(s, "->") })
		tree := files(rapid.MapOf(rapid.StringMatching(`[a-z0-9:!._-]+(/[a-z0-9:!._-]+)?`), text).Draw(t, "tree"))
		tree["proc/empty/"], tree["sys/link"] = "", "->../target"
		got, err := parseTree("a comment\n" + tree.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree, got); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	})
}
