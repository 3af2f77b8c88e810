package pdu

import (
	"math"
	"math/bits"
)

// ConvertUnits converts the number a from one scale to another: 1536 in
// SpaceByte is 2 in SpaceKByte. The result has a's type. Integers are rounded
// and then keep what bits their type has; floats are multiplied. Units without
// dimension convert like counts.
//
// Errors are ErrConv for units of different dimensions and for a value that is
// no number, and ErrUnit for a scale above exabytes or hours and for one that
// is not known. The extra units of PCP 7.2 convert too. Temperatures differ by
// more than a factor: their scale changes only where nothing else is in the
// units (else ErrConv), with ErrSign or ErrTrunc where the type cannot hold the
// result.
//
// The counterpart of pmConvScale(3), which computes in 64 bits and gives
// nonsense, or ends the program, once these overflow on the way. ConvertUnits
// has 128 bits for the product, and where the factor itself exceeds 63 it
// computes with floats, with ErrSign and ErrTrunc as above.
func (a Atom) ConvertUnits(from, to Units) (Atom, error) {
	if from.Extra() == extraTemperature && from.extraScale() != to.extraScale() {
		return convertTemperature(a, from, to)
	}
	from, to = asCounts(from), asCounts(to)
	if from.DimSpace() != to.DimSpace() || from.DimTime() != to.DimTime() || from.DimCount() != to.DimCount() || from.Extra() != to.Extra() {
		return Atom{}, ErrConv
	}
	r := scaleRatio{mult: 1, div: 1, factor: 1}
	known := r.multiply(from.DimSpace(), spaceScales[:], from.ScaleSpace(), to.ScaleSpace()) &&
		r.multiply(from.DimTime(), timeScales[:], from.ScaleTime(), to.ScaleTime()) &&
		r.multiply(from.DimCount(), countScales[:], from.ScaleCount()+8, to.ScaleCount()+8) &&
		r.multiplyExtra(from, to)
	if !known {
		return Atom{}, ErrUnit
	}
	if r.exact() && r.mult%r.div == 0 {
		r.mult, r.div = r.mult/r.div, 1
	}
	return r.apply(a)
}

// asCounts gives units without a dimension dimension 1 in count.
func asCounts(u Units) Units {
	if u.DimSpace() == 0 && u.DimTime() == 0 && u.DimCount() == 0 {
		u |= UnitCount
	}
	return u
}

// A unitScale is times/parts of a scale in the middle of its dimension (Mbyte,
// second, one). The C library converts by way of that one, and so must we for
// the same rounding: integers are rounded by half of the divisor, which depends
// on whether the ratio is in lowest terms.
type unitScale struct{ times, parts uint64 }

var (
	spaceScales = [...]unitScale{{1, 1 << 20}, {1, 1 << 10}, {1, 1}, {1 << 10, 1}, {1 << 20, 1}, {1 << 30, 1}, {1 << 40, 1}}
	timeScales  = [...]unitScale{{1, 1e9}, {1, 1e6}, {1, 1e3}, {1, 1}, {60, 1}, {3600, 1}}
	countScales = [...]unitScale{{1, 1e8}, {1, 1e7}, {1, 1e6}, {1, 1e5}, {1, 1e4}, {1, 1e3}, {1, 1e2}, {1, 1e1}, {1, 1},
		{1e1, 1}, {1e2, 1}, {1e3, 1}, {1e4, 1}, {1e5, 1}, {1e6, 1}, {1e7, 1}}
	extraScales = [...][]unitScale{
		extraTemperature: {1: {1, 1}, 2: {1, 1}, 3: {1, 1}},
		extraVoltage:     {1: {1, 1}, 2: {1, 1e3}, 3: {1, 1e6}},
		extraCurrent:     {1: {1, 1}, 2: {1, 1e3}, 3: {1, 1e6}},
		extraPower:       {1: {1e3, 1}, 2: {1, 1}, 3: {1, 1e3}, 4: {1, 1e6}},
	}
)

// A scaleRatio is the factor between two units.
type scaleRatio struct {
	mult, div uint64  // the factor is mult/div; below 2^63, or 0 if that is too small for them
	factor    float64 // the same as a float, for when mult or div is 0
}

// exact reports whether mult and div hold the ratio.
func (r *scaleRatio) exact() bool { return r.mult != 0 && r.div != 0 }

// multiply multiplies r by the ratio of two scales to the power of a dimension.
// It reports whether both scales are known.
func (r *scaleRatio) multiply(dim int, scales []unitScale, from, to int) bool {
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

// multiplyExtra is multiply for extra units, both of the same kind.
func (r *scaleRatio) multiplyExtra(from, to Units) bool {
	kind := from.Extra()
	if kind == 0 {
		return true
	}
	return kind > 0 && kind < len(extraScales) && r.multiply(1, extraScales[kind], from.extraScale(), to.extraScale())
}

// product63 is a*b, or 0 if that exceeds 63 bits.
func product63(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 || lo > math.MaxInt64 {
		return 0
	}
	return lo
}

// apply multiplies a number by the ratio.
func (r *scaleRatio) apply(a Atom) (Atom, error) {
	switch a.Type {
	case TypeFloat, TypeDouble:
		return r.applyFloat(a)
	case Type32, TypeU32, Type64, TypeU64:
	default:
		return Atom{}, ErrConv
	}
	if !r.exact() {
		v, err := As[float64](a)
		if err != nil {
			return Atom{}, err
		}
		return roundedAtom(a.Type, v*r.factor)
	}
	if a.Type == TypeU32 || a.Type == TypeU64 {
		v, err := As[uint64](a)
		if v = r.applyUnsigned(v); a.Type == TypeU32 {
			return Uint32(uint32(v)), err
		}
		return Uint64(v), err
	}
	v, err := As[int64](a)
	if v = r.applySigned(v); a.Type == Type32 {
		return Int32(int32(v)), err
	}
	return Int64(v), err
}

// applyFloat multiplies in the precision of the type.
func (r *scaleRatio) applyFloat(a Atom) (Atom, error) {
	if a.Type == TypeDouble {
		v, err := As[float64](a)
		if r.exact() {
			return Float64(v * (float64(r.mult) / float64(r.div))), err
		}
		return Float64(v * r.factor), err
	}
	v, err := As[float32](a)
	if r.exact() {
		return Float32(v * (nearestFloat32(r.mult) / nearestFloat32(r.div))), err
	}
	return Float32(float32(float64(v) * r.factor)), err
}

// applyUnsigned is the low 64 bits of (v × mult + div/2) / div.
func (r *scaleRatio) applyUnsigned(v uint64) uint64 {
	hi, lo := bits.Mul64(v, r.mult)
	lo, carry := bits.Add64(lo, r.div/2, 0)
	q, _ := bits.Div64((hi+carry)%r.div, lo, r.div)
	return q
}

// applySigned is applyUnsigned for numbers that may be below 0. As in C the
// quotient is truncated towards 0: -1.5 becomes -1.
func (r *scaleRatio) applySigned(v int64) int64 {
	if v >= 0 {
		return int64(r.applyUnsigned(uint64(v)))
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

// roundedAtom is v as a number of type t, rounded to the nearest integer if t is
// one.
func roundedAtom(t Type, v float64) (Atom, error) {
	switch t {
	case Type32:
		return atomAs[int32](math.Round(v))
	case TypeU32:
		return atomAs[uint32](math.Round(v))
	case Type64:
		return atomAs[int64](math.Round(v))
	case TypeU64:
		return atomAs[uint64](math.Round(v))
	case TypeFloat:
		return Float32(float32(v)), nil
	}
	return Float64(v), nil
}

// atomAs is v as the atom of a T.
func atomAs[T Scalar](v float64) (Atom, error) {
	n, err := As[T](Float64(v))
	if err != nil {
		return Atom{}, err
	}
	return AtomOf(n), nil
}

// convertTemperature converts between scales of temperature, by way of Celsius.
func convertTemperature(a Atom, from, to Units) (Atom, error) {
	const scale = 7 // the bits of the extra unit's scale: all that may differ
	if from&^scale != to&^scale || from.DimSpace() != 0 || from.DimTime() != 0 || from.DimCount() != 0 {
		return Atom{}, ErrConv
	}
	v, err := As[float64](a)
	if err != nil {
		return Atom{}, ErrConv
	}
	switch from.extraScale() {
	case TempCelsius.extraScale():
	case TempFahrenheit.extraScale():
		v = (v - 32) * 5 / 9
	case TempKelvin.extraScale():
		v -= 273.15
	default:
		return Atom{}, ErrUnit
	}
	switch to.extraScale() {
	case TempCelsius.extraScale():
	case TempFahrenheit.extraScale():
		v = v*9/5 + 32
	case TempKelvin.extraScale():
		v += 273.15
	default:
		return Atom{}, ErrUnit
	}
	return roundedAtom(a.Type, v)
}
