package report

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// testDomain is the instance domain of the metrics of the tests.
var testDomain = pdu.InDom(1)

// metric makes a metric of a report with these instances, singular without any. The width is that
// of the label.
func metric(name, label, unit string, insts ...string) Metric {
	m := Metric{Name: name, Label: label, Unit: unit, Width: max(3, len(label)), Precision: 3, Desc: pdu.Desc{InDom: pdu.NoInDom}}
	if insts == nil {
		m.Instances = []pdu.Instance{{ID: pdu.NoInst}}
		return m
	}
	m.Desc.InDom = testDomain
	for _, name := range insts {
		m.Instances = append(m.Instances, instance(name))
	}
	return m
}

// instance makes an instance whose number is that of its last letter.
func instance(name string) pdu.Instance {
	return pdu.Instance{ID: pdu.InstID(name[len(name)-1]), Name: name}
}

// sample makes a sample at a second of 1970. Each text has the values of a metric: "sda=1.5 sdb=2",
// or "7" for a singular one; those with a point are of type double, and those in quotes are
// strings.
func sample(second float64, texts ...string) *Sample {
	s := &Sample{Time: time.Unix(0, int64(second*1e9))}
	for _, text := range texts {
		var values []Value
		for _, field := range strings.Fields(text) {
			v := Value{Inst: pdu.Instance{ID: pdu.NoInst}}
			name, value, ok := strings.Cut(field, "=")
			if ok {
				v.Inst = instance(name)
			} else {
				value = field
			}
			v.Atom = atom(value)
			values = append(values, v)
		}
		s.Values = append(s.Values, values)
	}
	return s
}

func atom(text string) pdu.Atom {
	if unquoted, err := strconv.Unquote(text); err == nil {
		return pdu.String(unquoted)
	}
	if strings.ContainsAny(text, ".nN") {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(err)
		}
		return pdu.Float64(v)
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return pdu.Int64(v)
}

// options are options of a report with changes.
func options(change func(*Options)) *Options {
	o := NewOptions()
	o.Delimiter, o.TimeFormat = "  ", "%H:%M:%S"
	if change != nil {
		change(&o)
	}
	return &o
}

// header is the header of a report of metrics in an archive.
func header(metrics ...Metric) *Header {
	h := &Header{Metrics: metrics, Archive: "rank-pred", Host: "localhost", Location: time.UTC, Start: time.Unix(0, 0), End: time.Unix(17, 0),
		Samples: 3, Interval: time.Second, Duration: 2 * time.Second}
	for _, m := range metrics {
		h.Columns += len(m.Instances)
	}
	return h
}

// printReport returns a printer's output for samples.
func printReport(t *testing.T, o *Options, h *Header, samples ...*Sample) string {
	t.Helper()
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	p := newStdout(w, o)
	if o.Output == OutputCSV {
		p = newCSV(w, o)
	}
	p.Resize(24)
	if err := p.Start(h); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if err := p.Print(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Finish(); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	return out.String()
}

// lines joins the lines of a text that is indented.
func lines(text string) string {
	text = strings.TrimPrefix(text, "\n")
	return strings.ReplaceAll(text, "\t\t|", "")
}
