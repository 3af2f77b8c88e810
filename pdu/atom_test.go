package pdu

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAtomString(t *testing.T) {
	static := Atom{Type: TypeAggregateStatic, data: []byte{1}}
	for _, tt := range []struct {
		a    Atom
		want string
	}{
		{Atom{}, "0"},
		{Int32(-1), "-1"},
		{Uint32(math.MaxUint32), "4294967295"},
		{Int64(math.MinInt64), "-9223372036854775808"},
		{Uint64(math.MaxUint64), "18446744073709551615"},
		{Float32(1.5), "1.500000e+00"},
		{Float64(math.Inf(1)), "inf"},
		{Float64(math.Inf(-1)), "-inf"},
		{Float64(math.NaN()), "nan"},
		{String("text"), `"text"`},
		{String(strings.Repeat("x", 37)), `"` + strings.Repeat("x", 37) + `"`},
		{String(strings.Repeat("x", 38)), `"` + strings.Repeat("x", 34) + `..."`},
		{Aggregate(nil), "[type=AGGREGATE len=0]"},
		{Aggregate([]byte{1, 2, 3, 4, 5}), "[type=AGGREGATE len=5] 01020304 05"},
		{Aggregate(make([]byte, 13)), "[type=AGGREGATE len=13] 00000000 00000000 00000000 ..."},
		{static, "[type=AGGREGATE_STATIC len=1] 01"},
		{Atom{Type: TypeEvent, data: []byte{0, 0, 0, 1}}, "[1 event record]"},
		{Atom{Type: TypeHighResEvent, data: []byte{0, 0, 0, 2}}, "[2 event records]"},
		{Atom{Type: TypeEvent}, "[malformed event array]"},
		{Atom{Type: TypeUnknown}, "Error: unexpected type: Unknown"},
		{Atom{Type: TypeNoSupport}, "Error: unexpected type: Not Supported"},
		{Atom{Type: 11}, "Error: unexpected type: Illegal type=11"},
		{Float64(math.Copysign(math.NaN(), -1)), "-nan"},
		{String("cut\x00off"), `"cut"`},
	} {
		if got := tt.a.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// The named types stand for those of other packages.
type (
	myInt32   int32
	myUint32  uint32
	myInt64   int64
	myUint64  uint64
	myFloat32 float32
	myFloat64 float64
	myString  string
	myBytes   []byte
)

// there checks that v becomes an atom of a type and comes back.
func there[T Scalar](t *testing.T, v T, want Type) {
	t.Helper()
	a := AtomOf(v)
	if a.Type != want || ScalarType[T]() != want {
		t.Errorf("%T: type %v, ScalarType %v, want %v", v, a.Type, ScalarType[T](), want)
	}
	back, err := As[T](a)
	if diff := cmp.Diff(v, back); diff != "" || err != nil {
		t.Errorf("%T: error %v (-want +got)\n%s", v, err, diff)
	}
}

func TestScalars(t *testing.T) {
	there(t, int32(-5), Type32)
	there(t, uint32(5), TypeU32)
	there(t, int64(-5), Type64)
	there(t, uint64(5), TypeU64)
	there(t, float32(0.5), TypeFloat)
	there(t, 0.25, TypeDouble)
	there(t, "five", TypeString)
	there(t, []byte{5}, TypeAggregate)
	there(t, myInt32(-5), Type32)
	there(t, myUint32(5), TypeU32)
	there(t, myInt64(-5), Type64)
	there(t, myUint64(5), TypeU64)
	there(t, myFloat32(0.5), TypeFloat)
	there(t, myFloat64(0.25), TypeDouble)
	there(t, myString("five"), TypeString)
	there(t, myBytes{5}, TypeAggregate)
}

// as is As with the error's code.
func as[T Scalar](a Atom) (T, Error) {
	v, err := As[T](a)
	return v, FromError(err)
}

func TestAs(t *testing.T) {
	type row struct {
		I32 int32
		E1  Error
		U32 uint32
		E2  Error
		I64 int64
		E3  Error
		U64 uint64
		E4  Error
		F32 float32
		F64 float64
	}
	of := func(a Atom) (r row) {
		r.I32, r.E1 = as[int32](a)
		r.U32, r.E2 = as[uint32](a)
		r.I64, r.E3 = as[int64](a)
		r.U64, r.E4 = as[uint64](a)
		r.F32, _ = as[float32](a)
		r.F64, _ = as[float64](a)
		return r
	}
	const sign, trunc = ErrSign, ErrTrunc
	for _, tt := range []struct {
		name string
		a    Atom
		want row
	}{
		{"32", Int32(-7), row{-7, 0, 0, sign, -7, 0, 0, sign, -7, -7}},
		{"U32", Uint32(1 << 31), row{0, trunc, 1 << 31, 0, 1 << 31, 0, 1 << 31, 0, 1 << 31, 1 << 31}},
		{"64", Int64(1 << 32), row{0, trunc, 0, trunc, 1 << 32, 0, 1 << 32, 0, 1 << 32, 1 << 32}},
		{"64 below", Int64(-5000000000), row{-705032704, 0, 0, sign, -5000000000, 0, 0, sign, -5000000000, -5000000000}},
		{"U64", Uint64(1 << 63), row{0, trunc, 0, trunc, 0, trunc, 1 << 63, 0, 1 << 63, 1 << 63}},
		{"64 rounded", Int64(1<<46 + 1), row{0, trunc, 0, trunc, 1<<46 + 1, 0, 1<<46 + 1, 0, 1 << 46, 1<<46 + 1}},
		{"float", Float32(-3.5), row{-3, 0, 0, sign, -3, 0, 0, sign, -3.5, -3.5}},
		{"double", Float64(2147483646.5), row{2147483646, 0, 2147483646, 0, 2147483646, 0, 2147483646, 0, 2147483646, 2147483646.5}},
		{"limit of 32", Float64(math.MaxInt32), row{0, trunc, math.MaxInt32, 0, math.MaxInt32, 0, math.MaxInt32, 0, math.MaxInt32, math.MaxInt32}},
		{"limit of U32", Float64(math.MaxUint32), row{0, trunc, 0, trunc, math.MaxUint32, 0, math.MaxUint32, 0, math.MaxUint32, math.MaxUint32}},
		{"limit of 64", Float64(1 << 63), row{0, trunc, 0, trunc, 0, trunc, 1 << 63, 0, 1 << 63, 1 << 63}},
		{"limit of U64", Float64(1 << 64), row{0, trunc, 0, trunc, 0, trunc, 0, trunc, 1 << 64, 1 << 64}},
		{"far below", Float64(-1e300), row{0, trunc, 0, sign, math.MinInt64, 0, 0, sign, float32(math.Inf(-1)), -1e300}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, of(tt.a)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if _, err := As[int64](Float64(math.NaN())); err != ErrTrunc {
		t.Errorf("not a number: %v", err)
	}
}

// TestAsKinds covers what does not convert at all.
func TestAsKinds(t *testing.T) {
	static := Atom{Type: TypeAggregateStatic, data: []byte("b")}
	if b, err := As[[]byte](static); string(b) != "b" || err != nil {
		t.Errorf("static aggregate: %q, %v", b, err)
	}
	for _, tt := range []struct {
		a       Atom
		want    error
		text    error
		opaque  error
		comment string
	}{
		{String("1"), ErrConv, nil, ErrConv, "string"},
		{Aggregate([]byte{1}), ErrConv, ErrConv, nil, "aggregate"},
		{Atom{Type: TypeEvent}, ErrConv, ErrConv, ErrConv, "event"},
		{Atom{Type: TypeUnknown}, ErrIPC, ErrIPC, ErrIPC, "malformed"},
		{Int32(1), nil, ErrConv, ErrConv, "number"},
	} {
		errs := make([]error, 8)
		_, errs[0] = As[int32](tt.a)
		_, errs[1] = As[uint32](tt.a)
		_, errs[2] = As[int64](tt.a)
		_, errs[3] = As[uint64](tt.a)
		_, errs[4] = As[float32](tt.a)
		_, errs[5] = As[float64](tt.a)
		_, errs[6] = As[string](tt.a)
		_, errs[7] = As[[]byte](tt.a)
		want := []error{tt.want, tt.want, tt.want, tt.want, tt.want, tt.want, tt.text, tt.opaque}
		for i := range want {
			if !errors.Is(errs[i], want[i]) {
				t.Errorf("%s, conversion %d: got %v, want %v", tt.comment, i, errs[i], want[i])
			}
		}
	}
}

func TestBlockAtom(t *testing.T) {
	for _, tt := range []struct {
		t     Type
		value string
		want  Atom
		err   string
	}{
		{Type32, "\xff\xff\xff\xfe", Int32(-2), ""},
		{TypeU32, "\xff\xff\xff\xfe", Uint32(0xfffffffe), ""},
		{Type64, "\xff\xff\xff\xff\xff\xff\xff\xfe", Int64(-2), ""},
		{TypeFloat, "\x3f\x80\x00\x00", Float32(1), ""},
		{TypeDouble, "\x3f\xf0\x00\x00\x00\x00\x00\x00", Float64(1), ""},
		{TypeString, "ab\x00", String("ab"), ""},
		{TypeString, "ab\x00\x00", String("ab\x00"), ""},
		{TypeString, "ab", String("ab"), ""},
		{TypeString, "", String(""), ""},
		{TypeAggregate, "a\x00", Aggregate([]byte("a\x00")), ""},
		{TypeEvent, "any", Atom{Type: TypeEvent, data: []byte("any")}, ""},
		{TypeU64, "1234567", Atom{}, "value of type U64: 7 bytes, want 8: IPC protocol failure"},
		{TypeUnknown, "", Atom{}, "value of type 255 (UNKNOWN): no such type of values: IPC protocol failure"},
		{TypeNoSupport, "", Atom{}, "value of type -1 (NO_SUPPORT): no such type of values: IPC protocol failure"},
	} {
		a, err := blockAtom(tt.t, []byte(tt.value))
		if diff := cmp.Diff(tt.want, a); diff != "" {
			t.Errorf("%v %q (-want +got)\n%s", tt.t, tt.value, diff)
		}
		if (err == nil) != (tt.err == "") || err != nil && (err.Error() != tt.err || !errors.Is(err, ErrIPC)) {
			t.Errorf("%v %q: %v", tt.t, tt.value, err)
		}
	}
}

// drawAtom is an atom of a type that an event parameter may have.
func drawAtom(t *rapid.T) Atom {
	switch rapid.IntRange(0, 8).Draw(t, "type") {
	case 0:
		return Int32(rapid.Int32().Draw(t, "value"))
	case 1:
		return Uint32(rapid.Uint32().Draw(t, "value"))
	case 2:
		return Int64(rapid.Int64().Draw(t, "value"))
	case 3:
		return Uint64(rapid.Uint64().Draw(t, "value"))
	case 4:
		return Float32(math.Float32frombits(rapid.Uint32().Draw(t, "value")))
	case 5:
		return Float64(math.Float64frombits(rapid.Uint64().Draw(t, "value")))
	case 6:
		return String(strings.TrimRight(rapid.String().Draw(t, "value"), "\x00"))
	case 7:
		return Atom{Type: TypeAggregateStatic, data: rapid.SliceOf(rapid.Byte()).Draw(t, "value")}
	}
	return Aggregate(rapid.SliceOf(rapid.Byte()).Draw(t, "value"))
}

func TestAtomRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAtom(t)
		back, err := blockAtom(a.Type, a.appendValue(nil))
		if err != nil || !back.Equal(a) {
			t.Fatalf("%v became %v, %v", a, back, err)
		}
	})
}

func TestAsAllocates(t *testing.T) {
	var sum float64
	a, b := Uint64(7), Float32(2.5)
	n := testing.AllocsPerRun(100, func() {
		u, err := As[uint64](a)
		f, err2 := As[float64](b)
		m, err3 := As[myInt64](a)
		i, err4 := As[int32](AtomOf(int32(3)))
		if err != nil || err2 != nil || err3 != nil || err4 != nil {
			t.Fatal("conversion failed")
		}
		sum += float64(u) + f + float64(m) + float64(i)
	})
	if n != 0 || sum == 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAs(b *testing.B) {
	b.ReportAllocs()
	a := Uint64(1 << 40)
	var sum float64
	for b.Loop() {
		f, err := As[float64](a)
		if err != nil {
			b.Fatal(err)
		}
		sum += f
	}
}
