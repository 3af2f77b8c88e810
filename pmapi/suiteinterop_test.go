package pmapi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// The tests here are the counterparts of tests in PCP's own test-suite, with the output that is
// expected there:
//
//	404, 901    unpacking of event records, of both types: TestInteropSuiteEvents
//	561         merging of labels: TestInteropSuiteMergeLabels
//	568         lookup of labels: TestInteropSuiteLabels
//	858         a fetch group and a metric that is stored into: TestInteropSuiteFetchGroup
//	859, 953    fetch groups of several sources: suitegroupinterop_test.go
//	1899        fetch groups of derived metrics: suitegroupinterop_test.go
//
// Some tests have no counterpart here: 567 merges sets that hold no JSON, 1660 tests a function
// private to libpcp, and 405, 902 and the like look for memory leaks in the programs of other tests
// here. 404 and 901 also have arrays that break the layout. There, C has the codes PM_ERR_TOOSMALL
// and PM_ERR_TOOBIG, and we have pdu.ErrIPC, as for all malformed data (TestEventArrayErrors of
// package pdu).

// suiteOutput returns the output of a test of PCP's test-suite.
func suiteOutput(t *testing.T, number string) string {
	t.Helper()
	path := filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "testsuite", number+".out")
	pcptest.Need(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// suiteParam is a parameter of an event of the test-suite.
func suiteParam(item int) func(b *pdu.EventBuilder, v pdu.Atom) {
	return func(b *pdu.EventBuilder, v pdu.Atom) { b.Param(pdu.MakePMID(29, 0, item), v) }
}

// suiteEvents are the arrays of the tests 404 and 901, with the expected result of each.
func suiteEvents() map[string]func(b *pdu.EventBuilder, at time.Time) {
	u32, s32, s64, u64 := suiteParam(127), suiteParam(128), suiteParam(130), suiteParam(131)
	f32, f64, text, blob := suiteParam(132), suiteParam(133), suiteParam(134), suiteParam(135)
	bytes := pdu.Aggregate([]byte{1, 3, 7, 15})
	return map[string]func(b *pdu.EventBuilder, at time.Time){
		"No records":          func(*pdu.EventBuilder, time.Time) {},
		"1 record, no params": func(b *pdu.EventBuilder, at time.Time) { b.Begin(at, 0) },
		"1 record, u32 param = 1": func(b *pdu.EventBuilder, at time.Time) {
			b.Begin(at, 0)
			u32(b, pdu.Uint32(1))
		},
		"1 record, u32 param = 2, u64 param = -3": func(b *pdu.EventBuilder, at time.Time) {
			b.Begin(at, pdu.EventPoint)
			u32(b, pdu.Uint32(2))
			s64(b, pdu.Int64(-3))
		},
		`6 records, 7 missed [u32=4 u64=5 str="6"][u32=7 d=8 d=-9][u32=10 u64=11 str="twelve" str="thirteen" 32=-14 u32=15][u32=16 f=-17 aggr=...]`: func(b *pdu.EventBuilder, at time.Time) {
			b.Missed(at, 3)
			b.Begin(at, 0)
			u32(b, pdu.Uint32(4))
			u64(b, pdu.Uint64(5))
			text(b, pdu.String("6"))
			b.Begin(at, 0)
			u32(b, pdu.Uint32(7))
			f64(b, pdu.Float64(8))
			f64(b, pdu.Float64(-9))
			b.Begin(at, pdu.EventStart)
			u32(b, pdu.Uint32(10))
			u64(b, pdu.Uint64(11))
			text(b, pdu.String("twelve"))
			text(b, pdu.String("thirteen"))
			s32(b, pdu.Int32(14)) // not -14
			suiteParam(129)(b, pdu.Uint32(15))
			b.Missed(at, 4)
			b.Begin(at, 0)
			u32(b, pdu.Uint32(16))
			f32(b, pdu.Float32(-17))
			blob(b, bytes)
		},
		"all good": func(b *pdu.EventBuilder, at time.Time) {
			b.Begin(at, 0)
			u32(b, pdu.Uint32(22))
			suiteParam(129)(b, pdu.Uint32(23))
			s64(b, pdu.Int64(-24))
			u64(b, pdu.Uint64(25))
			f32(b, pdu.Float32(-26))
			f64(b, pdu.Float64(27))
			text(b, pdu.String("minus twenty-eight"))
			blob(b, bytes)
			blob(b, bytes)
			s32(b, pdu.Int32(29))
		},
	}
}

// dumpedResults are the records that C has made of an array, from the text of the test-suite: the
// values of each, and how many records and missed ones there are.
func dumpedResults(block string) (text string) {
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "Array contains"):
			text += words[2] + " records, " + words[5] + " missed\n"
		case strings.HasPrefix(line, "pmResult[") || strings.HasPrefix(line, "pmHighResResult["):
			text += "record\n"
		case strings.Contains(line, "numval: 1 valfmt"):
			text += " " + words[0]
		case strings.HasPrefix(line, "   value "):
			value := words[1]
			if quoted := regexp.MustCompile(`".*"`).FindString(line); quoted != "" {
				value = quoted
			}
			text += " " + value + "\n"
		}
	}
	return text
}

// unpackedText returns the same for our records.
func unpackedText(t *testing.T, a pdu.Atom) string {
	t.Helper()
	records, err := a.Events()
	if err != nil {
		t.Fatal(err)
	}
	text, count, missed := "", 0, 0
	for r := range records.All() {
		text += "record\n"
		if missed += r.Missed; r.Flags != pdu.EventMissed {
			count++
		}
		for id, v := range r.Values() {
			value := ""
			switch v.Type {
			case pdu.TypeString:
				value = fmt.Sprintf("%q", v.Bytes())
			case pdu.TypeAggregate:
				value = "[blob]"
			default:
				n, err := pdu.As[float64](v)
				if err != nil {
					t.Fatal(err)
				}
				value = fmt.Sprintf("%.0f", n)
			}
			text += fmt.Sprintf(" %v %s\n", id, value)
		}
	}
	return fmt.Sprintf("%d records, %d missed\n%s", records.Len(), missed, text)
}

func TestInteropSuiteEvents(t *testing.T) {
	for number, highRes := range map[string]bool{"404": false, "901": true} {
		out := suiteOutput(t, number)
		for name, build := range suiteEvents() {
			b := pdu.EventBuilder{HighRes: highRes}
			build(&b, time.Unix(1e9, 0))
			a, err := b.Atom()
			if err != nil {
				t.Fatal(err)
			}
			_, block, ok := strings.Cut(out, "Expecting ... "+name+"\n")
			if !ok {
				t.Errorf("%s has no %q", number, name)
				continue
			}
			block, _, _ = strings.Cut(block, "Expecting ... ")
			block, _, _ = strings.Cut(block, "coverage test")
			want := dumpedResults(block)
			want = want[strings.Index(want+" records", " records")-1:] // "all good" has the results twice
			if diff := cmp.Diff(want, unpackedText(t, a)); diff != "" {
				t.Errorf("%s, %s (-C +Go)\n%s", number, name, diff)
			}
		}
	}
}

func TestInteropSuiteMergeLabels(t *testing.T) {
	out := suiteOutput(t, "561")
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^Low -> +(.*)  <- High\nResult: (.*)$`).FindAllStringSubmatch(out, -1) {
		var sets []pdu.LabelSet
		for text := range strings.FieldsSeq(m[1]) {
			set, err := pdu.ParseLabels(pdu.LabelContext, text, false)
			if err != nil {
				t.Fatal(err)
			}
			sets = append(sets, set)
		}
		all, err := pdu.MergeLabels(nil, sets...)
		if err != nil || all.String() != m[2] {
			t.Errorf("%s: %v, %v, want %s", m[1], all, err, m[2])
		}
		n++
	}
	if n < 16 {
		t.Errorf("%d mergers", n)
	}
}

func TestInteropSuiteLabels(t *testing.T) {
	out := suiteOutput(t, "568")
	_, c := realPMCD(t, "pmcd", "sample")
	classes := map[pdu.LabelClass]string{pdu.LabelContext: "Context", pdu.LabelDomain: "Domain", pdu.LabelInDom: "InDom", pdu.LabelCluster: "Cluster", pdu.LabelItem: "Item"}
	got := "QA output created by 568\n"
	for _, name := range []string{"sample.bin", "sample.colour", "sample.long.one"} {
		ids, err := c.Lookup(t.Context(), []string{name})
		if err != nil {
			t.Fatal(err)
		}
		sets, err := c.Labels(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintf("%s labels from %d sets:\n", name, len(sets))
		for _, set := range sets {
			got += fmt.Sprintf("  %s:\t%v\n", classes[set.Labels[0].Flags.Class()], set)
		}
	}
	context := regexp.MustCompile(`(?m)^  Context:.*$`) // of the computer
	if diff := cmp.Diff(context.ReplaceAllString(out, "  Context:"), context.ReplaceAllString(got, "  Context:")); diff != "" {
		t.Errorf("(-C +Go)\n%s", diff)
	}
}

func TestInteropSuiteFetchGroup(t *testing.T) {
	out := suiteOutput(t, "858")
	_, c := realPMCD(t, "pmcd", "sample")
	g := c.Group()
	gradient := pmapi.Add[uint32](g, "sample.const_rate.gradient")
	value := func() uint32 {
		t.Helper()
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := gradient.Value()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if err := c.Store(t.Context(), gradient.Name(), 0); err != nil {
		t.Fatal(err)
	}
	was := value()
	if err := c.Store(t.Context(), gradient.Name(), 10); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s old value=%d new value=%d\n", gradient.Name(), was, value())
	if !strings.Contains(out, got) {
		t.Errorf("got %s, want\n%s", got, out)
	}
}

// TestSuiteDerivedInstances selects instances of derived metrics, whose operands need a separate
// profile.
func TestSuiteDerivedInstances(t *testing.T) {
	src := &pmapitest.Source{Start: time.Unix(1e9, 0)}
	pids := src.InDom("000001 init", "000002 kthreadd", "004711 sh", "004712 true")
	for name, factor := range map[string]uint64{"proc.utime": 3, "proc.stime": 1} {
		pmapitest.Add(src, pmapitest.Metric[uint64]{
			Name: name, Sem: pdu.SemCounter, Units: pdu.TimeMSec, InDom: pids,
			Value: func(now time.Time, i pdu.Instance) (uint64, error) {
				return uint64(now.Unix()) * factor * uint64(i.ID+1), nil
			},
		})
	}
	c := src.Context()
	if err := c.Derive(t.Context(), "proc.cpu", "proc.utime + proc.stime"); err != nil {
		t.Fatal(err)
	}
	g := c.Group()
	var items []*pmapi.Item[float64]
	for _, pid := range []string{"000001", "000002", "004711"} {
		items = append(items, pmapi.Add[float64](g, "proc.cpu", pmapi.Instance(pid)))
	}
	for range 2 {
		src.Advance(time.Second)
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, item := range items {
		if v, err := item.Value(); err != nil || v != float64(4*(i+1)) {
			t.Errorf("instance %d: %v, %v", i, v, err)
		}
	}
}
