package wording

import "github.com/pcp-go/pcp/pdu"

// Type returns the name of a metric's type. Those of the integers include the Go type, because
// PCP's names for them, such as "32", read like numbers.
func Type(t pdu.Type) string {
	switch t {
	case pdu.Type32:
		return "32 (int32)"
	case pdu.TypeU32:
		return "U32 (uint32)"
	case pdu.Type64:
		return "64 (int64)"
	case pdu.TypeU64:
		return "U64 (uint64)"
	}
	return t.String()
}
