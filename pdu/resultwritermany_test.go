package pdu_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

// twoWays writes the same values to two writers, to one of them one by one.
func twoWays[T any](t *rapid.T, all, single *pdu.ResultWriter, value *rapid.Generator[T],
	many func(*pdu.ResultWriter, []pdu.InstID, []T), one func(*pdu.ResultWriter, pdu.InstID, T)) {
	insts := rapid.SliceOfN(anyInst, 0, 70).Draw(t, "insts")
	values := rapid.SliceOfN(value, len(insts), len(insts)).Draw(t, "values")
	many(all, insts, values)
	for i, v := range values {
		one(single, insts[i], v)
	}
}

// Values that are written at once are those that are written one by one, also
// where a limit cuts them off or their types do not go together.
func TestManyValues(t *testing.T) {
	type writer = *pdu.ResultWriter
	kinds := []func(t *rapid.T, all, single writer){
		func(t *rapid.T, all, single writer) {
			twoWays(t, all, single, rapid.Int32(), writer.Int32s, writer.Int32)
		},
		func(t *rapid.T, all, single writer) {
			twoWays(t, all, single, rapid.Uint32(), writer.Uint32s, writer.Uint32)
		},
		func(t *rapid.T, all, single writer) {
			twoWays(t, all, single, rapid.Int64(), writer.Int64s, writer.Int64)
		},
		func(t *rapid.T, all, single writer) {
			twoWays(t, all, single, rapid.Uint64(), writer.Uint64s, writer.Uint64)
		},
		func(t *rapid.T, all, single writer) {
			twoWays(t, all, single, rapid.Float64(), writer.Float64s, writer.Float64)
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		var all, single pdu.ResultWriter
		limit := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 2000)).Draw(t, "limit")
		all.Limit, single.Limit = limit, limit
		for id := range pdu.PMID(rapid.IntRange(1, 5).Draw(t, "sets")) {
			all.Begin(id)
			single.Begin(id)
			kind := rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				if rapid.IntRange(0, 9).Draw(t, "another") == 0 {
					kind = rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")
				}
				kinds[kind](t, &all, &single)
			}
		}
		got, err := all.Append(nil, pdu.FormatHighRes)
		if err != nil {
			t.Fatal(err)
		}
		want, err := single.Append(nil, pdu.FormatHighRes)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("at once %x,\none by one %x", got, want)
		}
	})
}

func TestManyValuesOfOtherLength(t *testing.T) {
	insts := make([]pdu.InstID, 1, 4) // whose capacity would do
	for name, add := range map[string]func(w *pdu.ResultWriter, insts []pdu.InstID){
		"Int32s":   func(w *pdu.ResultWriter, insts []pdu.InstID) { w.Int32s(insts, make([]int32, 2)) },
		"Uint32s":  func(w *pdu.ResultWriter, insts []pdu.InstID) { w.Uint32s(insts, make([]uint32, 2)) },
		"Int64s":   func(w *pdu.ResultWriter, insts []pdu.InstID) { w.Int64s(insts, make([]int64, 2)) },
		"Uint64s":  func(w *pdu.ResultWriter, insts []pdu.InstID) { w.Uint64s(insts, make([]uint64, 2)) },
		"Float64s": func(w *pdu.ResultWriter, insts []pdu.InstID) { w.Float64s(insts, make([]float64, 2)) },
	} {
		for n, want := range map[int]string{1: "pdu: 1 instances for 2 values", 3: "pdu: 3 instances for 2 values"} {
			var w pdu.ResultWriter
			w.Begin(1)
			size := w.Size()
			func() {
				defer func() {
					if got := recover(); got != want {
						t.Errorf("%s: panic %v, want %q", name, got, want)
					}
				}()
				add(&w, insts[:n])
			}()
			if w.Size() != size {
				t.Errorf("%s: the writer has grown from %d to %d bytes", name, size, w.Size())
			}
		}
	}
}
