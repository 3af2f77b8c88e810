package tool

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// What values of other types than their metric's print was seen of pminfo, on a little-endian computer.
func TestAppendValue(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the bytes of numbers are those of a little-endian computer")
	}
	for _, tt := range []struct {
		value     pdu.Atom
		of        pdu.Type
		set       string // as a value of a set
		parameter string // of an event
	}{
		{pdu.Int32(-1), pdu.Type32, "-1", "-1"},
		{pdu.Int32(-1), pdu.TypeU32, "4294967295", "4294967295"},
		{pdu.Uint32(999), pdu.TypeNoSupport, "999 1.3998972e-42 0x3e7", "999 1.3998972e-42 0x3e7"},
		{pdu.Uint32(999), pdu.TypeString, "999 1.3998972e-42 0x3e7", "999 1.3998972e-42 0x3e7"},
		{pdu.Uint32(math.Float32bits(1.5)), pdu.TypeFloat, "1.5", "1.5"},
		{pdu.Float32(1.5), pdu.TypeFloat, "1.5", "1.5"},
		{pdu.Float32(1.5), pdu.TypeU32, "1.5 [0000c03f]", "1.5 [0000c03f]"},
		{pdu.Float64(math.Pi), pdu.TypeU32, "4614256656552045848 3.141592653589793 [182d4454fb210940]", "4614256656552045848 3.141592653589793 [182d4454fb210940]"},
		{pdu.Int64(-1), pdu.TypeDouble, "18446744073709551615 [ffffffffffffffff]", "18446744073709551615 [ffffffffffffffff]"},
		{pdu.Uint64(0), pdu.Type64, "0 0 [0000000000000000]", "0 0 [0000000000000000]"},
		{pdu.String("text"), pdu.TypeString, `"text"`, `"text"`},
		{pdu.String("text\n"), pdu.TypeDouble, "[746578740a00]", "[746578740a]"},
		{pdu.Aggregate([]byte("ab")), pdu.TypeAggregateStatic, `"ab" [6162]`, `"ab" [6162]`},
	} {
		var w pdu.ResultWriter
		w.Begin(1)
		w.Atom(pdu.NoInst, tt.value)
		r, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendValue(nil, pmapi.ValueFormat{}, r.At(0), 0, tt.of)); got != tt.set {
			t.Errorf("%v %v as a %v: got %s, want %s", tt.value.Type, tt.value, tt.of, got, tt.set)
		}
		if got := string(AppendParameter(nil, pmapi.ValueFormat{}, tt.value, tt.of)); got != tt.parameter {
			t.Errorf("parameter %v %v as a %v: got %s, want %s", tt.value.Type, tt.value, tt.of, got, tt.parameter)
		}
	}
}
