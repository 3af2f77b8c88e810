package pdu

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"
)

func TestValueFormat(t *testing.T) {
	f64, str, agg := Float64, String, func(s string) Atom { return Aggregate([]byte(s)) }
	// The aggregates have the machine's own byte order.
	four := func(v float32) string { return string(binary.NativeEndian.AppendUint32(nil, math.Float32bits(v))) }
	eight := func(v float64) string { return string(binary.NativeEndian.AppendUint64(nil, math.Float64bits(v))) }
	hexOf := func(s string) string { return "[" + hexText(s) + "]" }
	static := agg("ab")
	static.Type = TypeAggregateStatic
	for _, tt := range []struct {
		a     Atom
		width int
		want  string
	}{
		{Int32(-5), 0, "-5"},
		{Int64(-5), 4, "  -5"},
		{Uint64(math.MaxUint64), 4, "18446744073709551615"},
		{Uint32(7), -4, "7   "},
		{Float32(0.1), 0, "0.1"},
		{Float32(123456789), 0, "1.2345679e+08"},
		{f64(0.1), 6, "   0.1"},
		{f64(2.0 / 3), 0, "0.6666666666666666"},
		{f64(1e20), -8, "1e+20   "},
		{f64(math.Inf(-1)), 0, "-inf"},
		{f64(math.NaN()), 5, "  nan"},
		{str("a\nb"), 8, "   \"a\nb\""},
		{str("text"), -8, `"text"`},
		{str("cut\x00off"), 0, `"cut"`},
		{agg(""), 3, ` ""  []`},
		{agg("abc"), 0, `"abc" [616263]`},
		{agg("a\nb"), 10, "  [610a62]"},
		{agg("\xe9\x7f"), 0, "[e97f]"},
		{agg(four(1.5)), 4, " 1.5 " + hexOf(four(1.5))},
		{agg("\xff\xff\xff\xff"), 0, "[ffffffff]"},
		{agg(eight(1.5)), -4, "4609434218613702656 1.5  " + hexOf(eight(1.5))},
		{static, 0, `"ab" [6162]`},
		{Atom{Type: TypeUnknown}, 0, "Error: unexpected type: Unknown"},
	} {
		if got := (ValueFormat{Width: tt.width}).Format(tt.a); got != tt.want {
			t.Errorf("%v in %d: got %q, want %q", tt.a, tt.width, got, tt.want)
		}
	}
}

func TestValueFormatSquashBlanks(t *testing.T) {
	f := ValueFormat{Width: 14, SquashBlanks: true}
	if got, want := string(f.Append(nil, String("a\n\tb\r\v\fc\u00a0"))), "  \"a  b   c\u00a0\""; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValueFormatUnknownType(t *testing.T) {
	for _, tt := range []struct {
		word  uint32
		width int
		want  string
	}{
		{0x3f800000, 0, "1065353216 1 0x3f800000"},
		{255, 5, "  255 3.5733111e-43 0x ff"},
		{math.MaxUint32, -12, "4294967295   0xffffffff    "},
	} {
		if got := string(ValueFormat{Width: tt.width}.appendWord(nil, tt.word)); got != tt.want {
			t.Errorf("%#x: got %q, want %q", tt.word, got, tt.want)
		}
	}
}

// eventsOf is a value of the events that add adds.
func eventsOf(t testing.TB, highRes bool, add func(b *EventBuilder)) Atom {
	t.Helper()
	b := EventBuilder{HighRes: highRes}
	add(&b)
	a, err := b.Atom()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// morning is a time of a day.
func morning(hour, minute, sec, nsec int) time.Time {
	return time.Date(2024, 5, 17, hour, minute, sec, nsec, time.UTC)
}

func TestValueFormatEvents(t *testing.T) {
	none := func(*EventBuilder) {}
	one := func(b *EventBuilder) { b.Begin(morning(1, 0, 51, 555999999), EventPoint) }
	lost := func(b *EventBuilder) { b.Missed(morning(1, 0, 52, 0), 7) }
	all := func(b *EventBuilder) {
		lost(b)
		one(b)
		b.Param(1, String("what"))
		lost(b)
		b.Begin(morning(1, 0, 54, 5000), 0)
	}
	zero := func(b *EventBuilder) { b.Begin(time.Time{}, 0) }
	malformed := Aggregate([]byte{0, 0, 0, 9, 1})
	malformed.Type = TypeEvent
	for _, tt := range []struct {
		a    Atom
		want string
	}{
		{eventsOf(t, false, none), "[0 event records]"},
		{eventsOf(t, false, one), "[1 event record timestamp 01:00:51.555]"},
		{eventsOf(t, true, one), "[1 event record timestamp 01:00:51.555999999]"},
		{eventsOf(t, false, lost), "[1 event record (7 missed) timestamp 01:00:52.000]"},
		{eventsOf(t, false, all), "[4 event records (14 missed) timestamps 01:00:52.000...01:00:54.000]"},
		{eventsOf(t, true, all), "[4 event records (14 missed) timestamps 01:00:52.000000000...01:00:54.000005000]"},
		{eventsOf(t, false, zero), "[1 event record timestamp 00:00:00.000]"},
		{malformed, "[9 event records]"},
	} {
		// A width is for other values.
		if got := string(ValueFormat{Width: 200, Location: time.UTC}.Append(nil, tt.a)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	east := ValueFormat{Location: time.FixedZone("east", 5400)}
	if got, want := string(east.Append(nil, eventsOf(t, false, one))), "[1 event record timestamp 02:30:51.555]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	local := "[1 event record timestamp " + morning(1, 0, 51, 0).Local().Format(time.TimeOnly) + ".555]"
	if got := (ValueFormat{}).Format(eventsOf(t, false, one)); got != local {
		t.Errorf("got %q, want %q", got, local)
	}
}

// everyType is a value of every type.
func everyType(t testing.TB) []Atom {
	return []Atom{
		Int32(-1), Uint32(1), Int64(-1 << 40), Uint64(1 << 40), Float32(0.1), Float64(1e-300), Float64(math.NaN()),
		String("a text of\nsome length that is cut by one of both"), Aggregate([]byte("12345678")), Aggregate([]byte("abcd")),
		eventsOf(t, false, func(b *EventBuilder) {
			b.Begin(morning(1, 2, 3, 4), EventStart)
			b.Missed(morning(1, 2, 3, 4), 5)
		}),
	}
}

func TestValueFormatAllocates(t *testing.T) {
	values, b := everyType(t), make([]byte, 0, 1024)
	f := ValueFormat{Width: 20, SquashBlanks: true, Location: time.UTC}
	n := testing.AllocsPerRun(100, func() {
		b = b[:0]
		for _, a := range values {
			b = a.AppendTo(b)
			b = ValueFormat{Width: 30}.Append(b, a)
			b = f.Append(b, a)
		}
		b = f.appendWord(b, 0x3f800000)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkValueFormat(b *testing.B) {
	for _, a := range everyType(b) {
		b.Run("value="+strings.ReplaceAll(a.String(), " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 256)
			for b.Loop() {
				buf = ValueFormat{Width: 12}.Append(buf[:0], a)
			}
		})
	}
}

// TestValueOfOtherType prints values of other types than their metric's. The expected texts come
// from pminfo on a little-endian computer.
func TestValueOfOtherType(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the bytes of numbers are those of a little-endian computer")
	}
	for _, tt := range []struct {
		value     Atom
		of        Type
		set       string // printed as a value of a set
		parameter string // printed as a parameter of an event
	}{
		{Int32(-1), Type32, "-1", "-1"},
		{Int32(-1), TypeU32, "4294967295", "4294967295"},
		{Uint32(999), TypeNoSupport, "999 1.3998972e-42 0x3e7", "999 1.3998972e-42 0x3e7"},
		{Uint32(999), TypeString, "999 1.3998972e-42 0x3e7", "999 1.3998972e-42 0x3e7"},
		{Uint32(math.Float32bits(1.5)), TypeFloat, "1.5", "1.5"},
		{Float32(1.5), TypeFloat, "1.5", "1.5"},
		{Float32(1.5), TypeU32, "1.5 [0000c03f]", "1.5 [0000c03f]"},
		{Float64(math.Pi), TypeU32, "4614256656552045848 3.141592653589793 [182d4454fb210940]", "4614256656552045848 3.141592653589793 [182d4454fb210940]"},
		{Int64(-1), TypeDouble, "18446744073709551615 [ffffffffffffffff]", "18446744073709551615 [ffffffffffffffff]"},
		{Uint64(0), Type64, "0 0 [0000000000000000]", "0 0 [0000000000000000]"},
		{String("text"), TypeString, `"text"`, `"text"`},
		{String("text\n"), TypeDouble, "[746578740a00]", "[746578740a]"},
		{Aggregate([]byte("ab")), TypeAggregateStatic, `"ab" [6162]`, `"ab" [6162]`},
	} {
		var w ResultWriter
		w.Begin(1)
		w.Atom(NoInst, tt.value)
		r, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(ValueFormat{}.AppendValue(nil, r.At(0), 0, tt.of)); got != tt.set {
			t.Errorf("%v %v as a %v: got %s, want %s", tt.value.Type, tt.value, tt.of, got, tt.set)
		}
		if got := string(ValueFormat{}.AppendParam(nil, tt.value, tt.of)); got != tt.parameter {
			t.Errorf("parameter %v %v as a %v: got %s, want %s", tt.value.Type, tt.value, tt.of, got, tt.parameter)
		}
	}
}
