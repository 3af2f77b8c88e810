package pmval

import (
	"math"
	"testing"
)

func TestColumn(t *testing.T) {
	for _, tt := range []struct {
		v                float64
		width, precision int
		want             string
	}{
		{0, 10, -1, "    0.0   "},
		{0, 1, -1, "0   .0   "},
		{math.Copysign(0, -1), 10, -1, "   -0.0   "},
		{0.09999, 10, -1, " 9.999E-02"},
		{0.1, 10, -1, "    0.1000"},
		{0.9999, 10, -1, "    0.9999"},
		{0.99991, 10, -1, "    1.000 "},
		{9.9991, 10, -1, "   10.00  "},
		{99.991, 10, -1, "  100.0   "},
		{999.91, 10, -1, " 1000.    "},
		{9999.1, 10, -1, " 9.999E+03"},
		{-1, 12, -1, "  -1.000E+00"},
		{math.Inf(-1), 10, -1, "      -INF"},
		{math.NaN(), 10, -1, "  nan.    "},
		{math.NaN(), 6, 2, "   nan"},
		{-12.345, 8, 2, "  -12.35"},
		{12345.5, 3, 0, "12346"},
		{12345, 11, -1, "  1.234E+04"},
		{0, 9, 1, "      0.0"},
	} {
		if got := string(Column{tt.width, tt.precision}.AppendFloat([]byte("x"), tt.v)); got != "x"+tt.want {
			t.Errorf("%v in %d with precision %d: got %q, want %q", tt.v, tt.width, tt.precision, got[1:], tt.want)
		}
	}
	if got := string((Column{4, 1}).AppendText([]byte("x"), "?")); got != "x   ?" {
		t.Errorf("a text: %q", got)
	}
}
