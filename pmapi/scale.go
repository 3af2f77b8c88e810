package pmapi

import (
	"math"
	"math/bits"

	"github.com/pcp-go/pcp/pdu"
)

// ConvScale converts the number a from one scale to another: 1536 in
// pdu.SpaceByte is 2 in pdu.SpaceKByte. The result has a's type. Integers are
// rounded and then keep what bits their type has; floats are multiplied. Units
// without dimension convert like counts.
//
// Errors are ErrConv for units of different dimensions and for a value that is
// no number, and ErrUnit for a scale above exabytes or hours and for one that
// is not known. The extra units of PCP 7.2 convert too. Temperatures differ by
// more than a factor: their scale changes only where nothing else is in the
// units (else ErrConv), with ErrSign or ErrTrunc where the type cannot hold the
// result.
//
// The counterpart of pmConvScale(3). That one computes in 64 bits and gives
// nonsense, or ends the program, once these overflow on the way. This one has
// 128 bits for the product, and where the factor itself exceeds 63 it computes
// with floats, with ErrSign and ErrTrunc as above.
func ConvScale(a pdu.Atom, from, to pdu.Units) (pdu.Atom, error) {
	if from.Extra() == pdu.ExtraTemperature && from.ExtraScale() != to.ExtraScale() {
		return convTemperature(a, from, to)
	}
	from, to = counted(from), counted(to)
	if from.DimSpace() != to.DimSpace() || from.DimTime() != to.DimTime() || from.DimCount() != to.DimCount() || from.Extra() != to.Extra() {
		return pdu.Atom{}, pdu.ErrConv
	}
	r := scaleRatio{mult: 1, div: 1, factor: 1}
	known := r.scale(from.DimSpace(), spaceScales[:], from.ScaleSpace(), to.ScaleSpace()) &&
		r.scale(from.DimTime(), timeScales[:], from.ScaleTime(), to.ScaleTime()) &&
		r.scale(from.DimCount(), countScales[:], from.ScaleCount()+8, to.ScaleCount()+8) &&
		r.extra(from, to)
	if !known {
		return pdu.Atom{}, pdu.ErrUnit
	}
	if r.exact() && r.mult%r.div == 0 {
		r.mult, r.div = r.mult/r.div, 1
	}
	return r.convert(a)
}

// counted gives units without dimension the one of counts.
func counted(u pdu.Units) pdu.Units {
	if u.DimSpace() == 0 && u.DimTime() == 0 && u.DimCount() == 0 {
		u |= pdu.UnitCount
	}
	return u
}

// A unitScale is times/parts of a scale in the middle of its dimension. Going by
// that one as the reference does matters: by half of the divisor, in lowest
// terms or not, are integers rounded.
type unitScale struct{ times, parts uint64 }

var (
	spaceScales = [...]unitScale{{1, 1 << 20}, {1, 1 << 10}, {1, 1}, {1 << 10, 1}, {1 << 20, 1}, {1 << 30, 1}, {1 << 40, 1}}
	timeScales  = [...]unitScale{{1, 1e9}, {1, 1e6}, {1, 1e3}, {1, 1}, {60, 1}, {3600, 1}}
	countScales = [...]unitScale{{1, 1e8}, {1, 1e7}, {1, 1e6}, {1, 1e5}, {1, 1e4}, {1, 1e3}, {1, 1e2}, {1, 1e1}, {1, 1},
		{1e1, 1}, {1e2, 1}, {1e3, 1}, {1e4, 1}, {1e5, 1}, {1e6, 1}, {1e7, 1}}
	extraScales = [...][]unitScale{
		pdu.ExtraTemperature: {1: {1, 1}, 2: {1, 1}, 3: {1, 1}},
		pdu.ExtraVoltage:     {1: {1, 1}, 2: {1, 1e3}, 3: {1, 1e6}},
		pdu.ExtraCurrent:     {1: {1, 1}, 2: {1, 1e3}, 3: {1, 1e6}},
		pdu.ExtraPower:       {1: {1e3, 1}, 2: {1, 1}, 3: {1, 1e3}, 4: {1, 1e6}},
	}
)

// A scaleRatio is what a number is multiplied with.
type scaleRatio struct {
	mult, div uint64  // below 2^63; 0 if they would not be
	factor    float64 // the quotient, for then
}

func (r *scaleRatio) exact() bool { return r.mult != 0 && r.div != 0 }

// scale multiplies r with the ratio of two scales to the power of a dimension.
// It reports whether both are known.
func (r *scaleRatio) scale(dim int, scales []unitScale, from, to int) bool {
	if dim == 0 {
		return true
	}
	if from >= len(scales) || to >= len(scales) || scales[from].parts == 0 || scales[to].parts == 0 {
		return false
	}
	mult, div := scales[from].times*scales[to].parts, scales[from].parts*scales[to].times
	if dim < 0 {
		mult, div = div, mult
	}
	for range max(dim, -dim) {
		r.mult, r.div = product63(r.mult, mult), product63(r.div, div)
		r.factor *= float64(mult) / float64(div)
	}
	return true
}

// extra is scale for the extra units, which are of the same kind.
func (r *scaleRatio) extra(from, to pdu.Units) bool {
	kind := from.Extra()
	if kind == 0 {
		return true
	}
	return kind > 0 && kind < len(extraScales) && r.scale(1, extraScales[kind], from.ExtraScale(), to.ExtraScale())
}

// product63 is 0 once it exceeds 63 bits.
func product63(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 || lo > math.MaxInt64 {
		return 0
	}
	return lo
}

// convert multiplies a number.
func (r *scaleRatio) convert(a pdu.Atom) (pdu.Atom, error) {
	switch a.Type {
	case pdu.TypeFloat, pdu.TypeDouble:
		return r.float(a)
	case pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64:
	default:
		return pdu.Atom{}, pdu.ErrConv
	}
	if !r.exact() {
		v, err := pdu.As[float64](a)
		if err != nil {
			return pdu.Atom{}, err
		}
		return roundedAtom(a.Type, v*r.factor)
	}
	if a.Type == pdu.TypeU32 || a.Type == pdu.TypeU64 {
		v, err := pdu.As[uint64](a)
		if v = r.unsigned(v); a.Type == pdu.TypeU32 {
			return pdu.Uint32(uint32(v)), err
		}
		return pdu.Uint64(v), err
	}
	v, err := pdu.As[int64](a)
	if v = r.signed(v); a.Type == pdu.Type32 {
		return pdu.Int32(int32(v)), err
	}
	return pdu.Int64(v), err
}

// float multiplies in the precision of the type.
func (r *scaleRatio) float(a pdu.Atom) (pdu.Atom, error) {
	if a.Type == pdu.TypeDouble {
		v, err := pdu.As[float64](a)
		if r.exact() {
			return pdu.Float64(v * (float64(r.mult) / float64(r.div))), err
		}
		return pdu.Float64(v * r.factor), err
	}
	v, err := pdu.As[float32](a)
	if r.exact() {
		return pdu.Float32(v * (single(r.mult) / single(r.div))), err
	}
	return pdu.Float32(float32(float64(v) * r.factor)), err
}

// single is the nearest float32, which Go's own conversion misses by a bit on
// 32-bit systems.
func single(n uint64) float32 {
	v, _ := pdu.As[float32](pdu.Uint64(n)) // every number converts
	return v
}

// unsigned is (v × mult + div/2) / div, its low 64 bits.
func (r *scaleRatio) unsigned(v uint64) uint64 {
	hi, lo := bits.Mul64(v, r.mult)
	lo, carry := bits.Add64(lo, r.div/2, 0)
	q, _ := bits.Div64((hi+carry)%r.div, lo, r.div)
	return q
}

// signed is unsigned for numbers below 0 too. As in C the quotient is cut
// towards 0: -1.5 becomes -1.
func (r *scaleRatio) signed(v int64) int64 {
	if v >= 0 {
		return int64(r.unsigned(uint64(v)))
	}
	hi, lo := bits.Mul64(-uint64(v), r.mult)
	lo, borrow := bits.Sub64(lo, r.div/2, 0)
	hi, borrow = bits.Sub64(hi, 0, borrow)
	if borrow != 0 {
		return 0
	}
	q, _ := bits.Div64(hi%r.div, lo, r.div)
	return -int64(q)
}

// roundedAtom is v as a number of a type.
func roundedAtom(t pdu.Type, v float64) (pdu.Atom, error) {
	switch t {
	case pdu.Type32:
		return atomAs[int32](math.Round(v))
	case pdu.TypeU32:
		return atomAs[uint32](math.Round(v))
	case pdu.Type64:
		return atomAs[int64](math.Round(v))
	case pdu.TypeU64:
		return atomAs[uint64](math.Round(v))
	case pdu.TypeFloat:
		return pdu.Float32(float32(v)), nil
	}
	return pdu.Float64(v), nil
}

func atomAs[T pdu.Scalar](v float64) (pdu.Atom, error) {
	n, err := pdu.As[T](pdu.Float64(v))
	if err != nil {
		return pdu.Atom{}, err
	}
	return pdu.AtomOf(n), nil
}

// convTemperature converts between scales of temperature, by way of Celsius.
func convTemperature(a pdu.Atom, from, to pdu.Units) (pdu.Atom, error) {
	const scale = 7 // all that may differ
	if from&^scale != to&^scale || from.DimSpace() != 0 || from.DimTime() != 0 || from.DimCount() != 0 {
		return pdu.Atom{}, pdu.ErrConv
	}
	v, err := pdu.As[float64](a)
	if err != nil {
		return pdu.Atom{}, pdu.ErrConv
	}
	switch from.ExtraScale() {
	case pdu.TempCelsius.ExtraScale():
	case pdu.TempFahrenheit.ExtraScale():
		v = (v - 32) * 5 / 9
	case pdu.TempKelvin.ExtraScale():
		v -= 273.15
	default:
		return pdu.Atom{}, pdu.ErrUnit
	}
	switch to.ExtraScale() {
	case pdu.TempCelsius.ExtraScale():
	case pdu.TempFahrenheit.ExtraScale():
		v = v*9/5 + 32
	case pdu.TempKelvin.ExtraScale():
		v += 273.15
	default:
		return pdu.Atom{}, pdu.ErrUnit
	}
	return roundedAtom(a.Type, v)
}
