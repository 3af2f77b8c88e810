package pcptool

import (
	"math"

	"github.com/pcp-go/pcp/pdu"
)

// TypeWidth is the width of pmval's columns of values of a type, 0 for event arrays, which are not
// printed in columns. ok is false for types that values cannot have.
func TypeWidth(t pdu.Type) (width int, ok bool) {
	switch t {
	case pdu.Type32, pdu.TypeU32:
		return 11, true
	case pdu.TypeFloat:
		return 13, true
	case pdu.Type64, pdu.TypeU64, pdu.TypeDouble, pdu.TypeString, pdu.TypeAggregate, pdu.TypeAggregateStatic:
		return 21, true
	case pdu.TypeEvent, pdu.TypeHighResEvent:
		return 0, true
	}
	return 0, false
}

// RateUnits returns pmval's units for the rate of a counter of units u, and the factor that
// converts a rate in u per second to these units. The rate of a counter in milliseconds is "time
// utilization", its factor 0.001; that of a counter in Kbyte is "Kbyte / sec", its factor 1.
func RateUnits(u pdu.Units) (text string, factor float64) {
	second := pdu.TimeSec.ScaleTime()
	scale := u.ScaleTime()
	switch {
	case u.DimTime() == 0:
		scale, factor = second, 1
	case scale > second: // minutes, hours
		factor = math.Pow(60, float64(scale-second))
	default:
		factor = math.Pow(1000, float64(scale-second))
	}
	if u.DimSpace() == 0 && u.DimTime() == 1 && u.DimCount() == 0 {
		return "time utilization", factor
	}
	return pdu.MakeUnits(u.DimSpace(), u.DimTime()-1, u.DimCount(), u.ScaleSpace(), scale, u.ScaleCount()).String(), factor
}
