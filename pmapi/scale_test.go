package pmapi

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
)

func counts(scale int) pdu.Units { return pdu.MakeUnits(0, 0, 1, 0, 0, scale) }

func TestConvScale(t *testing.T) {
	const (
		b, kb, mb, eb, zb = pdu.SpaceByte, pdu.SpaceKByte, pdu.SpaceMByte, pdu.SpaceEByte, pdu.SpaceZByte
		ns, ms, sec, hour = pdu.TimeNSec, pdu.TimeMSec, pdu.TimeSec, pdu.TimeHour
	)
	i32, u32, i64, u64, f32, f64 := pdu.Int32, pdu.Uint32, pdu.Int64, pdu.Uint64, pdu.Float32, pdu.Float64
	none := pdu.Atom{}
	for _, tt := range []struct {
		a        pdu.Atom
		from, to pdu.Units
		want     pdu.Atom
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
		{f64(1), kb | pdu.PerSec, b | pdu.PerMin, f64(61440), nil},
		{f64(1), pdu.PerMSec, pdu.PerSec, f64(1000), nil},
		// only the bits that the type has
		{u32(4e9), kb, b, u32(2896166912), nil},
		{i32(3000000), kb, b, i32(-1222967296), nil},
		{u64(math.MaxUint64), kb, b, u64(math.MaxUint64 - 1023), nil},
		// more than 64 bits on the way
		{u64(1 << 63), b, kb, u64(1 << 53), nil},
		{i64(math.MinInt64), b, kb, i64(-1<<53 + 1), nil},
		{u64(1 << 63), ns, hour, u64(2562048), nil},
		// a factor of more than 63 bits
		{f64(2), eb | pdu.PerNSec, b | pdu.PerHour, f64(2 * 0x1p60 * 3600e9), nil},
		{f32(2), eb | pdu.PerNSec, b | pdu.PerHour, f32(2 * 0x1p60 * 3600e9), nil},
		{f64(0x1p60), b | pdu.PerHour, eb | pdu.PerNSec, f64(1 / 3600e9), nil},
		{u32(7), b | pdu.PerHour, eb | pdu.PerNSec, u32(0), nil},
		{u64(1), eb | pdu.PerNSec, b | pdu.PerHour, none, pdu.ErrTrunc},
		{i64(0), eb | pdu.PerNSec, b | pdu.PerHour, i64(0), nil},
		// dimensions
		{u32(5), pdu.NoUnits, pdu.UnitCount, u32(5), nil},
		{u32(5000), counts(0), pdu.MakeUnits(0, 0, 0, 0, 0, 3), u32(5), nil},
		{u32(5), mb | counts(3), mb | counts(3), u32(5), nil},
		{u32(5), pdu.MakeUnits(0, 1, 0, 9, 3, 3), pdu.MakeUnits(0, 1, 0, 0, 2, 0), u32(5000), nil}, // scales without dimension
		{u32(5), b, sec, none, pdu.ErrConv},
		{u32(5), b, pdu.MakeUnits(2, 0, 0, 0, 0, 0), none, pdu.ErrConv},
		{u32(5), pdu.NoUnits, b, none, pdu.ErrConv},
		{u32(5), zb, zb, none, pdu.ErrUnit},
		{u32(5), b, zb, none, pdu.ErrUnit},
		{u32(5), sec, pdu.MakeUnits(0, 1, 0, 0, 6, 0), none, pdu.ErrUnit},
		// types
		{pdu.String("5"), b, kb, none, pdu.ErrConv},
		{pdu.Aggregate([]byte{5}), b, b, none, pdu.ErrConv},
		{pdu.String("5"), b, zb, none, pdu.ErrUnit},
		// extra units
		{f64(1.5), pdu.Volt, pdu.MilliVolt, f64(1500), nil},
		{u32(2500), pdu.MicroAmp, pdu.MilliAmp, u32(3), nil},
		{u64(7), pdu.KiloWatt | hour, pdu.MilliWatt | sec, u64(7 * 1e6 * 3600), nil},
		{f64(20), pdu.TempCelsius, pdu.TempFahrenheit, f64(68), nil},
		{i32(-40), pdu.TempFahrenheit, pdu.TempCelsius, i32(-40), nil},
		{u32(20), pdu.TempCelsius, pdu.TempKelvin, u32(293), nil},
		{f32(0), pdu.TempKelvin, pdu.TempCelsius, f32(-273.15), nil},
		{u32(5), pdu.TempKelvin, pdu.TempKelvin, u32(5), nil},
		{u32(5), pdu.TempFahrenheit, pdu.TempCelsius, none, pdu.ErrSign},
		{i32(math.MaxInt32), pdu.TempCelsius, pdu.TempFahrenheit, none, pdu.ErrTrunc},
		{f64(5), pdu.TempCelsius | pdu.PerSec, pdu.TempKelvin | pdu.PerSec, none, pdu.ErrConv},
		{f64(5), pdu.TempCelsius | pdu.PerSec, pdu.TempCelsius | pdu.PerMin, f64(300), nil},
		{f64(5), pdu.TempCelsius, pdu.Volt, none, pdu.ErrConv},
		{f64(5), pdu.Volt, pdu.NoUnits, none, pdu.ErrConv},
		{f64(5), pdu.TempCelsius, 1<<3 | 7, none, pdu.ErrUnit},
		{f64(5), 1<<3 | 7, pdu.TempCelsius, none, pdu.ErrUnit},
		{f64(5), 2 << 3, 2 << 3, none, pdu.ErrUnit},
		{u32(5), kb | 3, b | 4, u32(5120), nil}, // a scale of no extra unit
		{f64(5), 9<<3 | 1, 9<<3 | 1, none, pdu.ErrUnit},
		{f64(5), 0x1f << 3, 0x1f << 3, none, pdu.ErrUnit},
		{pdu.String("5"), pdu.TempCelsius, pdu.TempKelvin, none, pdu.ErrConv},
	} {
		got, err := ConvScale(tt.a, tt.from, tt.to)
		if err != tt.err {
			t.Errorf("%v from %q to %q: %v, want %v", tt.a, tt.from, tt.to, err, tt.err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v from %q to %q (-want +got)\n%s", tt.a, tt.from, tt.to, diff)
		}
	}
}

// TestConvScaleInverse checks that there and back is nowhere.
func TestConvScaleInverse(t *testing.T) {
	dim := rapid.IntRange(-2, 2)
	units := func(t *rapid.T, space, time, count int) pdu.Units {
		return pdu.MakeUnits(space, time, count, rapid.IntRange(0, 6).Draw(t, "space"), rapid.IntRange(0, 5).Draw(t, "time"), rapid.IntRange(-8, 7).Draw(t, "count"))
	}
	rapid.Check(t, func(t *rapid.T) {
		space, time, count := dim.Draw(t, "dim space"), dim.Draw(t, "dim time"), dim.Draw(t, "dim count")
		from, to := units(t, space, time, count), units(t, space, time, count)
		v := rapid.Float64Range(1e-9, 1e9).Draw(t, "value") // not so small that digits are lost on the way
		if rapid.Bool().Draw(t, "negative") {
			v = -v
		}
		there, err := ConvScale(pdu.Float64(v), from, to)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ConvScale(there, to, from)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := pdu.As[float64](back); math.Abs(got-v) > 1e-14*math.Abs(v) {
			t.Fatalf("%v from %q to %q is %v and back %v", v, from, to, there, got)
		}
	})
}

func TestConvScaleAllocates(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		for _, a := range []pdu.Atom{pdu.Int32(5), pdu.Uint64(1 << 60), pdu.Float32(1), pdu.Float64(1)} {
			if _, err := ConvScale(a, pdu.SpaceKByte|pdu.PerSec, pdu.SpaceMByte|pdu.PerHour); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkConvScale(b *testing.B) {
	for name, a := range map[string]pdu.Atom{"type=U64": pdu.Uint64(1 << 40), "type=DOUBLE": pdu.Float64(1 << 40)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ConvScale(a, pdu.SpaceByte|pdu.PerSec, pdu.SpaceMByte|pdu.PerMin); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
