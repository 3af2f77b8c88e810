package pdu

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

func TestParseAtom(t *testing.T) {
	const bad, far = "incompatible", "range"
	types := []Type{Type32, TypeU32, Type64, TypeU64, TypeFloat, TypeDouble}
	for _, tt := range []struct {
		text string
		want string // of the types up to doubles
	}{
		{"", "0 0 0 0 0.000000e+00 0.000000e+00"},
		{" +5", "5 5 5 5 5.000000e+00 5.000000e+00"},
		{"010", "10 10 10 10 1.000000e+01 1.000000e+01"},
		{"0x1F", "31 31 31 31 incompatible incompatible"},
		{"-0X10", "-16 range -16 18446744073709551600 incompatible incompatible"},
		{"5 ", "incompatible incompatible incompatible incompatible incompatible incompatible"},
		{"-", "incompatible incompatible incompatible incompatible incompatible incompatible"},
		{"0x", "incompatible incompatible incompatible incompatible incompatible incompatible"},
		{"1.5", "incompatible incompatible incompatible incompatible 1.500000e+00 1.500000e+00"},
		{"0x1.8p1", "incompatible incompatible incompatible incompatible 3.000000e+00 3.000000e+00"},
		{"inf", "incompatible incompatible incompatible incompatible range inf"},
		{"nan", "incompatible incompatible incompatible incompatible nan nan"},
		{"2147483648", "range 2147483648 2147483648 2147483648 2.147484e+09 2.147484e+09"},
		{"-2147483648", "-2147483648 range -2147483648 18446744071562067968 -2.147484e+09 -2.147484e+09"},
		{"-2147483649", "range range -2147483649 18446744071562067967 -2.147484e+09 -2.147484e+09"},
		{"4294967296", "range range 4294967296 4294967296 4.294967e+09 4.294967e+09"},
		{"9223372036854775808", "range range range 9223372036854775808 9.223372e+18 9.223372e+18"},
		{"-9223372036854775808", "range range -9223372036854775808 9223372036854775808 -9.223372e+18 -9.223372e+18"},
		{"-18446744073709551615", "range 1 range 1 -1.844674e+19 -1.844674e+19"},
		{"18446744073709551616", "range range range range 1.844674e+19 1.844674e+19"},
		{"1e39", "incompatible incompatible incompatible incompatible range 1.000000e+39"},
		{"1e-39", "incompatible incompatible incompatible incompatible range 1.000000e-39"},
		{"1e-400", "incompatible incompatible incompatible incompatible range range"},
	} {
		var got []string
		for _, typ := range types {
			a, err := ParseAtom(tt.text, typ)
			switch {
			case errors.Is(err, ErrConv):
				got = append(got, bad)
			case errors.Is(err, ErrTrunc):
				got = append(got, far)
			case a.Type != typ:
				t.Errorf("%q as %v is a %v", tt.text, typ, a.Type)
			default:
				got = append(got, a.String())
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q: got %s, want %s", tt.text, s, tt.want)
		}
	}
	for _, typ := range []Type{TypeString, TypeEvent, TypeHighResEvent} {
		if a, err := ParseAtom(" a\n", typ); a.Type != TypeString || a.String() != "\" a\n\"" || err != nil {
			t.Error(typ, a, err)
		}
	}
	for _, typ := range []Type{TypeAggregate, TypeAggregateStatic, TypeNoSupport} {
		if _, err := ParseAtom("5", typ); !errors.Is(err, ErrConv) {
			t.Errorf("%v: %v", typ, err)
		}
	}
	if v, err := As[float32](mustAtom(ParseAtom("3.4028234e38", TypeFloat))); v != math.MaxFloat32 || err != nil {
		t.Error(v, err)
	}
}

func mustAtom(a Atom, err error) Atom {
	if err != nil {
		panic(err)
	}
	return a
}

// TestInteropParseAtom has pmval store texts, and compares the stored values.
func TestInteropParseAtom(t *testing.T) {
	pcptest.Need(t, "pmval")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}})
	texts := []string{"", " ", "0", "-0", "7", " 5", "5 ", "+5", "-5", "010", "0x", "0x1f", "-0x10", "0x1p3", "0x1.8", "1e3", ".5", "5.", ".", "1e",
		"inf", "-infinity", "nan", "1e39", "1e-39", "1e400", "1e-400", "1_0", "2147483648", "-2147483649", "4294967296", "-4294967296",
		"9223372036854775808", "-9223372036854775809", "-18446744073709551615", "18446744073709551616"}
	for name, typ := range map[string]Type{"long": Type32, "ulong": TypeU32, "longlong": Type64,
		"ulonglong": TypeU64, "float": TypeFloat, "double": TypeDouble} {
		for _, text := range texts {
			_, errs, status := pcptest.Run(t, nil, "", "pmval", "-h", pmcd.Host(), "-s", "1", "-x", text, "sample."+name+".write_me")
			var want error
			switch {
			case strings.Contains(errs, "incompatible"):
				want = ErrConv
			case strings.Contains(errs, "out of range"):
				want = ErrTrunc
			case status != 0:
				t.Fatal(errs)
			}
			a, err := ParseAtom(text, typ)
			zero := a.Equal(Float32(0)) || a.Equal(Float32(float32(math.Copysign(0, -1))))
			if !errors.Is(err, want) && !(typ == TypeFloat && zero && want == ErrTrunc) {
				t.Errorf("%q as %v: %v, pmval: %v", text, typ, err, want)
			}
		}
	}
}
