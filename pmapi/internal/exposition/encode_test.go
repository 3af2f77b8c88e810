package exposition_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

var update = flag.Bool("update", false, "write the golden pages")

var noon = time.Date(2026, 1, 1, 12, 0, 0, 500e6, time.UTC)

// page returns a page of the current values of a source, and checks it.
func page(t testing.TB, e *exposition.Encoder, src *pmapitest.Source) (string, *parsed) {
	t.Helper()
	c := src.Context()
	defer c.Close()
	return pageOf(t, e, &export.Reader{Context: c})
}

// pageOf returns a page of what a reader reads, and checks it. An Encoder must always have the same
// reader.
func pageOf(t testing.TB, e *exposition.Encoder, r *export.Reader) (string, *parsed) {
	t.Helper()
	s, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := string(e.Append(nil, s))
	p, err := parsePage(text, e.Format, e.Escaping == exposition.UTF8)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if again := string(e.Append(nil, s)); again != text && !strings.Contains(text, "dropped_samples_total") {
		t.Fatalf("a snapshot has two pages:\n%s\n%s", text, again)
	}
	return text, p
}

// own returns a page without the page's own metrics.
func own(page string) string {
	page, _, _ = strings.Cut(page, "# TYPE pcp_gateway_")
	return page
}

func source(t testing.TB) *pmapitest.Source {
	src := &pmapitest.Source{Start: noon}
	t.Cleanup(func() { src.Close() })
	return src
}

// add adds a metric with a value for each instance.
func add[T pmapitest.Value](src *pmapitest.Source, m pmapitest.Metric[T], values ...T) *pmapitest.Metric[T] {
	metric := pmapitest.Add(src, m)
	metric.Set(values...)
	return metric
}

// everything returns a source with a metric of each kind.
func everything(t *testing.T) *pmapitest.Source {
	src := source(t)
	src.Labels = `{"hostname":"web1","machineid":"123","zone":"Köln"}`
	d := src.InDom("sda", `ü"\`)
	d.SetLabels(`{"agent":"test"}`, func(i pdu.Instance) string { return fmt.Sprintf(`{"unit":%d,"le":"x"}`, i.ID) })
	add(src, pmapitest.Metric[uint64]{Name: "disk.dev.read", InDom: d, Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: "reads \\ \"of\"\na disk",
		Labels: `{"a.b":1,"a_b":"x","flag":true,"none":null,"list":[1, 2],"userid":0}`}, 1, math.MaxUint64)
	add(src, pmapitest.Metric[uint64]{Name: "disk.dev.total", InDom: d, Sem: pdu.SemCounter, Units: pdu.SpaceKByte, Text: "bytes"}, 1, 1<<60)
	add(src, pmapitest.Metric[float64]{Name: "kernel.load"}, 0.25)
	add(src, pmapitest.Metric[int32]{Name: "kernel.users", Sem: pdu.SemDiscrete, Text: "users"}, -3)
	add(src, pmapitest.Metric[string]{Name: "kernel.uname", Sem: pdu.SemDiscrete, Text: "system"}, "Linux \"x\"\n")
	add(src, pmapitest.Metric[string]{Name: "kernel.version_info", Sem: pdu.SemDiscrete}, "6.1")
	add(src, pmapitest.Metric[string]{Name: "kernel.message"}, "changes")
	add(src, pmapitest.Metric[[]byte]{Name: "kernel.blob"}, []byte{1})
	b := src.InDom("fast", "slow", "rest")
	b.SetLabels("", func(i pdu.Instance) string { return []string{`{"le":100}`, `{"le":2.5e3}`, `{"le":"+Inf"}`}[i.ID] })
	add(src, pmapitest.Metric[uint64]{Name: "req.time", InDom: b, Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: "requests",
		Labels: `{"buckets":"cumulative","le_unit":"millisec","sum_metric":"req.sum","port":80}`}, 5, 7, 8)
	add(src, pmapitest.Metric[uint32]{Name: "req.size", InDom: b, Sem: pdu.SemCounter, Labels: `{"buckets":"disjoint"}`}, 5, 7, 8)
	add(src, pmapitest.Metric[uint32]{Name: "req.queue", InDom: b, Labels: `{"buckets":"disjoint"}`}, 1, 2, 3)
	add(src, pmapitest.Metric[uint32]{Name: "req.fall", InDom: b, Sem: pdu.SemCounter, Labels: `{"buckets":"cumulative"}`}, 3, 2, 1)
	add(src, pmapitest.Metric[uint32]{Name: "req.odd", InDom: b, Labels: `{"buckets":"disjoint","le_unit":"smoot"}`}, 1, 2, 3)
	add(src, pmapitest.Metric[float64]{Name: "req.sum", Sem: pdu.SemCounter, Units: pdu.TimeMSec}, 12345)
	add(src, pmapitest.Metric[float32]{Name: "up", Units: pdu.TimeUSec}, 0.1)
	return src
}

// TestGolden compares the pages of one source in all formats with golden files, which were checked
// by reading.
func TestGolden(t *testing.T) {
	src := everything(t)
	for name, e := range map[string]*exposition.Encoder{
		"openmetrics": {}, "prometheus": {Format: exposition.Prometheus}, "pcp": {Format: exposition.PCP},
		"utf8": {Escaping: exposition.UTF8}, "dots": {Format: exposition.Prometheus, Escaping: exposition.Dots},
		"values": {Format: exposition.Prometheus, Escaping: exposition.Values}, "times": {Times: true, Strings: true, Drop: []string{}},
		"pcptimes": {Format: exposition.PCP, Times: true},
	} {
		got, _ := page(t, e, src)
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is\n%s\nand not\n%s", name, got, want)
		}
	}
}

// TestColons: pmproxy's older form has colons in names and shorter comments.
func TestColons(t *testing.T) {
	src := everything(t)
	newer, _ := page(t, &exposition.Encoder{Format: exposition.PCP}, src)
	c := src.Context()
	defer c.Close()
	snap, err := (&export.Reader{Context: c}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	older := string((&exposition.Encoder{Format: exposition.PCP, Escaping: exposition.Colons}).Append(nil, snap))
	colons := strings.NewReplacer("disk_dev_", "disk:dev:", "kernel_", "kernel:", "req_", "req:").Replace(newer)
	want := regexp.MustCompile(`(?m)^# PCP5 (\S+) \S+ \S+ \S+ (\S+) `).ReplaceAllString(colons, "# PCP $1 $2 ")
	if older != want {
		t.Errorf("it is\n%s\nand not\n%s", older, want)
	}
}

// TestUnits: values are in base units, which end the name.
func TestUnits(t *testing.T) {
	const perMSec, perSec, perHour = pdu.Units(0xf<<24 | 2<<12), pdu.Units(0xf<<24 | 3<<12), pdu.Units(0xf<<24 | 5<<12)
	for _, test := range []struct {
		name  string
		units pdu.Units
		value float64
		want  string
	}{
		{"m", pdu.SpaceByte, 7, "m_bytes 7"},
		{"m.bytes", pdu.SpaceKByte, 7, "m_bytes 7168"},
		{"m.kb", pdu.SpaceEByte, 1, "m_kb_bytes 1.152921504606847e+18"},
		{"m", pdu.TimeNSec, 1, "m_seconds 1e-09"},
		{"m.seconds", pdu.TimeUSec, 1.5, "m_seconds 1.5e-06"},
		{"m", pdu.TimeMSec, 1234, "m_seconds 1.234"},
		{"m", pdu.TimeSec, 9, "m_seconds 9"},
		{"m", pdu.TimeMin, 2, "m_seconds 120"},
		{"m", pdu.TimeHour, 2, "m_seconds 7200"},
		{"m", pdu.UnitCount, 2, "m 2"},
		{"m", pdu.UnitCount | 3<<8, 2, "m 2000"},
		{"m", pdu.UnitCount | 0xe<<8, 2, "m 0.02"},
		{"m", 0, 2, "m 2"},
		{"m", pdu.SpaceKByte | perMSec, 2, "m_bytes_per_second 2.048e+06"},
		{"m", pdu.SpaceByte | perHour, 7200, "m_bytes_per_second 2"},
		{"m", pdu.UnitCount | perSec, 2, "m_per_second 2"},
		{"m", perMSec, 2, "m_hertz 2000"},
		{"m", pdu.TimeMSec | pdu.PerCount, 2, "m 2"},
		{"m", pdu.TempFahrenheit, 212, "m_celsius 100"},
		{"m", pdu.TempKelvin, 273.15, "m_celsius 0"},
		{"m", pdu.TempCelsius, -1, "m_celsius -1"},
		{"m", pdu.MilliVolt, 1500, "m_volts 1.5"},
		{"m", pdu.MicroAmp, 1500, "m_amperes 0.0015"},
		{"m", pdu.KiloWatt, 2, "m_watts 2000"},
	} {
		src := source(t)
		add(src, pmapitest.Metric[float64]{Name: test.name, Units: test.units, Text: "x"}, test.value)
		got, p := page(t, &exposition.Encoder{}, src)
		if !slices.Contains(p.lines, test.want) {
			t.Errorf("%v: no %s in\n%s", test.units, test.want, own(got))
		}
		family := p.families[strings.Fields(test.want)[0]]
		if base := test.units != pdu.TimeMSec|pdu.PerCount; family == nil || (family.help == "x") != base {
			t.Errorf("%v: help is wrong in\n%s", test.units, own(got))
		}
		if raw, _ := page(t, &exposition.Encoder{Format: exposition.PCP}, src); !strings.Contains(raw, fmt.Sprintf(" %g\n", test.value)) {
			t.Errorf("%v: as in PCP it is\n%s", test.units, raw)
		}
	}
}

// TestIntegers: integers are written as integers while they are exact.
func TestIntegers(t *testing.T) {
	src := source(t)
	add(src, pmapitest.Metric[uint64]{Name: "a", Units: pdu.SpaceKByte}, 1<<52+1)
	add(src, pmapitest.Metric[int64]{Name: "b", Units: pdu.SpaceKByte}, math.MinInt64)
	add(src, pmapitest.Metric[int64]{Name: "c"}, math.MinInt64)
	add(src, pmapitest.Metric[uint64]{Name: "d"}, math.MaxUint64)
	add(src, pmapitest.Metric[float64]{Name: "e"}, math.Inf(-1))
	add(src, pmapitest.Metric[float64]{Name: "f", Sem: pdu.SemCounter}, math.Inf(1))
	add(src, pmapitest.Metric[float64]{Name: "g"}, math.NaN())
	_, p := page(t, &exposition.Encoder{}, src)
	want := []string{"a_bytes 4611686018427388928", "b_bytes -9.44473296573929e+21", "c -9223372036854775808", "d 18446744073709551615", "e -Inf", "f_total +Inf", "g NaN"}
	if !slices.Equal(p.lines[:len(want)], want) {
		t.Errorf("got %q", p.lines)
	}
}

// TestDropped: values that a counter cannot have are omitted and counted, and so are failed
// metrics.
func TestDropped(t *testing.T) {
	src := source(t)
	d := src.InDom("a", "b", "c")
	c := add(src, pmapitest.Metric[float64]{Name: "c", InDom: d, Sem: pdu.SemCounter}, -1, math.NaN(), 2)
	add(src, pmapitest.Metric[int64]{Name: "only", Sem: pdu.SemCounter}, -1)
	add(src, pmapitest.Metric[float64]{Name: "bad"}, 1).Fail(pdu.ErrPermission)
	e, r := &exposition.Encoder{}, &export.Reader{Context: src.Context()}
	_, p := pageOf(t, e, r)
	want := []string{`c_total{instname="c"} 2`, "pcp_gateway_metrics_failed 1", "pcp_gateway_dropped_samples_total 3", "pcp_gateway_truncated 0"}
	if !slices.Equal(p.lines, want) {
		t.Errorf("got %q", p.lines)
	}
	c.Set(1, 1, 1)
	if _, p := pageOf(t, e, r); p.samples["pcp_gateway_dropped_samples_total"] != "7" { // two pages each
		t.Errorf("got %q", p.lines)
	}
	if _, p := page(t, &exposition.Encoder{Format: exposition.PCP}, src); !slices.Contains(p.lines, "only -1") {
		t.Errorf("as in PCP: %q", p.lines)
	}
}

// TestCollisions: two metrics stay two families when a format gives them the same name. The first
// in the order of names keeps it.
func TestCollisions(t *testing.T) {
	for _, test := range []struct {
		metrics string // names after c for counter, i for string, h for histogram, and g for others
		format  exposition.Format
		want    string // names of families
	}{
		{"g:a.b g:a_b", 0, "a_b a_b_2"},
		{"g:a.b c:a_b", 0, "a_b a_b_2"},
		{"g:a.b c:a_b", exposition.Prometheus, "a_b a_b_2_total"}, // as in OpenMetrics
		{"c:a.b c:a_b.total", 0, "a_b a_b_2"},
		{"c:a g:a_created", 0, "a a_created_2"},
		{"c:a g:a_created", exposition.Prometheus, "a_total a_created_2"},
		{"c:a g:a_total", exposition.Prometheus, "a_total a_total_2"},
		{"i:a g:a_info", 0, "a a_info_2"},
		{"h:a g:a_count", 0, "a a_count_2"},
		{"h:a g:a_bucket", exposition.Prometheus, "a a_bucket_2"},
		{"g:pcp.gateway.truncated", 0, "pcp_gateway_truncated_2"},
		{"c:pcp.gateway.dropped_samples", 0, "pcp_gateway_dropped_samples_2"},
		{"g:pcp.gateway.dropped_samples_total", exposition.Prometheus, "pcp_gateway_dropped_samples_total_2"},
		{"g:pcp.gateway.scrape_duration_seconds", 0, "pcp_gateway_scrape_duration_seconds_2"},
		{"g:target.info", 0, "target_info_2"},
		{"g:a.b g:a_b g:a.b_2", 0, "a_b a_b_2 a_b_3"},
		{"c:a.b c:a_b c:a_b_total", exposition.Prometheus, "a_b_total a_b_2_total a_b_3_total"},
	} {
		src := source(t)
		d := src.InDom("x")
		d.SetLabels("", func(pdu.Instance) string { return `{"le":"+Inf"}` })
		for _, m := range strings.Fields(test.metrics) {
			kind, name, _ := strings.Cut(m, ":")
			switch kind {
			case "c":
				add(src, pmapitest.Metric[uint32]{Name: name, Sem: pdu.SemCounter}, 1)
			case "i":
				add(src, pmapitest.Metric[string]{Name: name, Sem: pdu.SemDiscrete}, "x")
			case "h":
				add(src, pmapitest.Metric[uint32]{Name: name, InDom: d, Sem: pdu.SemCounter, Labels: `{"buckets":"disjoint"}`}, 1)
			default:
				add(src, pmapitest.Metric[uint32]{Name: name}, 1)
			}
		}
		e := &exposition.Encoder{Format: test.format}
		got, p := page(t, e, src)
		for _, name := range strings.Fields(test.want) {
			if p.families[name] == nil {
				t.Errorf("%s: no %s in\n%s", test.metrics, name, own(got))
			}
		}
		if n := len(p.families) - 3; n != len(strings.Fields(test.want)) || len(e.Collisions) == 0 {
			t.Errorf("%s: %d families, collisions %q", test.metrics, n, e.Collisions)
		}
		if _, p := page(t, &exposition.Encoder{Format: exposition.OpenMetrics, Escaping: exposition.UTF8}, src); len(p.families) < 4 {
			t.Errorf("%s: in UTF-8 %d families", test.metrics, len(p.families))
		}
	}
}

// TestSeries: instances with equal labels become one series, and instances are sorted.
func TestSeries(t *testing.T) {
	src := source(t)
	d := src.InDom()
	d.SetInstances(pdu.Instance{ID: 7, Name: "g"}, pdu.Instance{ID: -1, Name: "n"}, pdu.Instance{ID: 3, Name: "c"}, pdu.Instance{ID: 4, Name: "d"})
	d.SetLabels("", func(i pdu.Instance) string {
		if i.ID < 4 {
			return `{}`
		}
		return `{"instname":"one"}`
	})
	m := add(src, pmapitest.Metric[uint32]{Name: "a", InDom: d}, 7, 1, 3, 4)
	e, r := &exposition.Encoder{}, &export.Reader{Context: src.Context()}
	_, p := pageOf(t, e, r)
	if got, want := p.lines[:3], []string{`a{instname="n"} 1`, `a{instname="c"} 3`, `a{instname="one"} 4`}; !slices.Equal(got, want) || p.samples["pcp_gateway_dropped_samples_total"] != "1" {
		t.Errorf("got %q, want %q", p.lines, want)
	}
	_, p = page(t, &exposition.Encoder{Format: exposition.Prometheus}, src)
	if got, want := p.lines[3], `a{instid="7",instname="one"} 7`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// A name moves to another instance.
	d.SetLabels("", nil)
	d.SetInstances(pdu.Instance{ID: 3, Name: "x"}, pdu.Instance{ID: 4, Name: "c"})
	m.Clear()
	m.SetInstance(3, 3)
	m.SetInstance(4, 4)
	r.Refresh = 1
	if _, p = pageOf(t, e, r); !slices.Equal(p.lines[:2], []string{`a{instname="x"} 3`, `a{instname="c"} 4`}) {
		t.Errorf("got %q", p.lines)
	}
}

// TestText: long texts are cut between characters.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("x", 200):        strings.Repeat("x", 128),
		strings.Repeat("x", 127) + "ü":  strings.Repeat("x", 127),
		strings.Repeat("x", 126) + "üy": strings.Repeat("x", 126) + "ü",
		strings.Repeat("€", 50):         strings.Repeat("€", 42),
		"a\xffb":                        "a\uFFFDb",
		strings.Repeat("\xbf", 200):     "\uFFFD",
	} {
		src := source(t)
		add(src, pmapitest.Metric[string]{Name: "a"}, text)
		_, p := page(t, &exposition.Encoder{Strings: true}, src)
		if got, _ := p.families["a"].samples[0].label("value"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if _, p := page(t, &exposition.Encoder{}, src); p.families["a"] != nil {
			t.Error("a string that changes is there unasked")
		}
	}
}

// TestMaxSeries: a page has at most MaxSeries samples.
func TestMaxSeries(t *testing.T) {
	src := source(t)
	d := src.InDom("a", "b", "c")
	d.SetLabels("", func(i pdu.Instance) string { return fmt.Sprintf(`{"le":%d}`, i.ID) })
	add(src, pmapitest.Metric[uint32]{Name: "a", InDom: d}, 1, 2, 3)
	add(src, pmapitest.Metric[uint32]{Name: "b", InDom: d, Sem: pdu.SemCounter, Labels: `{"buckets":"disjoint"}`}, 1, 2, 3)
	add(src, pmapitest.Metric[uint32]{Name: "c"}, 1)
	for limit, want := range map[int]int{1: 1, 3: 3, 4: 4, 5: 4, 8: 4, 9: 9, 10: 9} { // a histogram is complete or missing
		_, p := page(t, &exposition.Encoder{MaxSeries: limit}, src)
		n := len(p.lines) - 3
		if truncated := p.samples["pcp_gateway_truncated"]; n != want || truncated != map[bool]string{true: "1", false: "0"}[n < 9] {
			t.Errorf("limit %d: %d samples, truncated %s", limit, n, truncated)
		}
	}
}

// TestRandomPages: the page of any source is valid in all formats.
func TestRandomPages(t *testing.T) {
	name := rapid.StringMatching(`[a-c][._][a-b](_(total|info|bytes|seconds|count|created|sum|bucket))?`)
	text := rapid.OneOf(rapid.StringMatching(`[a"\\\n{}, ü]{0,4}`), rapid.String())
	units := rapid.SampledFrom([]pdu.Units{0, pdu.UnitCount, pdu.SpaceKByte, pdu.TimeMSec, pdu.TempKelvin, pdu.Volt, pdu.SpaceKByte | pdu.TimeMin})
	labels := rapid.SampledFrom([]string{``, `{"a":"b"}`, `{"buckets":"cumulative"}`, `{"buckets":"disjoint","le_unit":"millisec","sum_metric":"a.a"}`,
		`{"le":"1","instname":"i","value":"v"}`, `{"a":1,"hostname":"x","instid":null}`})
	instLabels := rapid.SampledFrom([]string{``, `{"le":1}`, `{"le":"+Inf"}`, `{"le":-2.5}`, `{"le":3,"a":"c"}`, `{"instname":"same"}`})
	rapid.Check(t, func(rt *rapid.T) {
		src := &pmapitest.Source{Labels: labels.Draw(rt, "labels")}
		defer src.Close()
		names := rapid.SliceOfNDistinct(text, 0, 4, func(s string) string { return strings.SplitN(s+" ", " ", 2)[0] }).Draw(rt, "instances")
		names = slices.DeleteFunc(names, func(s string) bool { return s == "" || strings.Contains(s, "\x00") || s[0] == ' ' })
		d := src.InDom(names...)
		d.SetLabels(labels.Draw(rt, "labels"), func(pdu.Instance) string { return instLabels.Draw(rt, "instance") })
		for _, n := range rapid.SliceOfNDistinct(name, 1, 8, rapid.ID).Draw(rt, "names") {
			m := pmapitest.Metric[pdu.Atom]{
				Name: n, Units: units.Draw(rt, "units"), Text: text.Draw(rt, "text"), Labels: labels.Draw(rt, "labels"),
				Sem: rapid.SampledFrom([]pdu.Sem{pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete}).Draw(rt, "semantics"),
			}
			var value func() pdu.Atom
			switch m.Type = rapid.SampledFrom([]pdu.Type{pdu.Type64, pdu.TypeU32, pdu.TypeDouble, pdu.TypeString}).Draw(rt, "type"); m.Type {
			case pdu.Type64:
				value = func() pdu.Atom { return pdu.Int64(rapid.Int64().Draw(rt, "value")) }
			case pdu.TypeU32:
				value = func() pdu.Atom { return pdu.Uint32(rapid.Uint32().Draw(rt, "value")) }
			case pdu.TypeDouble:
				value = func() pdu.Atom { return pdu.Float64(rapid.Float64().Draw(rt, "value")) }
			default:
				value = func() pdu.Atom { return pdu.String(text.Draw(rt, "value")) }
			}
			count := 1
			if rapid.Bool().Draw(rt, "instances") {
				m.InDom, count = d, len(names)
			}
			values := make([]pdu.Atom, count)
			for i := range values {
				values[i] = value()
			}
			add(src, m, values...)
		}
		e := &exposition.Encoder{
			Format:   exposition.Format(rapid.IntRange(0, 2).Draw(rt, "format")),
			Escaping: exposition.Escaping(rapid.IntRange(0, 3).Draw(rt, "escaping")),
			Strings:  true, Times: rapid.Bool().Draw(rt, "times"), MaxSeries: rapid.SampledFrom([]int{0, 5}).Draw(rt, "limit"),
		}
		c := src.Context()
		defer c.Close()
		s, err := (&export.Reader{Context: c}).Read(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		page := string(e.Append(nil, s))
		if _, err := parsePage(page, e.Format, e.Escaping == exposition.UTF8); err != nil {
			rt.Fatalf("%v in\n%s", err, page)
		}
	})
}
