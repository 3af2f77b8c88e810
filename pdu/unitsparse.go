package pdu

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// ParseUnits parses words for units, each with an optional exponent, and numbers, before and after
// one slash. It inverts Units.String, except that it does not accept powers of ten alone ("x
// 10^6"), and takes "count x 10^2" for hundreds.
//
//	"Kbyte / sec"   "GiB/hour"   "count x 10^6"   "sec^-1"   "2 byte / 4 sec"   "100 s"
//
// Case does not matter. A word is followed by a blank, "^", "/" or the end. The
// words are
//
//	space  byte[s], {K|M|G|T|P|E|Z|Y}{B|iB|byte[s]}, kilobyte[s] …, kibibyte[s] …, space-N
//	time   ns|nanosec|nanosecond[s], us …, ms …, s|sec|second[s], min|minute[s],
//	       h|hr|hour[s], time-N
//	count  count[s], "count x 10", "count x 10^N"
//	extra  "temperature (C)", "voltage (mV)" … as String prints them; only before the
//	       slash, without an exponent
//
// Numbers do not fit in Units: mult is the factor that converts a value in the
// units of the text to u, such as 0.01 for "100 s" and 1000 for "millisec /
// sec", whose u is NoUnits. A dimension on both sides of the slash is reduced
// to bytes, seconds or ones.
//
// Errors wrap ErrConv; then u is NoUnits and mult 1. The counterpart of
// pmParseUnitsStr(3), which aborts on a scale above hours that must be reduced
// ("time-6 / sec"): that is an error here.
func ParseUnits(s string) (u Units, mult float64, err error) {
	p := unitsParser{rest: s}
	if u, mult, err = p.parse(); err != nil {
		return NoUnits, 1, fmt.Errorf("units %q: %w: %w", s, err, ErrConv)
	}
	return u, mult, nil
}

// A unitsError is a message of the C library.
type unitsError string

func (e unitsError) Error() string { return string(e) }

const (
	errUnitsWord   unitsError = "unrecognized or duplicate base unit"
	errUnitsNumber unitsError = "invalid floating point literal"
	errUnitsSpace  unitsError = "space dimension out of bounds"
	errUnitsTime   unitsError = "time dimension out of bounds"
	errUnitsCount  unitsError = "count dimension out of bounds"
	errUnitsScale  unitsError = "time scale out of bounds" // ours
)

// The dimensions of unitsSide.
const (
	inSpace = iota
	inTime
	inCount
)

// A baseUnit is a word of the grammar.
type baseUnit struct{ dim, scale int }

// A unitsSide is what stands on one side of the slash.
type unitsSide struct {
	num   float64
	dim   [3]int
	scale [3]int
	extra Units
}

type unitsParser struct{ rest string }

const blank = scan.Blanks

func (p *unitsParser) parse() (Units, float64, error) {
	dividend, err := p.side()
	if err != nil {
		return 0, 0, err
	}
	divisor := unitsSide{num: 1}
	if strings.HasPrefix(p.rest, "/") {
		p.rest = p.rest[1:]
		if divisor, err = p.side(); err != nil {
			return 0, 0, err
		}
	}
	if p.rest != "" || divisor.extra != 0 {
		return 0, 0, errUnitsWord
	}
	return divide(&dividend, &divisor)
}

// side parses numbers and units up to a slash or the end.
func (p *unitsParser) side() (unitsSide, error) {
	s := unitsSide{num: 1}
	for {
		p.rest = strings.TrimLeft(p.rest, blank)
		if p.rest == "" || p.rest[0] == '/' {
			return s, nil
		}
		var err error
		if c := p.rest[0]; c == '-' || c == '.' || scan.IsDigit(c) {
			err = p.number(&s)
		} else {
			err = p.unit(&s)
		}
		if err != nil {
			return s, err
		}
	}
}

// number multiplies the side by the number at the start of the rest.
func (p *unitsParser) number(s *unitsSide) error {
	v, n, err := scan.Float(p.rest)
	if n == 0 || err != nil {
		return errUnitsNumber
	}
	p.rest = p.rest[n:]
	s.num *= v
	return nil
}

// unit adds the unit at the start of the rest to the side.
func (p *unitsParser) unit(s *unitsSide) error {
	if e, ok := p.extra(); ok {
		if s.extra != 0 {
			return errUnitsWord
		}
		s.extra = e
		return nil
	}
	b, ok := p.word()
	if !ok {
		return errUnitsWord
	}
	power := 1
	if t, ok := strings.CutPrefix(p.rest, "^"); ok {
		end := strings.IndexAny(t, blank+"/")
		if end < 0 {
			end = len(t)
		}
		if power, ok = exponent(t[:end], minDim, 15); !ok {
			return errUnitsWord
		}
		p.rest = t[end:]
	}
	if s.dim[b.dim] != 0 {
		return errUnitsWord
	}
	if power != 0 {
		s.dim[b.dim], s.scale[b.dim] = power, b.scale
	}
	return nil
}

// word splits the name of a unit off the rest.
func (p *unitsParser) word() (baseUnit, bool) {
	const tens = "count x 10"
	if len(p.rest) >= len(tens) && strings.EqualFold(p.rest[:len(tens)], tens) && wordEnds(p.rest[len(tens):]) {
		p.rest = p.rest[len(tens):]
		return p.tens(), true
	}
	end := strings.IndexAny(p.rest, blank+"/^")
	if end < 0 {
		end = len(p.rest)
	}
	name := strings.Map(lowerASCII, p.rest[:end])
	b, ok := unitWords[name]
	if !ok {
		if n, is := strings.CutPrefix(name, "space-"); is {
			b.scale, ok = exponent(n, 0, maxSpaceScale)
		} else if n, is := strings.CutPrefix(name, "time-"); is {
			b.dim = inTime
			b.scale, ok = exponent(n, 0, maxTimeScale)
		}
	}
	if ok {
		p.rest = p.rest[end:]
	}
	return b, ok
}

// lowerASCII is r in lower case if it is an ASCII letter: the sign of Kelvin,
// which Unicode lowers to k, stays.
func lowerASCII(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// tens completes "count x 10" with its exponent. An exponent that is not a scale of count is left
// for the dimension, as in the C library: "count x 10^9" is the ninth power of "count x 10".
func (p *unitsParser) tens() baseUnit {
	if t, ok := strings.CutPrefix(p.rest, "^"); ok {
		end := strings.IndexAny(t, blank+"/^")
		if end < 0 {
			end = len(t)
		}
		if n, ok := exponent(t[:end], minDim, maxDim); ok && n != 0 && n != 1 {
			p.rest = t[end:]
			return baseUnit{inCount, n}
		}
	}
	return baseUnit{inCount, 1}
}

// extra splits the name of an extra unit off the rest.
func (p *unitsParser) extra() (Units, bool) {
	if strings.IndexByte(p.rest, '(') < 0 { // none is there
		return 0, false
	}
	for kind, names := range extraNames {
		for scale, name := range names {
			if name == "" || len(p.rest) < len(name) || !strings.EqualFold(p.rest[:len(name)], name) {
				continue
			}
			if after := p.rest[len(name):]; wordEnds(after) && !strings.HasPrefix(after, "^") {
				p.rest = after
				return Units(kind)<<3 | Units(scale), true
			}
		}
	}
	return 0, false
}

// wordEnds reports whether a word may end before rest.
func wordEnds(rest string) bool { return rest == "" || strings.IndexByte(blank+"/^", rest[0]) >= 0 }

// exponent parses a small number without leading zeroes or plus sign.
func exponent(s string, low, high int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= low && n <= high && strconv.Itoa(n) == s
}

// divide combines the sides.
func divide(a, b *unitsSide) (Units, float64, error) {
	mult := b.num / a.num
	var dim, scale [3]int
	// The last bit of mult depends on the order, which is that of the C library.
	for _, d := range [...]int{inSpace, inCount, inTime} {
		dim[d] = a.dim[d] - b.dim[d]
		switch {
		case b.dim[d] == 0:
			scale[d] = a.scale[d]
		case a.dim[d] == 0:
			scale[d] = b.scale[d]
		default:
			fa, fb := unitFactor(d, a.scale[d]), unitFactor(d, b.scale[d])
			if fa == 0 || fb == 0 {
				return 0, 0, errUnitsScale
			}
			mult *= power(fa, -a.dim[d])
			mult *= power(fb, b.dim[d])
			if d == inTime && dim[d] != 0 {
				scale[d] = 3 // seconds
			}
		}
	}
	for d, err := range [...]error{inSpace: errUnitsSpace, inTime: errUnitsTime, inCount: errUnitsCount} {
		if dim[d] < minDim || dim[d] > maxDim {
			return 0, 0, err
		}
	}
	return MakeUnits(dim[inSpace], dim[inTime], dim[inCount], scale[inSpace], scale[inTime], scale[inCount]) | a.extra, mult, nil
}

// unitFactor is the number of bytes, seconds or ones in a unit; 0 if not known.
func unitFactor(d, scale int) float64 {
	switch d {
	case inSpace:
		return math.Ldexp(1, 10*scale)
	case inCount:
		return power(10, scale)
	}
	if seconds := [...]float64{1e-9, 1e-6, 1e-3, 1, 60, 3600}; scale < len(seconds) {
		return seconds[scale]
	}
	return 0
}

// power is x to the n, correctly rounded. math.Pow is not, and pow(3) nearly
// is, so this is what agrees with the C library.
func power(x float64, n int) float64 {
	f := big.NewFloat(x).SetPrec(256)
	r := big.NewFloat(1).SetPrec(256)
	for range max(n, -n) {
		r.Mul(r, f)
	}
	if n < 0 {
		r.Quo(big.NewFloat(1), r)
	}
	v, _ := r.Float64()
	return v
}

// unitWords are the words except space-N, time-N and those with blanks.
var unitWords = makeUnitWords()

func makeUnitWords() map[string]baseUnit {
	m := map[string]baseUnit{"count": {inCount, 0}, "counts": {inCount, 0}, "byte": {inSpace, 0}, "bytes": {inSpace, 0}}
	for i, n := range [...]struct{ letter, ten, two string }{
		{"k", "kilo", "kibi"}, {"m", "mega", "mebi"}, {"g", "giga", "gibi"}, {"t", "tera", "tebi"},
		{"p", "peta", "pebi"}, {"e", "exa", "exbi"}, {"z", "zetta", "zebi"}, {"y", "yotta", "yobi"},
	} {
		for _, w := range [...]string{n.letter + "b", n.letter + "ib", n.letter + "byte", n.ten + "byte", n.two + "byte"} {
			m[w] = baseUnit{inSpace, i + 1}
			if strings.HasSuffix(w, "e") {
				m[w+"s"] = baseUnit{inSpace, i + 1}
			}
		}
	}
	for i, words := range [...]string{
		"ns nanosec nanosecond nanoseconds", "us microsec microsecond microseconds",
		"ms millisec millisecond milliseconds", "s sec second seconds", "min minute minutes", "h hr hour hours",
	} {
		for w := range strings.FieldsSeq(words) {
			m[w] = baseUnit{inTime, i}
		}
	}
	return m
}
