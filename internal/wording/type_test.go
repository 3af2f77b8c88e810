package wording_test

import (
	"testing"

	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

func TestType(t *testing.T) {
	for typ, want := range map[pdu.Type]string{
		pdu.Type32: "32 (int32)", pdu.TypeU32: "U32 (uint32)", pdu.Type64: "64 (int64)", pdu.TypeU64: "U64 (uint64)",
		pdu.TypeFloat: "FLOAT", pdu.TypeString: "STRING", pdu.TypeUnknown: "UNKNOWN", 99: "???",
	} {
		if got := wording.Type(typ); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
