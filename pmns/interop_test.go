package pmns

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// reference returns the path of a tool of the real PCP. Without it the test is
// skipped.
func reference(t *testing.T, tool string) string {
	t.Helper()
	pcptest.Need(t, tool)
	return pcptest.Tool(t, tool)
}

// runTool runs a tool in a directory; it returns all it wrote and whether it
// succeeded.
func runTool(t *testing.T, dir, tool string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatalf("%s: %v", tool, err)
	}
	return string(out), err == nil
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInteropFiles: pminfo agrees with what the cases say about every file.
func TestInteropFiles(t *testing.T) {
	pminfo := reference(t, "pminfo")
	for _, c := range slices.Concat(goodFiles, badFiles) {
		t.Run(c.name, func(t *testing.T) {
			if c.differs != "" {
				t.Skip("known difference:", c.differs)
			}
			dir := t.TempDir()
			writeFiles(t, dir, c.all())
			out, ok := runTool(t, dir, pminfo, "-n", "n", "-m")
			if ok != (c.err == "") {
				t.Fatalf("pminfo succeeded: %v, want %v; it wrote\n%s", ok, c.err == "", out)
			}
			switch {
			case c.ref != "":
				if !strings.Contains(out, c.ref+"\n") {
					t.Errorf("pminfo does not say %q but\n%s", c.ref, out)
				}
			case c.err != "":
				if diff := cmp.Diff(firstReport(out), c.err); diff != "" {
					t.Errorf("report (-reference +ours):\n%s", diff)
				}
			default:
				if diff := cmp.Diff(pminfoListing(out), c.names); diff != "" {
					t.Errorf("names (-reference +ours):\n%s", diff)
				}
			}
		})
	}
}

// firstReport is the first of the reports that pminfo has written. A bad PMID
// draws a second one, of a line overwritten by the first caret.
func firstReport(out string) string {
	out, _, _ = strings.Cut(out, "pminfo: ")
	lines := strings.SplitAfter(out, "\n")
	n := 1
	for n < len(lines) && !strings.Contains(lines[n], "Error Parsing ASCII PMNS") {
		n++
	}
	return strings.TrimSuffix(strings.Join(lines[:n], ""), "\n")
}

// pminfoListing is the output of pminfo -m without the derived metrics that it
// adds, in the form of listing.
func pminfoListing(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " PMID: ")
		if !strings.HasPrefix(id, "511.") && name != "" {
			lines = append(lines, name+" "+id)
		}
	}
	return strings.Join(lines, ", ")
}

func TestInteropUnique(t *testing.T) {
	pminfo := reference(t, "pminfo")
	for _, text := range []string{
		"root { a 1:2:3 b 1:2:3 c 1:2:3 }\n",
		"root { c b a } a { x 1:2:3 } b { y 1:1:1 } c { z 1:1:1 w 1:2:3 }\n",
		"root { a b 1:2:3 }\na { x 1:2:3 }\n",
	} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"n": text})
		out, _ := runTool(t, dir, pminfo, "-N", "n")
		l := Loader{Unique: true}
		_, err := l.Parse("n", strings.NewReader(text))
		if err == nil || strings.TrimSpace(firstReport(out)) != err.Error() {
			t.Errorf("%q: reference\n%s\nours\n%v", text, out, err)
		}
	}
}

// TestInteropMerge: our merged files equal those of pmnsmerge byte for byte, except that
// pmnsmerge puts the leaves that it adds to a node before the subtrees.
func TestInteropMerge(t *testing.T) {
	pmnsmerge := reference(t, "pmnsmerge")
	for _, texts := range [][]string{
		{"root { z 1:1:1 b a 5 } b { x 1:1:2 c y 1:1:3 } b.c { d 1:1:4 }\n"},
		{"root { }\n", "root { }\n"},
		{"root {\n}\n", "root { a 5 b 1:2:3 }\n"},
		{"root { a 1:2:3 }\n", "root { b 1:2:3 a 1:2:4 }\n"},
		{"root { a c b }\n a { x y z } c { q 1:2:3 } b { w 1:2:6 } a.x { k 1:3:3 } a.z { j 1:2:3 } a.y { i 1:2:8 }\n",
			"root { a d 1:2:3 }\n a { y xx 1:2:5 x } a.x { l 1:4:4 } a.y { n 1:4:6 }\n"},
		{"root { a } a { b 1:1:1 }\n", "root { c a } a { d 2:*:* b 1:1:1 } c { e 1:1:3 }\n", "root { c } c { z } c.z { zz 5 }\n"},
	} {
		want := referenceMerge(t, t.TempDir(), pmnsmerge, texts)
		var trees []*Tree
		for _, text := range texts {
			trees = append(trees, parseText(t, text))
		}
		merged, _ := Merge(trees...)
		if diff := cmp.Diff(want, written(t, merged)); diff != "" {
			t.Errorf("merge of %q (-reference +ours):\n%s", texts, diff)
		}
	}
}

func TestInteropMergeRandom(t *testing.T) {
	pmnsmerge := reference(t, "pmnsmerge")
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		if n++; n > 20 { // two processes each
			return
		}
		a, b := draw(t), draw(t)
		tree := a.tree(t)
		if diff := cmp.Diff(referenceMerge(t, dir, pmnsmerge, []string{a.text(t)}), written(t, tree)); diff != "" {
			t.Errorf("written (-reference +ours):\n%s", diff)
		}
		merged, conflicts := Merge(tree, b.tree(t))
		for _, c := range conflicts {
			if strings.Contains(c, "the names below it") {
				return // known difference: pmnsmerge makes a subtree of a leaf
			}
		}
		back, err := Parse("out", strings.NewReader(referenceMerge(t, dir, pmnsmerge, []string{a.text(t), b.text(t)})))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(maps.Collect(back.All()), maps.Collect(merged.All())); diff != "" {
			t.Errorf("merged (-reference +ours):\n%s", diff)
		}
	})
}

// A failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
}

func referenceMerge(t failer, dir, pmnsmerge string, texts []string) string {
	t.Helper()
	args := []string{"-f", "-a"}
	for i, text := range texts {
		args = append(args, string(rune('a'+i)))
		if err := os.WriteFile(filepath.Join(dir, args[i+2]), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(pmnsmerge, append(args, "out")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	text, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func written(t failer, tree *Tree) string {
	t.Helper()
	var text strings.Builder
	if _, err := tree.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestInteropInstalled: the name space of an installation means the same to both.
func TestInteropInstalled(t *testing.T) {
	pminfo := reference(t, "pminfo")
	file := filepath.Join(varDir(), "root")
	if _, err := os.Stat(file); err != nil {
		t.Skip("no installed name space:", err)
	}
	tree, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := runTool(t, t.TempDir(), pminfo, "-n", file, "-m")
	if diff := cmp.Diff(pminfoListing(out), listing(tree)); diff != "" {
		t.Errorf("names (-reference +ours):\n%s", diff)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), written(t, tree)); diff != "" {
		t.Errorf("file (-installed +written):\n%s", diff)
	}
	names := maps.Collect(tree.All())
	if len(names) != tree.Len() {
		t.Errorf("%d different names, Len is %d", len(names), tree.Len())
	}
}
