package pdu

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/jsonscan"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// compareAnswers asks the oracle questions and reports the answers that differ
// from ours, which is called with the index of a question.
func compareAnswers(t *testing.T, subject string, questions []string, ours func(i int) string) {
	t.Helper()
	wrong := 0
	for i, want := range pcptest.Oracle(t, subject, questions) {
		if got := ours(i); got != want {
			if wrong++; wrong <= 20 {
				t.Errorf("%s %s: got %q, C has %q", subject, questions[i], readable(got), readable(want))
			}
		}
	}
	t.Logf("%s: %d questions, %d answers differ", subject, len(questions), wrong)
}

// compareText is compareAnswers for questions that hold all that ours needs.
func compareText(t *testing.T, subject string, questions []string, ours func(question string) string) {
	t.Helper()
	compareAnswers(t, subject, questions, func(i int) string { return ours(questions[i]) })
}

// readable is the text that s is hexadecimal for, or s if it is not.
func readable(s string) string {
	if b, err := hex.DecodeString(s); err == nil {
		return string(b)
	}
	return s
}

func hexText[T string | []byte](s T) string {
	if len(s) == 0 {
		return "-"
	}
	return hex.EncodeToString([]byte(s))
}

func unhexText(t *testing.T, s string) string {
	t.Helper()
	if s == "-" {
		return ""
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestInteropErrorText(t *testing.T) {
	var q []string
	for c := -45000; c <= 10; c++ {
		if Error(c) != ErrArg { // 6.0.3 does not have it
			q = append(q, strconv.Itoa(c))
		}
	}
	q = append(q, "12345", "-2147483648", "2147483647", "-99999")
	compareText(t, "error", q, func(s string) string {
		n, _ := strconv.Atoi(s)
		return Error(n).Error()
	})
}

func TestInteropNames(t *testing.T) {
	var numbers, words []string
	for n := -5; n <= 300; n++ {
		numbers = append(numbers, strconv.Itoa(n))
	}
	r, n := pcptest.Inputs(t, 20_000)
	for range n {
		words = append(words, fmt.Sprintf("%08x", r.Uint32()))
		words = append(words, fmt.Sprintf("%08x", 511<<22|r.Uint32()&(1<<20-1)&^(r.Uint32()&1*1023)))
	}
	words = append(words, "ffffffff", "7fc00000", "7fffffff", "80000000", "00000000")
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	word := func(s string) uint32 { n, _ := strconv.ParseUint(s, 16, 32); return uint32(n) }
	compareText(t, "type", numbers, func(s string) string { return Type(number(s)).String() })
	compareText(t, "sem", numbers, func(s string) string { return Sem(number(s)).String() })
	compareText(t, "pmid", words, func(s string) string { return PMID(word(s)).String() })
	compareText(t, "indom", words, func(s string) string { return InDom(word(s)).String() })
	compareText(t, "eventflags", append(words, "1", "1f", "15", "80000001", "20"), func(s string) string { return EventFlags(word(s)).String() })
}

func TestInteropUnitsString(t *testing.T) {
	r, n := pcptest.Inputs(t, 60_000)
	q := []string{"00000000", "00000300", "00000f00"}
	for range n {
		w := r.Uint32() &^ 0xff // 6.0.3 has no extra units
		for shift := 20; shift < 32; shift += 4 {
			if r.IntN(3) == 0 {
				w &^= 0xf << shift
			}
		}
		q = append(q, fmt.Sprintf("%08x", w))
	}
	compareText(t, "units", q, func(s string) string {
		w, _ := strconv.ParseUint(s, 16, 32)
		return Units(w).String()
	})
}

// unitsAnswer is what the oracle prints.
func unitsAnswer(text string) string {
	u, mult, err := ParseUnits(text)
	sts, msg := 0, ""
	if err != nil {
		sts = int(FromError(err))
		if e, ok := errors.AsType[unitsError](err); ok {
			msg = string(e)
		}
	}
	return fmt.Sprintf("%d %08x %v %s", sts, uint32(u), realBits(mult), msg)
}

// realBits returns the bits of f, and the same text for every NaN.
func realBits(f float64) string {
	if f != f {
		return "nan"
	}
	return strconv.FormatUint(math.Float64bits(f), 16)
}

// mutated is a text with one character more, less or changed.
func mutated(r *rand.Rand, text string) string {
	i := r.IntN(len(text) + 1)
	c := string("0123456789 ^/-.+exBsk\t(_"[r.IntN(24)])
	switch end := min(i+1, len(text)); r.IntN(3) {
	case 0:
		return text[:i] + c + text[i:]
	case 1:
		return text[:i] + text[end:]
	default:
		return text[:i] + c + text[end:]
	}
}

func TestInteropParseUnits(t *testing.T) {
	numbers := []string{"1", "7", "0.1", "3.7e5", "-2", "0", ".5", "5.", "1e3", "1e", "0x10", "0x1.8p3", "0x", "1e400", "1e-400", "2.3e-308", "1e-310", "-inf",
		"-nan", "-nan(1)", "-", "-.", "..", "1.2.3", "inf", "1e308", "1e-200", "017", "3-4", "+3", "0e-999", "0x0p-9999", "-0", "1_0"}
	words := []string{"byte", "Bytes", "KB", "kib", "Kbyte", "Mebibytes", "GB", "TiB", "petabyte", "EB", "ZB", "Ybyte", "space-9", "space-15", "space-16", "space-",
		"ns", "nanosecs", "usec", "us", "microseconds", "ms", "msec", "S", "sec", "Seconds", "min", "mins", "hr", "h", "hours",
		"count", "counts", "count x 10", "COUNT X 10^3", "count x 10^-8", "count x 10^7", "count x 10^0", "count x 10^1", "count x 10^8", "count  x 10", "x 10", "K", "none", "counts x 10"}
	powers := []string{"", "", "", "", "^2", "^3", "^-1", "^-2", "^0", "^7", "^8", "^-8", "^-9", "^15", "^16", "^x", "^", "^02", "^+1", " ^2", "^2^2", "2", "^ 2"}
	blanks := []string{" ", " ", " ", "  ", "\t", "\n", "", ","}
	r, n := pcptest.Inputs(t, 60_000)
	pick := func(s []string) string { return s[r.IntN(len(s))] }
	var q []string
	for range n {
		var b strings.Builder
		for side := range 1 + r.IntN(2) {
			if side > 0 {
				b.WriteString(pick([]string{"/", " / ", "/ ", " /"}))
			}
			for range r.IntN(4) {
				switch r.IntN(4) {
				case 0:
					b.WriteString(pick(numbers))
				default:
					b.WriteString(pick(words) + pick(powers))
				}
				b.WriteString(pick(blanks))
			}
		}
		q = append(q, hexText(b.String()))
	}
	for range n { // sound texts
		var b strings.Builder
		for side := range 2 {
			if side > 0 {
				b.WriteString(" / ")
			}
			fmt.Fprintf(&b, "%s ", pick([]string{"", "", "7", "0.3"}))
			for _, group := range [][]string{words[:12], {"ns", "us", "ms", "sec", "min", "hour"}, {"count", "count x 10", "count x 10^3", "count x 10^-7"}} {
				if r.IntN(2) == 0 {
					fmt.Fprintf(&b, "%s^%d ", pick(group), r.IntN(24)-8)
				}
			}
		}
		q = append(q, hexText(b.String()), hexText(mutated(r, b.String())))
	}
	q = append(q, "-", hexText("time-6"), hexText("TIME-15/count"), hexText("time-16"), hexText("time-07"), hexText("/"), hexText("//"), hexText("sec\xa0"))
	answers := pcptest.Oracle(t, "parseunits", q)
	wrong := 0
	for i, answer := range answers {
		f := strings.SplitN(answer, " ", 4)
		mult, err := strconv.ParseFloat(strings.Replace(f[2], "-nan", "nan", 1), 64)
		if err != nil {
			t.Fatal(err)
		}
		text := unhexText(t, q[i])
		want := fmt.Sprintf("%s %s %v %s", f[0], f[1], realBits(mult), f[3])
		if got := unitsAnswer(text); got != want && wrong < 20 {
			wrong++
			t.Errorf("%q: got %s, C has %s", text, got, answer)
		}
	}
}

// extractInput is a value as the wire has it and as the C library has it in
// memory, where numbers are in the order of the machine.
type extractInput struct {
	insitu        bool
	itype, vtype  Type
	wire, machine []byte
}

// atom is the value, if it is of the metric's type, as pmExtractValue wants it.
func (e extractInput) atom() (Atom, error) {
	if e.insitu {
		a := insituAtom(e.itype, binary.BigEndian.Uint32(e.wire))
		if a.Type == TypeUnknown { // As returns ErrIPC for it
			return a, ErrConv
		}
		return a, nil
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(e.vtype)<<24|uint32(blockHeadLen+len(e.wire)))
	body = append(body, e.wire...)
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	a := atomAt(body, valDPtr, HeaderLen/4, e.itype)
	if a.Type != e.itype {
		return Atom{}, ErrConv
	}
	return a, nil
}

func TestInteropExtract(t *testing.T) {
	r, n := pcptest.Inputs(t, 200_000)
	var in []extractInput
	var out []Type
	var q []string
	add := func(e extractInput, otype Type) {
		valfmt := 1 + r.IntN(2)
		if e.insitu {
			valfmt = 0
		}
		in, out = append(in, e), append(out, otype)
		q = append(q, fmt.Sprintf("%d %d %d %d %s", valfmt, e.itype, otype, e.vtype, hexText(string(e.machine))))
	}
	for range n {
		e := randomInput(r)
		otype := Type(r.IntN(8))
		if skipExtract(e, otype) {
			continue
		}
		add(e, otype)
	}
	if len(q) < n/2 {
		t.Fatalf("only %d questions", len(q))
	}
	wrong := 0
	for i, want := range pcptest.Oracle(t, "extract", q) {
		if got := extractAnswer(in[i], out[i]); got != want && wrong < 20 {
			wrong++
			t.Errorf("%s: got %s, C has %s", q[i], got, want)
		}
	}
}

// skipExtract reports where C's behaviour is undefined (a NaN converted to an integer) or ours
// deliberately differs (static aggregates).
func skipExtract(e extractInput, otype Type) bool {
	if e.itype == TypeAggregateStatic {
		return true
	}
	a, err := e.atom()
	if err != nil || a.Type != TypeFloat && a.Type != TypeDouble || otype > TypeU64 {
		return false
	}
	return a.real() != a.real()
}

func randomInput(r *rand.Rand) extractInput {
	t := Type(r.IntN(8))
	e := extractInput{itype: t, vtype: t}
	if r.IntN(10) == 0 {
		e.vtype = Type(r.IntN(11)) // another, or none
	}
	var n uint64
	switch r.IntN(5) {
	case 0:
		n = r.Uint64()
	case 1:
		n = uint64(int64(int32(r.Uint32())))
	case 2:
		n = uint64(r.IntN(5)) - 2
	case 3:
		n = (1 << r.IntN(64)) + uint64(r.IntN(3)) - 1
	case 4:
		n = -(1 << r.IntN(64)) + uint64(r.IntN(3)) - 1
	}
	f := math.Float64frombits(r.Uint64())
	switch r.IntN(5) {
	case 0:
		f = float64(int64(n))
	case 1:
		f = float64(int64(n)) + r.Float64()
	case 2:
		f = math.Ldexp(1-math.Ldexp(float64(r.IntN(3)), -53), r.IntN(70)) * float64(1-2*r.IntN(2))
	case 3:
		f = float64(r.IntN(9)-4) / 4
	}
	switch t {
	case Type32, TypeU32:
		e.insitu = true
		e.wire = binary.BigEndian.AppendUint32(nil, uint32(n))
		e.machine = binary.NativeEndian.AppendUint32(nil, uint32(n))
	case Type64, TypeU64:
		e.wire = binary.BigEndian.AppendUint64(nil, n)
		e.machine = binary.NativeEndian.AppendUint64(nil, n)
	case TypeFloat:
		e.wire = binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(f)))
		e.machine = binary.NativeEndian.AppendUint32(nil, math.Float32bits(float32(f)))
		e.insitu = r.IntN(4) == 0
	case TypeDouble:
		e.wire = binary.BigEndian.AppendUint64(nil, math.Float64bits(f))
		e.machine = binary.NativeEndian.AppendUint64(nil, math.Float64bits(f))
	default:
		for range r.IntN(20) {
			e.wire = append(e.wire, byte(r.IntN(256)>>(4*r.IntN(3))))
		}
		if t == TypeString {
			e.wire = append(e.wire, 0)
		}
		e.machine = e.wire
	}
	if r.IntN(20) == 0 { // in place, of a type that may not be
		e.insitu, e.itype = true, []Type{TypeUnknown, TypeNoSupport, Type(r.IntN(11))}[r.IntN(3)]
		e.wire = binary.BigEndian.AppendUint32(nil, uint32(n))
		e.machine = binary.NativeEndian.AppendUint32(nil, uint32(n))
	}
	if !e.insitu && r.IntN(20) == 0 && len(e.wire) > 1 && t != TypeString && t != TypeAggregate {
		cut := len(e.wire) - 1 - r.IntN(len(e.wire)-1)
		e.wire, e.machine = e.wire[:cut], e.machine[:cut]
	}
	return e
}

// extractAnswer is what the oracle prints.
func extractAnswer(e extractInput, otype Type) string {
	a, err := e.atom()
	if err != nil {
		return strconv.Itoa(int(ErrConv)) // what C says of a malformed block
	}
	var value []byte
	switch otype {
	case Type32:
		var v int32
		v, err = As[int32](a)
		value = binary.NativeEndian.AppendUint32(nil, uint32(v))
	case TypeU32:
		var v uint32
		v, err = As[uint32](a)
		value = binary.NativeEndian.AppendUint32(nil, v)
	case Type64:
		var v int64
		v, err = As[int64](a)
		value = binary.NativeEndian.AppendUint64(nil, uint64(v))
	case TypeU64:
		var v uint64
		v, err = As[uint64](a)
		value = binary.NativeEndian.AppendUint64(nil, v)
	case TypeFloat:
		var v float32
		v, err = As[float32](a)
		value = binary.NativeEndian.AppendUint32(nil, math.Float32bits(v))
	case TypeDouble:
		var v float64
		v, err = As[float64](a)
		value = binary.NativeEndian.AppendUint64(nil, math.Float64bits(v))
	case TypeString:
		var v string
		v, err = As[string](a)
		value = []byte(v)
	default:
		value, err = As[[]byte](a)
	}
	if err != nil {
		return strconv.Itoa(int(FromError(err)))
	}
	return "0 " + hexText(string(value))
}

func TestInteropSortInstances(t *testing.T) {
	r, n := pcptest.Inputs(t, 10_000)
	var q []string
	for range n {
		seen := map[int32]bool{}
		var words []string
		for range 1 + r.IntN(50) {
			// C subtracts instances to compare them, which overflows beyond 30 bits.
			if n := int32(r.Uint32()) >> (1 + r.IntN(31)); !seen[n] {
				seen[n] = true
				words = append(words, strconv.Itoa(int(n)))
			}
		}
		q = append(q, strings.Join(words, " "))
	}
	compareText(t, "sort", q, func(s string) string {
		var w ResultWriter
		w.Begin(1)
		for f := range strings.FieldsSeq(s) {
			n, _ := strconv.Atoi(f)
			w.Uint32(InstID(n), 0)
		}
		r, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		r.SortInstances()
		var words []string
		for inst := range r.At(0).All(TypeU32) {
			words = append(words, strconv.Itoa(int(inst)))
		}
		return strings.Join(words, " ")
	})
}

// randomLabels is the text of an object that both libraries read alike: one
// level of nesting, flat arrays without white space, no name
// twice.
func randomLabels(r *rand.Rand, nested bool) string {
	values := []string{`1`, `-1.50`, `1e5`, `"x"`, `""`, `"a \"b\" \\ \u00e9"`, `true`, `false`, `null`, `[]`, `[1,2]`, `["a",true]`}
	names := r.Perm(12)
	var b strings.Builder
	blank := func() {
		if r.IntN(4) == 0 {
			b.WriteString([]string{" ", "\n", "\t ", "\r\n"}[r.IntN(4)])
		}
	}
	pair := func(name, value string) {
		blank()
		fmt.Fprintf(&b, "%q", name)
		blank()
		b.WriteString(":")
		blank()
		b.WriteString(value)
		blank()
	}
	name := func(i int) string {
		return []string{"a", "b", "A", "ab", "a1", "a_b", "Zz9", "host_name", "x", "xyz", "q", "B_"}[i]
	}
	b.WriteString("{")
	n := 1 + r.IntN(5)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		if !nested || r.IntN(4) > 0 {
			pair(name(names[i]), values[r.IntN(len(values))])
			continue
		}
		blank()
		fmt.Fprintf(&b, "%q:{", name(names[i]))
		for j := range 1 + r.IntN(3) {
			if j > 0 {
				b.WriteString(",")
			}
			pair(name(names[n+j]), values[r.IntN(len(values))])
		}
		b.WriteString("}")
	}
	b.WriteString("}")
	return b.String()
}

func TestInteropParseLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	classes := []LabelClass{LabelContext, LabelDomain, LabelInDom, LabelCluster, LabelItem, LabelInstances}
	type question struct {
		text     string
		class    LabelClass
		optional bool
	}
	var questions []question
	for len(questions) < 15000 {
		if text := randomLabels(r, true); !losesLabels(t, text) {
			questions = append(questions, question{text, classes[r.IntN(6)], r.IntN(2) == 0})
		}
	}
	// Of sets with one bad name, and of names that begin with "_", 6.0.3 makes errors.
	for _, s := range []string{`{"a":1,"a":2}`, `{"":1}`, `{"1a":1}`, `{"a-b":1}`, `{"a":foo}`, `{"a":01}`, `{"a":1,}`, `{"a":1}x`, `{"a":"\x"}`,
		`{"a":1,"a":{"b":2}}`, `{"a":{"b":1,"b":2}}`, `{"é":1}`, `{"a\u0062":1}`, `{"a":[1,2}`, `{"a":{}}`, `{}`,
		`{"` + strings.Repeat("a", 254) + `":1}`} {
		questions = append(questions, question{s, LabelContext, false})
	}
	var q []string
	for _, a := range questions {
		flags := int(a.class)
		if a.optional {
			flags |= int(LabelOptional)
		}
		q = append(q, fmt.Sprintf("%d %s", flags, hexText(a.text)))
	}
	wrong := 0
	for i, want := range pcptest.Oracle(t, "addlabels", q) {
		s, err := ParseLabels(questions[i].class, questions[i].text, questions[i].optional)
		got := strconv.Itoa(int(FromError(err)))
		if err == nil {
			got = strconv.Itoa(len(s.Labels))
			if len(s.Labels) > 0 || questions[i].text == "{}" {
				got += " " + hexText(string(s.JSON))
			}
			for _, l := range s.Labels {
				if v := s.JSON[l.ValueOff:][:l.ValueLen]; string(v) == "{}" {
					l.Flags |= LabelCompound // C marks the empty object
				}
				got += fmt.Sprintf(" %d,%d,%d,%d,%d", l.NameOff, l.NameLen, l.Flags, l.ValueOff, l.ValueLen)
			}
		}
		if got != want && wrong < 20 {
			wrong++
			t.Errorf("%s: got %s, C has %s", questions[i].text, got, want)
		}
	}
}

func TestInteropMergeLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var texts [][]string
	var q []string
	for range 5000 {
		var set []string
		for range 1 + r.IntN(4) {
			// C mixes nested names up and refuses some white space.
			text, err := jsonscan.Compact(nil, []byte(randomLabels(r, false)))
			if err != nil {
				t.Fatal(err)
			}
			set = append(set, string(text))
		}
		texts = append(texts, set)
		var words []string
		for _, s := range set {
			words = append(words, hexText(s))
		}
		q = append(q, strings.Join(words, " "))
	}
	refused := 0
	for i, want := range pcptest.Oracle(t, "mergelabels", q) {
		var sets []LabelSet
		for _, s := range texts[i] {
			set, err := ParseLabels(LabelContext, s, false)
			if err != nil {
				t.Fatal(err)
			}
			sets = append(sets, set)
		}
		m, err := MergeLabels(nil, sets...)
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(want)
		if f[0] == "-22" {
			refused++ // C does, after a value became shorter, and rightly never
			continue
		}
		if diff := cmp.Diff(unhexText(t, f[1]), string(m.JSON)); diff != "" {
			t.Fatalf("%q (-C +Go)\n%s", texts[i], diff)
		}
	}
	if refused > len(q)/2 {
		t.Errorf("C refused %d of %d", refused, len(q))
	}
}

// TestInteropMergeLabelSets merges sets of all classes, with optional labels and without.
func TestInteropMergeLabelSets(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	classes := []LabelClass{LabelContext, LabelDomain, LabelInDom, LabelCluster, LabelItem, LabelInstances}
	type merger struct {
		sets []LabelSet
		cull bool
	}
	var mergers []merger
	var q []string
	for range 5000 {
		m := merger{cull: r.IntN(2) == 0}
		words := "0"
		if m.cull {
			words = "1"
		}
		for range 1 + r.IntN(6) {
			text := randomLabels(r, false)
			class, optional := classes[r.IntN(len(classes))], r.IntN(3) == 0
			set, err := ParseLabels(class, text, optional)
			if err != nil {
				t.Fatal(err)
			}
			flags := int(class)
			if optional {
				flags |= int(LabelOptional)
			}
			m.sets = append(m.sets, set)
			words += fmt.Sprintf(" %d %s", flags, hexText(text))
		}
		mergers, q = append(mergers, m), append(q, words)
	}
	for i, want := range pcptest.Oracle(t, "mergelabelsets", q) {
		var keep func(NamedLabel) bool
		if mergers[i].cull {
			keep = func(l NamedLabel) bool { return l.Flags&LabelOptional == 0 }
		}
		m, err := MergeLabels(keep, mergers[i].sets...)
		if err != nil {
			t.Fatal(err)
		}
		status, text, _ := strings.Cut(want, " ")
		got := m.String()
		if len(m.Labels) == 0 {
			got = ""
		}
		theirs := strings.TrimPrefix(unhexText(t, text), "}") // C closes an object that it has not opened if nothing is left
		if theirs != got {
			t.Fatalf("%v: %s, C has %s %q", mergers[i].sets, got, status, unhexText(t, text))
		}
	}
}

// losesLabels reports whether one name starts another that is nested: C compares
// such names only up to the end of the shorter, and takes them for the same.
func losesLabels(t *testing.T, text string) bool {
	set, err := ParseLabels(LabelContext, text, false)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Collect(set.All())
	for _, a := range names {
		for _, b := range names {
			if a.Name != b.Name && strings.HasPrefix(b.Name, a.Name) && strings.Contains(b.Name, ".") {
				return true
			}
		}
	}
	return false
}
