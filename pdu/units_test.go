package pdu

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestUnitsString(t *testing.T) {
	for _, tt := range []struct {
		u    Units
		want string
	}{
		{NoUnits, ""},
		{SpaceKByte | PerSec, "Kbyte / sec"},
		{PerSec, "/ sec"},
		{TimeMSec, "millisec"},
		{UnitCount, "count"},
		{UnitCount | PerHour, "count / hour"},
		{TimeNSec | PerCount, "nanosec / count"},
		{MakeUnits(2, -2, 1, 2, 3, 6), "Mbyte^2 count x 10^6 / sec^2"},
		{MakeUnits(1, -1, -1, 4, 5, 0), "Tbyte / hour count"},
		{MakeUnits(0, 0, -1, 0, 0, 1), "/ count x 10"},
		{MakeUnits(0, 0, 0, 0, 0, 3), "x 10^3"},
		{MakeUnits(-8, 7, 0, 0, 0, 0), "nanosec^7 / byte^8"},
		{MakeUnits(1, 1, 0, 9, 6, 0), "space-9 time-6"},
		{TempCelsius, "temperature (C)"},
		{MilliVolt | PerSec, "voltage (mV) / sec"},
		{KiloWatt | TimeHour, "power (kW) hour"},
		{MicroAmp | MakeUnits(0, 0, 0, 0, 0, 3), "current (uA) x 10^3"},
		{1 << 3, ""},      // a kind without scale
		{7<<3 | 1, ""},    // no such kind
		{0x1f<<3 | 1, ""}, // a negative one
	} {
		if got := tt.u.String(); got != tt.want {
			t.Errorf("%#x: got %q, want %q", uint32(tt.u), got, tt.want)
		}
	}
}

func TestUnitsFields(t *testing.T) {
	type fields struct{ DS, DT, DC, SS, ST, SC, Extra, ExtraScale int }
	of := func(u Units) fields {
		return fields{u.DimSpace(), u.DimTime(), u.DimCount(), u.ScaleSpace(), u.ScaleTime(), u.ScaleCount(), u.Extra(), u.extraScale()}
	}
	for u, want := range map[Units]fields{
		SpaceYByte | TimeHour | UnitCount: {1, 1, 1, 8, 5, 0, 0, 0},
		PerMin | MicroWatt:                {0, -1, 0, 0, 4, 0, extraPower, 4},
		MakeUnits(-8, 7, -1, 15, 15, -8):  {-8, 7, -1, 15, 15, -8, 0, 0},
		0xff:                              {Extra: -1, ExtraScale: 7},
	} {
		if diff := cmp.Diff(want, of(u)); diff != "" {
			t.Errorf("%#x (-want +got)\n%s", uint32(u), diff)
		}
	}
}

func TestParseUnits(t *testing.T) {
	for _, tt := range []struct {
		text string
		u    Units
		mult float64
	}{
		{"", NoUnits, 1},
		{"Kbyte / sec", SpaceKByte | PerSec, 1},
		{"GiB/HOUR", SpaceGByte | PerHour, 1},
		{"100 s", TimeSec, 0.01},
		{"s/100s", NoUnits, 100},
		{"2 byte / 4 sec", SpaceByte | PerSec, 2},
		{"KB / MB", NoUnits, 1024},
		{"millisec / sec", NoUnits, 1000},
		{"0 byte", SpaceByte, math.Inf(1)},
		{"count x 10^-3", MakeUnits(0, 0, 1, 0, 0, -3), 1},
		{"temperature (F)", TempFahrenheit, 1},
		{"VOLTAGE (mv) / sec", MilliVolt | PerSec, 1},
		{"2 power (kW) hour", KiloWatt | TimeHour, 0.5},
		{"0x10 byte", SpaceByte, 0.0625},
	} {
		u, mult, err := ParseUnits(tt.text)
		if u != tt.u || mult != tt.mult || err != nil {
			t.Errorf("%q: got %#x, %v, %v", tt.text, uint32(u), mult, err)
		}
	}
	for text, want := range map[string]string{
		"furlong":                         `units "furlong": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		"\u212abyte":                      `units "Kbyte": unrecognized or duplicate base unit: Impossible value or scale conversion`, // the sign of Kelvin
		"m\u0130n":                        `units "mİn": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		"byte byte":                       `units "byte byte": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		"1e999 sec":                       `units "1e999 sec": invalid floating point literal: Impossible value or scale conversion`,
		"byte^8":                          `units "byte^8": space dimension out of bounds: Impossible value or scale conversion`,
		"/ sec^9":                         `units "/ sec^9": time dimension out of bounds: Impossible value or scale conversion`,
		"count^8":                         `units "count^8": count dimension out of bounds: Impossible value or scale conversion`,
		"time-6/sec":                      `units "time-6/sec": time scale out of bounds: Impossible value or scale conversion`,
		"0x byte":                         `units "0x byte": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		"-nan(a-b)":                       `units "-nan(a-b)": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		"-nan(a":                          `units "-nan(a": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		"/ temperature (C)":               `units "/ temperature (C)": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		"temperature (C)^2":               `units "temperature (C)^2": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		"temperature (C) temperature (C)": `units "temperature (C) temperature (C)": unrecognized or duplicate base unit: Impossible value or scale conversion`,
	} {
		u, mult, err := ParseUnits(text)
		if err == nil || err.Error() != want || u != NoUnits || mult != 1 || !errors.Is(err, ErrConv) {
			t.Errorf("%q: got %#x, %v, %v", text, uint32(u), mult, err)
		}
	}
}

// parsable reports whether the text of u says all of it, and nothing else:
// "count x 10^2" is hundreds, not the square of tens.
func parsable(u Units) bool {
	if n := u.DimCount(); u.ScaleCount() == 1 && n*n > 1 {
		return false
	}
	scaleless := func(dim, scale int) bool { return dim == 0 && scale != 0 }
	extra := u&0xff == 0 || u.extraName() != ""
	return extra && !scaleless(u.DimSpace(), u.ScaleSpace()) && !scaleless(u.DimTime(), u.ScaleTime()) && !scaleless(u.DimCount(), u.ScaleCount())
}

func TestUnitsRoundTrip(t *testing.T) {
	dim := rapid.IntRange(minDim, maxDim)
	rapid.Check(t, func(t *rapid.T) {
		u := MakeUnits(dim.Draw(t, "space"), dim.Draw(t, "time"), dim.Draw(t, "count"),
			rapid.IntRange(0, maxSpaceScale).Draw(t, "scale of space"), rapid.IntRange(0, maxTimeScale).Draw(t, "scale of time"), dim.Draw(t, "scale of count"))
		u |= rapid.SampledFrom([]Units{0, 0, TempKelvin, Volt, MicroAmp, MilliWatt}).Draw(t, "extra")
		if !parsable(u) {
			return
		}
		back, mult, err := ParseUnits(u.String())
		if back != u || mult != 1 || err != nil {
			t.Fatalf("%#x, %q: got %#x, %v, %v", uint32(u), u, uint32(back), mult, err)
		}
	})
}

func TestUnitsAppendAllocates(t *testing.T) {
	b := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { b = MakeUnits(2, -2, 1, 2, 3, 6).AppendTo(b[:0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
