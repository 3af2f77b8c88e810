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
