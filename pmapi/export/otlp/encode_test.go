package otlp_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A bench encodes snapshots of a source, each a second after the one before.
type bench struct {
	t   testing.TB
	src *pmapitest.Source
	r   *export.Reader
	e   otlp.Encoder
	j   otlp.Encoder // for JSON
}

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func newBench(t testing.TB) *bench {
	src := &pmapitest.Source{Start: start}
	t.Cleanup(func() { src.Close() })
	return &bench{t: t, src: src}
}

// read returns the next message.
func (b *bench) read() *request {
	b.t.Helper()
	if b.r == nil {
		b.r = &export.Reader{Context: b.src.Context()}
	}
	b.src.Advance(time.Second)
	s, err := b.r.Read(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	r := decodeProtobuf(b.t, b.e.Append(nil, s))
	b.j.Resource, b.j.Strings, b.j.JSON = b.e.Resource, b.e.Strings, true
	body := b.j.Append(nil, s)
	inJSON, err := decode(body)
	if err != nil {
		b.t.Fatalf("%v\n%s", err, body)
	}
	sorted := func(r *request) []string { // ends of series have no order
		all := strings.Split(shown(r), "\n")
		slices.Sort(all)
		return append(all, fmt.Sprint(r.resource, r.units, r.texts))
	}
	if diff := cmp.Diff(sorted(inJSON), sorted(r)); diff != "" {
		b.t.Fatalf("the encodings differ (-JSON +protobuf):\n%s", diff)
	}
	for _, p := range r.points {
		if p.time != s.Time.UnixNano() {
			b.t.Errorf("%s has the time %d, the values have %d", p.id(), p.time, s.Time.UnixNano())
		}
	}
	if len(r.points) != b.e.Points() {
		b.t.Errorf("%d points, Points is %d", len(r.points), b.e.Points())
	}
	return r
}

// decodeProtobuf decodes a message as strictly as one in JSON.
func decodeProtobuf(t testing.TB, body []byte) *request {
	t.Helper()
	text, err := toJSON(body)
	if err != nil {
		t.Fatalf("%v\n%q", err, body)
	}
	r, err := decode(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return r
}

// shown formats the points of a message, with times in seconds since the start.
func shown(r *request) string {
	var b strings.Builder
	for _, p := range r.points {
		fmt.Fprintf(&b, "%s = %v", p.id(), p.value)
		if p.sum != nil {
			fmt.Fprintf(&b, " of %v", p.sum)
		}
		if p.start != 0 {
			fmt.Fprintf(&b, " since %v", time.Duration(p.start-start.UnixNano()))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func want(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMapping(t *testing.T) {
	b := newBench(t)
	b.src.Labels = `{"hostname":"web1","machineid":"abc","up":true}`
	d := b.src.InDom("sda", `s"d`+"\xff")
	d.SetLabels("", func(i pdu.Instance) string {
		return `{"n":1.5,"list":[1,"a",null,{"k":true}],"none":null,"kind":"own"}`
	})
	reads := pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "disk.dev.read", InDom: d, Sem: pdu.SemCounter, Units: pdu.SpaceKByte | pdu.PerSec, Text: "reads\n"})
	reads.SetLabels(`{"kind":"read","instid":"x"}`)
	reads.Set(1, 2)
	pmapitest.Add(b.src, pmapitest.Metric[float64]{Name: "load"}).Set(math.NaN())
	pmapitest.Add(b.src, pmapitest.Metric[float32]{Name: "short"}).Set(2.05)
	pmapitest.Add(b.src, pmapitest.Metric[int64]{Name: "low"}).Set(math.MinInt64)
	pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "high"}).Set(math.MaxUint64)
	pmapitest.Add(b.src, pmapitest.Metric[uint32]{Name: "packets", Units: pdu.MakeUnits(0, 0, 1, 0, 0, 3)}).Set(7)
	version := pmapitest.Add(b.src, pmapitest.Metric[string]{Name: "version", Sem: pdu.SemDiscrete})
	version.Set("6.0")
	b.e = otlp.Encoder{Strings: true, Resource: []export.Label{{Name: "host.name", Value: "a"}, {Name: "host.name", Value: "b"}}}

	r := b.read()
	want(t, r.resource, ` host.id="abc" host.name="b" service.instance.id="web1" service.name="pcp" up=true`)
	want(t, r.units["disk.dev.read"]+r.texts["disk.dev.read"]+r.units["packets"]+r.units["load"], "By/sreads\n{count}")
	attributes := ` kind="own" list=[1 "a" "" map[k:true]] n=1.5.`
	want(t, shown(r), `disk.dev.read sum instid=0 instname="sda"`+attributes+` = 1024 since 1s
disk.dev.read sum instid=1 instname="s\"d`+"�"+`"`+attributes+` = 2048 since 1s
load gauge = NaN
short gauge = 2.05
low gauge = -9223372036854775808
high gauge = 1.8446744073709552e+19
packets gauge = 7000
version gauge value="6.0" = 1
`)
	version.Set("6.1")
	if got := shown(b.read()); !strings.HasSuffix(got, `version gauge value="6.0" = <nil>`+"\n"+`version gauge value="6.1" = 1`+"\n") {
		t.Error("after another string:", got)
	}
}

// TestInstanceID: a receiver can tell two hosts apart, even without labels.
func TestInstanceID(t *testing.T) {
	for _, test := range []struct {
		labels   string
		resource []export.Label
		want     string
	}{
		{`{"hostname":"web1"}`, nil, ` host.name="web1" service.instance.id="web1" service.name="pcp"`},
		{``, nil, ` service.instance.id="pmapitest" service.name="pcp"`},
		{`{"hostname":"web1","container":"c1"}`, nil, ` container.id="c1" host.name="web1" service.instance.id="web1/c1" service.name="pcp"`},
		{`{"hostname":"web1"}`, []export.Label{{Name: "service.instance.id", Value: "x"}}, ` host.name="web1" service.instance.id="x" service.name="pcp"`},
	} {
		b := newBench(t)
		b.src.Labels, b.e.Resource = test.labels, test.resource
		pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "a"}).Set(1)
		want(t, b.read().resource, test.want)
	}
}

// TestStartTimes: a counter starts when it is first seen, and after a reset at the time of its last
// value before. A series that has gone is ended once.
func TestStartTimes(t *testing.T) {
	b := newBench(t)
	d := b.src.InDom("a", "b")
	m := pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "c", InDom: d, Sem: pdu.SemCounter})
	line := func(inst string, id int, value string) string {
		return fmt.Sprintf("c sum instid=%d instname=%q = %s\n", id, inst, value)
	}
	step := func(what, text string) {
		t.Helper()
		if got := shown(b.read()); got != text {
			t.Errorf("%s: got\n%s\nwant\n%s", what, got, text)
		}
	}
	m.Set(10, 20)
	step("first", line("a", 0, "10 since 1s")+line("b", 1, "20 since 1s"))
	m.Set(11, 5)
	step("reset of one", line("a", 0, "11 since 1s")+line("b", 1, "5 since 1.000000001s"))
	m.Fail(pdu.ErrAgain)
	if r := b.read(); len(r.points) != 2 || r.points[0].value != nil || r.points[1].value != nil {
		t.Error("when the agent is away:", shown(r))
	}
	step("still away", "")
	m.Fail(nil)
	m.Set(12, 6)
	step("agent back", line("a", 0, "12 since 1s")+line("b", 1, "6 since 1.000000001s"))
	m.Fail(pdu.ErrAgain)
	b.read()
	m.Fail(nil)
	m.Set(1, 7)
	step("agent back with a reset", line("a", 0, "1 since 5s")+line("b", 1, "7 since 1.000000001s"))
	b.src.Notify(pdu.ChangeNames)
	m.Set(2, 8)
	step("described anew", line("a", 0, "2 since 5s")+line("b", 1, "8 since 1.000000001s"))
	d.SetNames("a")
	m.Set(3)
	step("instance gone", line("a", 0, "3 since 5s")+line("b", 1, "<nil> since 1.000000001s"))
	step("after that", line("a", 0, "3 since 5s"))
}

func TestHistogram(t *testing.T) {
	b := newBench(t)
	d := b.src.InDom("fast", "slow", "any")
	d.SetLabels(`{"buckets":"cumulative"}`, func(i pdu.Instance) string { return []string{`{"le":0.5}`, `{"le":2}`, `{"le":"+Inf"}`}[i.ID] })
	m := pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "h", InDom: d, Sem: pdu.SemCounter})
	m.Set(1, 3, 10)
	want(t, shown(b.read()), "h histogram = [1 2 7] since 1s\n")
	m.Set(1, 4, 11)
	want(t, shown(b.read()), "h histogram = [1 3 7] since 1s\n")
	m.Set(0, 1, 1)
	want(t, shown(b.read()), "h histogram = [0 1 0] since 2s\n")
	m.Set(5, 1, 1) // no buckets
	if r := b.read(); len(r.points) != 3 || r.points[0].kind != "sum" {
		t.Error("counts that fall:", shown(r))
	}
}

// TestHistogramOfTimes: a histogram and its sum have the unit of the observed values, if its labels
// name them. It ends with its metric, and continues after a failure.
func TestHistogramOfTimes(t *testing.T) {
	b := newBench(t)
	names := []string{"get.fast", "get.slow", "put.fast", "put.slow"}
	d := b.src.InDom(names...)
	bucket := func(i pdu.Instance) string {
		how, speed, _ := strings.Cut(i.Name, ".")
		return fmt.Sprintf(`{"le":%v,"how":%q}`, map[string]float64{"fast": 0.5, "slow": 2}[speed], how)
	}
	d.SetLabels(`{"buckets":"disjoint"}`, bucket)
	m := pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "req.time", InDom: d, Sem: pdu.SemCounter, Units: pdu.UnitCount, Labels: `{"le_unit":"sec","sum_metric":"total"}`})
	total := pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "req.total", Sem: pdu.SemCounter, Units: pdu.TimeMSec})
	m.Set(1, 2, 3, 4)
	total.Set(1500)
	step := func(what, text string) *request {
		t.Helper()
		r := b.read()
		got := shown(r)
		if got, _, _ = strings.Cut(got, "req.total"); got != text {
			t.Errorf("%s: got\n%s\nwant\n%s", what, got, text)
		}
		return r
	}
	// Two histograms have no sum.
	both := "req.time histogram how=\"get\" = [1 2 0] since 1s\nreq.time histogram how=\"put\" = [3 4 0] since 1s\n"
	if r := step("two", both); r.units["req.time"] != "s" || r.units["req.total"] != "s" {
		t.Error("units:", r.units)
	}
	m.Fail(pdu.ErrAgain)
	step("failed", "req.time histogram how=\"get\" = <nil> since 1s\nreq.time histogram how=\"put\" = <nil> since 1s\n")
	step("still", "")
	m.Fail(nil)
	step("again", both)
	d.SetNames(names[:2]...)
	m.Set(1, 2)
	step("one has gone", "req.time histogram how=\"put\" = <nil> since 1s\nreq.time histogram how=\"get\" = [1 2 0] of 1.5 since 1s\n")
	total.Fail(pdu.ErrAgain)
	step("without a sum", "req.time histogram how=\"get\" = [1 2 0] since 1s\n")
	total.Fail(nil)
	m.Set()
	d.SetNames()
	step("all have gone", "req.time histogram how=\"get\" = <nil> since 1s\n")
	d.SetNames(names[:2]...)
	m.Set(3, 3)
	step("another one", "req.time histogram how=\"get\" = [3 3 0] of 1.5 since 8s\n")
	b.src.Notify(pdu.ChangeNames)
	step("described anew", "req.time histogram how=\"get\" = [3 3 0] of 1.5 since 8s\n")
	end, err := decode(b.j.AppendEnd(nil))
	if got, want := shown(decodeProtobuf(t, b.e.AppendEnd(nil))), shown(end); got != want {
		t.Errorf("the end in protobuf: %s, want %s", got, want)
	}
	if got, _, _ := strings.Cut(shown(end), "req.total"); err != nil || got != "req.time histogram how=\"get\" = <nil> since 8s\n" {
		t.Error("at the end:", got, err)
	}
	step("after a mark", "req.time histogram how=\"get\" = [3 3 0] of 1.5 since 10s\n")
}
