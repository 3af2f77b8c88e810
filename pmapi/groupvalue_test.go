package pmapi_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Samples of one type, a second apart, have these rates.
func TestGroupRates(t *testing.T) {
	const wrap = true
	for _, tt := range []struct {
		name   string
		values []pdu.Atom
		wrap   bool
		want   []float64
		codes  []pdu.Error
	}{
		{"U32", []pdu.Atom{pdu.Uint32(7), pdu.Uint32(math.MaxUint32)}, false, []float64{math.MaxUint32 - 7}, nil},
		{"32", []pdu.Atom{pdu.Int32(math.MinInt32), pdu.Int32(math.MaxInt32), pdu.Int32(math.MaxInt32)}, false, []float64{math.MaxUint32, 0}, nil},
		{"64", []pdu.Atom{pdu.Int64(-1), pdu.Int64(1)}, false, []float64{2}, nil},
		{"U64", []pdu.Atom{pdu.Uint64(1 << 60), pdu.Uint64(1<<60 + 1)}, false, []float64{1}, nil},
		{"float", []pdu.Atom{pdu.Float32(0.5), pdu.Float32(2)}, false, []float64{1.5}, nil},
		{"double", []pdu.Atom{pdu.Float64(-0.5), pdu.Float64(2)}, false, []float64{2.5}, nil},
		{"less", []pdu.Atom{pdu.Uint64(5), pdu.Uint64(4), pdu.Uint64(6)}, false, []float64{0, 2}, []pdu.Error{pdu.ErrValue, 0}},
		{"less in double", []pdu.Atom{pdu.Float64(5), pdu.Float64(4)}, wrap, []float64{0}, []pdu.Error{pdu.ErrValue}},
		{"wrapped U32", []pdu.Atom{pdu.Uint32(math.MaxUint32), pdu.Uint32(1)}, wrap, []float64{2}, nil},
		{"wrapped 32", []pdu.Atom{pdu.Int32(math.MaxInt32), pdu.Int32(math.MinInt32)}, wrap, []float64{1}, nil},
		{"wrapped U64", []pdu.Atom{pdu.Uint64(1 << 63), pdu.Uint64(0)}, wrap, []float64{1 << 63}, nil},
		{"wrapped 64", []pdu.Atom{pdu.Int64(math.MaxInt64), pdu.Int64(math.MinInt64)}, wrap, []float64{1}, nil},
		{"text", []pdu.Atom{pdu.String("1.5"), pdu.String("2"), pdu.String("two"), pdu.String("3"), pdu.String("4")}, false,
			[]float64{0.5, 0, 0, 1}, []pdu.Error{0, pdu.ErrType, pdu.ErrAgain, 0}},
		{"another type", []pdu.Atom{pdu.Uint64(1), pdu.Int64(-1), pdu.Uint64(3), pdu.Uint64(5)}, false,
			[]float64{0, 0, 2}, []pdu.Error{pdu.ErrSign, pdu.ErrAgain, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newLoggedSource(false)
			m := s.add("m", pdu.Desc{Type: tt.values[0].Type, Sem: pdu.SemCounter}, nil)
			g := s.src.Context().Group()
			var opts []pmapi.ItemOption
			if tt.wrap {
				opts = []pmapi.ItemOption{pmapi.CounterWrap()}
			}
			i := pmapi.Add[float64](g, "m", opts...)
			for n, v := range tt.values {
				m.Set(v)
				if _, err := g.Fetch(t.Context()); err != nil {
					t.Fatal(err)
				}
				switch {
				case n == 0:
					is(t, i, 0, pdu.ErrAgain)
				case tt.codes == nil:
					is(t, i, tt.want[n-1], 0)
				default:
					is(t, i, tt.want[n-1], tt.codes[n-1])
				}
				s.src.Advance(time.Second)
			}
		})
	}
}

// There is no rate if no time has passed, or if the clock was set back.
func TestGroupRateTimes(t *testing.T) {
	s := newLoggedSource(false)
	m := s.add("m", pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.SpaceByte}, nil)
	g := s.src.Context().Group()
	i := pmapi.Add[float64](g, "m", pmapi.Scale("rate"))
	for n, step := range []struct {
		pass time.Duration
		want float64
		code pdu.Error
	}{{0, 0, pdu.ErrAgain}, {2 * time.Second, 0.5, 0}, {1, 1e9, 0}, {0, 0, pdu.ErrValue}, {-time.Second, 0, pdu.ErrValue}, {-1, 0, pdu.ErrValue}, {time.Hour, 1. / 3600, 0}} {
		s.src.Advance(step.pass)
		m.Set(pdu.Uint64(uint64(n)))
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, err := i.Value(); pdu.FromError(err) != step.code || step.code == 0 && math.Abs(v/step.want-1) > 1e-12 {
			t.Errorf("%d: %v (%v), want %v (%v)", n, v, err, step.want, step.code)
		}
	}
}

// A discrete metric keeps its value if the collector returns neither a value nor an error.
func TestGroupDiscrete(t *testing.T) {
	s := newGroupFixture(t, false)
	marks := s.add("disk.marks", pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemDiscrete}, s.disks)
	marks.Set(pdu.Uint32(1), pdu.Uint32(2), pdu.Uint32(3))
	g := s.c.Group()
	state := pmapi.Add[string](g, "state")
	sdb := pmapi.Add[uint32](g, "disk.marks", pmapi.Instance("sdb"))
	all := pmapi.AddSet[uint32](g, "disk.marks")
	s.state.Set()
	s.fetch(g)
	is(t, state, "", pdu.ErrValue) // there was no value before
	s.state.Set(pdu.String("busy"))
	s.fetch(g)
	is(t, state, "busy", 0)
	for range 2 {
		s.state.Set()
		marks.Set()
		s.fetch(g)
		is(t, state, "busy", 0)
		is(t, sdb, 2, 0)
		has(t, all, "sda=1", "sdb solid=2", "sdc=3")
	}
	// An error is reported, and the value is still there afterwards.
	s.state.Fail(pdu.ErrNoAgent)
	marks.Fail(pdu.ErrNoAgent)
	s.fetch(g)
	is(t, state, "", pdu.ErrNoAgent)
	is(t, sdb, 0, pdu.ErrNoAgent)
	if err := pdu.FromError(all.Err()); err != pdu.ErrNoAgent {
		t.Error(err)
	}
	s.state.Set()
	marks.Set()
	s.fetch(g)
	is(t, state, "busy", 0)
	is(t, sdb, 2, 0)
	has(t, all, "sda=1", "sdb solid=2", "sdc=3")
	// An instance that has gone has no value any more.
	setValues(marks, inst(0, pdu.Uint32(4)))
	s.fetch(g)
	is(t, sdb, 0, pdu.ErrValue)
	has(t, all, "sda=4")
	marks.Set()
	s.fetch(g)
	is(t, sdb, 0, pdu.ErrValue)
	has(t, all, "sda=4")
}

// celsius, word and blob are defined types of a number, a string and bytes.
type (
	celsius float64
	word    string
	blob    []byte
)

func TestGroupTypes(t *testing.T) {
	s := newLoggedSource(false)
	put := func(name string, typ pdu.Type, v pdu.Atom) *atoms {
		m := s.add(name, pdu.Desc{Type: typ, Sem: pdu.SemInstant, Units: pdu.TempCelsius}, nil)
		m.Set(v)
		return m
	}
	text := put("text", pdu.TypeString, pdu.String("12"))
	number := put("number", pdu.TypeDouble, pdu.Float64(20))
	data := put("data", pdu.TypeAggregate, pdu.Aggregate([]byte{1, 2}))
	g := s.src.Context().Group()
	warm := pmapi.Add[celsius](g, "number")
	fahrenheit := pmapi.Add[float64](g, "number", pmapi.Scale("temperature (F)"))
	asText := pmapi.Add[word](g, "number")
	asNumber := pmapi.Add[celsius](g, "text")
	plain, named := pmapi.Add[string](g, "text"), pmapi.Add[word](g, "text")
	bits, blobs := pmapi.Add[[]byte](g, "data"), pmapi.Add[blob](g, "data")
	wrong := pmapi.Add[[]byte](g, "data", pmapi.Scale("rate"))
	noText := pmapi.Add[string](g, "data")
	if _, err := g.Fetch(t.Context()); err != nil || pdu.FromError(g.Err()) != pdu.ErrConv {
		t.Error(err, g.Err())
	}
	var kept []byte
	for _, w := range []struct {
		celsius, fahrenheit, textNumber float64
		asText, text                    string
		data                            []byte
	}{
		{20, 68, 12, "2.00000000000000000e+01", "12", []byte{1, 2}},
		{-40, -40, 0.5, "-4.00000000000000000e+01", " 5e-1", []byte{3}},
	} {
		number.Set(pdu.Float64(w.celsius))
		text.Set(pdu.String(w.text))
		data.Set(pdu.Aggregate(w.data))
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		is(t, warm, celsius(w.celsius), 0)
		is(t, asText, word(w.asText), 0)
		is(t, asNumber, celsius(w.textNumber), 0)
		is(t, plain, w.text, 0)
		is(t, named, word(w.text), 0)
		is(t, noText, "", pdu.ErrType)
		if v, err := fahrenheit.Value(); err != nil || math.Abs(v-w.fahrenheit) > 1e-12 {
			t.Error(v, err)
		}
		b, err := bits.Value()
		if err != nil || !bytes.Equal(b, w.data) {
			t.Error(b, err)
		}
		if b, err := blobs.Value(); err != nil || !bytes.Equal(b, w.data) {
			t.Error(b, err)
		}
		if _, err := wrong.Value(); pdu.FromError(err) != pdu.ErrConv {
			t.Error(err)
		}
		if kept == nil {
			kept = b
		}
	}
	if diff := cmp.Diff([]byte{1, 2}, kept); diff != "" {
		t.Errorf("bytes that were kept: %s", diff)
	}
}

// A text becomes a number if the whole text is one.
func TestGroupTextNumbers(t *testing.T) {
	s := newLoggedSource(false)
	m := s.add("m", pdu.Desc{Type: pdu.TypeString, Sem: pdu.SemInstant}, nil)
	g := s.src.Context().Group()
	i32, u32 := pmapi.Add[int32](g, "m"), pmapi.Add[uint32](g, "m")
	i64, u64, f := pmapi.Add[int64](g, "m"), pmapi.Add[uint64](g, "m"), pmapi.Add[float64](g, "m")
	const typ, trunc, sign = pdu.ErrType, pdu.ErrTrunc, pdu.ErrSign
	for _, tt := range []struct {
		text  string
		i, u  int64
		f     float64
		codes [5]pdu.Error
	}{
		{"12", 12, 12, 12, [5]pdu.Error{}},
		{"\t +12", 12, 12, 12, [5]pdu.Error{}},
		{"010", 10, 10, 10, [5]pdu.Error{}},
		{"0x1F", 31, 31, 31, [5]pdu.Error{}},
		{"-0X10", -16, 0, -16, [5]pdu.Error{1: sign, 3: sign}},
		{"-1", -1, 0, -1, [5]pdu.Error{1: sign, 3: sign}},
		{"-0", 0, 0, math.Copysign(0, -1), [5]pdu.Error{}},
		{"4294967295", 4294967295, 4294967295, 4294967295, [5]pdu.Error{0: trunc}},
		{"18446744073709551615", -1, -1, 18446744073709551615, [5]pdu.Error{trunc, trunc, trunc, 0, 0}},
		{"18446744073709551616", 0, 0, 18446744073709551616, [5]pdu.Error{trunc, trunc, trunc, trunc, 0}},
		{"-9223372036854775808", math.MinInt64, 0, math.MinInt64, [5]pdu.Error{1: sign, 3: sign}},
		{"-9223372036854775809", 0, 0, math.MinInt64, [5]pdu.Error{trunc, trunc, trunc, trunc, 0}},
		{"1.5", 0, 0, 1.5, [5]pdu.Error{typ, typ, typ, typ, 0}},
		{"1e3", 0, 0, 1000, [5]pdu.Error{typ, typ, typ, typ, 0}},
		{"1e400", 0, 0, 0, [5]pdu.Error{typ, typ, typ, typ, trunc}},
		{"12 ", 0, 0, 0, [5]pdu.Error{typ, typ, typ, typ, typ}},
		{"1_0", 0, 0, 0, [5]pdu.Error{typ, typ, typ, typ, typ}},
		{"0x", 0, 0, 0, [5]pdu.Error{typ, typ, typ, typ, typ}},
		{"+-1", 0, 0, 0, [5]pdu.Error{typ, typ, typ, typ, typ}},
		{"", 0, 0, 0, [5]pdu.Error{typ, typ, typ, typ, typ}},
		{"6.0.3", 0, 0, 0, [5]pdu.Error{typ, typ, typ, typ, typ}},
	} {
		m.Set(pdu.String(tt.text))
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Run(tt.text, func(t *testing.T) {
			is(t, i32, only(int32(tt.i), tt.codes[0]), tt.codes[0])
			is(t, u32, only(uint32(tt.u), tt.codes[1]), tt.codes[1])
			is(t, i64, only(tt.i, tt.codes[2]), tt.codes[2])
			is(t, u64, only(uint64(tt.u), tt.codes[3]), tt.codes[3])
			is(t, f, only(tt.f, tt.codes[4]), tt.codes[4])
		})
	}
}

// only returns v unless there is an error.
func only[T any](v T, code pdu.Error) (none T) {
	if code != 0 {
		return none
	}
	return v
}
