package pmns

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

// A model is a name space as a list of names, in the order of the tree or not.
type model []entry

type entry struct {
	name string
	id   pdu.PMID
}

var componentGen = rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "A", "aa", "a_1"})

var idGen = rapid.Custom(func(t *rapid.T) pdu.PMID {
	d := pdu.Domain(rapid.IntRange(0, 3).Draw(t, "domain"))
	if rapid.IntRange(0, 9).Draw(t, "dynamic") == 0 {
		return pdu.DynamicRoot(d)
	}
	return pdu.MakePMID(d, rapid.IntRange(0, 2).Draw(t, "cluster"), rapid.IntRange(0, 2).Draw(t, "item"))
})

// draw makes a model by the rules of Builder.Add, done by hand.
func draw(t *rapid.T) model {
	var m model
	for range rapid.IntRange(0, 40).Draw(t, "names") {
		name := strings.Join(rapid.SliceOfN(componentGen, 1, 4).Draw(t, "name"), ".")
		m.add(name, idGen.Draw(t, "id")) // or not, if it does not fit
	}
	return m
}

// add adds an entry to the model, or returns the error that a Builder must return.
func (m *model) add(name string, id pdu.PMID) error {
	for _, e := range *m {
		switch {
		case e.name == name && e.id == id:
			return nil
		case e.name == name:
			return pdu.ErrPMID
		case strings.HasPrefix(name, e.name+"."):
			return pdu.ErrName
		case strings.HasPrefix(e.name, name+"."):
			return pdu.ErrNonLeaf
		}
	}
	*m = append(*m, entry{name, id})
	return nil
}

// below lists the entries in the order of a tree: all entries of the first child come first, even
// if the list has others between them.
func (m model) below(prefix string) model {
	var out model
	for _, c := range m.children(prefix) {
		path := prefix + c.Name
		for _, e := range m {
			if e.name == path {
				out = append(out, e)
			}
		}
		out = append(out, m.below(path+".")...)
	}
	return out
}

func (m model) children(prefix string) []Child {
	var out []Child
	for _, e := range m {
		rest, ok := strings.CutPrefix(e.name, prefix)
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(rest, ".")
		_, dynamic := e.id.IsDynamicRoot()
		if !slices.ContainsFunc(out, func(c Child) bool { return c.Name == first }) {
			out = append(out, Child{Name: first, Leaf: !deeper && !dynamic})
		}
	}
	return out
}

func (m model) lookup(name string) (pdu.PMID, error) {
	err := error(pdu.ErrName)
	for _, e := range m {
		_, dynamic := e.id.IsDynamicRoot()
		if e.name == name || dynamic && strings.HasPrefix(name, e.name+".") {
			return e.id, nil
		}
		if strings.HasPrefix(e.name, name+".") {
			err = pdu.ErrNonLeaf
		}
	}
	return pdu.NoPMID, err
}

func (m model) tree(t *rapid.T) *Tree {
	var b Builder
	for _, e := range m {
		if err := b.Add(e.name, e.id); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// text is a file with the model: its nodes in any order and any layout.
func (m model) text(t *rapid.T) string {
	space := rapid.SampledFrom([]string{" ", "\n", "\t", " \n ", "\n/* c */\n"})
	paths := []string{"root"}
	for _, e := range m {
		for i, c := range e.name {
			if c == '.' && !slices.Contains(paths, e.name[:i]) {
				paths = append(paths, e.name[:i])
			}
		}
	}
	var b strings.Builder
	for _, path := range rapid.Permutation(paths).Draw(t, "order") {
		prefix := path + "."
		if path == "root" {
			prefix = ""
		}
		b.WriteString(path + space.Draw(t, "space") + "{" + space.Draw(t, "space"))
		for _, c := range m.children(prefix) {
			b.WriteString(c.Name + " ")
			for _, e := range m {
				if d, dynamic := e.id.IsDynamicRoot(); e.name == prefix+c.Name && dynamic {
					fmt.Fprintf(&b, "%d:*:*", d)
				} else if e.name == prefix+c.Name {
					b.WriteString(strings.ReplaceAll(e.id.String(), ".", ":"))
				}
			}
			b.WriteString(space.Draw(t, "space"))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// check compares a tree with a model in every operation.
func (m model) check(t *rapid.T, tree *Tree) {
	t.Helper()
	var got model
	for name, id := range tree.All() {
		got = append(got, entry{name, id})
	}
	want := m.below("")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
		t.Fatalf("names (-want +got):\n%s", diff)
	}
	if tree.Len() != len(want) {
		t.Fatalf("Len is %d, want %d", tree.Len(), len(want))
	}
	lookups := []string{strings.Join(rapid.SliceOfN(componentGen, 0, 5).Draw(t, "name"), ".")}
	byID := make(map[pdu.PMID][]string)
	for _, e := range want {
		lookups = append(lookups, e.name, e.name+".x", e.name[:strings.LastIndexByte(e.name, '.')+1])
		if _, dynamic := e.id.IsDynamicRoot(); !dynamic {
			byID[e.id] = slices.Insert(byID[e.id], 0, e.name) // the last comes first
		}
	}
	for id, names := range byID {
		if diff := cmp.Diff(names, tree.Names(id)); diff != "" {
			t.Fatalf("Names(%v) (-want +got):\n%s", id, diff)
		}
	}
	for _, name := range lookups {
		id, err := tree.Lookup(name)
		if wantID, wantErr := m.lookup(name); id != wantID || err != wantErr {
			t.Fatalf("Lookup(%q): got %v, %v, want %v, %v", name, id, err, wantID, wantErr)
		}
		children, err := tree.Children(name)
		if want := m.children(name + "."); err == nil && name != "" {
			if diff := cmp.Diff(want, children); diff != "" {
				t.Fatalf("Children(%q) (-want +got):\n%s", name, diff)
			}
		} else if name != "" && len(want) > 0 {
			t.Fatalf("Children(%q): %v, want %v", name, err, want)
		}
	}
}

// TestModel: after any additions a Builder equals the model, and so does its tree in any written
// form.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m model
		var b Builder
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				name := strings.Join(rapid.SliceOfN(componentGen, 1, 4).Draw(t, "name"), ".")
				id := idGen.Draw(t, "id")
				want := m.add(name, id)
				switch err := b.Add(name, id); {
				case !errors.Is(err, want):
					t.Fatalf("Add(%q, %v): got %v, want %v", name, id, err, want)
				}
			},
			"read": func(t *rapid.T) { m.check(t, b.Tree()) },
			"write": func(t *rapid.T) {
				tree := b.Tree()
				var text strings.Builder
				if _, err := tree.WriteTo(&text); err != nil {
					t.Fatal(err)
				}
				for _, s := range []string{text.String(), m.text(t)} {
					back, err := Parse("n", strings.NewReader(s))
					if err != nil {
						t.Fatalf("%v\n%s", err, s)
					}
					if diff := cmp.Diff(tree, back); diff != "" {
						t.Fatalf("read back (-want +got):\n%s%s", diff, s)
					}
				}
			},
		})
	})
}

// TestMergeModel: a merge equals adding the names of the trees in turn without those that a
// Builder refuses. The grouping of the arguments does not matter.
func TestMergeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		models := rapid.SliceOfN(rapid.Custom(draw), 0, 4).Draw(t, "models")
		var sum model
		refused := 0
		var trees []*Tree
		for _, m := range models {
			for _, e := range m.below("") {
				if sum.add(e.name, e.id) != nil {
					refused++
				}
			}
			trees = append(trees, m.tree(t))
		}
		merged, conflicts := Merge(trees...)
		sum.check(t, merged)
		if len(conflicts) > refused || (len(conflicts) == 0) != (refused == 0) {
			t.Fatalf("%d conflicts, but %d names were refused: %v", len(conflicts), refused, conflicts)
		}
		if n := len(trees); n > 1 {
			left, _ := Merge(trees[:n-1]...)
			if again, _ := Merge(left, trees[n-1]); !again.Equal(merged) {
				t.Fatalf("in two steps: %s\nat once: %s", listing(again), listing(merged))
			}
		}
		if again, conflicts := Merge(merged, merged); again.root != merged.root || conflicts != nil {
			t.Fatalf("with itself: %s, conflicts %v", listing(again), conflicts)
		}
		for i, m := range models {
			m.check(t, trees[i]) // a merge leaves its arguments alone
		}
	})
}
