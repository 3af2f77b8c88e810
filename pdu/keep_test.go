package pdu

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConnKeep: Keep gives away only the buffers of long PDUs, and the bytes after the PDU are
// not lost.
func TestConnKeep(t *testing.T) {
	long := strings.Repeat("a long text\n", keepLen/10)
	var stream bytes.Buffer
	out := NewConn(&stream)
	for _, text := range []string{"short", long, "after it", long + "!", long} {
		if err := out.Write(0, TextReply{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	c := NewConn(&stream)
	c.Eager = true
	var kept []TextReply
	for _, tt := range []struct {
		text string
		keep bool
	}{{"short", false}, {long, true}, {"after it", false}, {long + "!", true}, {long, true}} {
		_, body, err := c.Read()
		if err != nil {
			t.Fatal(err)
		}
		if keep := c.Keep(); keep != tt.keep {
			t.Fatalf("%.10q of %d bytes: kept %v, want %v", tt.text, len(tt.text), keep, tt.keep)
		}
		var p TextReply
		decode := p.Decode
		if tt.keep {
			decode = p.DecodeInPlace
		}
		if err := decode(body); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, p)
	}
	want := []TextReply{{Text: "short"}, {Text: long}, {Text: "after it"}, {Text: long + "!"}, {Text: long}}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error("a kept body has changed") // the difference has megabytes
	}
}

// TestDecodeInPlace checks that DecodeInPlace decodes what Decode does, without a copy of the
// bytes.
func TestDecodeInPlace(t *testing.T) {
	encode := func(p PDU) []byte {
		b, err := p.Append(make([]byte, HeaderLen))
		if err != nil {
			t.Fatal(err)
		}
		return b[HeaderLen:]
	}
	list := NameList{Names: []string{"a.b", "", "c"}, Statuses: []int32{Leaf, NonLeaf, Leaf}}
	insts := InstanceReply{InDom: 7, Instances: []Instance{{ID: 1, Name: "one"}, {ID: 2}}}
	var gotList NameList
	var gotInsts InstanceReply
	if err := gotList.DecodeInPlace(encode(list)); err != nil {
		t.Error(err)
	}
	if err := gotInsts.DecodeInPlace(encode(insts)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]any{list, insts}, []any{gotList, gotInsts}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var w ResultWriter
	w.Begin(3)
	w.String(NoInst, strings.Repeat("x", 1<<20))
	body := encode(w.PDU(FormatHighRes))
	var before, r Result
	before.Format, r.Format = FormatHighRes, FormatHighRes
	if err := before.Decode(body); err != nil {
		t.Fatal(err)
	}
	if err := r.DecodeInPlace(body); err != nil || r.Validate() != nil || r.At(0).Atom(0, TypeString).String() != before.At(0).Atom(0, TypeString).String() {
		t.Errorf("decoded otherwise: %v", err)
	}
	if n := testing.AllocsPerRun(10, func() { r.DecodeInPlace(body) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
