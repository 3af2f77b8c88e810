package mmv

import "math"

// bits is f as the word of a value of type t. For an integer type, f is cut towards 0 and limited
// to the range of the type, and a NaN is 0.
func (t valueType) bits(f float64) uint64 {
	switch t {
	case typeDouble:
		return math.Float64bits(f)
	case typeFloat:
		return uint64(math.Float32bits(float32(f)))
	case type32:
		return uint64(uint32(int32(clampInt(f, math.MinInt32, math.MaxInt32))))
	case typeU32:
		return uint64(clampInt(f, 0, math.MaxUint32))
	case typeU64:
		if f >= 1<<64 {
			return math.MaxUint64
		}
		if f >= 1<<63 {
			return uint64(f)
		}
		return uint64(clampInt(f, 0, math.MaxInt64))
	}
	return uint64(clampInt(f, math.MinInt64, math.MaxInt64))
}

// intBits is bits for an integer.
func (t valueType) intBits(n int64) uint64 {
	switch t {
	case typeFloat, typeDouble:
		return t.bits(float64(n))
	case type32:
		return uint64(uint32(int32(min(max(n, math.MinInt32), math.MaxInt32))))
	case typeU32:
		return uint64(min(max(n, 0), math.MaxUint32))
	case typeU64:
		return uint64(max(n, 0))
	}
	return uint64(n)
}

// float is the number that a word stands for.
func (t valueType) float(word uint64) float64 {
	switch t {
	case typeDouble:
		return math.Float64frombits(word)
	case typeFloat:
		return float64(math.Float32frombits(uint32(word)))
	case typeU64, typeU32:
		return float64(word)
	case type32:
		return float64(int32(word))
	}
	return float64(int64(word))
}

// int is the number that a word stands for; a float is cut towards 0.
func (t valueType) int(word uint64) int64 {
	switch t {
	case typeFloat, typeDouble:
		return clampInt(t.float(word), math.MinInt64, math.MaxInt64)
	case type32:
		return int64(int32(word))
	}
	return int64(word)
}

// clampInt is f cut towards 0, or the nearest of the bounds. A NaN is 0.
func clampInt(f float64, low, high int64) int64 {
	switch {
	case f != f:
		return 0
	case f <= float64(low):
		return low
	case f >= float64(high):
		return high
	}
	return int64(f)
}

// wholePart is f cut towards 0, as the bits of an integer to add.
func wholePart(f float64) uint64 {
	if f >= 0 {
		return typeU64.bits(f)
	}
	return type64.bits(f)
}
