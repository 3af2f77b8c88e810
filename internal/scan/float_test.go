package scan_test

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/pcp-go/pcp/internal/scan"
)

func TestFloat(t *testing.T) {
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
		v, n, err := scan.Float(tt.text)
		if v != tt.v && !(v != v && tt.v != tt.v) || n != tt.n || !errors.Is(err, tt.err) {
			t.Errorf("%q: got %v, %d, %v, want %v, %d, %v", tt.text, v, n, err, tt.v, tt.n, tt.err)
		}
	}
	if v, _, _ := scan.Float("-0"); !math.Signbit(v) {
		t.Error("-0 lost its sign")
	}
}

func TestFloatAllocates(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		if v, _, err := scan.Float(" -12.5e3 sec"); v != -12500 || err != nil {
			t.Fatal(v, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
