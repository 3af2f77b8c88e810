package pdu

import (
	"math"
	"testing"
)

func TestFormatNumber(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		v    float64
		want string
	}{
		{0, "  0.00 "}, {math.Copysign(0, -1), "  0.00 "}, {math.NaN(), "  0.00 "}, {0.004, "  0.00 "}, {-0.004, "  0.00 "},
		{0.005, "  0.01 "}, {-0.005, " -0.01 "}, {12.345, " 12.35 "}, {-99.99, "-99.99 "}, {-99.995, " -0.10K"},
		{999.994, "999.99 "}, {999.995, "  1.00K"}, {-12345, "-12.35K"}, {-99995, " -0.10M"}, {999995, "  1.00M"},
		{999995e3, "  1.00G"}, {-99995e3, " -0.10G"}, {999995e6, "  1.00T"}, {-99995e6, " -0.10T"}, {-1e12, " -1.00T"},
		{1e14, "100.00T"}, {-1e14, "-inf?  "}, {1e15, " inf?  "}, {inf, " inf?  "}, {-inf, "-inf?  "},
	} {
		if got := FormatNumber(tt.v); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestAppendNumberAllocates(t *testing.T) {
	b := make([]byte, 0, 16)
	if n := testing.AllocsPerRun(100, func() { b = appendNumber(appendNumber(b[:0], 1234.5), -1e300) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if string(b) != "  1.23K-inf?  " {
		t.Errorf("%q", b)
	}
}

func BenchmarkAppendNumber(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 0, 16)
	for b.Loop() {
		buf = appendNumber(buf[:0], 123456.789)
	}
}
