package pcptool

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

var typeTexts = map[pdu.Type]string{
	pdu.TypeNoSupport: "Not Supported",
	pdu.Type32:        "32-bit int", pdu.TypeU32: "32-bit unsigned int",
	pdu.Type64: "64-bit int", pdu.TypeU64: "64-bit unsigned int",
	pdu.TypeFloat: "float", pdu.TypeDouble: "double", pdu.TypeString: "string",
	pdu.TypeAggregate: "aggregate", pdu.TypeAggregateStatic: "static aggregate",
	pdu.TypeEvent: "event record array", pdu.TypeHighResEvent: "highres event record array",
}

// TypeText is what pmPrintDesc(3) prints of a type, such as "32-bit unsigned int"; of one that is
// not known "??? (99)".
func TypeText(t pdu.Type) string {
	if text, ok := typeTexts[t]; ok {
		return text
	}
	return fmt.Sprintf("??? (%d)", t)
}

// SemanticsText is what pmPrintDesc(3) prints of a metric's semantics and units: "Semantics:
// counter  Units: sec".
func SemanticsText(d pdu.Desc) string {
	sem, units := d.Sem.String(), d.Units.String()
	if sem == "???" {
		sem = fmt.Sprintf("??? (%d)", d.Sem)
	}
	if units == "" {
		units = "none"
	}
	return "Semantics: " + sem + "  Units: " + units
}
