package pdu

import (
	"math"
	"reflect"
)

// A Scalar is a Go type that holds a value of one PCP type: Type32, TypeU32,
// Type64, TypeU64, TypeFloat, TypeDouble, TypeString and TypeAggregate, in this
// order.
type Scalar interface {
	~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64 | ~string | ~[]byte
}

// ScalarType is the PCP type whose values T holds.
func ScalarType[T Scalar]() Type {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Int32:
		return Type32
	case reflect.Uint32:
		return TypeU32
	case reflect.Int64:
		return Type64
	case reflect.Uint64:
		return TypeU64
	case reflect.Float32:
		return TypeFloat
	case reflect.Float64:
		return TypeDouble
	case reflect.String:
		return TypeString
	}
	return TypeAggregate
}

// AtomOf is the atom of v, whose type is ScalarType[T]. The atom of a byte
// slice aliases it.
func AtomOf[T Scalar](v T) Atom {
	switch v := any(v).(type) {
	case int32:
		return Int32(v)
	case uint32:
		return Uint32(v)
	case int64:
		return Int64(v)
	case uint64:
		return Uint64(v)
	case float32:
		return Float32(v)
	case float64:
		return Float64(v)
	case string:
		return String(v)
	case []byte:
		return Aggregate(v)
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int32:
		return Int32(int32(r.Int()))
	case reflect.Uint32:
		return Uint32(uint32(r.Uint()))
	case reflect.Int64:
		return Int64(r.Int())
	case reflect.Uint64:
		return Uint64(r.Uint())
	case reflect.Float32:
		return Float32(float32(r.Float()))
	case reflect.Float64:
		return Float64(r.Float())
	case reflect.String:
		return String(r.String())
	default:
		return Aggregate(r.Bytes())
	}
}

// As converts a to T.
//
//	from             int32        uint32            int64        uint64
//	Type32           ok           Sign: < 0         ok           Sign: < 0
//	TypeU32          Trunc: high  ok                ok           ok
//	Type64           Trunc: high  Sign, Trunc: high ok           Sign: < 0
//	TypeU64          Trunc: high  Trunc: high       Trunc: high  ok
//	Float, Double    Trunc        Sign, Trunc       Trunc: high  Sign, Trunc
//
// Every number converts to float32 and float64, in the worst case to an infinity or with less
// precision. Fractions are dropped toward zero; a negative fraction is a negative number all the
// same, and NaN is ErrTrunc. Strings convert to strings alone, up to the first NUL, aggregates to
// byte slices alone; the bytes alias a's, as a string does not. Errors are ErrTrunc, ErrSign,
// ErrConv for what cannot convert, and ErrIPC for a value that arrived malformed.
//
// It is the counterpart of pmExtractValue(3), which does not look for
// underflow: from Type64 to int32 the low 32 bits of a number below -2³¹
// remain, and a float below -2⁶³ becomes the lowest int64. Static aggregates,
// which that function refuses, convert as others do.
func As[T Scalar](a Atom) (T, error) {
	var v T
	var err error
	switch p := any(&v).(type) {
	case *int32:
		*p, err = a.int32()
	case *uint32:
		*p, err = a.uint32()
	case *int64:
		*p, err = a.int64()
	case *uint64:
		*p, err = a.uint64()
	case *float32:
		*p, err = a.float32()
	case *float64:
		*p, err = a.float64()
	case *string:
		*p, err = a.string()
	case *[]byte:
		*p, err = a.bytes()
	default:
		err = a.reflect(reflect.ValueOf(p).Elem())
	}
	return v, err
}

// reflect converts a into a variable of a named type.
func (a Atom) reflect(v reflect.Value) error {
	var err error
	switch v.Kind() {
	case reflect.Int32:
		var n int32
		n, err = a.int32()
		v.SetInt(int64(n))
	case reflect.Uint32:
		var n uint32
		n, err = a.uint32()
		v.SetUint(uint64(n))
	case reflect.Int64:
		var n int64
		n, err = a.int64()
		v.SetInt(n)
	case reflect.Uint64:
		var n uint64
		n, err = a.uint64()
		v.SetUint(n)
	case reflect.Float32:
		var f float32
		f, err = a.float32()
		v.SetFloat(float64(f))
	case reflect.Float64:
		var f float64
		f, err = a.float64()
		v.SetFloat(f)
	case reflect.String:
		var s string
		s, err = a.string()
		v.SetString(s)
	default:
		var b []byte
		b, err = a.bytes()
		v.SetBytes(b)
	}
	return err
}

// real is the number of a float or double.
func (a Atom) real() float64 {
	if a.Type == TypeFloat {
		return float64(math.Float32frombits(uint32(a.bits)))
	}
	return math.Float64frombits(a.bits)
}

// unconvertible is why a cannot convert at all.
func (a Atom) unconvertible() error {
	if a.Type == TypeUnknown {
		return ErrIPC
	}
	return ErrConv
}

func (a Atom) int32() (int32, error) {
	switch a.Type {
	case Type32:
		return int32(a.bits), nil
	case Type64:
		if int64(a.bits) > math.MaxInt32 {
			return 0, ErrTrunc
		}
		return int32(a.bits), nil
	case TypeU32, TypeU64:
		if a.bits > math.MaxInt32 {
			return 0, ErrTrunc
		}
		return int32(a.bits), nil
	case TypeFloat, TypeDouble:
		f := a.real()
		if !(math.Abs(f) < math.MaxInt32) {
			return 0, ErrTrunc
		}
		return int32(f), nil
	}
	return 0, a.unconvertible()
}

func (a Atom) uint32() (uint32, error) {
	switch a.Type {
	case Type32, Type64:
		if int64(a.bits) < 0 {
			return 0, ErrSign
		}
		if int64(a.bits) > math.MaxUint32 {
			return 0, ErrTrunc
		}
		return uint32(a.bits), nil
	case TypeU32, TypeU64:
		if a.bits > math.MaxUint32 {
			return 0, ErrTrunc
		}
		return uint32(a.bits), nil
	case TypeFloat, TypeDouble:
		f := a.real()
		if f < 0 {
			return 0, ErrSign
		}
		if !(f < math.MaxUint32) {
			return 0, ErrTrunc
		}
		return uint32(f), nil
	}
	return 0, a.unconvertible()
}

func (a Atom) int64() (int64, error) {
	switch a.Type {
	case Type32, TypeU32, Type64:
		return int64(a.bits), nil
	case TypeU64:
		if a.bits > math.MaxInt64 {
			return 0, ErrTrunc
		}
		return int64(a.bits), nil
	case TypeFloat, TypeDouble:
		f := a.real()
		if !(f < 1<<63) {
			return 0, ErrTrunc
		}
		if f < math.MinInt64 {
			return math.MinInt64, nil
		}
		return int64(f), nil
	}
	return 0, a.unconvertible()
}

func (a Atom) uint64() (uint64, error) {
	switch a.Type {
	case Type32, Type64:
		if int64(a.bits) < 0 {
			return 0, ErrSign
		}
		return a.bits, nil
	case TypeU32, TypeU64:
		return a.bits, nil
	case TypeFloat, TypeDouble:
		f := a.real()
		if f < 0 {
			return 0, ErrSign
		}
		if !(f < 1<<64) {
			return 0, ErrTrunc
		}
		return uint64(f), nil
	}
	return 0, a.unconvertible()
}

func (a Atom) float32() (float32, error) {
	switch a.Type {
	case Type32, Type64:
		if int64(a.bits) < 0 {
			return -nearestFloat32(-a.bits), nil
		}
		return nearestFloat32(a.bits), nil
	case TypeU32, TypeU64:
		return nearestFloat32(a.bits), nil
	case TypeFloat:
		return math.Float32frombits(uint32(a.bits)), nil
	case TypeDouble:
		return float32(a.real()), nil
	}
	return 0, a.unconvertible()
}

// nearestFloat32 is float32(n), which Go gets wrong by a bit on 32-bit systems
// (2⁴⁶+1 on 386, say). All but 53 bits become one below them, so that the number
// is rounded but once.
func nearestFloat32(n uint64) float32 {
	if n >= 1<<53 && n&0x7ff != 0 {
		n = n&^0x7ff | 0x800
	}
	return float32(float64(n))
}

func (a Atom) float64() (float64, error) {
	switch a.Type {
	case Type32, Type64:
		return float64(int64(a.bits)), nil
	case TypeU32, TypeU64:
		return float64(a.bits), nil
	case TypeFloat, TypeDouble:
		return a.real(), nil
	}
	return 0, a.unconvertible()
}

func (a Atom) string() (string, error) {
	if a.Type == TypeString {
		return string(a.text()), nil
	}
	return "", a.unconvertible()
}

func (a Atom) bytes() ([]byte, error) {
	if a.Type == TypeAggregate || a.Type == TypeAggregateStatic {
		return a.data, nil
	}
	return nil, a.unconvertible()
}
