//go:build unix

package mmv

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// A writerShape is a file that a Registry writes.
type writerShape struct {
	name    string
	set     func(r *Registry) // sets fields of the Registry; may be nil
	fill    func(r *Registry)
	grow    func(r *Registry) // after it was published
	version Version           // that the file has; 0 is 1
	want    []string          // values, METRIC=VALUE or METRIC[INSTANCE]=VALUE
}

var long = strings.Repeat("long.", 60)

// writerShapes are files with every type, kind of handle, labels, texts, strings, domains, and
// versions.
var writerShapes = append(numberShapes(), []writerShape{
	{name: "empty", fill: func(r *Registry) {}},
	{name: "text", fill: func(r *Registry) { r.Text("t", Metric{}).Set("idle") }, want: []string{"t=idle"}},
	{name: "text_empty", fill: func(r *Registry) { r.Text("t", Metric{}) }, want: []string{"t="}},
	{name: "text_longest", fill: func(r *Registry) { r.Text("t", Metric{}).Set(long) }, want: []string{"t=" + long[:maxString]}},
	{name: "text_rune", fill: func(r *Registry) { r.Text("t", Metric{}).Set(long[:253] + "é") }, want: []string{"t=" + long[:253]}},
	{name: "timer", fill: func(r *Registry) { r.Timer("t", Metric{}).Add(1500 * time.Microsecond) }, want: []string{"t=1500"}},
	{name: "nosupport", fill: func(r *Registry) { r.Counter("n", Metric{Type: new(pdu.TypeNoSupport)}).Inc() },
		want: []string{"n=" + pdu.ErrAppVersion.Error()}},
	{name: "nosupport_text", fill: func(r *Registry) { r.Text("n", Metric{Type: new(pdu.TypeNoSupport)}).Set("x") },
		want: []string{"n=" + pdu.ErrAppVersion.Error()}},
	{name: "one_line", fill: func(r *Registry) { r.Counter("c", Metric{Text: "A line"}) }, want: []string{"c=0"}},
	{name: "help", fill: func(r *Registry) { r.Counter("c", Metric{Help: "Two\nlines"}) }, want: []string{"c=0"}},
	{name: "both_texts", fill: func(r *Registry) { r.Counter("c", Metric{Text: long[:maxText], Help: long[:maxText]}) }, want: []string{"c=0"}},
	{name: "units", fill: func(r *Registry) {
		r.Gauge("bytes", Metric{Units: pdu.SpaceMByte})
		r.FloatGauge("rate", Metric{Units: pdu.SpaceKByte | pdu.PerSec, Sem: pdu.SemDiscrete}).Set(2.5)
	}, want: []string{"bytes=0", "rate=2.5"}},
	{name: "semantics", fill: func(r *Registry) {
		r.Gauge("total", Metric{Sem: pdu.SemCounter}).Set(7)
		r.Counter("level", Metric{Sem: pdu.SemInstant}).Add(8)
	}, want: []string{"total=7", "level=8"}},
	{name: "item", fill: func(r *Registry) { r.Counter("c", Metric{Item: maxItem}) }, want: []string{"c=0"}},
	{name: "cluster", set: func(r *Registry) { r.Cluster = safeCluster }, fill: func(r *Registry) {
		r.InDom("d", Domain{Serial: safeSerial}).Counter("c", Metric{}).With("x").Inc()
	}, want: []string{"c[x]=1"}},
	{name: "no_prefix", set: func(r *Registry) { r.NoPrefix = true }, fill: func(r *Registry) { r.Counter("alone", Metric{}) }, want: []string{"alone=0"}},
	{name: "process_on", set: func(r *Registry) { r.Process = ProcessOn }, fill: func(r *Registry) { r.Counter("c", Metric{}) }, want: []string{"c=0"}},
	{name: "process_off", set: func(r *Registry) { r.Process = ProcessOff }, fill: func(r *Registry) { r.Counter("c", Metric{}) }, want: []string{"c=0"}},
	{name: "domain", fill: fillDomain, want: []string{"count[Anvils]=1", "time[Anvils]=20", "count[Rockets of steel]=2"}},
	{name: "domain_unused", fill: func(r *Registry) { r.InDom("d", Domain{Text: "Nothing"}).Counter("c", Metric{}) }},
	{name: "domain_texts", fill: func(r *Registry) {
		r.InDom("d", Domain{Text: "Things", Help: "Things that\nare counted"}).Text("t", Metric{}).With("a").Set("b")
	}, want: []string{"t[a]=b"}},
	{name: "domains", fill: func(r *Registry) {
		for i := range 5 {
			d := r.InDom(fmt.Sprint("d", i), Domain{})
			d.Gauge(fmt.Sprintf("g%d.x", i), Metric{}).With("one").Set(int64(i))
		}
	}, want: []string{"g0.x[one]=0", "g1.x[one]=1", "g2.x[one]=2", "g3.x[one]=3", "g4.x[one]=4"}},
	{name: "histogram", fill: fillHistogram, want: []string{"h.bucket[..1]=2", "h.bucket[1..2]=1", "h.bucket[2..]=1", "h.count=4", "h.sum=12", "h.p50=1"}},
	{name: "histograms", fill: func(r *Registry) {
		r.InDom("d", Domain{}).Histogram("h", Metric{}, []float64{1}, 0.5).With("/a b").Observe(3)
	}, want: []string{"h.bucket[/a::..1]=0", "h.bucket[/a::1..]=1", "h.count[/a b]=1", "h.sum[/a b]=3", "h.p50[/a b]=1"}},
	{name: "name_63", fill: func(r *Registry) { r.Counter(long[:63], Metric{}) }, want: []string{long[:63] + "=0"}},
	{name: "name_64", fill: func(r *Registry) { r.Counter(long[:64], Metric{}) }, version: 2, want: []string{long[:64] + "=0"}},
	{name: "name_longest", fill: func(r *Registry) { r.Counter(long[:254]+"x", Metric{}) }, version: 2, want: []string{long[:254] + "x=0"}},
	{name: "instance_longest", fill: func(r *Registry) { r.InDom("d", Domain{}).Counter("c", Metric{}).With(long[:255]) }, version: 2,
		want: []string{"c[" + long[:255] + "]=0"}},
	{name: "version_2", set: func(r *Registry) { r.Version = version2 }, fill: fillDomain, version: 2,
		want: []string{"count[Anvils]=1", "time[Anvils]=20", "count[Rockets of steel]=2"}},
	{name: "version_3", set: func(r *Registry) { r.Version = version3 }, fill: fillHistogram, version: 3,
		want: []string{"h.bucket[..1]=2", "h.bucket[1..2]=1", "h.bucket[2..]=1", "h.count=4", "h.sum=12", "h.p50=1"}},
	{name: "labels", set: func(r *Registry) { r.Labels = Labels{"app": "demo", "n": 3} }, fill: fillLabels, version: 3,
		want: []string{"m=0", "c[red]=0", "c[green]=0"}},
	{name: "labels_only", set: func(r *Registry) { r.Labels = Labels{"app": Optional("x<y")} }, fill: func(r *Registry) {}, version: 3},
	{name: "grown_metric", fill: fillDomain, grow: func(r *Registry) { r.Counter("later.c", Metric{Text: "Later"}).Add(5) },
		want: []string{"count[Anvils]=1", "time[Anvils]=20", "count[Rockets of steel]=2", "later.c=5"}},
	{name: "grown_often", fill: fillDomain, grow: growShape, want: grownOften()},
	{name: "grown_version", fill: func(r *Registry) { r.Counter("c", Metric{}).Inc() },
		grow: func(r *Registry) { r.AddLabels(Labels{"late": nil}) }, version: 3, want: []string{"c=1"}},
	{name: "removed", fill: func(r *Registry) {
		d := r.InDom("d", Domain{})
		c := d.Counter("c", Metric{})
		for _, s := range []string{"a", "b", "c", "d"} {
			c.With(s).Add(uint64(s[0]))
		}
		d.Remove("b")
	}, grow: func(r *Registry) { r.domains[0].Remove("c", "a") }, want: []string{"c[d]=100"}},
	{name: "most_metrics", fill: func(r *Registry) {
		for i := range maxMetrics {
			r.Counter(fmt.Sprint("c", i), Metric{})
		}
	}, want: mostMetrics()},
}...)

// numberShapes have each handle with each type of numbers.
func numberShapes() (list []writerShape) {
	for _, typ := range []valueType{type32, typeU32, type64, typeU64, typeFloat, typeDouble} {
		m := Metric{Type: new(pdu.Type(typ)), Units: pdu.UnitCount}
		min, max, half := "0", "4.294967295e+09", "2"
		switch typ {
		case type32:
			min, max = "-2.147483648e+09", "2.147483647e+09"
		case typeU64:
			max = "5e+09"
		case type64, typeFloat, typeDouble:
			min, max = "-5e+09", "5e+09"
		}
		if typ.isFloat() {
			half = "2.5"
		}
		list = append(list,
			writerShape{name: "counter_" + typ.String(), fill: func(r *Registry) {
				c := r.Counter("c", m)
				c.Add(41)
				c.Inc()
				r.FloatCounter("f", m).Add(2.5)
			}, want: []string{"c=42", "f=" + half}},
			writerShape{name: "gauge_" + typ.String(), fill: func(r *Registry) {
				r.Gauge("low", m).Set(-5e9)
				r.Gauge("high", m).Set(5e9)
				r.FloatGauge("flow", m).Set(-5e9)
				r.FloatGauge("fhigh", m).Set(5e9)
				r.FloatGauge("half", m).Set(2.5)
			}, want: []string{"low=" + min, "high=" + max, "flow=" + min, "fhigh=" + max, "half=" + half}})
	}
	return list
}

func fillDomain(r *Registry) {
	d := r.InDom("products", Domain{Serial: 61})
	d.Add(Instance{ID: new(pdu.InstID(0)), Name: "Anvils"}, Instance{ID: new(pdu.InstID(9)), Name: "Rockets of steel"})
	count, took := d.Counter("count", Metric{Item: 7}), d.Timer("time", Metric{})
	count.With("Anvils").Inc()
	took.With("Anvils").Add(20 * time.Microsecond)
	count.With("Rockets of steel").Add(2)
}

func fillHistogram(r *Registry) {
	h := r.Histogram("h", Metric{Text: "Latency", Units: pdu.TimeSec}, []float64{1, 2}, 0.5)
	for _, f := range []float64{0.5, 1, 1.5, 9} {
		h.Observe(f)
	}
}

func fillLabels(r *Registry) {
	r.Gauge("m", Metric{Labels: Labels{"critical": Optional(true), "list": []int{1, 2}, "map": map[string]any{"a": 1.5}}})
	d := r.InDom("d", Domain{Labels: Labels{"palette": "rgb"}})
	d.Add(Instance{Name: "red", ID: new(pdu.InstID(1))}, Instance{Name: "green", Labels: Labels{"wave": 530, "none": nil}})
	c := d.Counter("c", Metric{})
	c.With("red")
	c.With("green")
}

const growths = 40

// growShape adds metrics, domains, instances, texts and labels one by one.
func growShape(r *Registry) {
	d := r.domains[0]
	for i := range growths {
		r.Counter(fmt.Sprint("c", i), Metric{Text: "T", Help: "H"}).Add(uint64(i))
		r.InDom(fmt.Sprint("dom", i), Domain{Text: "D"}).Text(fmt.Sprint("t", i), Metric{}).With("x").Set("y")
		d.Gauge(fmt.Sprint("g", i), Metric{}).With(fmt.Sprint("inst", i)).Set(-1)
	}
}

func grownOften() []string {
	s := []string{"count[Anvils]=1", "time[Anvils]=20", "count[Rockets of steel]=2"}
	for i := range growths {
		s = append(s, fmt.Sprintf("c%d=%[1]d", i), fmt.Sprintf("t%d[x]=y", i), fmt.Sprintf("g%d[inst%[1]d]=-1", i))
	}
	return s
}

func mostMetrics() (s []string) {
	for i := range maxMetrics {
		s = append(s, fmt.Sprintf("c%d=0", i))
	}
	return s
}

// publishShape publishes the file of a shape in a directory.
func publishShape(t *testing.T, s writerShape, dir string) *Registry {
	t.Helper()
	r := &Registry{Name: "s_" + s.name}
	if s.set != nil {
		s.set(r)
	}
	s.fill(r)
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if s.grow != nil {
		s.grow(r)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// wanted returns the expected values of a shape by metric and instance.
func (s *writerShape) wanted() map[string]string {
	m := make(map[string]string)
	for _, v := range s.want {
		name, value, _ := strings.Cut(v, "=")
		m[name] = value
	}
	return m
}

// writtenValues are the values of a file by metric and instance.
func writtenValues(t *testing.T, f *File) map[string]string {
	t.Helper()
	s, err := f.Snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]string)
	for _, metric := range s.Metrics {
		for _, v := range metric.Values {
			key := metric.Metric.Name
			if v.Instance.Name != "" {
				key += "[" + v.Instance.Name + "]"
			}
			x, err := pdu.As[float64](v.Value)
			switch {
			case v.Err != nil:
				m[key] = v.Err.Error()
			case err == nil:
				m[key] = strconv.FormatFloat(x, 'g', -1, 64)
			default:
				m[key] = string(v.Value.Bytes())
			}
		}
	}
	return m
}

// TestWriterShapes: our reader reads back each file.
func TestWriterShapes(t *testing.T) {
	dir := t.TempDir()
	for _, s := range writerShapes {
		t.Run(s.name, func(t *testing.T) {
			r := publishShape(t, s, dir)
			f, err := Open(filepath.Join(dir, r.Name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if len(f.Problems) > 0 {
				t.Errorf("problems: %v", f.Problems)
			}
			if want := max(s.version, version1); f.Version != want {
				t.Errorf("version %d, want %d", f.Version, want)
			}
			if diff := cmp.Diff(s.wanted(), writtenValues(t, f)); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
			m, err := Read(r.Source())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.wanted(), writtenValues(t, m)); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
		})
	}
}
