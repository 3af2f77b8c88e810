package pmapi_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

var (
	derivedLines = flag.Int("derived.lines", 150, "compare `n` generated expressions with the C library")
	derivedSeed  = flag.Uint64("derived.seed", 1, "generate the expressions of this seed")
)

// derivedByC returns the C library's answers to expressions; see testdata/derived.c.
func derivedByC(t *testing.T, kind, source string, fetches int, exprs []string) []string {
	t.Helper()
	return runDerived(t, buildDerived(t), kind, source, fetches, exprs)
}

// buildDerived builds the program of testdata/derived.c.
func buildDerived(t *testing.T) string {
	t.Helper()
	return pcptest.BuildC(t, filepath.Join("testdata", "derived.c"), "-Wall", "-lpcp")
}

func runDerived(t *testing.T, program, kind, source string, fetches int, exprs []string) []string {
	t.Helper()
	out, errs, status := pcptest.Run(t, nil, strings.Join(exprs, "\n")+"\n", program, kind, source, strconv.Itoa(fetches))
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if status != 0 || len(lines) != len(exprs) {
		t.Fatalf("%d expressions, %d answers, status %d\n%s", len(exprs), len(lines), status, errs)
	}
	return lines
}

// derivedByGo returns a context's answer to an expression, in the same words.
func derivedByGo(t *testing.T, c *pmapi.Context, expr string, fetches int) string {
	t.Helper()
	ctx := t.Context()
	err := c.Derive(ctx, "q.m", expr)
	if e, ok := errors.AsType[*pmapi.DerivedError](err); ok {
		return fmt.Sprintf("syntax %d %s", e.Offset, e.Message)
	}
	if err != nil {
		t.Fatal(err)
	}
	ids, err := c.Lookup(ctx, []string{"q.m"})
	if errors.Is(err, pdu.ErrName) { // PCP 6.0.3 finds the name, and no descriptor
		return fmt.Sprintf("desc %d", pdu.ErrBadDerive)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Desc(ctx, ids[0])
	if err != nil {
		return fmt.Sprintf("desc %d", int32(pdu.FromError(err)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "type=%d indom=%d sem=%d units=%s |", d.Type, int32(d.InDom), d.Sem, d.Units)
	var r pdu.Result
	for range fetches {
		if err := c.Fetch(ctx, ids, &r); err != nil {
			fmt.Fprintf(&b, " [%d]", int32(pdu.FromError(err)))
			break
		}
		set := r.At(0)
		n := set.Len()
		if set.Err() != nil {
			n = int(pdu.FromError(set.Err()))
		}
		fmt.Fprintf(&b, " [n=%d", n)
		for i := range min(set.Len(), 20) {
			fmt.Fprintf(&b, " %d:%s", set.Inst(i), derivedText(set.Atom(i, d.Type), d.Type))
		}
		b.WriteByte(']')
	}
	return b.String()
}

// derivedText returns a value as testdata/derived.c prints it.
func derivedText(a pdu.Atom, t pdu.Type) string {
	switch {
	case t < 0 || t > pdu.TypeDouble:
		return "<>"
	case t == pdu.TypeFloat:
		v, _ := pdu.As[float32](a)
		return strconv.FormatFloat(float64(v), 'g', 9, 32)
	case t == pdu.TypeDouble:
		v, _ := pdu.As[float64](a)
		switch {
		case math.IsInf(v, 1):
			return "inf"
		case math.IsInf(v, -1):
			return "-inf"
		case math.IsNaN(v):
			return "nan"
		}
		return strconv.FormatFloat(v, 'g', 17, 64)
	}
	return a.String()
}

// derivedFaults are expressions that the C library evaluates wrongly, and the reasons.
var derivedFaults = []struct {
	expr *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`^[^a-z]*$|^!1\.5$|^[-!0-9<?:. ]+$`), "an archive gives it no time for constants"},
	{regexp.MustCompile(`!`), "a truth value of 32 bits is written into a longer one; a string is taken for a number"},
	{regexp.MustCompile(`bad\.novalues|bad\.fetch`), "it reads values that are not there"},
	{regexp.MustCompile(`q\.m`), "it follows itself"},
	{regexp.MustCompile(`event\.`), "it is a derived metric itself, without an agent"},
	{regexp.MustCompile(`rescale\(.*wrap\.`), "rounding overflows near the greatest integer"},
}

// newer are expressions that PCP 7 accepts and PCP 6.0.3 may reject. In PCP 7 a constant guard
// selects its alternative when the metrics are known, so the other alternative may be unknown.
// There, delta, rate and instant also accept any expression, which 6.0.3 rejects with ofChanges.
var (
	newer     = regexp.MustCompile(`^[(]*(!|[0-9]|defined\()[^?]*\?|\b(delta|rate|instant)\(`)
	ofChanges = regexp.MustCompile(`Metric name expected to follow (delta|rate|instant)\(`)
)

var extremes = regexp.MustCompile(`\b(max|min)\(`)

// beginAlike reports whether our values are C's except for the last ones of fetches. If the first
// alternative of a choice is the shorter one, C has more values than instances and reads the other
// instances from foreign memory.
func beginAlike(c, ours string) bool {
	theirs, mine := strings.Split(c, " ["), strings.Split(ours, " [")
	if len(theirs) != len(mine) {
		return false
	}
	for i := range mine {
		_, a, _ := strings.Cut(strings.TrimSuffix(theirs[i], "]"), " ")
		_, b, _ := strings.Cut(strings.TrimSuffix(mine[i], "]"), " ")
		if mine[i] != theirs[i] && (i == 0 || b == "" || !strings.HasPrefix(a, b+" ")) {
			return false
		}
	}
	return true
}

// invented reports whether C's values are ours except at fetches without values of ours. For max
// and min of no values, C returns uninitialised memory.
func invented(c, ours string) bool {
	theirs, mine := strings.Split(c, " ["), strings.Split(ours, " [")
	if len(theirs) != len(mine) || theirs[0] != mine[0] {
		return false
	}
	for i := range mine {
		if mine[i] != theirs[i] && mine[i] != "n=0]" {
			return false
		}
	}
	return true
}

var changes = regexp.MustCompile(`\b(delta|rate)\(`)

// differAtResets reports whether ours are C's values except where the operand decreases. C takes
// each integer that decreases for one that has wrapped. Here a counter was reset, which has no
// value, and another number has a negative change.
func differAtResets(c, ours string) bool {
	theirs, mine := strings.Split(c, " ["), strings.Split(ours, " [")
	if len(theirs) != len(mine) || theirs[0] != mine[0] {
		return false
	}
	for i := range mine {
		_, values, _ := strings.Cut(strings.TrimSuffix(mine[i], "]"), " ")
		for _, v := range strings.Fields(values) {
			if !strings.Contains(v, ":-") && !strings.Contains(theirs[i]+" ", " "+v) {
				return false
			}
		}
	}
	return true
}

// sameDerived compares both answers to an expression.
func sameDerived(t *testing.T, expr, c, ours string) {
	t.Helper()
	if c == ours {
		return
	}
	if strings.Contains(c, "crash") || strings.Contains(c, "[-12378]") && !strings.Contains(ours, "[-12378]") {
		return // ours has an answer, and a constant has no position in an archive that the C library could read at
	}
	if strings.Contains(expr, "?") && beginAlike(c, ours) || extremes.MatchString(expr) && invented(c, ours) {
		return
	}
	if changes.MatchString(expr) && differAtResets(c, ours) {
		return
	}
	if newer.MatchString(expr) && (strings.HasPrefix(c, "desc ") || ofChanges.MatchString(c)) && strings.HasPrefix(ours, "type=") {
		return
	}
	if newer.MatchString(expr) && strings.HasSuffix(c, " for ternary operands") {
		return // C looks at an alternative that is never chosen
	}
	for _, f := range derivedFaults {
		if f.expr.MatchString(expr) {
			t.Logf("%s: %s\nC    %s\nours %s", expr, f.why, c, ours)
			return
		}
	}
	t.Errorf("%s\nC    %s\nours %s", expr, c, ours)
}

func listed(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "derived.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// TestInteropDerivedArchive compares descriptors, values and errors of listed expressions and of
// generated ones.
func TestInteropDerivedArchive(t *testing.T) {
	pcptest.Need(t, "pmcd")
	exprs := listed(t)
	g := exprMaker{rand.New(rand.NewPCG(*derivedSeed, 3))}
	for range *derivedLines {
		exprs = append(exprs, g.expr(3))
	}
	const archive, fetches = "testdata/derive", 6
	answers := derivedByC(t, "archive", archive, fetches, exprs)
	refused := 0
	for i, expr := range exprs {
		c, err := asPCP6.Open(t.Context(), archive)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(answers[i], "syntax") {
			refused++
		}
		sameDerived(t, expr, answers[i], derivedByGo(t, c, expr, fetches))
		c.Close()
	}
	t.Logf("%d expressions, %d of them refused", len(exprs), refused)
}

// TestInteropDerivedMarks compares delta and rate on archives of PCP's test-suite. In these, marks
// occur, instances come and go, and fetches fail.
func TestInteropDerivedMarks(t *testing.T) {
	const dir, fetches = "/var/lib/pcp/testsuite/archives/", 60
	pcptest.Need(t, dir)
	program := buildDerived(t)
	for _, archive := range []string{"19970807.09.54", "20130706", "20180102", "20180127.08.40", "20180415.09.16", "changeinst", "gap2", "interpmark", "omnibus_v3"} {
		held, err := asPCP6.Open(t.Context(), dir+archive) // so that it is unpacked once
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		exprs := changesIn(t, dir+archive)
		for i, want := range runDerived(t, program, "archive", dir+archive, fetches, exprs) {
			c, err := asPCP6.Open(t.Context(), dir+archive)
			if err != nil {
				t.Fatal(err)
			}
			if got := derivedByGo(t, c, exprs[i], fetches); got != want && !differAtResets(want, got) {
				t.Errorf("%s: %s\nC    %s\nours %s", archive, exprs[i], want, got)
			}
			c.Close()
		}
	}
}

// changesIn returns expressions with delta and rate of some metrics of an archive.
func changesIn(t *testing.T, archive string) (exprs []string) {
	c, err := asPCP6.Open(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, err := c.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := c.Lookup(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	descs, err := c.Descs(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range descs {
		isNumber := d.Type >= pdu.Type32 && d.Type <= pdu.TypeDouble
		if !isNumber || d.PMID.Domain() == 511 || d.Sem != pdu.SemCounter && i%5 != 0 {
			continue
		}
		exprs = append(exprs, "delta("+names[i]+")")
		if u := d.Units.DimTime(); u == 0 || u == 1 {
			exprs = append(exprs, "rate("+names[i]+")")
		}
		if len(exprs) > 16 {
			break
		}
	}
	return exprs
}

// TestInteropDerivedHost compares the descriptors of listed expressions on a collector, and the
// values that do not change.
func TestInteropDerivedHost(t *testing.T) {
	pcptest.Need(t, "pmcd")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample", "linux"}})
	exprs := listed(t)
	g := exprMaker{rand.New(rand.NewPCG(*derivedSeed, 4))}
	for range *derivedLines {
		exprs = append(exprs, g.expr(3))
	}
	answers := derivedByC(t, "host", pmcd.Host(), 1, exprs)
	changing := regexp.MustCompile(`seconds|byte_|scale_step|colour|magnitude|drift|scramble|mirage|wrap|rapid|load|pdu|negative|event|lights|cpu|sysfork|disk|step|dynamic`)
	for i, expr := range exprs {
		c, err := pmapi.Dial(t.Context(), pmcd.Host())
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := derivedByGo(t, c, expr, 1), answers[i]
		c.Close()
		if changing.MatchString(expr) && !strings.Contains(theirs, "crash") {
			ours, _, _ = strings.Cut(ours, "|")
			theirs, _, _ = strings.Cut(theirs, "|")
		}
		sameDerived(t, expr, theirs, ours)
	}
}

// An exprMaker makes expressions.
type exprMaker struct{ *rand.Rand }

func (g exprMaker) pick(list ...string) string { return list[g.IntN(len(list))] }

// operands are metrics of testdata/derive that have values in every record, and some others.
var operands = []string{
	"sample.colour", "sample.seconds", "sample.milliseconds", "sample.drift", "sample.step", "sample.step_counter", "sample.wrap.long",
	"sample.wrap.ulong", "sample.wrap.longlong", "sample.wrap.ulonglong", "sample.slow_wrap.ulong", "sample.rapid", "sample.scale_step.bytes_up",
	"sample.scale_step.count_up", "sample.scale_step.time_up_secs", "sample.mirage", "sample.mirage_longlong", "sample.byte_ctr",
	"sample.byte_rate", "sample.kbyte_ctr", "sample.kbyte_rate", "sample.negative.ctr.m_64", "sample.negative.instant.m_float",
	"sample.negative.discrete.m_double", "sample.magnitude", "kernel.all.load", "kernel.all.cpu.user", "kernel.all.sysfork",
	"disk.dev.read", "disk.dev.write", "sample.long.bin_ctr", "sample.double.bin_ctr", "sample.part_bin", "sample.lights", "nosuch",
}

// expr returns an expression of at most depth levels. Most of them make sense.
func (g exprMaker) expr(depth int) string {
	if depth == 0 || g.IntN(4) == 0 {
		return g.leaf()
	}
	a := func() string { return g.expr(depth - 1) }
	m := g.pick(operands...)
	switch g.IntN(16) {
	case 0, 1, 2, 3:
		return a() + " " + g.pick("+", "-", "*", "/", "*", "/") + " " + a()
	case 4:
		return a() + " " + g.pick("<", "<=", "==", ">=", ">", "!=") + " " + a()
	case 5:
		return "(" + a() + ") " + g.pick("&&", "||") + " (" + a() + ")"
	case 6:
		return "(" + a() + ")"
	case 7:
		return "-" + g.pick(operands...)
	case 8, 9:
		return g.pick("avg", "sum", "max", "min", "count", "delta", "rate", "rate", "instant") + "(" + m + ")"
	case 10:
		return "scalar(" + a() + ")"
	case 11:
		return "rescale(" + a() + `, "` + g.pick("Kbyte", "byte", "sec", "hour", "Mbyte / min", "count x 10^3", "") + `")`
	case 12:
		return "matchinst(" + g.pick("", "!") + "/" + g.pick("1", "red|blue", "^m-0", "bin-[1-5]", ".", "x") + "/, " + m + ")"
	}
	if g.IntN(3) > 0 {
		return g.ternary(a())
	}
	return m + "[" + g.pick("red", "bin-300", "1 minute", "1", "m-00", "nosuch", "sda") + "]"
}

// ternary returns a choice between values of one type: both with the same instances, one with some
// instances missing, or both without instances.
func (g exprMaker) ternary(guard string) string {
	list := []string{"sample.long.bin", "sample.bin", "sample.part_bin", "sample.long.one", "sample.long.ten", "matchinst(/bin-[1-5]/, sample.long.bin)",
		"matchinst(!/bin-[14]/, sample.bin)", "sample.part_bin[bin-300]", "instant(sample.long.hundred)", "sample.colour"}
	if g.IntN(2) == 0 {
		guard = g.pick(list...) + " " + g.pick(">", "<=", "==") + " " + g.pick("100", "300", "1", "600")
	}
	return "(" + guard + ") ? " + g.pick(list...) + " : " + g.pick(list...)
}

func (g exprMaker) leaf() string {
	switch g.IntN(6) {
	case 0:
		return g.pick("0", "1", "2", "1000", "4294967295", "0.5", "3.", ".25")
	case 1:
		return "mkconst(" + g.pick("1", "7", "1000") + ", type=" + g.pick("32", "u32", "64", "u64", "float", "double") +
			", units=\"" + g.pick("byte", "Kbyte", "sec", "millisec", "count", "byte / sec", "/ sec", "") + "\", semantics=" + g.pick("instant", "discrete", "counter") + ")"
	}
	return g.pick(operands...)
}

// TestExprMaker checks that the generator makes all kinds of expressions.
func TestExprMaker(t *testing.T) {
	g := exprMaker{rand.New(rand.NewPCG(1, 1))}
	var all []string
	for range 500 {
		all = append(all, g.expr(3))
	}
	for _, part := range []string{"&&", "rate(", "rescale(", "matchinst(", "[red]", "mkconst(", "scalar(", "!=", " ? "} {
		if !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("no %s among 500 expressions", part)
		}
	}
}
