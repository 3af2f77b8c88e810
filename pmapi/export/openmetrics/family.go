package openmetrics

import (
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/base"
)

// A kind is what a family is in OpenMetrics.
type kind int

const (
	counter kind = iota
	gauge
	info
	histogram
	gaugeHistogram
)

// A family is a metric as it is written. It is made once, and used until metrics are described anew.
type family struct {
	metric *export.Metric
	kind   kind
	conv   base.Conversion
	name   string // in TYPE
	sample string // of its samples, but for histograms
	header []byte // the lines before the samples
	labels []label
	series map[pdu.InstID]series
	lines  map[string]*line // by their text
	bucket *buckets         // of histograms
}

// A series is one instance of a family, as it was when it was last written.
type series struct {
	inst  *export.Instance // nil for a metric of a single value
	value string           // of a string
	line  *line
}

// A line is what is before the value of a sample: name and labels, and a space.
type line struct {
	text []byte
	page uint64 // the number of the page that it was last written to
}

// family makes the family of a metric; nil if there is none in this format. names are those that are taken.
func (e *Encoder) family(m *export.Metric, names map[string]bool) *family {
	f := &family{metric: m, conv: base.Same, series: map[pdu.InstID]series{}, lines: map[string]*line{}}
	switch m.Desc.Type {
	case pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble:
		f.kind = gauge
		if m.Desc.Sem == pdu.SemCounter {
			f.kind = counter
		}
	case pdu.TypeString:
		if e.Format == PCP || m.Desc.Sem != pdu.SemDiscrete && !e.Strings {
			return nil
		}
		f.kind = info
	default:
		return nil
	}
	isBase := false
	if e.Format != PCP && f.kind != info {
		f.conv, isBase = base.From(m.Desc.Units)
		if f.conv.Sub != 0 && f.kind == counter {
			f.conv, isBase = base.Same, false
		}
		if !e.noBuckets[m.Desc.PMID] {
			f.findBuckets()
		}
	}
	if !f.setName(e, m.Name, names) {
		return nil
	}
	f.labels = e.labelsOf(m.Labels)
	f.header = e.appendHeader(nil, f, isBase)
	return f
}

// setName gives the family its name, or one that nobody else has if another has that; ok is false if that is taken, too.
func (f *family) setName(e *Encoder, pcp string, taken map[string]bool) (ok bool) {
	isTaken := func() bool {
		return pcp == "" || slices.ContainsFunc(f.names(e), func(n string) bool { return taken[n] })
	}
	f.nameOf(e.Format, pcp, e.Escaping.escape)
	if isTaken() {
		e.Collisions = append(e.Collisions, pcp)
		if f.nameOf(e.Format, pcp, valuesEscape); isTaken() {
			return false
		}
	}
	for _, n := range f.names(e) {
		taken[n] = true
	}
	return true
}

// nameOf makes the names, of which the unit and the suffixes are parts when they are escaped.
func (f *family) nameOf(format Format, name string, escape func(string) string) {
	if format == PCP {
		f.name = escape(name)
		f.sample = f.name
		return
	}
	suffix := ""
	switch f.kind {
	case counter:
		suffix = "_total"
	case info:
		suffix = "_info"
	}
	name = withoutSuffix(name, suffix)
	if unit := f.conv.Unit; unit != "" {
		name = withoutSuffix(name, "_"+unit) + "_" + unit
	}
	f.sample = escape(name + suffix)
	f.name = strings.TrimSuffix(f.sample, suffix)
	if format == Prometheus {
		f.name = f.sample // whose TYPE has the name of the samples
	}
}

// withoutSuffix takes a suffix away that the name of a metric has already, be it "_total" or ".total", but for one that is all of it.
func withoutSuffix(name, suffix string) string {
	if n := len(name) - len(suffix); suffix != "" && n > 0 && name[n+1:] == suffix[1:] && (name[n] == '_' || name[n] == '.') {
		return name[:n]
	}
	return name
}

// names are all that a family takes: those of its samples, and in OpenMetrics those that it could have.
func (f *family) names(e *Encoder) []string {
	switch f.kind {
	case counter:
		if e.Format == OpenMetrics {
			return []string{f.name, f.sample, f.name + "_created"}
		}
	case info:
		return []string{f.name, f.sample}
	case histogram:
		return []string{f.name, f.name + "_bucket", f.name + "_count", f.name + "_sum", f.name + "_created"}
	case gaugeHistogram:
		return []string{f.name, f.name + "_bucket", f.name + "_gcount", f.name + "_gsum"}
	}
	return []string{f.sample}
}

// typeText is the word after TYPE.
func (f *family) typeText(format Format) string {
	switch f.kind {
	case counter:
		return "counter"
	case histogram:
		return "histogram"
	case info:
		if format == OpenMetrics {
			return "info"
		}
	case gaugeHistogram:
		if format == OpenMetrics {
			return "gaugehistogram"
		}
	}
	return "gauge"
}

// appendHeader writes the lines that describe a family.
func (e *Encoder) appendHeader(b []byte, f *family, isBase bool) []byte {
	m, help := f.metric, f.metric.Line
	if e.Format == PCP {
		b = appendPCP5(b, m, e.Escaping == Colons)
	} else if !isBase && f.kind != info && m.Desc.Units != 0 {
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

// appendPCP5 writes the comment with which pmproxy says what the metric is, also in its older form.
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
