package pmapi

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// A converter converts the values of a metric to Go values.
type converter[T pdu.Scalar] struct {
	conversion
	kind difference.Kind
	to   pdu.Type // that T holds
	text []byte   // scratch
}

// setDesc prepares for the values of a metric. Errors: pdu.ErrType if values of the type do not
// convert to a T, and pdu.ErrConv.
func (c *converter[T]) setDesc(d pdu.Desc, o *itemOptions) error {
	c.to = pdu.ScalarType[T]()
	aggregate := d.Type == pdu.TypeAggregate || d.Type == pdu.TypeAggregateStatic
	if aggregate != (c.to == pdu.TypeAggregate) || !aggregate && (d.Type < 0 || d.Type > pdu.TypeString) {
		return misfit(d.Type, reflect.TypeFor[T](), pdu.ErrType)
	}
	var err error
	if c.conversion, err = conversionOf(d, o, reflect.TypeFor[T]() == reflect.TypeFor[time.Duration]()); err != nil {
		return err
	}
	if aggregate && (c.conversion.rate || c.scaled) {
		return fmt.Errorf("type %v has no rates and units: %w", d.Type, pdu.ErrConv)
	}
	is64 := c.to == pdu.Type64 || c.to == pdu.TypeU64
	if is64 && c.to == d.Type && !c.conversion.rate && c.first*c.factor == 1 && c.offset == 0 {
		c.scaled = false // exact beyond 2^53
	}
	c.kind = difference.KindOf(d.Type, true, o.counterWrap)
	return nil
}

// convert converts a value into *to. For rates, last is the previous sample, which convert
// replaces, and step is the time since then.
func (c *converter[T]) convert(to *T, a pdu.Atom, last *difference.Sample, step difference.Step) pdu.Error {
	if !c.conversion.rate && !c.scaled {
		return c.set(to, a)
	}
	if a.Type == pdu.TypeString {
		var err error
		if a, err = parseNumber(a, pdu.TypeDouble); err != nil {
			last.OK = false
			return pdu.FromError(err)
		}
	}
	if c.nanos != 0 && !c.conversion.rate && a.Type != pdu.TypeFloat && a.Type != pdu.TypeDouble {
		return c.setWholeDuration(to, a)
	}
	var x float64
	if !c.conversion.rate {
		var err error
		if x, err = pdu.As[float64](a); err != nil {
			return pdu.FromError(err)
		}
	} else {
		was := *last
		var err error
		if *last, err = c.kind.Sample(a); err != nil {
			return pdu.FromError(err)
		}
		var code pdu.Error
		if x, code = c.kind.Rate(was, *last, step); code != 0 {
			return code
		}
	}
	x = c.apply(x)
	if c.nanos != 0 {
		x = math.Round(x)
	}
	if c.to == pdu.TypeFloat && math.Abs(x) > math.MaxFloat32 || c.to == pdu.Type64 && x < math.MinInt64 {
		return pdu.ErrTrunc // pdu.As has no error for these
	}
	if p, ok := any(to).(*float64); ok { // faster, for the most common type
		*p = x
		return 0
	}
	return c.set(to, pdu.Float64(x))
}

// setWholeDuration converts a whole number of units of time, exactly.
func (c *converter[T]) setWholeDuration(to *T, a pdu.Atom) pdu.Error {
	n, err := pdu.As[int64](a)
	if err != nil {
		return pdu.FromError(err)
	}
	if n > math.MaxInt64/c.nanos || n < math.MinInt64/c.nanos {
		return pdu.ErrTrunc
	}
	return c.set(to, pdu.Int64(n*c.nanos))
}

// set converts a value that needs no rate and no other units. Texts and bytes that have not changed
// keep their memory.
func (c *converter[T]) set(to *T, a pdu.Atom) pdu.Error {
	var err error
	switch c.to {
	case pdu.TypeString:
		if c.text, err = appendText(c.text[:0], a); err == nil {
			setText(to, c.text)
		}
	case pdu.TypeAggregate:
		var b []byte
		if b, err = pdu.As[[]byte](a); err == nil {
			setBytes(to, b)
		}
	default:
		if a.Type == pdu.TypeString {
			a, err = parseNumber(a, c.to)
		}
		if err == nil {
			var v T
			if v, err = pdu.As[T](a); err == nil {
				*to = v
				return 0
			}
		}
	}
	return pdu.FromError(err)
}

// appendText appends the text of a value, as the C library's fetch groups print it.
func appendText(b []byte, a pdu.Atom) ([]byte, error) {
	switch a.Type {
	case pdu.Type32, pdu.Type64:
		v, err := pdu.As[int64](a)
		return strconv.AppendInt(b, v, 10), err
	case pdu.TypeU32, pdu.TypeU64:
		v, err := pdu.As[uint64](a)
		return strconv.AppendUint(b, v, 10), err
	case pdu.TypeFloat:
		v, err := pdu.As[float64](a)
		return cnum.AppendE(b, v, 9), err
	case pdu.TypeDouble:
		v, err := pdu.As[float64](a)
		return cnum.AppendE(b, v, 17), err
	case pdu.TypeString:
		return append(b, text(a)...), nil
	}
	_, err := pdu.As[string](a)
	return b, err
}

// text is a string's bytes up to the first NUL, which ends it for a C program.
func text(a pdu.Atom) []byte {
	before, _, _ := bytes.Cut(a.Bytes(), []byte{0})
	return before
}

// parseNumber parses a text that is blanks and then a number. An integer is decimal or hexadecimal;
// other numbers are as in strtod(3). Errors: pdu.ErrType, and pdu.ErrTrunc for one that is out of
// every range.
func parseNumber(a pdu.Atom, to pdu.Type) (pdu.Atom, error) {
	s := string(text(a))
	if to == pdu.TypeFloat || to == pdu.TypeDouble {
		v, n, err := scan.Float(s)
		if n == 0 || n < len(s) {
			return pdu.Atom{}, pdu.ErrType
		}
		if err != nil {
			return pdu.Atom{}, pdu.ErrTrunc
		}
		return pdu.Float64(v), nil
	}
	digits, base := strings.TrimLeft(s, scan.Blanks), 10
	negative := strings.HasPrefix(digits, "-")
	if negative || strings.HasPrefix(digits, "+") {
		digits = digits[1:]
	}
	if len(digits) > 2 && strings.EqualFold(digits[:2], "0x") {
		digits, base = digits[2:], 16
	}
	v, err := strconv.ParseUint(digits, base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || negative && v > 1<<63:
		return pdu.Atom{}, pdu.ErrTrunc
	case err != nil:
		return pdu.Atom{}, pdu.ErrType
	case negative:
		return pdu.Int64(-int64(v)), nil
	}
	return pdu.Uint64(v), nil
}

// setText sets a string, or a type defined as one, unless it is equal.
func setText[T any](to *T, b []byte) {
	if p, ok := any(to).(*string); ok {
		if *p != string(b) {
			*p = string(b)
		}
		return
	}
	if v := reflect.ValueOf(to).Elem(); v.String() != string(b) {
		v.SetString(string(b))
	}
}

// setBytes sets a []byte, or a type defined as one, to a copy of b unless it is equal.
func setBytes[T any](to *T, b []byte) {
	if p, ok := any(to).(*[]byte); ok {
		if !bytes.Equal(*p, b) {
			*p = bytes.Clone(b)
		}
		return
	}
	if v := reflect.ValueOf(to).Elem(); !bytes.Equal(v.Bytes(), b) {
		v.SetBytes(bytes.Clone(b))
	}
}
