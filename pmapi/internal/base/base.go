// Package base converts the values of metrics to base units: bytes, seconds and so on. All
// exporters use it, so that a metric has one unit and one value in each format.
package base

import (
	"math"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

// A Conversion converts values to base units: v * Mul / Div - Sub. Both factors are exact.
type Conversion struct {
	// Unit is the base unit in the words of OpenMetrics, such as "bytes_per_second". It is "" for
	// counts and for numbers without units.
	Unit          string
	Mul, Div, Sub float64
}

// Same leaves values as they are.
var Same = Conversion{Mul: 1, Div: 1}

// perSecond has how many of each unit of time are a second, as mul / div.
var perSecond = [...]struct{ mul, div float64 }{{1e9, 1}, {1e6, 1}, {1e3, 1}, {1, 1}, {1, 60}, {1, 3600}}

// From returns the conversion from units to base units; ok is false for units without base units,
// and the conversion is Same.
func From(u pdu.Units) (c Conversion, ok bool) {
	c = Same
	space, time, count := u.DimSpace(), u.DimTime(), u.DimCount()
	if u.Extra() != 0 {
		if space != 0 || time != 0 || count != 0 {
			return Same, false
		}
		if c, ok = extraUnits[u&0xff]; !ok {
			c = Same
		}
		return c, ok
	}
	second := struct{ mul, div float64 }{1, 1}
	if time != 0 {
		if u.ScaleTime() >= len(perSecond) {
			return Same, false
		}
		second = perSecond[u.ScaleTime()]
	}
	if space != 0 && u.ScaleSpace() > 6 {
		return Same, false
	}
	bytes := math.Pow(1024, float64(u.ScaleSpace()))
	c.count(u.ScaleCount(), count)
	switch [3]int{space, time, count} {
	case [3]int{0, 0, 0}, [3]int{0, 0, 1}:
	case [3]int{1, 0, 0}:
		c.Unit, c.Mul = "bytes", bytes
	case [3]int{0, 1, 0}:
		c.Unit, c.Mul, c.Div = "seconds", second.div, second.mul
	case [3]int{1, -1, 0}:
		c.Unit, c.Mul, c.Div = "bytes_per_second", bytes*second.mul, second.div
	case [3]int{0, -1, 1}:
		c.Unit = "per_second"
		c.Mul, c.Div = c.Mul*second.mul, c.Div*second.div
	case [3]int{0, -1, 0}:
		c.Unit, c.Mul, c.Div = "hertz", second.mul, second.div
	default:
		return Same, false
	}
	return c, true
}

// count makes 10^scale a factor, if there is a dimension of count.
func (c *Conversion) count(scale, dim int) {
	switch {
	case dim == 0:
	case scale >= 0:
		c.Mul = math.Pow10(scale)
	default:
		c.Div = math.Pow10(-scale)
	}
}

// extraUnits are the conversions of temperature, voltage, current and power.
var extraUnits = map[pdu.Units]Conversion{
	pdu.TempCelsius:    {"celsius", 1, 1, 0},
	pdu.TempFahrenheit: {"celsius", 5, 9, 160. / 9},
	pdu.TempKelvin:     {"celsius", 1, 1, 273.15},
	pdu.Volt:           {"volts", 1, 1, 0},
	pdu.MilliVolt:      {"volts", 1, 1e3, 0},
	pdu.MicroVolt:      {"volts", 1, 1e6, 0},
	pdu.Amp:            {"amperes", 1, 1, 0},
	pdu.MilliAmp:       {"amperes", 1, 1e3, 0},
	pdu.MicroAmp:       {"amperes", 1, 1e6, 0},
	pdu.KiloWatt:       {"watts", 1e3, 1, 0},
	pdu.Watt:           {"watts", 1, 1, 0},
	pdu.MilliWatt:      {"watts", 1, 1e3, 0},
	pdu.MicroWatt:      {"watts", 1, 1e6, 0},
}

// A Number is the value of a metric. Integers are kept as integers while they are exact.
type Number struct {
	Float   float64
	Integer uint64 // the absolute value, if IsInt
	IsInt   bool
	Neg     bool
}

// NumberOf returns the value of an atom; ok is false for types that are not numbers, and for a
// malformed value. A float32 becomes the float64 with the same shortest text: 0.1 stays 0.1.
func NumberOf(a pdu.Atom) (n Number, ok bool) {
	switch a.Type {
	case pdu.Type32, pdu.Type64:
		v, err := pdu.As[int64](a)
		n = Number{Float: float64(v), Integer: uint64(v), IsInt: true, Neg: v < 0}
		if n.Neg {
			n.Integer = -n.Integer
		}
		return n, err == nil
	case pdu.TypeU32, pdu.TypeU64:
		v, err := pdu.As[uint64](a)
		return Number{Float: float64(v), Integer: v, IsInt: true}, err == nil
	case pdu.TypeFloat:
		v, err := pdu.As[float32](a)
		if err != nil {
			return Number{}, false
		}
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		return Number{Float: f, Neg: f < 0}, err == nil
	case pdu.TypeDouble:
		v, err := pdu.As[float64](a)
		return Number{Float: v, Neg: v < 0}, err == nil
	}
	return Number{}, false
}

// Apply converts a number. An integer that cannot stay exact becomes a float.
func (c Conversion) Apply(n Number) Number {
	if c.Mul == 1 && c.Div == 1 && c.Sub == 0 {
		return n
	}
	if n.IsInt && c.Div == 1 && c.Sub == 0 && (c.Mul == 0 || n.Integer <= uint64(math.MaxUint64/c.Mul)/2) {
		n.Integer *= uint64(c.Mul)
		n.Float *= c.Mul
		return n
	}
	f := c.Float(n.Float)
	return Number{Float: f, Neg: f < 0}
}

// Append appends n as OpenMetrics and Prometheus write it.
func (n Number) Append(b []byte) []byte {
	switch {
	case n.IsInt && n.Neg:
		return strconv.AppendUint(append(b, '-'), n.Integer, 10)
	case n.IsInt:
		return strconv.AppendUint(b, n.Integer, 10)
	case math.IsInf(n.Float, 1):
		return append(b, "+Inf"...)
	}
	return strconv.AppendFloat(b, n.Float, 'g', -1, 64) // also "NaN" and "-Inf"
}

// Int64 returns n as an int64; ok is false if n is not one.
func (n Number) Int64() (v int64, ok bool) {
	switch {
	case !n.IsInt || n.Integer > 1<<63:
		return 0, false
	case n.Neg:
		return -int64(n.Integer), true
	}
	return int64(n.Integer), n.Integer < 1<<63
}

// Plus returns the sum of n and m, which are not negative.
func (n Number) Plus(m Number) Number {
	if n.IsInt && m.IsInt && n.Integer+m.Integer >= n.Integer {
		n.Integer += m.Integer
		n.Float = float64(n.Integer)
		return n
	}
	return Number{Float: n.Float + m.Float}
}

// Float converts a number that is not a metric's value, such as the bound of a bucket.
func (c Conversion) Float(v float64) float64 { return v*c.Mul/c.Div - c.Sub }
