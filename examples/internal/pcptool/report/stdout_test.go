package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// TestRepeatAuto counts the samples between two headers on terminals of different heights.
func TestRepeatAuto(t *testing.T) {
	disk := metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")
	used := metric("mem.util.used", "m.u.used", "Kbyte")
	for _, test := range []struct {
		name    string
		rows    int
		change  func(o *Options)
		metrics []Metric
		want    int // 0 for one header, -1 for a second one before the first sample
	}{
		{"instances", 7, nil, []Metric{disk}, 3},
		{"no instances", 7, nil, []Metric{used}, 4},
		{"no instances and units", 7, func(o *Options) { o.UnitInfo = false }, []Metric{used}, 5},
		{"no line of instances", 5, func(o *Options) { o.InstInfo = false }, []Metric{disk}, 1},
		{"too low", 4, nil, []Metric{disk}, -1},
		{"far too low", 2, nil, []Metric{disk}, -1},
		{"swapped, one row", 7, func(o *Options) { o.Swapped = true }, []Metric{used}, 5},
		{"swapped, three rows", 9, func(o *Options) { o.Swapped = true }, []Metric{disk, used}, 1},
		{"swapped, three rows, no units", 9, func(o *Options) { o.Swapped, o.UnitInfo = true, false }, []Metric{disk, used}, 2},
		{"swapped, too low", 4, func(o *Options) { o.Swapped = true }, []Metric{disk, used}, -1},
		{"dynamic header", 5, func(o *Options) { o.DynamicHeader = true }, []Metric{used}, 0},
		{"fixed header", 5, func(o *Options) { o.FixedHeader, o.Swapped = true, true }, []Metric{used}, 0},
		{"no header", 5, func(o *Options) { o.Header = false }, []Metric{used}, 0},
	} {
		o := options(test.change)
		o.RepeatHeader = RepeatAuto
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		p := newStdout(w, o)
		p.Resize(test.rows)
		if err := p.Start(header(test.metrics...)); err != nil {
			t.Fatal(err)
		}
		got := 0
		for n := range 10 {
			w.Flush()
			out.Reset()
			if err := p.Print(sample(float64(n), "", "")); err != nil {
				t.Fatal(err)
			}
			w.Flush()
			if strings.HasPrefix(out.String(), "\n") {
				if got = n; n == 0 {
					got = -1
				}
				break
			}
		}
		if got != test.want {
			t.Errorf("%s: the header is repeated after %d samples, want %d", test.name, got, test.want)
		}
	}
}

// TestResize makes the terminal higher in the course of a report.
func TestResize(t *testing.T) {
	o := options(func(o *Options) { o.RepeatHeader = RepeatAuto })
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	p := newStdout(w, o)
	p.Resize(4) // a header for each sample
	p.Start(header(metric("mem.util.used", "m.u.used", "Kbyte")))
	for n := range 6 {
		if n == 2 {
			p.Resize(6) // for three samples
		}
		p.Print(sample(float64(n), fmt.Sprint(n)))
	}
	w.Flush()
	got := strings.Fields(strings.ReplaceAll(out.String(), "Kbyte", ""))
	want := []string{"m.u.used", "0", "m.u.used", "1", "2", "3", "m.u.used", "4", "5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSort prints the instances of rows in the order of values.
func TestSort(t *testing.T) {
	disk := metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb", "sdc", "sdd")
	cpu := metric("kernel.percpu.cpu.sys", "k.p.c.sys", "ms/s", "cpu0", "cpu1")
	values := sample(0, "sda=1. sdb=3. sdd=1.", "cpu0=1 cpu1=2")
	for _, test := range []struct {
		sort []SortKey
		want string
	}{
		{nil, "sda sdb sdc sdd cpu0 cpu1"},
		{[]SortKey{{Metric: 0}}, "sdb sda sdd sdc cpu0 cpu1"},
		{[]SortKey{{Metric: 0, Ascending: true}}, "sda sdd sdb sdc cpu0 cpu1"},
		{[]SortKey{{Metric: 1}, {Metric: 0}}, "cpu1 cpu0 sdb sda sdd sdc"},
		{[]SortKey{{Metric: 1, Ascending: true}}, "cpu0 cpu1 sda sdb sdc sdd"},
	} {
		h := header(disk, cpu)
		h.Sort = test.sort
		var got []string
		for line := range strings.Lines(printReport(t, options(func(o *Options) { o.Swapped, o.Header = true, false }), h, values)) {
			got = append(got, strings.Fields(line)[0])
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.sort, diff)
		}
	}
}

func TestSortedTypes(t *testing.T) {
	for _, test := range []struct{ less, greater pdu.Atom }{
		{pdu.Int32(-1), pdu.Int32(0)},
		{pdu.Uint32(1), pdu.Uint32(1 << 31)},
		{pdu.Int64(-1), pdu.Int64(0)},
		{pdu.Uint64(1), pdu.Uint64(1 << 63)},
		{pdu.Float32(-0.5), pdu.Float32(0)},
		{pdu.Float64(1), pdu.Float64(1.5)},
		{pdu.String("a"), pdu.String("b")},
	} {
		if compareAtoms(test.less, test.greater) >= 0 || compareAtoms(test.greater, test.less) <= 0 || compareAtoms(test.less, test.less) != 0 {
			t.Errorf("%v is not less than %v", test.less, test.greater)
		}
	}
}

// TestUpdate changes the metrics in the course of a report with dynamic headers.
func TestUpdate(t *testing.T) {
	o := options(func(o *Options) { o.DynamicHeader = true })
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	p := newStdout(w, o)
	p.Start(header(metric("a.b", "a.b", "")))
	p.Print(sample(0, "1"))
	p.Update(header(metric("a.b", "a.b", ""), metric("a.c", "a.c", "Kbyte")))
	p.Print(sample(1, "1", "2"))
	p.Print(sample(2, "1", "2"))
	w.Flush()
	want := "  a.b\n     \n    1\n\n  a.b  a.c\n       Kby\n    1    2\n    1    2\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRanking(t *testing.T) {
	disk := metric("disk.dev.read", "d.d.read", "count/s", "sda", "sdb")
	used := metric("mem.util.used", "m.u.used", "Kbyte")
	sys := metric("kernel.pernode.cpu.sys", "k.p.c.sys", "ms/s", "cpu0")
	value := func(m int, inst, text string) Ranked {
		r := Ranked{Metric: m, Value: Value{Inst: pdu.Instance{ID: pdu.NoInst}, Atom: atom(text)}}
		if inst != "" {
			r.Value.Inst = instance(inst)
		}
		return r
	}
	ranking := []Ranked{value(0, "sdb", "989."), value(0, "sda", "2."), value(1, "", "1000"), value(2, "cpu0", "3.")}
	for _, test := range []struct {
		name    string
		change  func(o *Options)
		ranking []Ranked
		want    string
	}{
		{"table", nil, ranking, `
		|disk.dev.read            sdb    count/s    989.000
		|disk.dev.read            sda    count/s      2.000
		|mem.util.used                     Kbyte       1000
		|kernel.pernode.cpu.sys   cpu0      ms/s      3.000
`},
		{"delimiter", func(o *Options) { o.Delimiter = "|" }, ranking, `
		|disk.dev.read          | sdb  | count/s | 989.000
		|disk.dev.read          | sda  | count/s |   2.000
		|mem.util.used          |      |   Kbyte |    1000
		|kernel.pernode.cpu.sys | cpu0 |    ms/s |   3.000
`},
		{"no delimiter", func(o *Options) { o.Delimiter = "" }, ranking[2:], `
		|mem.util.used                   Kbyte   1000
		|kernel.pernode.cpu.sys   cpu0    ms/s  3.000
`},
		{"long delimiter", func(o *Options) { o.Delimiter = "xyz" }, ranking[2:], `
		|mem.util.used          xyz     xyzKbyte xyz  1000
		|kernel.pernode.cpu.sys xyzcpu0 xyz ms/s xyz 3.000
`},
		{"short", nil, []Ranked{value(1, "", "0")}, `
		|mem.util.used         Kbyte      0
`},
		{"specifications", func(o *Options) { o.OverallRankAlt = true }, ranking, `
		|disk.dev.read,,"'sdb','sda'"
		|mem.util.used,,
		|kernel.pernode.cpu.sys,,"'cpu0'"
`},
		{"nothing", nil, nil, "\n"},
	} {
		o := options(test.change)
		o.OverallRank, o.Header = true, false
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		p := newStdout(w, o)
		p.Start(header(disk, used, sys))
		if err := p.Rank(test.ranking); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if diff := cmp.Diff(lines(test.want), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// brokenPipe is a writer whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestWriteErrors is about printers returning errors of the writer below.
func TestWriteErrors(t *testing.T) {
	for _, output := range []Output{OutputStdout, OutputCSV} {
		w := bufio.NewWriterSize(brokenPipe{}, 16)
		p := newStdout(w, options(nil))
		if output == OutputCSV {
			p = newCSV(w, options(nil))
		}
		if err := p.Start(header(metric("a.metric.with.a.long.name", "a.metric.with.a.long.name", ""))); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("output %d: Start: %v", output, err)
		}
		if err := p.Print(sample(0, "1")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("output %d: Print: %v", output, err)
		}
	}
}

// wideReport is a report of n columns: metrics of ten instances each.
func wideReport(n int) (*Header, *Sample) {
	h := header()
	s := &Sample{Time: time.Unix(0, 0)}
	for i := range n / 10 {
		m := metric(fmt.Sprintf("metric%d", i), fmt.Sprintf("metric%d", i), "count/s", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9")
		var values []Value
		for k, inst := range m.Instances {
			values = append(values, Value{inst, pdu.Float64(float64(i) + float64(k)/7)})
		}
		h.Metrics = append(h.Metrics, m)
		s.Values = append(s.Values, values)
	}
	return h, s
}

// TestAllocations checks that printing a sample allocates no memory, for any number of values.
func TestAllocations(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(o *Options)
	}{
		{"standard", nil},
		{"swapped", func(o *Options) { o.Swapped = true }},
		{"dynamic", func(o *Options) { o.DynamicHeader = true }},
		{"fixed", func(o *Options) { o.FixedHeader, o.Swapped = true, true }},
		{"csv", func(o *Options) { o.Output = OutputCSV }},
	} {
		o := options(test.change)
		o.TimeFormat = ""
		h, s := wideReport(50)
		w := bufio.NewWriter(io.Discard)
		p := newStdout(w, o)
		if o.Output == OutputCSV {
			p = newCSV(w, o)
		}
		p.Start(h)
		p.Print(s)
		if n := testing.AllocsPerRun(100, func() { p.Print(s) }); n > 0 {
			t.Errorf("%s: %v allocations", test.name, n)
		}
	}
}

// BenchmarkPrint prints rows of 50 columns.
func BenchmarkPrint(b *testing.B) {
	for _, bench := range []struct {
		name   string
		change func(o *Options)
	}{
		{"standard", func(o *Options) { o.Timestamp = true }},
		{"swapped", func(o *Options) { o.Timestamp, o.Swapped = true, true }},
		{"dynamic", func(o *Options) { o.Timestamp, o.DynamicHeader = true, true }},
		{"csv", func(o *Options) { o.Output = OutputCSV }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			o := options(bench.change)
			h, s := wideReport(50)
			w := bufio.NewWriter(io.Discard)
			p := newStdout(w, o)
			if o.Output == OutputCSV {
				p = newCSV(w, o)
			}
			p.Start(h)
			b.ReportAllocs()
			for b.Loop() {
				p.Print(s)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
