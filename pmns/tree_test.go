package pmns

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

func parseText(t testing.TB, text string) *Tree {
	t.Helper()
	tree, err := Parse("n", strings.NewReader(text+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestTreeOperations has results that were once compared with those of libpcp.
func TestTreeOperations(t *testing.T) {
	tree := parseText(t, "root { a b d 5 e } a { x 1:2:3 y } a.y { z 1:2:3 } b { w 1:2:3 } e { }")
	dynamic := pdu.DynamicRoot(5)
	metric := pdu.MakePMID(1, 2, 3)
	tests := []struct {
		name     string
		id       pdu.PMID
		err      error
		children string // "-" for pdu.ErrName
		all      string
	}{
		{"", pdu.NoPMID, pdu.ErrName, "a/ b/ d/", "a.x a.y.z b.w d"},
		{"a", pdu.NoPMID, pdu.ErrNonLeaf, "x y/", "a.x a.y.z"},
		{"a.x", metric, nil, "", "a.x"},
		{"a.y", pdu.NoPMID, pdu.ErrNonLeaf, "z", "a.y.z"},
		{"a.y.z", metric, nil, "", "a.y.z"},
		{"d", dynamic, nil, "", "d"},
		{"d.x", dynamic, nil, "-", "-"},
		{"d.x.y", dynamic, nil, "-", "-"},
		{"d.", dynamic, nil, "-", "-"},
		{"e", pdu.NoPMID, pdu.ErrName, "-", "-"},
		{"nosuch", pdu.NoPMID, pdu.ErrName, "-", "-"},
		{"a.nosuch", pdu.NoPMID, pdu.ErrName, "-", "-"},
		{"a.x.q", pdu.NoPMID, pdu.ErrName, "-", "-"},
		{"a.", pdu.NoPMID, pdu.ErrName, "-", "-"},
		{".a", pdu.NoPMID, pdu.ErrName, "-", "-"},
		{"a..x", pdu.NoPMID, pdu.ErrName, "-", "-"},
		{".", pdu.NoPMID, pdu.ErrName, "-", "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := tree.Lookup(tt.name)
			if id != tt.id || err != tt.err {
				t.Errorf("Lookup: got %v, %v, want %v, %v", id, err, tt.id, tt.err)
			}
			var got []string
			children, err := tree.Children(tt.name)
			if err != nil {
				got = []string{"-"}
			}
			for _, c := range children {
				if !c.Leaf {
					c.Name += "/"
				}
				got = append(got, c.Name)
			}
			if s := strings.Join(got, " "); s != tt.children || err != nil && err != pdu.ErrName {
				t.Errorf("Children: got %q, %v, want %q", s, err, tt.children)
			}
			got = nil
			seq, err := tree.Traverse(tt.name)
			if err != nil {
				got = []string{"-"}
			} else {
				for name := range seq {
					got = append(got, name)
				}
			}
			if s := strings.Join(got, " "); s != tt.all || err != nil && err != pdu.ErrName {
				t.Errorf("Traverse: got %q, %v, want %q", s, err, tt.all)
			}
		})
	}
	if got := tree.Len(); got != 4 {
		t.Errorf("Len: got %d, want 4", got)
	}
	for id, want := range map[pdu.PMID][]string{
		metric: {"b.w", "a.y.z", "a.x"}, dynamic: nil, pdu.NoPMID: nil, pdu.MakePMID(1, 2, 4): nil, 0: nil,
	} {
		if diff := cmp.Diff(want, tree.Names(id)); diff != "" {
			t.Errorf("Names(%v) (-want +got):\n%s", id, diff)
		}
	}
}

func TestEmptyTrees(t *testing.T) {
	merged, _ := Merge()
	for name, tree := range map[string]*Tree{
		"nil": nil, "zero": {}, "built": new(Builder).Tree(), "parsed": parseText(t, "root {"), "merged": merged,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tree.Lookup("a"); err != pdu.ErrName {
				t.Errorf("Lookup: got %v", err)
			}
			if children, err := tree.Children(""); len(children) != 0 || err != nil {
				t.Errorf("Children: got %v, %v", children, err)
			}
			if tree.Len() != 0 || tree.Names(0) != nil || !tree.Equal(nil) {
				t.Error("it has names")
			}
			var text strings.Builder
			if n, err := tree.WriteTo(&text); text.String() != "root {\n}\n" || n != 9 || err != nil {
				t.Errorf("WriteTo: got %q, %d, %v", &text, n, err)
			}
		})
	}
}

func TestTraverseStops(t *testing.T) {
	tree := parseText(t, "root { a b 1:1:1 } a { x 1:2:3 y 1:2:4 }")
	for stop := 1; stop <= 3; stop++ {
		n := 0
		for range tree.All() {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("got %d names, want %d", n, stop)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	tree := manyNames(t, 1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for name, id := range tree.All() {
				got, err := tree.Lookup(name)
				if got != id || err != nil || len(tree.Names(id)) != 1 {
					t.Errorf("%s: got %v, %v and names %v", name, got, err, tree.Names(id))
				}
			}
		})
	}
	wg.Wait()
}

func TestLookupAllocs(t *testing.T) {
	tree := manyNames(t, 10000)
	for _, name := range []string{"top3.mid7.leaf42", "top3.mid7", "top3.nosuch"} {
		if n := testing.AllocsPerRun(100, func() { tree.Lookup(name) }); n != 0 {
			t.Errorf("Lookup(%q) allocates %v times", name, n)
		}
	}
	id, _ := tree.Lookup("top3.mid7.leaf42")
	if n := testing.AllocsPerRun(100, func() { tree.Names(id) }); n != 0 {
		t.Errorf("Names allocates %v times", n)
	}
}

func TestBuilderAdd(t *testing.T) {
	one, two := pdu.MakePMID(1, 1, 1), pdu.MakePMID(1, 1, 2)
	tests := []struct {
		name string
		id   pdu.PMID
		err  error
	}{
		{"b.z", one, nil},
		{"b.y.x", two, nil},
		{"a", one, nil},
		{"dyn", pdu.DynamicRoot(510), nil},
		{"derived", pdu.MakePMID(511, 0, 1), nil},
		{"a", one, nil}, // again
		{"b.y.x", two, nil},
		{"a", two, pdu.ErrPMID},
		{"dyn", one, pdu.ErrPMID},
		{"a.b", one, pdu.ErrName},
		{"dyn.b", one, pdu.ErrName},
		{"b.z.x.y", one, pdu.ErrName},
		{"b", one, pdu.ErrNonLeaf},
		{"b.y", one, pdu.ErrNonLeaf},
		{"", one, pdu.ErrName},
		{".", one, pdu.ErrName},
		{"c.", one, pdu.ErrName},
		{".c", one, pdu.ErrName},
		{"c..d", one, pdu.ErrName},
		{"c.1", one, pdu.ErrName},
		{"c._d", one, pdu.ErrName},
		{"c d", one, pdu.ErrName},
		{"cé", one, pdu.ErrName},
		{"c", pdu.NoPMID, pdu.ErrPMID},
		{"c", 1 << 31, pdu.ErrPMID},
		{"c", pdu.DynamicRoot(511), pdu.ErrPMID},
	}
	var b, front Builder
	front.Prepend = true
	for _, tt := range tests {
		for _, b := range []*Builder{&b, &front} {
			if err := b.Add(tt.name, tt.id); !errors.Is(err, tt.err) {
				t.Errorf("Add(%q, %v): got %v, want %v", tt.name, tt.id, err, tt.err)
			}
		}
	}
	tree := b.Tree()
	const want = "b.z 1.1.1, b.y.x 1.1.2, a 1.1.1, dyn 510.*.*, derived 511.0.1"
	if diff := cmp.Diff(want, listing(tree)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("derived 511.0.1, dyn 510.*.*, a 1.1.1, b.y.x 1.1.2, b.z 1.1.1", listing(front.Tree())); diff != "" {
		t.Errorf("names with Prepend (-want +got):\n%s", diff)
	}
	if err := b.Add("b.new", one); err != nil {
		t.Fatal(err)
	}
	if got := listing(tree); got != want {
		t.Errorf("Add changed a tree made before to %q", got)
	}
}

func TestMergeConflicts(t *testing.T) {
	type in []string
	tests := []struct {
		name      string
		in        in
		want      string
		conflicts []string
	}{
		{"none", in{"root { a } a { x 1:1:1 }", "root { b a } a { y 1:1:2 x 1:1:1 } b { z 2 }"}, "a.x 1.1.1, a.y 1.1.2, b.z 2.*.*", nil},
		{"PMIDs", in{"root { a b } a { x 1:2:3 } b { y 5 }", "root { b a } a { x 1:2:9 } b { y 6 }"}, "a.x 1.2.3, b.y 5.*.*", []string{
			`performance metric "a.x" has multiple PMIDs, using PMID 1.2.3 and ignoring PMID 1.2.9`,
			`performance metric "b.y" has multiple PMIDs, using PMID 5.*.* and ignoring PMID 6.*.*`,
		}},
		{"leaf and subtree", in{"root { a 1:2:3 b } b { x 1:1:1 }", "root { a b 5 } a { y 1:1:2 }"}, "a 1.2.3, b.x 1.1.1", []string{
			`performance metric "a" has multiple PMIDs, using PMID 1.2.3 and ignoring the names below it`,
			`performance metric "b" has multiple PMIDs, using the names below it and ignoring PMID 5.*.*`,
		}},
		{"against the added", in{"root { }", "root { a 1:1:1 }", "root { a 1:1:2 b 1:1:1 }", "root { b 1:1:1 a 1:1:1 }"}, "a 1.1.1, b 1.1.1", []string{
			`performance metric "a" has multiple PMIDs, using PMID 1.1.1 and ignoring PMID 1.1.2`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trees := []*Tree{nil}
			for _, text := range tt.in {
				trees = append(trees, parseText(t, text))
			}
			merged, conflicts := Merge(trees...)
			if diff := cmp.Diff(tt.want, listing(merged)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.conflicts, conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMergeShares: a merge shares the parts that only one tree has, and its cost does not grow
// with them.
func TestMergeShares(t *testing.T) {
	big := manyNames(t, 10000)
	small := parseText(t, "root { top3 zz 1:1:1 } top3 { mid7 } top3.mid7 { new 1:1:2 }")
	merged, conflicts := Merge(big, small)
	if len(conflicts) != 0 || merged.Len() != big.Len()+2 {
		t.Fatalf("got %d names and conflicts %v", merged.Len(), conflicts)
	}
	if merged.top().child("top4") != big.top().child("top4") {
		t.Error("an untouched subtree was copied")
	}
	if again, _ := Merge(merged, big, small, merged); again.root != merged.root {
		t.Error("a merge that adds nothing made new nodes")
	}
	if n := testing.AllocsPerRun(10, func() { Merge(big, small) }); n > 60 {
		t.Errorf("merging 2 names into %d allocates %v times", big.Len(), n)
	}
}

func TestWriteErrors(t *testing.T) {
	long := strings.Repeat("x", 200)
	tests := []struct {
		name string
		id   pdu.PMID
		err  error
	}{
		{"a.derived", pdu.MakePMID(511, 0, 1), pdu.ErrPMID},
		{"a." + long + long, 1, pdu.ErrPMNS},
		{long + "." + long + ".x", 1, pdu.ErrPMNS},
		{"root.a", 1, pdu.ErrPMNS},
		{"a.root.a", 1, nil},
		{"root", 1, nil},
	}
	for _, tt := range tests {
		var b Builder
		if err := b.Add(tt.name, tt.id); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		n, err := b.Tree().WriteTo(&text)
		if !errors.Is(err, tt.err) || n != int64(text.Len()) {
			t.Errorf("%.20s: got %v and %d bytes, want %v and %d bytes", tt.name, err, n, tt.err, text.Len())
		}
		if tt.err == nil {
			if back, err := Parse("n", strings.NewReader(text.String())); err != nil || !back.Equal(b.Tree()) {
				t.Errorf("%.20s: read back: %v, %v", tt.name, err, back)
			}
		}
	}
	r, w := io.Pipe()
	r.CloseWithError(io.ErrShortWrite)
	if _, err := manyNames(t, 1000).WriteTo(w); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("failing writer: got %v", err)
	}
}

// manyNames is a tree of n names in three levels; mid nodes have 100 children
// at most.
func manyNames(t testing.TB, n int) *Tree {
	t.Helper()
	var b Builder
	for i := range n {
		name := fmt.Sprintf("top%d.mid%d.leaf%d", i%10, i/10%(n/1000), i/(n/100))
		if err := b.Add(name, pdu.MakePMID(pdu.Domain(i%10), i/1024, i%1024)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}
