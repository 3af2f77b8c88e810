package exposition

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// A Format is a format of pages.
type Format int

const (
	OpenMetrics Format = iota // OpenMetrics 1.0.0
	Prometheus                // text format of Prometheus: version 1.0.0 if the scraper requested an escaping, else 0.0.4
	PCP                       // text 0.0.4 of PCP's pmproxy: with PCP's units and names, and all labels on each sample
)

const defaultMaxSeries = 200_000

// maxText limits a string value in a label, in bytes.
const maxText = 128

// An Encoder writes the metrics of one export.Reader as pages of one format. It must be used by one
// goroutine at a time. Fields must not change after the first Append.
type Encoder struct {
	Format   Format
	Escaping Escaping // of names; PCP has only Colons and Underscores
	Times    bool     // write the times of values; else a scraper uses the time of the scrape
	Strings  bool     // also write strings that are not discrete; each new value is a new series

	// Drop lists labels to leave out. Nil means groupid, machineid and userid, or none in the
	// format PCP.
	Drop []string

	// MaxSeries limits the samples of a page. If there are more, the rest is left out and
	// pcp_gateway_truncated is 1. 0 means 200,000.
	MaxSeries int

	// Collisions lists the metrics that got a number because their name in this format is that of
	// another metric. Append sets it.
	Collisions []string

	generation uint64
	families   map[*export.Metric]*family
	noBuckets  map[pdu.PMID]bool // metrics with bucket labels that are not histograms
	target     []byte            // lines of target_info
	host       []label           // labels of the source, for PCP
	page       uint64            // number of this page
	at         time.Time         // time of its values
	order      []int             // order of the values of one metric
	parts      []int             // where the lines of each metric begin in the last page, and where the last ones end
	written    int               // number of samples in this page
	dropped    uint64            // number of samples of all pages that could not be written
	failed     int               // number of failed metrics in this page
	truncated  bool
}

// Append appends a page to b. Equal snapshots make equal pages. If b has enough space, and no
// metric, instance or string is new, Append allocates only for histograms.
func (e *Encoder) Append(b []byte, s *export.Snapshot) []byte {
	start := len(b)
	if e.generation != s.Generation {
		e.noBuckets = map[pdu.PMID]bool{}
		e.prepare(s)
	}
	for dropped := e.dropped; ; {
		var ok bool
		e.dropped = dropped
		if b, ok = e.appendPage(b[:start], s); ok {
			return b
		}
		e.prepare(s) // one more metric is not a histogram
	}
}

// prepare makes a family for each metric.
func (e *Encoder) prepare(s *export.Snapshot) {
	if isPCP := e.Format == PCP; isPCP != (e.Escaping == Colons) {
		e.Escaping = Underscores
	}
	e.families, e.Collisions = make(map[*export.Metric]*family, s.Len()), nil
	var names base.Names
	if e.Format != PCP {
		names.ReservePage()
	}
	byName := make(map[string]*export.Metric, s.Len())
	for m := range s.All() {
		byName[m.Name] = m
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) { // the first of several metrics keeps the name
		if f := e.family(byName[name], &names); f != nil {
			e.families[byName[name]] = f
		}
	}
	e.host, e.target = nil, nil
	if host := sorted(e.labelsOf(s.Context)); e.Format == PCP {
		e.host = host
	} else if len(host) > 0 {
		e.target = e.appendTarget(nil, host)
	}
	e.generation = s.Generation
}

func (e *Encoder) appendTarget(b []byte, host []label) []byte {
	if e.Format == OpenMetrics {
		b = append(b, "# TYPE target info\n# HELP target The host that the metrics are of\n"...)
	} else {
		b = append(b, "# HELP target_info The host that the metrics are of\n# TYPE target_info gauge\n"...)
	}
	return append(e.appendSeries(b, base.TargetInfo, host), " 1\n"...)
}

// appendPage writes a page. It returns ok false if a metric turned out not to be a histogram. The
// caller then starts the page again.
func (e *Encoder) appendPage(b []byte, s *export.Snapshot) (_ []byte, ok bool) {
	e.page++
	e.at, e.written, e.failed, e.truncated = s.Time, 0, 0, false
	b = append(b, e.target...)
	e.parts = e.parts[:0]
	for m, values := range s.All() {
		e.parts = append(e.parts, len(b))
		if values.Err() != nil {
			e.failed++
			continue
		}
		f := e.families[m]
		if f == nil || values.Len() == 0 {
			continue
		}
		if e.full() {
			e.truncated = true
			break
		}
		header := len(b)
		b = append(b, f.header...)
		first := len(b)
		if f.bucket == nil {
			b = e.appendSamples(b, f, values)
		} else if b, ok = e.appendHistograms(b, f, values, e.sums(s)); !ok {
			e.noBuckets[m.Desc.PMID] = true
			return b, false
		}
		if len(b) == first {
			b = b[:header]
		}
	}
	e.parts = append(e.parts, len(b))
	b = e.appendGateway(b)
	if e.Format == OpenMetrics {
		b = append(b, "# EOF\n"...)
	}
	return b, true
}

// Part returns where the lines of a metric are in the result of the last Append. The metric is
// number i in the order of Snapshot.All. Lines before the first metric describe the host, and lines
// after the last one describe the page.
func (e *Encoder) Part(i int) (begin, end int) {
	last := len(e.parts) - 1
	return e.parts[min(i, last)], e.parts[min(i+1, last)]
}

func (e *Encoder) limit() int {
	if e.MaxSeries > 0 {
		return e.MaxSeries
	}
	return defaultMaxSeries
}

func (e *Encoder) full() bool { return e.written >= e.limit() }

// sums returns a function that finds the value of a singular metric by its name.
func (e *Encoder) sums(s *export.Snapshot) func(name string) (base.Number, bool) {
	return func(name string) (base.Number, bool) {
		if name == "" {
			return base.Number{}, false
		}
		for m, values := range s.All() {
			if m.Name != name {
				continue
			}
			if m.InDom != nil || values.Len() != 1 {
				return base.Number{}, false
			}
			n, ok := base.NumberOf(values.Atom(0, m.Desc.Type))
			c, _ := base.From(m.Desc.Units)
			return c.Apply(n), ok
		}
		return base.Number{}, false
	}
}

// appendSamples writes the values of a family in the order of instance numbers.
func (e *Encoder) appendSamples(b []byte, f *family, values pdu.ValueSet) []byte {
	for _, i := range e.inOrder(values) {
		if e.full() {
			e.truncated = true
			break
		}
		a := values.Atom(i, f.metric.Desc.Type)
		n, text, ok := f.valueOf(a)
		if !ok || f.kind == base.Counter && e.Format != PCP && (n.Neg || math.IsNaN(n.Float)) {
			e.dropped++
			continue
		}
		l := e.lineOf(f, values.Inst(i), text)
		if l.page == e.page { // an earlier instance has the same labels
			e.dropped++
			continue
		}
		l.page = e.page
		b = append(b, l.text...)
		b = e.endSample(b, f.conv.Apply(n))
	}
	f.forget(e.page, values.Len())
	return b
}

// inOrder returns the indices of values in the order of instance numbers.
func (e *Encoder) inOrder(values pdu.ValueSet) []int {
	e.order = e.order[:0]
	rising := true
	for i := range values.Len() {
		e.order = append(e.order, i)
		rising = rising && (i == 0 || values.Inst(i-1) <= values.Inst(i))
	}
	if !rising {
		slices.SortStableFunc(e.order, func(i, j int) int { return cmp.Compare(values.Inst(i), values.Inst(j)) })
	}
	return e.order
}

// valueOf returns a value as a number or, for a string, as the bytes of its label. ok is false for
// a malformed value.
func (f *family) valueOf(a pdu.Atom) (n base.Number, text []byte, ok bool) {
	if f.kind != base.Info {
		n, ok = base.NumberOf(a)
		return n, nil, ok
	}
	text, _, _ = bytes.Cut(a.Bytes(), []byte{0})
	if len(text) > maxText {
		end := maxText
		for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return base.Number{Float: 1, Integer: 1, IsInt: true}, text, a.Type == pdu.TypeString
}

// lineOf returns the line of an instance. It makes a new line if the instance or its value has
// changed.
func (e *Encoder) lineOf(f *family, id pdu.InstID, value []byte) *line {
	s, known := f.series[id]
	inst := f.metric.InDom.Instance(id)
	if known && s.inst == inst && s.value == string(value) {
		return s.line
	}
	labels := slices.Clone(f.labels)
	if inst != nil {
		labels = e.instanceLabels(e.labelsOf(f.metric.Labels, inst.Labels), inst)
	}
	labels = e.withHost(labels)
	if f.kind == base.Info {
		labels = slices.DeleteFunc(labels, func(l label) bool { return l.name == "value" })
		if len(value) > 0 { // an empty label equals none
			labels = append(labels, label{"value", string(value), "value"})
		}
	}
	text := append(e.appendSeries(nil, f.sample, sorted(labels)), ' ')
	l := f.lines[string(text)]
	if l == nil {
		l = &line{text: text}
		f.lines[string(text)] = l
	}
	f.series[id] = series{inst: inst, value: string(value), line: l}
	return l
}

// withHost adds those labels of the host that the series lacks.
func (e *Encoder) withHost(labels []label) []label {
	for _, l := range e.host {
		if !slices.ContainsFunc(labels, func(own label) bool { return own.name == l.name }) {
			labels = append(labels, l)
		}
	}
	return labels
}

// forget drops the lines of former instances when they outnumber the present ones.
func (f *family) forget(page uint64, present int) {
	if len(f.series) <= 2*present+8 && len(f.lines) <= 2*present+8 {
		return
	}
	maps.DeleteFunc(f.series, func(_ pdu.InstID, s series) bool { return s.line.page != page })
	maps.DeleteFunc(f.lines, func(_ string, l *line) bool { return l.page != page })
}

// endSample writes the rest of a sample after its name and labels.
func (e *Encoder) endSample(b []byte, n base.Number) []byte {
	b = n.Append(b)
	if e.Times {
		b = append(b, ' ')
		ms := e.at.UnixMilli()
		if e.Format == OpenMetrics {
			b = strconv.AppendFloat(b, float64(ms)/1e3, 'f', 3, 64)
		} else {
			b = strconv.AppendInt(b, ms, 10)
		}
	}
	e.written++
	return append(b, '\n')
}

// gatewayMetrics are a page's own metrics.
var gatewayMetrics = [...]struct {
	name, help string
	counter    bool
	value      func(e *Encoder) uint64
}{
	{base.MetricsFailed, "Metrics that had an error in place of values", false, func(e *Encoder) uint64 { return uint64(e.failed) }},
	{base.DroppedSamples, "Values that this format cannot have, such as negative ones of counters", true, func(e *Encoder) uint64 { return e.dropped }},
	{base.Truncated, "1 if the page has not all samples, for there are too many", false, func(e *Encoder) uint64 {
		if e.truncated {
			return 1
		}
		return 0
	}},
}

func (e *Encoder) appendGateway(b []byte) []byte {
	if e.Format == PCP && !e.truncated {
		return b
	}
	for _, own := range gatewayMetrics {
		b = appendOwnHeader(b, e.Format, own.name, own.help, "", own.counter)
		b = append(strconv.AppendUint(b, own.value(e), 10), '\n')
	}
	return b
}

// appendOwnHeader writes everything before the value of one of the page's own metrics.
func appendOwnHeader(b []byte, f Format, name, help, unit string, isCounter bool) []byte {
	kind, suffix, inType := "gauge", "", ""
	if isCounter {
		kind, suffix = "counter", "_total"
	}
	if f != OpenMetrics {
		inType = suffix
	}
	line := func(parts ...string) {
		for _, part := range parts {
			b = append(b, part...)
		}
	}
	line("# TYPE ", name, inType, " ", kind, "\n")
	if f == OpenMetrics && unit != "" {
		line("# UNIT ", name, " ", unit, "\n")
	}
	line("# HELP ", name, inType, " ", help, "\n", name, suffix, " ")
	return b
}
