package nodeview

import (
	"math"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A conversion converts values to the units of a family: v * mul / div. Both are exact.
type conversion struct{ mul, div float64 }

func (c conversion) apply(v float64) float64 {
	if c.div != 1 {
		return v * c.mul / c.div
	}
	return v * c.mul
}

// conversionOf returns the conversion from a metric's units to the units in a family's name. A
// factor other than 0 replaces it. ok is false if the family cannot have these units.
func conversionOf(family string, units pdu.Units, factor float64) (c conversion, ok bool) {
	if factor != 0 {
		return conversion{factor, 1}, true
	}
	name := strings.TrimSuffix(family, "_total")
	to := pdu.MakeUnits(0, 0, units.DimCount(), 0, 0, 0)
	switch {
	case strings.HasSuffix(name, "_seconds"):
		to = pdu.TimeSec
	case strings.HasSuffix(name, "_bytes"):
		to = pdu.SpaceByte
	case strings.HasSuffix(name, "_hertz"):
		to = pdu.MakeUnits(0, -1, 0, 0, pdu.TimeSec.ScaleTime(), 0)
	}
	one, err := pdu.Float64(1).ConvertUnits(units, to)
	if err != nil {
		return c, false
	}
	v, err := pdu.As[float64](one)
	if err != nil || v == 0 {
		return c, false
	}
	if v < 1 {
		return conversion{1, math.Round(1 / v)}, true
	}
	return conversion{v, 1}, true
}

// numberOf returns a numeric value as a float64.
func numberOf(a pdu.Atom) (v float64, ok bool) {
	switch a.Type {
	case pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeDouble:
		v, err := pdu.As[float64](a)
		return v, err == nil
	case pdu.TypeFloat:
		v, err := pdu.As[float32](a)
		if err != nil {
			return 0, false
		}
		// The shortest text of a float32, such as 0.1, is the intended value; the float64 of the
		// same bits is only near it.
		var text [32]byte
		w, err := strconv.ParseFloat(string(strconv.AppendFloat(text[:0], float64(v), 'g', -1, 32)), 64)
		return w, err == nil
	}
	return 0, false
}
