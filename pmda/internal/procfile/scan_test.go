package procfile

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestParseUint parses valid and invalid numbers.
func TestParseUint(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "007": 7, "18446744073709551615": math.MaxUint64, "4294967296": 1 << 32} {
		if got, ok := ParseUint([]byte(text)); !ok || got != want {
			t.Errorf("%q is %d, %v", text, got, ok)
		}
		if _, ok := ParseUint32([]byte(text)); ok != (want <= math.MaxUint32) {
			t.Errorf("%q fits 32 bits: %v", text, ok)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1x", "0x1", "1.5", " 1", "18446744073709551616", "99999999999999999999999"} {
		if got, ok := ParseUint([]byte(text)); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// TestParseHex parses valid and invalid hexadecimal numbers.
func TestParseHex(t *testing.T) {
	for text, want := range map[string]uint64{"0A": 10, "ff": 255, "ffffffffffffffff": math.MaxUint64} {
		if got, ok := ParseHex([]byte(text)); !ok || got != want {
			t.Errorf("%q is %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "g", "0x1", "1ffffffffffffffff", "-1"} {
		if got, ok := ParseHex([]byte(text)); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// TestCutDecimal parses decimal numbers, and rejects other forms of a float.
func TestCutDecimal(t *testing.T) {
	if v, rest, ok := CutDecimal([]byte(" 2596.138 7")); !ok || v != 2596.138 || string(rest) != " 7" {
		t.Error(v, string(rest), ok)
	}
	for _, text := range []string{"", "1e3", "-1", "nan", "inf", "1.2.3", strings.Repeat("9", 400)} {
		if v, _, ok := CutDecimal([]byte(text)); ok {
			t.Errorf("%q is %v", text, v)
		}
	}
}

// TestNumberAfter parses names with a number at the end.
func TestNumberAfter(t *testing.T) {
	for name, want := range map[string]uint32{"cpu0": 0, "cpu12": 12, "cpu2147483647": math.MaxInt32} {
		if got, ok := NumberAfter([]byte(name), "cpu"); !ok || got != want {
			t.Errorf("%q has %d, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "cpu", "cp0", "cpu00", "cpu01", "cpu1x", "cpu-1", "cpu2147483648", "xcpu1"} {
		if got, ok := NumberAfter([]byte(name), "cpu"); ok {
			t.Errorf("%q has %d", name, got)
		}
	}
}

// TestLines: Lines ignores a line that has been cut short.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		text                string
		lines               []string
		truncated, complete bool
	}{
		{"", nil, false, false},
		{"a", nil, true, false},
		{"a\n", []string{"a"}, false, true},
		{"a\n\nb", []string{"a", ""}, true, false},
		{"\n", []string{""}, false, true},
	} {
		var got []string
		for line := range Lines([]byte(tt.text)) {
			got = append(got, string(line))
		}
		if !slices.Equal(got, tt.lines) || Truncated([]byte(tt.text)) != tt.truncated || HasCompleteLines([]byte(tt.text)) != tt.complete {
			t.Errorf("%q has the lines %q", tt.text, got)
		}
		if line, ok := OnlyLine([]byte(tt.text)); ok != (len(tt.lines) == 1 && !tt.truncated) || ok && string(line) != tt.lines[0] {
			t.Errorf("%q has the only line %q, %v", tt.text, line, ok)
		}
	}
}

// FuzzScan: the functions that scan agree with the standard library's, and lose
// nothing.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"", "a b\tc", " 12 -3 1e5\n0xff", "18446744073709551615 18446744073709551616\n", "\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n := 0
		for line := range Lines(text) {
			n += len(line) + 1
		}
		if Truncated(text) != (n < len(text)) || n > len(text) {
			t.Errorf("lines of %d bytes in a text of %d", n, len(text))
		}
		var fields []string
		for field, rest := CutField(text); len(field) > 0; field, rest = CutField(rest) {
			fields = append(fields, string(field))
			v, ok := ParseUint(field)
			if want, err := strconv.ParseUint(string(field), 10, 64); ok != (err == nil) || ok && v != want {
				t.Errorf("%q is %d, %v", field, v, ok)
			}
			v, ok = ParseHex(field)
			if want, err := strconv.ParseUint(string(field), 16, 64); ok && (err != nil || v != want) {
				t.Errorf("%q is %x in hexadecimal", field, v)
			}
		}
		want := strings.FieldsFunc(string(text), func(r rune) bool { return r == ' ' || r == '\t' })
		if !slices.Equal(fields, want) {
			t.Errorf("the fields %q, want %q", fields, want)
		}
	})
}
