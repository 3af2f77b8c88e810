package derived

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// The metrics that the tests compute with: two with instances, a counter in milliseconds, a number,
// a string, and one that fails.
var (
	disks  = pdu.MakeInDom(60, 1)
	metric = map[string]pdu.Desc{
		"reads": {PMID: 1, Type: pdu.TypeU32, InDom: disks, Sem: pdu.SemCounter, Units: pdu.UnitCount},
		"size":  {PMID: 2, Type: pdu.Type64, InDom: disks, Sem: pdu.SemInstant, Units: pdu.SpaceKByte},
		"busy":  {PMID: 3, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.TimeMSec},
		"n":     {PMID: 4, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
		"text":  {PMID: 5, Type: pdu.TypeString, InDom: disks, Sem: pdu.SemDiscrete},
		"fails": {PMID: 6, Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemCounter},
		"a":     {PMID: 7, Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
		"b":     {PMID: 8, Type: pdu.TypeFloat, InDom: disks, Sem: pdu.SemInstant, Units: pdu.SpaceByte},
	}
)

func describe(name string) (pdu.Desc, error) {
	if d, ok := metric[name]; ok {
		return d, nil
	}
	return pdu.Desc{}, pdu.ErrName
}

// A testSource has values that change from fetch to fetch.
type testSource struct {
	fetch  int
	result pdu.Result
	w      pdu.ResultWriter
}

func newSource(testing.TB) *testSource { return new(testSource) }

var diskNames = []string{"sda", "sdb 2", "sdc"}

func (s *testSource) Name(d pdu.InDom, id pdu.InstID) string {
	if d != disks || int(id) >= len(diskNames) || id < 0 {
		return ""
	}
	return diskNames[id]
}

func (s *testSource) Instances(d pdu.InDom) []pdu.InstID {
	if d != disks {
		return nil
	}
	return []pdu.InstID{0, 1, 2}[:2+s.fetch%2]
}

// next makes the values of a fetch, 2 seconds after the one before.
func (s *testSource) next(t testing.TB, ids []pdu.PMID) {
	var w pdu.ResultWriter
	w.Time = time.Unix(1000+2*int64(s.fetch), 0)
	for _, id := range ids {
		w.Begin(id)
		switch id {
		case 1:
			for i := range 3 {
				if i != 1 || s.fetch != 1 { // sdb is away for a while
					w.Uint32(pdu.InstID(i), 4294967200+uint32(100*i+60*s.fetch))
				}
			}
		case 2:
			for i := range 3 {
				w.Int64(pdu.InstID(2-i), int64(1000*(3-i))) // in another order
			}
		case 3:
			w.Uint64(pdu.NoInst, uint64(500*s.fetch))
		case 4:
			w.Int32(pdu.NoInst, 3)
		case 5:
			w.String(0, "x")
			w.String(2, "z")
		case 6:
			w.Fail(pdu.ErrAgain)
		case 7:
			w.Float64(pdu.NoInst, 1.5)
		case 8:
			w.Float32(1, 2048)
		}
	}
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	s.result = *r
	s.fetch++
}

// eval fetches the operands of a program and computes it. It returns the values as text.
func (s *testSource) eval(t testing.TB, p *Program) string {
	places := make([]int, len(p.Operands))
	for i := range places {
		places[i] = i
	}
	s.next(t, p.Operands)
	s.w.Reset()
	if err := p.Eval(t.Context(), Moment{Time: s.result.Time}, Sets{&s.result, places}, s); err != nil {
		t.Fatal(err)
	}
	p.Write(99, &s.w)
	r, err := s.w.Result()
	if err != nil {
		t.Fatal(err)
	}
	set := r.At(0)
	if set.Err() != nil {
		return set.Err().Error()
	}
	var values []string
	for id, v := range set.All(p.Desc.Type) {
		text := v.String()
		if f, err := pdu.As[float64](v); err == nil && p.Desc.Type >= pdu.TypeFloat && !math.IsInf(f, 0) {
			text = fmt.Sprintf("%.7g", f)
		}
		if id != pdu.NoInst {
			text = fmt.Sprintf("%d:%s", id, text)
		}
		values = append(values, text)
	}
	return strings.Join(values, " ")
}

// TestEval computes expressions at three fetches.
func TestEval(t *testing.T) {
	for _, c := range []struct{ expr, desc, values string }{
		{"n + 1", "U32 instant", "4|4|4"},
		{"2 / 0", "DOUBLE discrete", "inf|inf|inf"},
		{"reads", "U32 counter count", "0:4294967200 1:4 2:104|0:4294967260 2:164|0:24 1:124 2:224"},
		{"delta(reads)", "64 instant count", "|0:60 2:60|2:60"},
		{"rate(reads)", "DOUBLE instant count / sec", "|0:30 2:30|2:30"},
		{"rate(busy)", "DOUBLE instant", "|0.25|0.25"},
		{"size + b", "DOUBLE instant Kbyte", "1:2002|1:2002|1:2002"},
		{"size * n", "64 instant Kbyte", "2:9000 1:6000 0:3000|2:9000 1:6000 0:3000|2:9000 1:6000 0:3000"},
		{"size[sdb]", "64 instant Kbyte", "1:2000|1:2000|1:2000"},
		{"(size - 0*size)[sdb 2]", "64 instant Kbyte", "1:2000|1:2000|1:2000"},
		{"matchinst(/sd[ab]$/, size)", "64 instant Kbyte", "1:2000 0:1000|1:2000 0:1000|1:2000 0:1000"},
		{"matchinst(!/2/, text)", "STRING discrete", "0:\"x\" 2:\"z\"|0:\"x\" 2:\"z\"|0:\"x\" 2:\"z\""},
		{"scalar(size)", "64 instant Kbyte", "3000|3000|3000"},
		{"scalar(text)", "STRING discrete", "\"x\"|\"x\"|\"x\""},
		{"avg(size)", "FLOAT instant Kbyte", "2000|2000|2000"},
		{"max(size) - min(size)", "64 instant Kbyte", "2000|2000|2000"},
		{"sum(size)", "64 instant Kbyte", "6000|6000|6000"},
		{"count(text)", "U32 instant count", "2|2|2"},
		{"rescale(size, \"Mbyte\")", "64 instant Mbyte", "2:3 1:2 0:1|2:3 1:2 0:1|2:3 1:2 0:1"},
		{"size > 1500 ? size : size * n", "64 instant Kbyte", "2:3000 1:2000 0:3000|2:3000 1:2000 0:3000|2:3000 1:2000 0:3000"},
		{"n > 5 ? 1 : 2", "U32 discrete", "2|2|2"},
		{"n ? size : mkconst(7, type=64, semantics=instant, units=\"Kbyte\")", "64 instant Kbyte", "2:3000 1:2000 0:1000|2:3000 1:2000 0:1000|2:3000 1:2000 0:1000"},
		{"!n", "32 instant", "0|0|0"},
		{"!a", "DOUBLE instant", "0|0|0"},
		{"-a", "DOUBLE instant", "-1.5|-1.5|-1.5"},
		{"fails * 2", "DOUBLE counter", "Try again. Information not currently available|Try again. Information not currently available|Try again. Information not currently available"},
		{"count(fails)", "U32 instant count", "0|0|0"},
		{"defined(fails) + defined(nosuch)", "U32 discrete", "1|1|1"},
		{"anon(PM_TYPE_FLOAT)", "FLOAT discrete", "||"},
		{"instant(busy) / 2", "DOUBLE instant millisec", "0|250|500"},
		{"delta(reads * n)", "64 instant count", "|0:180 2:180|2:180"},
		{"rate(busy * n)", "DOUBLE instant", "|0.75|0.75"},
		{"instant(busy + busy)", "U64 instant millisec", "0|1000|2000"},
		{"defined(nosuch) ? nosuch : 42", "U32 discrete", "42|42|42"},
		{"defined(n) && !0 ? n : nosuch", "32 instant", "3|3|3"},
		{"0 || defined(nosuch) ? rate(nosuch) : size", "64 instant Kbyte", "2:3000 1:2000 0:1000|2:3000 1:2000 0:1000|2:3000 1:2000 0:1000"},
		{"1 ? (0 ? nosuch : n) : nosuch", "32 instant", "3|3|3"},
		{"size > 1500 ? size : novalue()", "64 instant Kbyte", "2:3000 1:2000|2:3000 1:2000|2:3000 1:2000"},
		{"size > 1500 ? novalue() : size", "64 instant Kbyte", "0:1000|0:1000|0:1000"},
		{"n > 2 ? novalue() : a", "DOUBLE instant", "||"},
		{"n > 3 ? novalue() : a", "DOUBLE instant", "1.5|1.5|1.5"},
		{"n > 2 ? size : novalue(meta=size)", "64 instant Kbyte", "2:3000 1:2000 0:1000|2:3000 1:2000 0:1000|2:3000 1:2000 0:1000"},
		{"size > 1500 ? 7 : novalue(indom=60.1)", "U32 discrete", "2:7 1:7|2:7 1:7|2:7 1:7"},
		{"size > 1500 ? novalue(indom=60.1) : 7", "U32 discrete", "0:7|0:7|0:7"},
		{"defined(nosuch) ? nosuch * 2 : novalue()", "U32 discrete", "||"},
		{"defined(nosuch) ? nosuch : novalue(type=double, semantics=counter, units=\"sec\")", "DOUBLE counter sec", "||"},
		{"defined(nosuch) ? nosuch : novalue(meta=reads, semantics=instant)", "U32 instant count", "||"},
		{"defined(n) ? n : novalue(type=double)", "32 instant", "3|3|3"},
		{"defined(nosuch) ? size : novalue()", "64 instant Kbyte", "||"},
		{"mkconst(7, indom=60.1)", "U32 discrete", "0:7 1:7 2:7|0:7 1:7|0:7 1:7 2:7"},
		{"mkconst(7, meta=size)", "64 instant Kbyte", "0:7 1:7 2:7|0:7 1:7|0:7 1:7 2:7"},
		{"size + mkconst(7, meta=size)", "64 instant Kbyte", "2:3007 1:2007 0:1007|1:2007 0:1007|2:3007 1:2007 0:1007"},
		{"mkconst(2.5, meta=a, units=\"sec\", indom=null)", "DOUBLE instant sec", "2.5|2.5|2.5"},
		{"mkconst(2, semantics=instant, meta=busy)", "U64 instant millisec", "2|2|2"},
		{"defined(n) ? n : a", "32 instant", "3|3|3"},
		{"defined(nosuch) ? size : 13", "U32 discrete", "13|13|13"},
		{"1 ? 42 : size", "U32 discrete", "42|42|42"},
		{"0.5 ? text : size", "STRING discrete", "0:\"x\" 2:\"z\"|0:\"x\" 2:\"z\"|0:\"x\" 2:\"z\""},
		{"rescale(mkconst(212, units=\"temperature (F)\"), \"temperature (C)\")", "U32 discrete temperature (C)", "100|100|100"},
		{"rescale(mkconst(2500, units=\"voltage (mV)\", type=double), \"voltage (V)\")", "DOUBLE discrete voltage (V)", "2.5|2.5|2.5"},
		{"rescale(mkconst(3, units=\"power (W)\", type=double), \"power (mW)\")", "DOUBLE discrete power (mW)", "3000|3000|3000"},
		{"sum(size) + sum(size) * n", "64 instant Kbyte", "24000|24000|24000"},
	} {
		e, err := Parse(c.expr)
		if err != nil {
			t.Fatal(c.expr, err)
		}
		p, err := e.Bind(describe)
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		d := strings.TrimSpace(fmt.Sprintf("%s %s %s", typeName(p.Desc.Type), semName(p.Desc.Sem), p.Desc.Units))
		s := newSource(t)
		values := s.eval(t, p) + "|" + s.eval(t, p) + "|" + s.eval(t, p)
		if d != c.desc || values != c.values {
			t.Errorf("%s\ngot  %s: %s\nwant %s: %s", c.expr, d, values, c.desc, c.values)
		}
		p.Forget()
		if again := s.eval(t, p); strings.HasPrefix(c.values, "|") && again != "" {
			t.Errorf("%s after Forget: %s", c.expr, again)
		}
		p.Forget()
		p.nodes, s = keptValues+1, newSource(t) // the values of parts are dropped
		if dropped := s.eval(t, p) + "|" + s.eval(t, p) + "|" + s.eval(t, p); dropped != c.values {
			t.Errorf("%s with parts dropped: %s, want %s", c.expr, dropped, c.values)
		}
	}
}

// An evaluation with many parts ends with its context.
func TestEvalEnds(t *testing.T) {
	e, err := Parse("rate(busy)" + strings.Repeat(" + rate(busy)", checkEvery))
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Bind(describe)
	if err != nil {
		t.Fatal(err)
	}
	s := newSource(t)
	s.next(t, p.Operands)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := p.Eval(ctx, Moment{Time: s.result.Time}, Sets{&s.result, []int{0}}, s); err != cause {
		t.Errorf("%v, want %v", err, cause)
	}
}

func typeName(t pdu.Type) string {
	return map[pdu.Type]string{pdu.Type32: "32", pdu.TypeU32: "U32", pdu.Type64: "64", pdu.TypeU64: "U64", pdu.TypeFloat: "FLOAT", pdu.TypeDouble: "DOUBLE", pdu.TypeString: "STRING"}[t]
}

func semName(s pdu.Sem) string {
	return map[pdu.Sem]string{pdu.SemCounter: "counter", pdu.SemInstant: "instant", pdu.SemDiscrete: "discrete"}[s]
}

// TestSemanticParts checks which part of an expression an error names. PCP's pminfo printed the
// expected parts.
func TestSemanticParts(t *testing.T) {
	for expr, want := range map[string]string{
		"(text + 1) * 2":                    "text + 1",
		"3 * (1 + text)":                    "1 + text",
		"007 + text":                        "007 + text",
		"mkconst(2.50, type=double) + text": "2.50 + text",
		"count(busy) + text":                "<expr> + text",
		"rate(text) / 2":                    "RATE(text)",
		"- text":                            "- text",
		"n != text":                         "n != text",
		"n && text":                         "n && text",
		"text ? 1 : 2":                      "text ? 1 : 2",
		"n ? text : n":                      "text : n",
		"text ? (n + 1) : 2":                "<expr> : 2",
		"rescale(size, \"Mbyte/sec\")":      "size RESCALE Mbyte / sec",
		"rescale(size + size, \"sec\")":     "<expr> RESCALE sec",
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(expr, err)
		}
		_, err = e.Bind(describe)
		if s, ok := errors.AsType[*SemanticError](err); !ok || s.Part != want {
			t.Errorf("%s: got %#v, want of %q", expr, err, want)
		}
	}
}

// TestSemanticErrors binds what makes no sense.
func TestSemanticErrors(t *testing.T) {
	for expr, want := range map[string]string{
		"reads * reads":                         "Illegal operator for counters",
		"reads + n":                             "Illegal operator for counter and non-counter",
		"n / reads":                             "Illegal operator for non-counter and counter",
		"reads * size":                          "Non-counter and not dimensionless for right operand",
		"size * reads":                          "Non-counter and not dimensionless for left operand",
		"text + n":                              "Non-arithmetic type for left operand",
		"n + text":                              "Non-arithmetic type for right operand",
		"size + n":                              "Dimensions are not the same",
		"size && n":                             "Dimensions are not the same",
		"sum(text)":                             "Non-arithmetic operand for function",
		"-text":                                 "Non-arithmetic operand for unary negation",
		"!text":                                 "Non-arithmetic operand for unary negation",
		"text ? 1 : 2":                          "Non-arithmetic operand for ternary guard",
		"n ? n : a":                             "Different types for ternary operands",
		"n ? busy : sum(busy)":                  "",
		"n ? 1 : mkconst(1, semantics=instant)": "Different semantics for ternary operands",
		"n ? size : mkconst(1, type=64, semantics=instant)": "Different units or scale (space) for ternary operands",
		"n ? 1 : mkconst(1, units=\"sec\")":                 "Different units or scale (time) for ternary operands",
		"n ? 1 : mkconst(1, units=\"count\")":               "Different units or scale (count) for ternary operands",
		"size ? 1 : 2":                                      "Non-scalar ternary guard with scalar expressions",
		"rescale(size, \"sec\")":                            "Incompatible dimensions",
		"rate(nosuch)":                                      "operand nosuch: Unknown operand metric",
		"rate(fails)":                                       "",
		"1 ? nosuch : n":                                    "operand nosuch: Unknown operand metric",
		"n ? n : nosuch":                                    "operand nosuch: Unknown operand metric",
		"1 < 2 ? n : nosuch":                                "operand nosuch: Unknown operand metric",
		"n > 1 ? n : a":                                     "Different types for ternary operands",
		"n ? n : novalue(type=double)":                      "Different types for ternary operands",
		"n ? size : novalue(units=\"byte\")":                "Different units or scale (space) for ternary operands",
		"n ? n : novalue(meta=a)":                           "Different types for ternary operands",
		"defined(nosuch) ? nosuch : novalue(meta=nosuch)":   "operand nosuch: Unknown operand metric",
		"mkconst(1, meta=nosuch)":                           "operand nosuch: Unknown operand metric",
		"mkconst(1.5, meta=n)":                              "Incompatible floating point constant and type '32'",
		"mkconst(1, meta=text)":                             "Non-arithmetic type for mkconst",
		"size > 1 ? 7 : novalue()":                          "Non-scalar ternary guard with scalar expressions",
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(expr, err)
		}
		got := ""
		if _, err = e.Bind(describe); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
		if u, ok := errors.AsType[*UnknownError](err); ok && !errors.Is(u, pdu.ErrName) {
			t.Error(u)
		}
	}
}
