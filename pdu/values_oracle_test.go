package pdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// randomInteger is one of any size, and often near a limit.
func randomInteger(r *rand.Rand) uint64 {
	near := uint64(r.IntN(5)) - 2
	switch r.IntN(5) {
	case 0:
		return r.Uint64() >> r.IntN(64)
	case 1:
		return uint64(int64(int32(r.Uint32())))
	case 2:
		return near
	case 3:
		return 1<<r.IntN(64) + near
	}
	return -(1 << r.IntN(64)) + near
}

// textLimits are where the texts of numbers change their form.
var textLimits = []float64{0.005, 99.995, 999.995, 99995, 999995, 99995e3, 999995e3, 99995e6, 999995e6, 99995e9, 999995e9, 1e-4, 1e-5, 1e8, 1e7, 1e16, 1e15, 0.1, 0.5, 1}

// randomFloat is one of any size, and often where forms change.
func randomFloat(r *rand.Rand) float64 {
	sign := float64(1 - 2*r.IntN(2))
	switch r.IntN(8) {
	case 0:
		return math.Float64frombits(r.Uint64())
	case 1:
		v := textLimits[r.IntN(len(textLimits))]
		for range r.IntN(4) {
			v = math.Nextafter(v, sign*math.Inf(1))
		}
		return sign * v
	case 2:
		return float64(int64(randomInteger(r))) / float64(int64(1)<<r.IntN(20))
	case 3:
		return sign * []float64{0, math.Inf(1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat32, math.SmallestNonzeroFloat32}[r.IntN(8)]
	case 4:
		return math.Copysign(math.NaN(), sign)
	case 5:
		return sign * math.Pow(10, float64(r.IntN(40)-20)) * float64(r.IntN(1000)) / 10
	case 6:
		return float64(float32(sign * math.Exp(100*(r.Float64()-0.5))))
	}
	return sign * r.Float64() * math.Pow(10, float64(r.IntN(20)))
}

// randomBytes are any, or printable ones, of every length up to most.
func randomBytes(r *rand.Rand, most int) []byte {
	b := make([]byte, r.IntN(most+1))
	if r.IntN(4) == 0 {
		b = make([]byte, 4+4*r.IntN(2))
	}
	printable := r.IntN(2) == 0
	for i := range b {
		if b[i] = byte(r.Uint32()); printable {
			b[i] = ' ' + b[i]%95
		}
	}
	return b
}

// An oracleValue is an atom with the bytes that a C program has for it.
type oracleValue struct {
	Atom
	machine []byte
}

func (v oracleValue) inPlace() bool { return v.Type == Type32 || v.Type == TypeU32 }

// randomValue is one of any type but those of events.
func randomValue(r *rand.Rand) oracleValue {
	n, f, b := randomInteger(r), randomFloat(r), randomBytes(r, 50)
	word, long := binary.NativeEndian.AppendUint32, binary.NativeEndian.AppendUint64
	switch r.IntN(8) {
	case 0:
		return oracleValue{Int32(int32(n)), word(nil, uint32(n))}
	case 1:
		return oracleValue{Uint32(uint32(n)), word(nil, uint32(n))}
	case 2:
		return oracleValue{Int64(int64(n)), long(nil, n)}
	case 3:
		return oracleValue{Uint64(n), long(nil, n)}
	case 4:
		f := float32(f)
		return oracleValue{Float32(f), word(nil, math.Float32bits(f))}
	case 5:
		return oracleValue{Float64(f), long(nil, math.Float64bits(f))}
	case 6:
		return oracleValue{String(string(b)), append(b, 0)}
	}
	return oracleValue{Aggregate(b), b}
}

func TestInteropAtomString(t *testing.T) {
	r, n := pcptest.Inputs(t, 60_000)
	var values []oracleValue
	var q []string
	for range n {
		v := randomValue(r)
		values = append(values, v)
		q = append(q, fmt.Sprintf("%d %s", v.Type, hexText(v.machine)))
	}
	for range n / 10 {
		v := randomEvents(r)
		values = append(values, v.oracleValue)
		q = append(q, fmt.Sprintf("%d %s", v.Type, hexText(v.machine)))
	}
	compareAnswers(t, "atomstr", q, func(i int) string { return hexText(values[i].String()) })
}

func randomWidth(r *rand.Rand) int { return []int{0, 1, 2, 3, 5, 12, 25, -1, -8, -30}[r.IntN(10)] }

// inUTC returns a ValueFormat in UTC, the time zone of the oracle.
func inUTC(width int) ValueFormat { return ValueFormat{Width: width, Location: time.UTC} }

func TestInteropValueFormat(t *testing.T) {
	r, n := pcptest.Inputs(t, 120_000)
	var values []oracleValue
	var widths []int
	var q []string
	add := func(v oracleValue, valfmt int) {
		width := randomWidth(r)
		values, widths = append(values, v), append(widths, width)
		q = append(q, fmt.Sprintf("%d %d %d %d %s", valfmt, v.Type, v.Type, width, hexText(v.machine)))
	}
	for range n {
		if v := randomValue(r); v.inPlace() {
			add(v, 0)
		} else {
			add(v, 1)
		}
	}
	for range n / 10 {
		// C does not step over missed records: the second one on counts what the
		// first does, and the last time is that of the first.
		if v := randomEvents(r); v.missed == 0 {
			add(v.oracleValue, 1)
		}
	}
	if len(q) < n+n/50 {
		t.Fatalf("only %d questions", len(q))
	}
	compareAnswers(t, "print", q, func(i int) string {
		return hexText(inUTC(widths[i]).Append(nil, values[i].Atom))
	})
}

func TestInteropUnknownType(t *testing.T) {
	r, n := pcptest.Inputs(t, 20_000)
	var words []uint32
	var widths []int
	var q []string
	for range n {
		word, width := uint32(randomInteger(r)), randomWidth(r)
		if r.IntN(2) == 0 {
			word = math.Float32bits(float32(randomFloat(r)))
		}
		words, widths = append(words, word), append(widths, width)
		q = append(q, fmt.Sprintf("0 %d 0 %d %s", TypeUnknown, width, hexText(binary.NativeEndian.AppendUint32(nil, word))))
	}
	compareAnswers(t, "print", q, func(i int) string { return hexText(inUTC(widths[i]).appendWord(nil, words[i])) })
}

// TestInteropValueOfOtherType prints values as those of a metric of another type.
func TestInteropValueOfOtherType(t *testing.T) {
	r, n := pcptest.Inputs(t, 40_000)
	var texts, q []string
	for range n {
		v, width, metric := randomValue(r), randomWidth(r), Type(r.IntN(int(TypeAggregate)+1))
		var w ResultWriter
		w.Begin(1)
		w.Atom(NoInst, v.Atom)
		result, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(inUTC(width).AppendValue(nil, result.At(0), 0, metric)))
		valfmt := 1
		if v.inPlace() {
			valfmt = 0
		}
		q = append(q, fmt.Sprintf("%d %d %d %d %s", valfmt, metric, v.Type, width, hexText(v.machine)))
	}
	compareAnswers(t, "print", q, func(i int) string { return hexText(texts[i]) })
}

func TestInteropFormatNumber(t *testing.T) {
	r, n := pcptest.Inputs(t, 60_000)
	var values []float64
	var q []string
	for range n {
		v := randomFloat(r)
		values = append(values, v)
		q = append(q, strconv.FormatUint(math.Float64bits(v), 16))
	}
	compareAnswers(t, "number", q, func(i int) string { return FormatNumber(values[i]) })
}

// randomUnits returns two units, which in most cases differ only in their scales.
func randomUnits(r *rand.Rand) (from, to Units) {
	dim := func() int { return []int{0, 0, 0, 1, 1, 1, -1, -1, 2, -2, r.IntN(16) - 8}[r.IntN(11)] }
	scales := func(space, time, count int) Units {
		most := 1 + r.IntN(2)*r.IntN(2)*9 // a few beyond those that exist
		return MakeUnits(space, time, count, r.IntN(7+9*(most/10)), r.IntN(6+10*(most/10)), r.IntN(16)-8)
	}
	space, time, count := dim(), dim(), dim()
	from, to = scales(space, time, count), scales(space, time, count)
	if r.IntN(10) == 0 {
		to = scales(dim(), dim(), dim())
	}
	return from, to
}

// scaleFactors are what pmConvScale multiplies with and divides by, if its integers
// could hold them: by way of megabytes, seconds and ones.
func scaleFactors(from, to Units) (mult, div *big.Int) {
	mult, div = big.NewInt(1), big.NewInt(1)
	step := func(dim int, from, to, middle *big.Int) {
		up, down := big.NewInt(1), big.NewInt(1)
		one := func(up, down, n *big.Int) {
			if n.Cmp(middle) < 0 {
				down.Mul(down, new(big.Int).Div(middle, n))
			} else {
				up.Mul(up, new(big.Int).Div(n, middle))
			}
		}
		one(up, down, from)
		one(down, up, to)
		if dim < 0 {
			up, down = down, up
		}
		for range max(dim, -dim) {
			mult.Mul(mult, up)
			div.Mul(div, down)
		}
	}
	power := func(base, n int) *big.Int {
		return new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(n)), nil)
	}
	times := [...]int64{1, 1e3, 1e6, 1e9, 60e9, 3600e9}
	step(from.DimSpace(), power(1024, from.ScaleSpace()), power(1024, to.ScaleSpace()), power(1024, 2))
	if from.DimTime() != 0 {
		step(from.DimTime(), big.NewInt(times[from.ScaleTime()]), big.NewInt(times[to.ScaleTime()]), big.NewInt(1e9))
	}
	count := from.DimCount()
	if count == 0 && from.DimSpace() == 0 && from.DimTime() == 0 {
		count = 1
	}
	step(count, power(10, from.ScaleCount()+8), power(10, to.ScaleCount()+8), power(10, 8))
	return mult, div
}

// ownScale is what we compute where C's arithmetic overflows, "" where it does not.
func ownScale(a Atom, from, to Units) string {
	mult, div := scaleFactors(from, to)
	beyond := mult.BitLen() > 63 || div.BitLen() > 63
	q, rest := new(big.Int).QuoRem(mult, div, new(big.Int))
	if rest.Sign() == 0 && !beyond {
		mult, div = q, big.NewInt(1)
	}
	ratio, _ := new(big.Rat).SetFrac(mult, div).Float64()
	switch a.Type {
	case TypeFloat, TypeDouble:
		if !beyond {
			return ""
		}
		v, _ := As[float64](a)
		b, _ := roundedAtom(a.Type, v*ratio)
		return "close to " + b.String()
	}
	n := new(big.Int)
	limit := 63
	if a.Type == TypeU64 {
		limit = 64
	}
	if a.Type == Type32 || a.Type == Type64 {
		v, _ := As[int64](a)
		n.SetInt64(v)
	} else {
		v, _ := As[uint64](a)
		n.SetUint64(v)
	}
	if beyond {
		v, _ := new(big.Float).SetInt(n).Float64()
		b, err := roundedAtom(a.Type, v*ratio)
		if err != nil {
			return err.Error()
		}
		return "close to " + b.String()
	}
	n.Add(n.Mul(n, mult), new(big.Int).Rsh(div, 1))
	if n.BitLen() <= limit && (limit == 64 || n.IsInt64()) {
		return ""
	}
	if div.IsInt64() && div.Int64() == 1 {
		return "" // only the low bits count, which C has too
	}
	n.Quo(n, div)
	low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	switch a.Type {
	case Type32:
		return Int32(int32(low)).String()
	case TypeU32:
		return Uint32(uint32(low)).String()
	case Type64:
		return Int64(int64(low)).String()
	}
	return Uint64(low).String()
}

// nearly compares the texts of two numbers. The second may begin with "close to".
func nearly(got, want string) bool {
	text, about := strings.CutPrefix(want, "close to ")
	if !about || got == text {
		return got == text
	}
	a, err := strconv.ParseFloat(got, 64)
	b, err2 := strconv.ParseFloat(text, 64)
	return err == nil && err2 == nil && math.Abs(a-b) <= 1+1e-5*math.Abs(b)
}

func TestInteropConvertUnits(t *testing.T) {
	type question struct {
		a        Atom
		from, to Units
	}
	r, n := pcptest.Inputs(t, 250_000)
	var questions []question
	var q []string
	for range n {
		v := randomValue(r)
		from, to := randomUnits(r)
		questions = append(questions, question{v.Atom, from, to})
		bits := append(append([]byte(nil), v.machine...), make([]byte, 8)...)
		q = append(q, fmt.Sprintf("%d %08x %08x %x", v.Type, uint32(from), uint32(to), binary.NativeEndian.Uint64(bits)))
	}
	wrong, own := 0, 0
	report := func(i int, got, want string) {
		if wrong++; wrong <= 10 {
			t.Errorf("%v from %q to %q: got %s, want %s", questions[i].a, questions[i].from, questions[i].to, got, want)
		}
	}
	for i, want := range pcptest.Oracle(t, "convscale", q) {
		a, from, to := questions[i].a, questions[i].from, questions[i].to
		got, err := a.ConvertUnits(from, to)
		if err == nil || err == ErrSign || err == ErrTrunc {
			text := got.String()
			if err != nil {
				text = err.Error()
			}
			if better := ownScale(a, from, to); better != "" {
				if own++; !nearly(text, better) {
					report(i, text, better)
				}
				continue
			}
		}
		if want == "crash" && err == ErrConv {
			own++ // C divides by what overflowed to 0 before it looks at the type
			continue
		}
		if text := scaleAnswer(got, err); text != want {
			report(i, text, want)
		}
	}
	t.Logf("convscale: %d questions, %d beyond C's integers, %d answers differ", len(q), own, wrong)
	if own > len(q)/2 {
		t.Errorf("%d of %d beyond C's integers", own, len(q))
	}
}

// scaleAnswer is what the oracle prints.
func scaleAnswer(a Atom, err error) string {
	if err != nil {
		return fmt.Sprintf("%d 0", FromError(err))
	}
	var bits uint64
	switch a.Type {
	case Type32:
		v, _ := As[int32](a)
		bits = uint64(uint32(v))
	case Type64:
		v, _ := As[int64](a)
		bits = uint64(v)
	case TypeFloat:
		v, _ := As[float32](a)
		bits = uint64(math.Float32bits(v))
	case TypeDouble:
		v, _ := As[float64](a)
		bits = math.Float64bits(v)
	default:
		bits, _ = As[uint64](a)
	}
	return fmt.Sprintf("0 %x", bits)
}

// An oracleEvents is a value of events with what pmUnpackEventRecords makes of it.
type oracleEvents struct {
	oracleValue
	missed   int
	unpacked string
}

// randomEvents is an event array without flaws.
func randomEvents(r *rand.Rand) oracleEvents {
	order := binary.NativeEndian
	b := EventBuilder{HighRes: r.IntN(2) == 0}
	var e oracleEvents
	n, records, out := 0, []byte(nil), ""
	for range r.IntN(6) {
		n++
		sec, nsec := int64(r.Int32()), int64(r.IntN(1e9))
		if r.IntN(10) == 0 {
			sec, nsec = 0, 0
		}
		if b.HighRes {
			records = order.AppendUint64(order.AppendUint64(records, uint64(sec)), uint64(nsec))
			out += fmt.Sprintf(" @%d.%09d", sec, nsec)
		} else {
			nsec = nsec / 1000 * 1000
			records = order.AppendUint32(order.AppendUint32(records, uint32(sec)), uint32(nsec/1000))
			out += fmt.Sprintf(" @%d.%06d", sec, nsec/1000)
		}
		at := time.Unix(sec, nsec)
		if r.IntN(6) == 0 {
			missed := r.IntN(1000)
			e.missed++
			b.Missed(at, missed)
			records = order.AppendUint32(order.AppendUint32(records, uint32(EventMissed)), uint32(missed))
			out += fmt.Sprintf(" 7fc00001,-1=%s 7fc00002,-1=%s", nativeHex(uint32(EventMissed)), nativeHex(uint32(missed)))
			continue
		}
		flags, params := r.Uint32()&0x1f, r.IntN(4)
		b.Begin(at, EventFlags(flags))
		records = order.AppendUint32(order.AppendUint32(records, flags), uint32(params))
		if flags != 0 {
			out += " 7fc00001,-1=" + nativeHex(flags)
		}
		for range params {
			id, v := r.Uint32(), randomValue(r)
			if v.Type == TypeString { // EventBuilder writes no NUL behind it
				v.machine = bytes.TrimRight(v.Bytes(), "\x00")
				v.Atom = String(string(v.machine))
			}
			b.Param(PMID(id), v.Atom)
			records = order.AppendUint32(order.AppendUint32(records, id), uint32(v.Type)<<24|uint32(len(v.machine)+4))
			records = append(records, v.machine...)
			for len(records)%4 != 0 {
				records = append(records, 0)
			}
			out += fmt.Sprintf(" %08x,-1=", id)
			if !v.inPlace() {
				out += fmt.Sprintf("%d:", v.Type)
			}
			out += hexText(v.machine)
		}
	}
	a, err := b.Atom()
	if err != nil {
		panic(err)
	}
	e.oracleValue = oracleValue{a, append(order.AppendUint32(nil, uint32(n)), records...)}
	e.unpacked = strconv.Itoa(n) + out
	return e
}

func nativeHex(v uint32) string { return hexText(binary.NativeEndian.AppendUint32(nil, v)) }

// unpack is what the oracle prints of an event array.
func unpack(a Atom) string {
	array, err := a.Events()
	if err != nil {
		return strconv.Itoa(int(FromError(err)))
	}
	out := strconv.Itoa(array.Len())
	for r := range array.All() {
		at := r.Time
		if at.IsZero() {
			at = time.Unix(0, 0)
		}
		if out += fmt.Sprintf(" @%d.", at.Unix()); a.Type == TypeHighResEvent {
			out += fmt.Sprintf("%09d", at.Nanosecond())
		} else {
			out += fmt.Sprintf("%06d", at.Nanosecond()/1000)
		}
		for id, v := range r.Values() {
			out += fmt.Sprintf(" %08x,-1=", uint32(id))
			switch b := v.Bytes(); v.Type {
			case Type32, TypeU32:
				n, _ := As[int64](v)
				out += nativeHex(uint32(n))
			case TypeFloat:
				f, _ := As[float32](v)
				out += fmt.Sprintf("%d:%s", v.Type, nativeHex(math.Float32bits(f)))
			case Type64, TypeU64, TypeDouble:
				out += fmt.Sprintf("%d:%s", v.Type, hexText(nativeLong(v)))
			default:
				out += fmt.Sprintf("%d:%s", v.Type, hexText(b))
			}
		}
	}
	return out
}

func nativeLong(a Atom) []byte {
	var bits uint64
	switch a.Type {
	case Type64:
		v, _ := As[int64](a)
		bits = uint64(v)
	case TypeU64:
		bits, _ = As[uint64](a)
	default:
		v, _ := As[float64](a)
		bits = math.Float64bits(v)
	}
	return binary.NativeEndian.AppendUint64(nil, bits)
}

func TestInteropEventRecordValues(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var all []oracleEvents
	var q []string
	for range 10000 {
		e := randomEvents(r)
		all = append(all, e)
		q = append(q, fmt.Sprintf("%d %s", e.Type, hexText(e.machine)))
	}
	compareAnswers(t, "events", q, func(i int) string {
		if got := unpack(all[i].Atom); got != all[i].unpacked {
			t.Errorf("got %s, want %s", got, all[i].unpacked)
		}
		return all[i].unpacked
	})
}
