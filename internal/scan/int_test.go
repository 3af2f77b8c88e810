package scan_test

import (
	"math"
	"testing"

	"github.com/pcp-go/pcp/internal/scan"
)

func TestInt(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int64
		rest string
		ok   bool
	}{
		{"", 0, "", false}, {" x", 0, " x", false}, {"-", 0, "-", false}, {"+-1", 0, "+-1", false},
		{"0", 0, "", true}, {" \v+12.5", 12, ".5", true}, {"-7x", -7, "x", true}, {"0x10", 0, "x10", true},
		{"9223372036854775807", math.MaxInt64, "", true}, {"9223372036854775808", math.MaxInt64, "", true},
		{"-9223372036854775808", math.MinInt64, "", true}, {"-9223372036854775809", math.MinInt64, "", true},
		{"99999999999999999999999.", math.MaxInt64, ".", true}, {"-99999999999999999999999", math.MinInt64, "", true},
	} {
		if n, rest, ok := scan.Int(tt.in); n != tt.n || rest != tt.rest || ok != tt.ok {
			t.Errorf("Int(%q) = %d, %q, %t, want %d, %q, %t", tt.in, n, rest, ok, tt.n, tt.rest, tt.ok)
		}
	}
}

func TestWholeInt(t *testing.T) {
	for _, tt := range []struct {
		in string
		n  int64
		ok bool
	}{
		{"", 0, true}, {" ", 0, false}, {" \n+12", 12, true}, {"12 ", 12, false}, {"-7", -7, true}, {"-", 0, false},
		{"1_000", 0, false}, {"0x1", 0, false}, {"1.0", 0, false}, {"1x", 0, false}, {"007", 7, true},
		{"99999999999999999999", math.MaxInt64, true}, {"-99999999999999999999", math.MinInt64, true},
	} {
		if n, ok := scan.WholeInt(tt.in); ok != tt.ok || ok && n != tt.n {
			t.Errorf("WholeInt(%q) = %d, %t, want %d, %t", tt.in, n, ok, tt.n, tt.ok)
		}
	}
}
