package pdu

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func counts(scale int) Units { return MakeUnits(0, 0, 1, 0, 0, scale) }

func TestConvertUnits(t *testing.T) {
	const (
		b, kb, mb, eb, zb = SpaceByte, SpaceKByte, SpaceMByte, SpaceEByte, SpaceZByte
		ns, ms, sec, hour = TimeNSec, TimeMSec, TimeSec, TimeHour
	)
	i32, u32, i64, u64, f32, f64 := Int32, Uint32, Int64, Uint64, Float32, Float64
	none := Atom{}
	for _, tt := range []struct {
		a        Atom
		from, to Units
		want     Atom
		err      error
	}{
		// rounding
		{i32(1024), b, kb, i32(1), nil},
		{i32(1535), b, kb, i32(1), nil},
		{i32(1536), b, kb, i32(2), nil},
		{i32(-1536), b, kb, i32(-1), nil},
		{i64(-1000), b, kb, i64(0), nil},
		{u32(1499), counts(0), counts(3), u32(1), nil},
		{u32(1500), counts(0), counts(3), u32(2), nil},
		{f32(1), ms, sec, f32(0.00100000005), nil},
		{f64(1), kb | PerSec, b | PerMin, f64(61440), nil},
		{f64(1), PerMSec, PerSec, f64(1000), nil},
		// only the bits that the type has
		{u32(4e9), kb, b, u32(2896166912), nil},
		{i32(3000000), kb, b, i32(-1222967296), nil},
		{u64(math.MaxUint64), kb, b, u64(math.MaxUint64 - 1023), nil},
		// more than 64 bits on the way
		{u64(1 << 63), b, kb, u64(1 << 53), nil},
		{i64(math.MinInt64), b, kb, i64(-1<<53 + 1), nil},
		{u64(1 << 63), ns, hour, u64(2562048), nil},
		// a factor of more than 63 bits
		{f64(2), eb | PerNSec, b | PerHour, f64(2 * 0x1p60 * 3600e9), nil},
		{f32(2), eb | PerNSec, b | PerHour, f32(2 * 0x1p60 * 3600e9), nil},
		{f64(0x1p60), b | PerHour, eb | PerNSec, f64(1 / 3600e9), nil},
		{u32(7), b | PerHour, eb | PerNSec, u32(0), nil},
		{u64(1), eb | PerNSec, b | PerHour, none, ErrTrunc},
		{i64(0), eb | PerNSec, b | PerHour, i64(0), nil},
		// dimensions
		{u32(5), NoUnits, UnitCount, u32(5), nil},
		{u32(5000), counts(0), MakeUnits(0, 0, 0, 0, 0, 3), u32(5), nil},
		{u32(5), mb | counts(3), mb | counts(3), u32(5), nil},
		{u32(5), MakeUnits(0, 1, 0, 9, 3, 3), MakeUnits(0, 1, 0, 0, 2, 0), u32(5000), nil}, // scales without dimension
		{u32(5), b, sec, none, ErrConv},
		{u32(5), b, MakeUnits(2, 0, 0, 0, 0, 0), none, ErrConv},
		{u32(5), NoUnits, b, none, ErrConv},
		{u32(5), zb, zb, none, ErrUnit},
		{u32(5), b, zb, none, ErrUnit},
		{u32(5), sec, MakeUnits(0, 1, 0, 0, 6, 0), none, ErrUnit},
		// types
		{String("5"), b, kb, none, ErrConv},
		{Aggregate([]byte{5}), b, b, none, ErrConv},
		{String("5"), b, zb, none, ErrUnit},
		// extra units
		{f64(1.5), Volt, MilliVolt, f64(1500), nil},
		{u32(2500), MicroAmp, MilliAmp, u32(3), nil},
		{u64(7), KiloWatt | hour, MilliWatt | sec, u64(7 * 1e6 * 3600), nil},
		{f64(20), TempCelsius, TempFahrenheit, f64(68), nil},
		{i32(-40), TempFahrenheit, TempCelsius, i32(-40), nil},
		{u32(20), TempCelsius, TempKelvin, u32(293), nil},
		{f32(0), TempKelvin, TempCelsius, f32(-273.15), nil},
		{u32(5), TempKelvin, TempKelvin, u32(5), nil},
		{u32(5), TempFahrenheit, TempCelsius, none, ErrSign},
		{i32(math.MaxInt32), TempCelsius, TempFahrenheit, none, ErrTrunc},
		{f64(5), TempCelsius | PerSec, TempKelvin | PerSec, none, ErrConv},
		{f64(5), TempCelsius | PerSec, TempCelsius | PerMin, f64(300), nil},
		{f64(5), TempCelsius, Volt, none, ErrConv},
		{f64(5), Volt, NoUnits, none, ErrConv},
		{f64(5), TempCelsius, 1<<3 | 7, none, ErrUnit},
		{f64(5), 1<<3 | 7, TempCelsius, none, ErrUnit},
		{f64(5), 2 << 3, 2 << 3, none, ErrUnit},
		{u32(5), kb | 3, b | 4, u32(5120), nil}, // a scale of no extra unit
		{f64(5), 9<<3 | 1, 9<<3 | 1, none, ErrUnit},
		{f64(5), 0x1f << 3, 0x1f << 3, none, ErrUnit},
		{String("5"), TempCelsius, TempKelvin, none, ErrConv},
	} {
		got, err := tt.a.ConvertUnits(tt.from, tt.to)
		if err != tt.err {
			t.Errorf("%v from %q to %q: %v, want %v", tt.a, tt.from, tt.to, err, tt.err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v from %q to %q (-want +got)\n%s", tt.a, tt.from, tt.to, diff)
		}
	}
}

// TestConvertUnitsInverse converts there and back again.
func TestConvertUnitsInverse(t *testing.T) {
	dim := rapid.IntRange(-2, 2)
	units := func(t *rapid.T, space, time, count int) Units {
		return MakeUnits(space, time, count, rapid.IntRange(0, 6).Draw(t, "space"), rapid.IntRange(0, 5).Draw(t, "time"), rapid.IntRange(-8, 7).Draw(t, "count"))
	}
	rapid.Check(t, func(t *rapid.T) {
		space, time, count := dim.Draw(t, "dim space"), dim.Draw(t, "dim time"), dim.Draw(t, "dim count")
		from, to := units(t, space, time, count), units(t, space, time, count)
		v := rapid.Float64Range(1e-9, 1e9).Draw(t, "value") // not so small that digits are lost on the way
		if rapid.Bool().Draw(t, "negative") {
			v = -v
		}
		there, err := Float64(v).ConvertUnits(from, to)
		if err != nil {
			t.Fatal(err)
		}
		back, err := there.ConvertUnits(to, from)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := As[float64](back); math.Abs(got-v) > 1e-14*math.Abs(v) {
			t.Fatalf("%v from %q to %q is %v and back %v", v, from, to, there, got)
		}
	})
}

func TestConvertUnitsAllocates(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		for _, a := range []Atom{Int32(5), Uint64(1 << 60), Float32(1), Float64(1)} {
			if _, err := a.ConvertUnits(SpaceKByte|PerSec, SpaceMByte|PerHour); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkConvertUnits(b *testing.B) {
	for name, a := range map[string]Atom{"type=U64": Uint64(1 << 40), "type=DOUBLE": Float64(1 << 40)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.ConvertUnits(SpaceByte|PerSec, SpaceMByte|PerMin); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
