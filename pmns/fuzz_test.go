package pmns

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// FuzzPMNS gives the loader a file that may include itself and a second one. A
// refused file gives a proper error and no tree; an accepted one can be used,
// and what is written of it reads back to the same tree.
func FuzzPMNS(f *testing.F) {
	for _, c := range slices.Concat(goodFiles, badFiles) {
		other := slices.Sorted(maps.Values(c.files))
		f.Add([]byte(c.text), []byte(strings.Join(other, "\n")))
	}
	f.Add([]byte("#include \"o\"\nroot { A a.b.c 1:2:3 }\n"), []byte("#define A a\n#ifdef B\n#include \"n\"\n#endif\n"))
	f.Fuzz(func(t *testing.T, text, other []byte) {
		l := Loader{Open: func(name string) (io.ReadCloser, error) {
			if name == "n" {
				return io.NopCloser(bytes.NewReader(text)), nil
			}
			return io.NopCloser(bytes.NewReader(other)), nil
		}}
		tree, err := l.Load("n")
		if err != nil {
			perr, ok := errors.AsType[*ParseError](err)
			if !ok || tree != nil || perr.Msg == "" || perr.Column > len(perr.Text) {
				t.Fatalf("got %v and error %#v", tree, err)
			}
			return
		}
		var again Builder
		for name, id := range tree.All() {
			if got, err := tree.Lookup(name); got != id || err != nil {
				t.Fatalf("Lookup(%q): got %v, %v, want %v", name, got, err, id)
			}
			if _, dynamic := id.IsDynamicRoot(); !dynamic && !slices.Contains(tree.Names(id), name) {
				t.Fatalf("Names(%v): got %q, want also %q", id, tree.Names(id), name)
			}
			if err := again.Add(name, id); err != nil {
				t.Fatal(err)
			}
		}
		if !again.Tree().Equal(tree) {
			t.Fatalf("built: %s\nread: %s", listing(again.Tree()), listing(tree))
		}
		var out bytes.Buffer
		if _, err := tree.WriteTo(&out); err != nil {
			if !errors.Is(err, pdu.ErrPMNS) {
				t.Fatal(err)
			}
			return // a path on a separate line had no room for the brace
		}
		back, err := Parse("written", &out)
		if err != nil || !back.Equal(tree) {
			t.Fatalf("read back: %v\n got %s\nwant %s", err, listing(back), listing(tree))
		}
	})
}
