package pmns

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1000, 100000} {
		var text bytes.Buffer
		if _, err := manyNames(b, n).WriteTo(&text); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("names=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, err := Parse("n", bytes.NewReader(text.Bytes())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	tree := manyNames(b, 100000)
	b.ReportAllocs()
	for b.Loop() {
		tree.Lookup("top3.mid7.leaf42")
	}
}

func BenchmarkTraverse(b *testing.B) {
	tree := manyNames(b, 100000)
	b.ReportAllocs()
	for b.Loop() {
		for range tree.All() {
		}
	}
}

// BenchmarkMerge merges the names of a collector's agents, as after a change in one of them.
func BenchmarkMerge(b *testing.B) {
	var agents []*Tree
	for i := range 20 {
		var a Builder
		for j := range 5000 {
			if err := a.Add(fmt.Sprintf("agent%d.group%d.metric%d", i, j/100, j), pdu.MakePMID(pdu.Domain(i), j/1024, j%1024)); err != nil {
				b.Fatal(err)
			}
		}
		agents = append(agents, a.Tree())
	}
	b.Run("agents=20/names=100000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Merge(agents...)
		}
	})
	b.Run("agents=20/names=100000/index", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t, _ := Merge(agents...)
			t.Names(0)
		}
	})
}
