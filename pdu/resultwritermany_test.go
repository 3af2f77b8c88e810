package pdu_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

// twoWays writes the same numbers to two writers, to one of them one by one.
func twoWays(t *rapid.T, all, single *pdu.ResultWriter, typ pdu.Type) {
	insts := rapid.SliceOfN(anyInst, 0, 70).Draw(t, "insts")
	bits := rapid.SliceOfN(rapid.Uint64(), len(insts), len(insts)).Draw(t, "bits")
	all.Numbers(typ, insts, bits)
	for i, v := range bits {
		addBits(single, typ, insts[i], v)
	}
}

var numberTypes = []pdu.Type{pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble}

// addBits adds a number that is given by its bits.
func addBits(w *pdu.ResultWriter, t pdu.Type, inst pdu.InstID, bits uint64) {
	switch t {
	case pdu.Type32:
		w.Int32(inst, int32(bits))
	case pdu.TypeU32:
		w.Uint32(inst, uint32(bits))
	case pdu.Type64:
		w.Int64(inst, int64(bits))
	case pdu.TypeU64:
		w.Uint64(inst, bits)
	case pdu.TypeFloat:
		w.Float32(inst, math.Float32frombits(uint32(bits)))
	case pdu.TypeDouble:
		w.Float64(inst, math.Float64frombits(bits))
	default:
		w.Fail(pdu.ErrType)
	}
}

// TestManyValues: values that are written at once equal values that are written one by one, also
// where a limit cuts them off or their types do not match.
func TestManyValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all, single pdu.ResultWriter
		limit := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 2000)).Draw(t, "limit")
		all.Limit, single.Limit = limit, limit
		for id := range pdu.PMID(rapid.IntRange(1, 5).Draw(t, "sets")) {
			all.Begin(id)
			single.Begin(id)
			types := rapid.SampledFrom(append(numberTypes, pdu.TypeString))
			typ := types.Draw(t, "type")
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				if rapid.IntRange(0, 9).Draw(t, "another") == 0 {
					typ = types.Draw(t, "type")
				}
				twoWays(t, &all, &single, typ)
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
	for _, typ := range append(numberTypes, pdu.TypeString) {
		for n, want := range map[int]string{1: "pdu: 1 instances for 2 values", 3: "pdu: 3 instances for 2 values"} {
			var w pdu.ResultWriter
			w.Begin(1)
			size := w.Size()
			func() {
				defer func() {
					if got := recover(); got != want {
						t.Errorf("%v: panic %v, want %q", typ, got, want)
					}
				}()
				w.Numbers(typ, insts[:n], make([]uint64, 2))
			}()
			if w.Size() != size {
				t.Errorf("%v: the writer has grown from %d to %d bytes", typ, size, w.Size())
			}
		}
	}
}

// numberBits are the bits of a number.
func numberBits(a pdu.Atom) (bits uint64, err error) {
	switch a.Type {
	case pdu.TypeFloat:
		v, err := pdu.As[float32](a)
		return uint64(math.Float32bits(v)), err
	case pdu.TypeDouble:
		v, err := pdu.As[float64](a)
		return math.Float64bits(v), err
	case pdu.Type32, pdu.TypeU32:
		v, err := pdu.As[int64](a)
		return uint64(uint32(v)), err
	case pdu.Type64:
		v, err := pdu.As[int64](a)
		return uint64(v), err
	}
	return pdu.As[uint64](a)
}

// TestReadNumbers reads numbers at once, and one by one where that says that it cannot: also from
// sets that are damaged.
func TestReadNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w pdu.ResultWriter
		written := rapid.SampledFrom(append(numberTypes, pdu.TypeString)).Draw(t, "written")
		w.Begin(1)
		n := rapid.IntRange(0, 20).Draw(t, "values")
		for i := range n {
			if bits := rapid.Uint64().Draw(t, "value"); written == pdu.TypeString {
				w.String(pdu.InstID(i), "text")
			} else {
				addBits(&w, written, pdu.InstID(i), bits)
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
			w.Fail(pdu.ErrValue)
		}
		body, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
		if err != nil {
			t.Fatal(err)
		}
		body = body[pdu.HeaderLen:]
		damaged := rapid.Bool().Draw(t, "damaged")
		if damaged {
			body[rapid.IntRange(0, len(body)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		r := pdu.Result{Format: pdu.FormatHighRes}
		if r.Decode(body) != nil || r.Len() == 0 {
			return
		}
		set, want := r.At(0), rapid.SampledFrom(numberTypes).Draw(t, "type")
		insts, bits, ok := set.Numbers(want, []pdu.InstID{7}, []uint64{8})
		if !slices.Equal(insts[:1], []pdu.InstID{7}) || bits[0] != 8 || len(insts) != len(bits) {
			t.Fatal(insts, bits)
		}
		if !ok {
			if len(insts) != 1 {
				t.Fatal("something is added of what is no number")
			}
			// Damaged values may be numbers in an unusual form, such as 32 bits in a block.
			if !damaged && set.Len() == 1 && want != pdu.TypeFloat && set.Atom(0, want).Type == want && r.Validate() == nil {
				t.Fatalf("%v is not read", want)
			}
			return
		}
		if len(insts) != set.Len()+1 {
			t.Fatalf("%d of %d values", len(insts)-1, set.Len())
		}
		for i := range set.Len() {
			a := set.Atom(i, want)
			if b, err := numberBits(a); err != nil || a.Type != want || b != bits[i+1] || set.Inst(i) != insts[i+1] {
				t.Fatalf("value %d: %v %d, not %x of %d: %v", i, a, set.Inst(i), bits[i+1], insts[i+1], err)
			}
		}
	})
}

// TestReadNumbersInAnyOrder reads numbers at once whose blocks are shared or in another order
// than the values, or where one value is not a number.
func TestReadNumbersInAnyOrder(t *testing.T) {
	const n = 9
	var w pdu.ResultWriter
	w.Begin(1)
	for i := range n {
		w.Uint64(pdu.InstID(i), uint64(100+i))
	}
	encoded, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
	if err != nil {
		t.Fatal(err)
	}
	index := func(body []byte, i int) []byte { return body[20+8+4+8*i+4:][:4] } // after the head of the result and that of the set
	block := func(body []byte, i int) []byte { return body[20+8+4+8*n+12*i:][:12] }
	read := func(change func(body []byte)) (bits []uint64, ok bool) {
		body := slices.Clone(encoded[pdu.HeaderLen:])
		change(body)
		r := pdu.Result{Format: pdu.FormatHighRes}
		if err := r.Decode(body); err != nil {
			t.Fatal(err)
		}
		_, bits, ok = r.At(0).Numbers(pdu.TypeU64, nil, nil)
		return bits, ok
	}
	for i := range n {
		for j := range n {
			want := []uint64{100, 101, 102, 103, 104, 105, 106, 107, 108}
			want[i], want[j] = want[j], want[i]
			got, ok := read(func(body []byte) {
				one := string(index(body, i))
				copy(index(body, i), index(body, j))
				copy(index(body, j), one)
			})
			if !ok || !slices.Equal(got, want) {
				t.Errorf("%d and %d exchanged: %d, want %d", i, j, got, want)
			}
			want = []uint64{100, 101, 102, 103, 104, 105, 106, 107, 108}
			want[i] = want[j]
			if got, ok := read(func(body []byte) { copy(index(body, i), index(body, j)) }); !ok || !slices.Equal(got, want) {
				t.Errorf("%d has that of %d: %d, want %d", i, j, got, want)
			}
		}
		if got, ok := read(func(body []byte) { block(body, i)[0] = byte(pdu.TypeDouble) }); ok {
			t.Errorf("%d is of another type, but read as %d", i, got)
		}
		if got, ok := read(func(body []byte) { block(body, i)[3]++ }); ok {
			t.Errorf("%d has another length, but is read as %d", i, got)
		}
	}
}
