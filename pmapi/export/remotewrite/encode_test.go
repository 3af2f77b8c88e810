package remotewrite_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// A bench encodes what a source has, and stores it strictly.
type bench struct {
	t   testing.TB
	src *pmapitest.Source
	r   *export.Reader
	e   remotewrite.Encoder
	store
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, src: &pmapitest.Source{Start: start, Labels: `{"hostname":"web1"}`}}
	b.r = &export.Reader{Context: b.src.Context()}
	t.Cleanup(func() {
		b.r.Context.Close()
		b.src.Close()
	})
	return b
}

func (b *bench) read() {
	b.t.Helper()
	s, err := b.r.Read(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	b.e.Add(s)
}

// write stores what has been read.
func (b *bench) write() (messages int) {
	b.t.Helper()
	for {
		m, n := b.e.Append(nil)
		if n == 0 {
			return messages
		}
		messages++
		if err := b.take(remotewrite.Compress(m)); err != nil {
			b.t.Fatalf("%v\n%q", err, m)
		}
	}
}

func (b *bench) next() {
	b.t.Helper()
	b.src.Advance(time.Second)
	b.read()
	b.write()
}

func (b *bench) want(labels, values string) {
	b.t.Helper()
	if got := b.text(labels); got != values {
		b.t.Errorf("%s: %q, want %q; there are %q", labels, got, values, slices.Sorted(maps.Keys(b.series)))
	}
}

// TestLabels: labels of the Encoder are on all series. So are job and instance, unless the
// Encoder has them, even without a value.
func TestLabels(t *testing.T) {
	for want, labels := range map[string][]export.Label{
		`{__name__="m",instance="web1",job="pcp",site="north"}`:                    {{Name: "site", Value: "north"}},
		`{__name__="m",exported_site="own",instance="web1",job="a",site="north"}`:  {{Name: "site", Value: "north"}, {Name: "job", Value: "a"}},
		`{__name__="m",exported_instance="x",exported_job="y",job="pcp",site="z"}`: {{Name: "instance"}, {Name: "site", Value: "z"}},
	} {
		b := newBench(t)
		b.e.Labels = labels
		m := pmapitest.Add(b.src, pmapitest.Metric[float64]{Name: "m"})
		switch {
		case strings.Contains(want, "exported_site"):
			m.SetLabels(`{"site":"own"}`)
		case strings.Contains(want, "exported_job"):
			m.SetLabels(`{"instance":"x","job":"y"}`)
		}
		m.Set(1)
		b.next()
		b.want(want, "1 ")
	}
}

func TestEncode(t *testing.T) {
	b := newBench(t)
	d := b.src.InDom("sda", `s"d\b`)
	reads := pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "disk.dev.read_bytes", InDom: d, Sem: pdu.SemCounter, Units: pdu.SpaceKByte, Text: "read \\ \"all\""})
	reads.SetLabels(`{"job":"other","Z":"upper"}`)
	load := pmapitest.Add(b.src, pmapitest.Metric[float64]{Name: "load"})
	version := pmapitest.Add(b.src, pmapitest.Metric[string]{Name: "version", Sem: pdu.SemDiscrete})
	reads.Set(1, 2)
	load.Set(math.NaN())
	version.Set("1\n2")
	b.next()
	reads.Set(3, 4)
	load.Set(-0.5)
	version.Set("2")
	b.next()
	const common = `,instance="web1",`
	sda := `{Z="upper",__name__="disk_dev_read_bytes_total",exported_job="other"` + common + `instname="sda",job="pcp"}`
	b.want(sda, "1024 3072 ")
	b.want(`{Z="upper",__name__="disk_dev_read_bytes_total",exported_job="other"`+common+`instname="s\"d\\b",job="pcp"}`, "2048 4096 ")
	b.want(`{__name__="load"`+common+`job="pcp"}`, "NaN -0.5 ")
	b.want(`{__name__="version_info"`+common+`job="pcp",value="1\n2"}`, "1 |")
	b.want(`{__name__="version_info"`+common+`job="pcp",value="2"}`, "1 ")
	b.want(`{__name__="target_info",hostname="web1"`+common+`job="pcp"}`, "1 1 ")
	if got := b.series[sda][1].at; got != start.UnixMilli()+2000 {
		t.Error("time", got)
	}
	if len(b.series) != 6 {
		t.Error(len(b.series), "series")
	}
	for family, want := range map[string]string{"disk_dev_read_bytes": "1|read \\ \"all\"|bytes", "load": "2||", "version": "6||", "target": "6|The host that the metrics are of|"} {
		if got := b.metadata[family]; got != want {
			t.Errorf("metadata of %s: %q, want %q", family, got, want)
		}
	}
}

// TestEnds: series end once when their instance, their metric, the value of a metric, or all of
// them end, and begin again after that.
func TestEnds(t *testing.T) {
	b := newBench(t)
	d := b.src.InDom("a", "b")
	m := pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "m", InDom: d})
	other := pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "other"})
	const a, second, single = `{__name__="m",instance="web1",instname="a",job="pcp"}`, `{__name__="m",instance="web1",instname="b",job="pcp"}`, `{__name__="other",instance="web1",job="pcp"}`
	m.Set(1, 2)
	other.Set(1)
	b.next()
	d.SetNames("a")
	m.Set(1)
	b.next()
	b.next()
	d.SetNames("a", "b")
	m.Set(1, 2)
	other.Fail(pdu.ErrAgain)
	b.next()
	other.Set(7)
	b.next()
	b.want(second, "2 |2 2 ")
	b.want(single, "1 1 1 |7 ")
	b.e.End()
	b.e.End()
	b.write()
	last := b.series[a][5]
	if !last.end || last.at != start.UnixMilli()+5001 {
		t.Error("the end of all is", last)
	}
	b.next()
	b.want(a, "1 1 1 1 1 |1 ")
	m.Remove()
	b.next()
	b.next()
	b.want(a, "1 1 1 1 1 |1 |")
	b.want(second, "2 |2 2 |2 |")
	b.want(single, "1 1 1 |7 |7 7 7 ")
}

// TestLate: a sample that is not after the last value of its series is left out and counted.
// Later samples are accepted again.
func TestLate(t *testing.T) {
	b := newBench(t)
	pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "m"}).Set(1)
	b.next()
	for range 3 {
		b.src.Advance(300 * time.Microsecond)
		b.read()
	}
	b.src.Advance(100 * time.Microsecond) // a whole millisecond
	b.read()
	if b.write() != 1 || b.e.Late() != 3 {
		t.Error(b.e.Late(), "late")
	}
	b.want(`{__name__="m",instance="web1",job="pcp"}`, "1 1 ")
}

// TestBatch: a message can have samples of many snapshots, and one snapshot can need several
// messages.
func TestBatch(t *testing.T) {
	b := newBench(t)
	var insts []string
	var values []uint64
	for i := range 95 {
		insts, values = append(insts, fmt.Sprint("i", i)), append(values, uint64(i))
	}
	pmapitest.Add(b.src, pmapitest.Metric[uint64]{Name: "m", InDom: b.src.InDom(insts...)}).Set(values...)
	b.e.MaxSamples = 10
	b.read()
	if n := b.write(); n != 10 {
		t.Error(n, "messages of 96 samples")
	}
	b.e.MaxSamples = 1000
	for range 10 {
		b.src.Advance(time.Second)
		b.read()
	}
	if b.e.Waiting() != 960 {
		t.Error(b.e.Waiting(), "samples wait")
	}
	if n := b.write(); n != 1 || b.e.Waiting() != 0 {
		t.Error(n, "messages of 960 samples")
	}
	b.want(`{__name__="m",instance="web1",instname="i7",job="pcp"}`, strings.Repeat("7 ", 11))
	b.src.Advance(time.Second)
	b.read()
	b.e.Discard()
	if b.write() != 0 {
		t.Error("what was discarded is written")
	}
	b.next()
	b.want(`{__name__="m",instance="web1",instname="i7",job="pcp"}`, strings.Repeat("7 ", 12))
}

var odd = []string{"", "a", "sda", "ü", "\"\\", "\x00\x1f\x7f", "\xff\xfe", "<&>", "a,b=\"c\"}", "} 1", "\n", `\n`, "😀"}

// TestRandom: with any source, messages are legal and have exactly the series and values of the
// page.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		d := b.src.InDom()
		labels := rapid.SampledFrom([]string{``, `{"a":1}`, `{"job":"x","instance":"y","exported_job":"z"}`, `{"__x":"y","le":"1","a.b":"c","a_b":"d"}`, `{"t":true,"s":"\u00e9\n\"\\","n":null}`})
		ints := pmapitest.Add(b.src, pmapitest.Metric[int64]{Name: "m.i", InDom: d, Units: pdu.TimeMSec, Labels: labels.Draw(rt, "labels")})
		doubles := pmapitest.Add(b.src, pmapitest.Metric[float64]{Name: "m_i", InDom: d, Labels: labels.Draw(rt, "labels")})
		words := pmapitest.Add(b.src, pmapitest.Metric[string]{Name: "w", InDom: d, Sem: pdu.SemDiscrete})
		page := exposition.Encoder{}
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			n := rapid.IntRange(0, 4).Draw(rt, "instances")
			var list []pdu.Instance
			for i := range n {
				list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: fmt.Sprint(rapid.SampledFrom(odd).Draw(rt, "name"), i)})
			}
			d.SetInstances(list...)
			ints.Set(rapid.SliceOfN(rapid.Int64(), n, n).Draw(rt, "ints")...)
			doubles.Set(rapid.SliceOfN(rapid.Float64(), n, n).Draw(rt, "doubles")...)
			words.Set(rapid.SliceOfN(rapid.SampledFrom(odd), n, n).Draw(rt, "words")...)
			b.src.Advance(time.Second)
			b.read()
			if rapid.Bool().Draw(rt, "write") {
				b.write()
			}
		}
		s, err := b.r.Read(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		b.write()
		var want, got []string
		for line := range strings.Lines(string(page.Append(nil, s))) {
			if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "pcp_gateway_") {
				_, value, _ := strings.Cut(line[strings.LastIndexByte(line, ' '):], " ")
				var f float64
				fmt.Sscan(value, &f)
				want = append(want, fmt.Sprint(f))
			}
		}
		for _, values := range b.series {
			if last := values[len(values)-1]; !last.end {
				got = append(got, fmt.Sprint(last.v))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			rt.Errorf("live series have %v, the page %v", got, want)
		}
	})
}

func benchSource(b testing.TB) *bench {
	s := newBench(b)
	d := s.src.InDom("a", "b", "c", "d")
	for i := range 500 {
		m := pmapitest.Add(s.src, pmapitest.Metric[uint64]{Name: fmt.Sprint("m", i), InDom: d, Sem: pdu.SemCounter, Units: pdu.SpaceKByte})
		m.Set(uint64(i), 1e6, 1e9, 1e12)
	}
	return s
}

// BenchmarkEncode encodes 2,001 samples a message, with compression.
func BenchmarkEncode(b *testing.B) {
	s := benchSource(b)
	snap, err := s.r.Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s.e.MaxSamples = 10_000
	at := snap.Time
	var m, packed []byte
	c := remotewrite.NewCompressor()
	samples := 0
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(time.Second)
		snap.Time = at
		s.e.Add(snap)
		var n int
		m, n = s.e.Append(m[:0])
		packed = c(packed[:0], m)
		samples += n
	}
	b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(float64(len(packed)), "bytes/message")
	b.ReportMetric(float64(len(m)), "bytes-uncompressed")
}

func BenchmarkCompress(b *testing.B) {
	s := benchSource(b)
	s.read()
	s.e.MaxSamples = 10_000
	m, _ := s.e.Append(nil)
	c := remotewrite.NewCompressor()
	var packed []byte
	b.SetBytes(int64(len(m)))
	b.ReportAllocs()
	for b.Loop() {
		packed = c(packed[:0], m)
	}
}

// TestAllocations: snapshots and messages do not allocate once all series are known.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := benchSource(t)
	snap, err := s.r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := snap.Time
	var m []byte
	s.e.MaxSamples = 10_000
	encode := func() {
		at = at.Add(time.Second)
		snap.Time = at
		s.e.Add(snap)
		m, _ = s.e.Append(m[:0])
	}
	for range 3 {
		encode() // the lists of series have two buffers each
	}
	if n := testing.AllocsPerRun(10, encode); n > 0 {
		t.Error(n, "allocations")
	}
}
