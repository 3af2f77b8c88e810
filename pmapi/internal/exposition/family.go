package exposition

import (
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// A family is the encoded form of a metric, until metadata is read again.
type family struct {
	metric *export.Metric
	kind   base.Shape
	conv   base.Conversion
	name   string // name in TYPE
	sample string // name of its samples, except for histograms
	header []byte // the lines before the samples
	labels []label
	series map[pdu.InstID]series
	lines  map[string]*line // by text
	bucket *buckets         // nil unless it is a histogram
}

// A series is an instance of a family, as last written.
type series struct {
	inst  *export.Instance // nil for a singular metric
	value string           // string value
	line  *line
}

// A line is the text before the value of a sample: name, labels, and a space.
type line struct {
	text []byte
	page uint64 // number of the last page with it
}

// family makes the family of a metric. It returns nil if this format cannot express the metric.
func (e *Encoder) family(m *export.Metric, names *base.Names) *family {
	f := &family{metric: m, conv: base.Same, series: map[pdu.InstID]series{}, lines: map[string]*line{}}
	switch m.Desc.Type {
	case pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble:
		f.kind = base.Gauge
		if m.Desc.Sem == pdu.SemCounter {
			f.kind = base.Counter
		}
	case pdu.TypeString:
		if e.Format == PCP || m.Desc.Sem != pdu.SemDiscrete && !e.Strings {
			return nil
		}
		f.kind = base.Info
	default:
		return nil
	}
	if m.Name == "" {
		return nil
	}
	isBase := false
	if e.Format != PCP && f.kind != base.Info {
		f.conv, isBase = base.From(m.Desc.Units)
		if f.conv.Sub != 0 && f.kind == base.Counter {
			f.conv, isBase = base.Same, false
		}
		if !e.noBuckets[m.Desc.PMID] {
			f.findBuckets()
		}
	}
	f.setName(e, names)
	f.labels = e.labelsOf(m.Labels)
	f.header = e.appendHeader(nil, f, isBase)
	return f
}

// setName sets the name of the family, with a number if another family has that name.
func (f *family) setName(e *Encoder, names *base.Names) {
	name := base.NameOf(f.metric.Name, f.conv.Unit, f.kind)
	if e.Format == PCP {
		name = base.Name{Stem: f.metric.Name, Shape: base.Gauge} // each sample has the name as it is
	}
	name, numbered := names.Add(name, e.Escaping.escape)
	if numbered {
		e.Collisions = append(e.Collisions, f.metric.Name)
	}
	f.name, f.sample = name.Write(e.Escaping.escape)
	if e.Format == Prometheus {
		f.name = f.sample // TYPE has the name of the samples
	}
}

// typeText returns the word after TYPE.
func (f *family) typeText(format Format) string {
	switch f.kind {
	case base.Counter:
		return "counter"
	case base.Histogram:
		return "histogram"
	case base.Info:
		if format == OpenMetrics {
			return "info"
		}
	case base.GaugeHistogram:
		if format == OpenMetrics {
			return "gaugehistogram"
		}
	}
	return "gauge"
}

// appendHeader writes the lines before the samples of a family.
func (e *Encoder) appendHeader(b []byte, f *family, isBase bool) []byte {
	m, help := f.metric, f.metric.Line
	if e.Format == PCP {
		b = appendPCP5(b, m, e.Escaping == Colons)
	} else if !isBase && f.kind != base.Info && m.Desc.Units != 0 {
		help = strings.TrimSpace(help + " (" + m.Desc.Units.String() + ")")
	}
	name := []byte(f.name)
	if e.Escaping.quoted(f.name) {
		name = appendQuoted(nil, f.name)
	}
	line := func(word string) {
		b = append(b, "# "...)
		b = append(b, word...)
		b = append(b, ' ')
		b = append(b, name...)
		b = append(b, ' ')
	}
	if e.Format != OpenMetrics && help != "" {
		line("HELP")
		b = append(appendEscaped(b, help, false), '\n')
	}
	line("TYPE")
	b = append(append(b, f.typeText(e.Format)...), '\n')
	if e.Format != OpenMetrics {
		return b
	}
	if f.conv.Unit != "" && strings.HasSuffix(f.name, "_"+f.conv.Unit) {
		line("UNIT")
		b = append(append(b, f.conv.Unit...), '\n')
	}
	if help != "" {
		line("HELP")
		b = append(appendEscaped(b, help, true), '\n')
	}
	return b
}

// appendPCP5 writes pmproxy's comment that describes a metric, or its older form.
func appendPCP5(b []byte, m *export.Metric, older bool) []byte {
	indom, units := "PM_INDOM_NULL", m.Desc.Units.String()
	if m.InDom != nil {
		indom = m.InDom.ID.String()
	}
	if units == "" {
		units = "none"
	}
	words := []string{"# PCP5", m.Name, m.Desc.PMID.String(), strings.ToLower(m.Desc.Type.String()), indom, m.Desc.Sem.String(), units}
	if older {
		words = []string{"# PCP", m.Name, m.Desc.Sem.String(), units}
	}
	for _, word := range words {
		b = append(append(b, word...), ' ')
	}
	b[len(b)-1] = '\n'
	return b
}
