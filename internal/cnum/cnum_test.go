package cnum

import (
	"math"
	"testing"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct {
		v       float64
		e, f, g string
	}{
		{0, "0.000000e+00", "0.00", "0"},
		{math.Copysign(0, -1), "-0.000000e+00", "-0.00", "-0"},
		{1.5, "1.500000e+00", "1.50", "1.5"},
		{-1234567.125, "-1.234567e+06", "-1234567.12", "-1234567.1"},
		{12345678, "1.234568e+07", "12345678.00", "12345678"},
		{123456789, "1.234568e+08", "123456789.00", "1.2345679e+08"},
		{99999999.5, "1.000000e+08", "99999999.50", "1e+08"},
		{0.0001, "1.000000e-04", "0.00", "0.0001"},
		{0.00001, "1.000000e-05", "0.00", "1e-05"},
		{1e100, "1.000000e+100", "10000000000000000159028911097599180468360808563945281389781327557747838772170381060813469985856815104.00", "1e+100"},
		{5e-324, "4.940656e-324", "0.00", "4.9406565e-324"},
		{math.Inf(1), "inf", "inf", "inf"},
		{math.Inf(-1), "-inf", "-inf", "-inf"},
		{math.NaN(), "nan", "nan", "nan"},
		{math.Copysign(math.NaN(), -1), "-nan", "-nan", "-nan"},
	} {
		e, f, g := AppendE(nil, tt.v, 6), AppendF(nil, tt.v, 2), AppendG(nil, tt.v, 8)
		if string(e) != tt.e || string(f) != tt.f || string(g) != tt.g {
			t.Errorf("%v: got %s, %s, %s", tt.v, e, f, g)
		}
	}
}

func TestPad(t *testing.T) {
	for _, tt := range []struct {
		width int
		want  string
	}{{0, "ab:xyz"}, {3, "ab:xyz"}, {-3, "ab:xyz"}, {5, "ab:  xyz"}, {-5, "ab:xyz  "}, {12, "ab:         xyz"}} {
		if got := Pad([]byte("ab:xyz"), 3, tt.width); string(got) != tt.want {
			t.Errorf("width %d: got %q, want %q", tt.width, got, tt.want)
		}
	}
}

func TestAllocates(t *testing.T) {
	b := make([]byte, 0, 64)
	n := testing.AllocsPerRun(100, func() {
		b = Pad(AppendG(AppendE(b[:0], 1.25, 6), math.NaN(), 8), 12, 20)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
