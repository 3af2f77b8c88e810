package pdu_test

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

// addByType is what Number does, with the methods for one type.
func addByType(w *pdu.ResultWriter, id pdu.PMID, t pdu.Type, bits uint64) {
	w.Begin(id)
	switch t {
	case pdu.Type32:
		w.Int32(pdu.NoInst, int32(bits))
	case pdu.TypeU32:
		w.Uint32(pdu.NoInst, uint32(bits))
	case pdu.Type64:
		w.Int64(pdu.NoInst, int64(bits))
	case pdu.TypeU64:
		w.Uint64(pdu.NoInst, bits)
	case pdu.TypeFloat:
		w.Float32(pdu.NoInst, math.Float32frombits(uint32(bits)))
	case pdu.TypeDouble:
		w.Float64(pdu.NoInst, math.Float64frombits(bits))
	default:
		w.Fail(pdu.ErrType)
	}
}

// TestResultWriterNumber: Number equals Begin and a method for the type, in new writers and in
// used ones, also at a limit of length or memory.
func TestResultWriterNumber(t *testing.T) {
	types := []pdu.Type{pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble, pdu.TypeString, pdu.TypeNoSupport}
	rapid.Check(t, func(t *rapid.T) {
		var at, by pdu.ResultWriter
		purses := [2]purse{}
		if rapid.Bool().Draw(t, "used") {
			for i := range 100 {
				at.Number(pdu.PMID(i), pdu.TypeU64, 1)
			}
			at.Reset()
		}
		limit := rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 2000)).Draw(t, "limit")
		at.Limit, by.Limit = limit, limit
		if rapid.Bool().Draw(t, "memory") {
			left := rapid.IntRange(0, 10_000).Draw(t, "left")
			purses = [2]purse{{left: left}, {left: left}}
			at.Memory, by.Memory = &purses[0], &purses[1]
		}
		for id := range pdu.PMID(rapid.IntRange(1, 300).Draw(t, "sets")) {
			typ := types[rapid.IntRange(0, len(types)-1).Draw(t, "type")]
			bits := rapid.Uint64().Draw(t, "bits")
			at.Number(id, typ, bits)
			addByType(&by, id, typ, bits)
		}
		if at.Err() != by.Err() || at.Len() != by.Len() {
			t.Errorf("%d sets, error %v; want %d, %v", at.Len(), at.Err(), by.Len(), by.Err())
		}
		got, err := at.Append(nil, pdu.FormatHighRes)
		if err != nil {
			t.Fatal(err)
		}
		want, err := by.Append(nil, pdu.FormatHighRes)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("got %x,\nwant %x", got, want)
		}
	})
}

// BenchmarkResultWriterNumber writes 1000 numbers of singular metrics.
func BenchmarkResultWriterNumber(b *testing.B) {
	for name, add := range map[string]func(w *pdu.ResultWriter, id pdu.PMID, t pdu.Type, bits uint64){
		"at-once": (*pdu.ResultWriter).Number, "by-type": addByType,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var w pdu.ResultWriter
			for b.Loop() {
				w.Reset()
				for id := range pdu.PMID(1000) {
					add(&w, id, pdu.TypeU64, 1)
				}
			}
		})
	}
}
