// Package typename names types of metrics in errors.
package typename

import "github.com/pcp-go/pcp/pdu"

// Of is the name of a type of metrics. Integers have their Go type too, for their names alone, such
// as "32", read like numbers.
func Of(t pdu.Type) string {
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
