package cnum

import (
	"errors"
	"math"
	"strconv"
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

func TestScan(t *testing.T) {
	inf, nan, tiny := math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64
	for _, tt := range []struct {
		text string
		v    float64
		n    int
		err  error
	}{
		{"", 0, 0, nil},
		{" ", 0, 0, nil},
		{"-", 0, 0, nil},
		{"+ 1", 0, 0, nil},
		{".", 0, 0, nil},
		{"e5", 0, 0, nil},
		{"\t+1.5x", 1.5, 5, nil},
		{"-.5.", -0.5, 3, nil},
		{"5.e1", 50, 4, nil},
		{"1e", 1, 1, nil},
		{"1e+x", 1, 1, nil},
		{"1_0", 1, 1, nil},
		{"0x", 0, 1, nil},
		{"0x.p1", 0, 1, nil},
		{"0X1.8P3;", 12, 7, nil},
		{"0x1p", 1, 3, nil},
		{"-Inf", -inf, 4, nil},
		{"infinite", inf, 3, nil},
		{"INFINITY", inf, 8, nil},
		{"nan", nan, 3, nil},
		{"nan(a_1)", nan, 8, nil},
		{"nan(a-1)", nan, 3, nil},
		{"nan(a", nan, 3, nil},
		{"1e400", inf, 5, strconv.ErrRange},
		{"-1e400", -inf, 6, strconv.ErrRange},
		{"1e-400", 0, 6, strconv.ErrRange},
		{"5e-324", tiny, 6, strconv.ErrRange},
		{"0e-400", 0, 6, nil},
		{"0x1p-1074", tiny, 9, nil},
		{"0x1.8p-1074", 2 * tiny, 11, strconv.ErrRange},
		{"-0x30.00p-1078", -3 * tiny, 14, nil},
		{"0x1p-2000", 0, 9, strconv.ErrRange},
	} {
		v, n, err := Scan(tt.text)
		if v != tt.v && !(v != v && tt.v != tt.v) || n != tt.n || !errors.Is(err, tt.err) {
			t.Errorf("%q: got %v, %d, %v, want %v, %d, %v", tt.text, v, n, err, tt.v, tt.n, tt.err)
		}
	}
	if v, _, _ := Scan("-0"); !math.Signbit(v) {
		t.Error("-0 lost its sign")
	}
}

func TestAllocates(t *testing.T) {
	b := make([]byte, 0, 64)
	n := testing.AllocsPerRun(100, func() {
		b = Pad(AppendG(AppendE(b[:0], 1.25, 6), math.NaN(), 8), 12, 20)
		if v, _, err := Scan(" -12.5e3 sec"); v != -12500 || err != nil {
			t.Fatal(v, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
