package openmetrics

import (
	"math"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

// A conversion takes values to base units: v * mul / div, and then minus sub. Both factors are exact.
type conversion struct {
	suffix        string // of the name
	unit          string // of the family, which ends its name; "" if there is none
	mul, div, sub float64
}

var same = conversion{mul: 1, div: 1}

// perSecond has how many of a unit of time are a second, as mul / div.
var perSecond = [...]struct{ mul, div float64 }{{1e9, 1}, {1e6, 1}, {1e3, 1}, {1, 1}, {1, 60}, {1, 3600}}

// toBase is the conversion from units to base units; ok is false for units that have none, whose values stay as they are.
func toBase(u pdu.Units) (c conversion, ok bool) {
	c = same
	space, time, count := u.DimSpace(), u.DimTime(), u.DimCount()
	if u.Extra() != 0 {
		if space != 0 || time != 0 || count != 0 {
			return same, false
		}
		if c, ok = extraUnits[u&0xff]; !ok {
			c = same
		}
		return c, ok
	}
	second := struct{ mul, div float64 }{1, 1}
	if time != 0 {
		if u.ScaleTime() >= len(perSecond) {
			return same, false
		}
		second = perSecond[u.ScaleTime()]
	}
	if space != 0 && u.ScaleSpace() > 6 {
		return same, false
	}
	bytes := math.Pow(1024, float64(u.ScaleSpace()))
	c.count(u.ScaleCount(), count)
	switch [3]int{space, time, count} {
	case [3]int{0, 0, 0}, [3]int{0, 0, 1}:
	case [3]int{1, 0, 0}:
		c.suffix, c.unit, c.mul = "bytes", "bytes", bytes
	case [3]int{0, 1, 0}:
		c.suffix, c.unit, c.mul, c.div = "seconds", "seconds", second.div, second.mul
	case [3]int{1, -1, 0}:
		c.suffix, c.unit, c.mul, c.div = "bytes_per_second", "bytes_per_second", bytes*second.mul, second.div
	case [3]int{0, -1, 1}:
		c.suffix, c.unit = "per_second", "per_second"
		c.mul, c.div = c.mul*second.mul, c.div*second.div
	case [3]int{0, -1, 0}:
		c.suffix, c.unit, c.mul, c.div = "hertz", "hertz", second.mul, second.div
	default:
		return same, false
	}
	return c, true
}

// count makes 10^scale a factor, if there is a dimension of count.
func (c *conversion) count(scale, dim int) {
	switch {
	case dim == 0:
	case scale >= 0:
		c.mul = math.Pow10(scale)
	default:
		c.div = math.Pow10(-scale)
	}
}

// extraUnits are the conversions of temperature, voltage, current and power.
var extraUnits = map[pdu.Units]conversion{
	pdu.TempCelsius:    {"celsius", "celsius", 1, 1, 0},
	pdu.TempFahrenheit: {"celsius", "celsius", 5, 9, 160. / 9},
	pdu.TempKelvin:     {"celsius", "celsius", 1, 1, 273.15},
	pdu.Volt:           {"volts", "volts", 1, 1, 0},
	pdu.MilliVolt:      {"volts", "volts", 1, 1e3, 0},
	pdu.MicroVolt:      {"volts", "volts", 1, 1e6, 0},
	pdu.Amp:            {"amperes", "amperes", 1, 1, 0},
	pdu.MilliAmp:       {"amperes", "amperes", 1, 1e3, 0},
	pdu.MicroAmp:       {"amperes", "amperes", 1, 1e6, 0},
	pdu.KiloWatt:       {"watts", "watts", 1e3, 1, 0},
	pdu.Watt:           {"watts", "watts", 1, 1, 0},
	pdu.MilliWatt:      {"watts", "watts", 1, 1e3, 0},
	pdu.MicroWatt:      {"watts", "watts", 1, 1e6, 0},
}

// A number is a value as it is written: integers stay integers as long as they are exact.
type number struct {
	float   float64
	integer uint64 // the absolute value, if isInt
	isInt   bool
	neg     bool
}

// numberOf takes the value of a number's type; ok is false for others, and for one that arrived malformed.
func numberOf(a pdu.Atom) (n number, ok bool) {
	switch a.Type {
	case pdu.Type32, pdu.Type64:
		v, err := pdu.As[int64](a)
		n = number{float: float64(v), integer: uint64(v), isInt: true, neg: v < 0}
		if n.neg {
			n.integer = -n.integer
		}
		return n, err == nil
	case pdu.TypeU32, pdu.TypeU64:
		v, err := pdu.As[uint64](a)
		return number{float: float64(v), integer: v, isInt: true}, err == nil
	case pdu.TypeFloat:
		v, err := pdu.As[float32](a)
		if err != nil {
			return number{}, false
		}
		// The shortest text of a float32, 0.1 say, is what was meant, and not its neighbour among all float64.
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		return number{float: f, neg: f < 0}, err == nil
	case pdu.TypeDouble:
		v, err := pdu.As[float64](a)
		return number{float: v, neg: v < 0}, err == nil
	}
	return number{}, false
}

func (c conversion) apply(n number) number {
	if c.mul == 1 && c.div == 1 && c.sub == 0 {
		return n
	}
	if n.isInt && c.div == 1 && c.sub == 0 && (c.mul == 0 || n.integer <= uint64(math.MaxUint64/c.mul)/2) {
		n.integer *= uint64(c.mul)
		n.float *= c.mul
		return n
	}
	f := n.float*c.mul/c.div - c.sub
	return number{float: f, neg: f < 0}
}

// append writes n so that both formats read it.
func (n number) append(b []byte) []byte {
	switch {
	case n.isInt && n.neg:
		return strconv.AppendUint(append(b, '-'), n.integer, 10)
	case n.isInt:
		return strconv.AppendUint(b, n.integer, 10)
	case math.IsInf(n.float, 1):
		return append(b, "+Inf"...)
	}
	return strconv.AppendFloat(b, n.float, 'g', -1, 64) // also "NaN" and "-Inf"
}
