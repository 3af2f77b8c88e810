package lognum

import (
	"encoding/binary"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// TestUntyped reads a block of a type, or of none, as a metric's type.
func TestUntyped(t *testing.T) {
	const noType = 0
	for _, test := range []struct {
		block pdu.Type
		bytes []byte
		as    pdu.Type
		want  pdu.Atom
		ok    bool
	}{
		{noType, binary.NativeEndian.AppendUint64(nil, 1<<63+5), pdu.TypeU64, pdu.Uint64(1<<63 + 5), true},
		{noType, binary.NativeEndian.AppendUint64(nil, ^uint64(6)), pdu.Type64, pdu.Int64(-7), true},
		{noType, binary.NativeEndian.AppendUint64(nil, 0x3ff8<<48), pdu.TypeDouble, pdu.Float64(1.5), true},
		{noType, make([]byte, 8), pdu.TypeU32, pdu.Atom{}, false},
		{noType, make([]byte, 8), pdu.TypeString, pdu.Atom{}, false},
		{noType, make([]byte, 4), pdu.TypeU64, pdu.Atom{}, false},
		{noType, make([]byte, 12), pdu.TypeU64, pdu.Atom{}, false},
		{pdu.TypeU64, make([]byte, 8), pdu.TypeU64, pdu.Atom{}, false},
		{pdu.TypeDouble, make([]byte, 8), pdu.TypeU64, pdu.Atom{}, false},
	} {
		const at = 32 // where the block is, after a header of 12 bytes
		var body []byte
		for _, word := range []uint32{1, 0, 1, 29<<22 + 1, 1, 1, 0, (at + 12) / 4, uint32(test.block)<<24 | uint32(4+len(test.bytes))} {
			body = binary.BigEndian.AppendUint32(body, word)
		}
		var r pdu.Result
		if err := r.Decode(append(body, test.bytes...)); err != nil {
			t.Fatal(err)
		}
		a, ok := Untyped(r.At(0), 0, test.as)
		if ok != test.ok || ok && (a.Type != test.want.Type || a.String() != test.want.String()) {
			t.Errorf("block of type %d with % x as %v: %v, %v, want %v, %v", test.block, test.bytes, test.as, a, ok, test.want, test.ok)
		}
	}
}
