package otlp

import (
	"cmp"
	"slices"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// scopeName is the name of the instrumentation scope of all metrics.
const scopeName = "github.com/pcp-go/pcp"

// An encoder encodes the snapshots of one Reader. It remembers the series of the last snapshot:
// their start times, and which of them must be ended. The zero value is ready to use. Fields must
// not change after the first Append. It must be used by one goroutine at a time.
type encoder struct {
	Resource      []export.Label // as in Exporter, like the others
	Strings, JSON bool

	out        builder
	resource   []byte // encoded fields of ResourceMetrics
	scope      []byte // encoded fields of ScopeMetrics
	generation uint64
	metrics    map[string]*metric
	order      []*metric // in the order of the snapshot; nil for metrics that are left out
	round      uint64
	totals     bool // some metrics are sums of histograms
	points     int
	now        int64
}

// Points returns the number of data points in the last message. Do not send a message without
// points.
func (e *encoder) Points() int { return e.points }

// Append appends an ExportMetricsServiceRequest. It keeps neither b nor the snapshot.
func (e *encoder) Append(b []byte, s *export.Snapshot) []byte {
	changed := e.generation != s.Generation
	if changed {
		e.describe(s)
	}
	e.now = s.Time.UnixNano()
	e.begin(b)
	if changed {
		e.appendEnded()
	}
	if e.totals {
		e.setTotals(s)
	}
	i := 0
	for _, values := range s.All() {
		if m := e.order[i]; m != nil && s.Has(i) {
			e.appendMetric(m, values)
		}
		i++
	}
	return e.end()
}

// appendFinal appends a message that ends all series a nanosecond after their last values, as after
// a mark in an archive. Counters then get new start times.
func (e *encoder) appendFinal(b []byte) []byte {
	e.now++
	e.begin(b)
	for _, m := range e.order {
		if m != nil {
			e.appendMetric(m, pdu.ValueSet{})
			m.histograms.forget()
		}
	}
	return e.end()
}

// Fields of the messages that enclose the metrics.
var (
	resourceMetricsField    = field{1, "resourceMetrics"}
	resourceField           = field{1, "resource"}
	resourceAttributesField = field{1, "attributes"}
	scopeMetricsField       = field{2, "scopeMetrics"}
	scopeField              = field{1, "scope"}
	scopeNameField          = field{1, "name"}
	scopeVersionField       = field{2, "version"}
	metricsField            = field{2, "metrics"}
)

// begin writes a message up to its first metric.
func (e *encoder) begin(b []byte) {
	e.round++
	e.points = 0
	w := &e.out
	w.json, w.opened = e.JSON, w.opened[:0]
	if w.b = b; w.json {
		w.b = append(w.b, '{')
	}
	w.list(resourceMetricsField)
	w.item(resourceMetricsField)
	w.fields(e.resource)
	w.list(scopeMetricsField)
	w.item(scopeMetricsField)
	w.fields(e.scope)
	w.list(metricsField)
}

// end ends a message and returns it.
func (e *encoder) end() []byte {
	w := &e.out
	w.endList()
	w.close()
	w.endList()
	w.close()
	w.endList()
	b := w.b
	if w.b = nil; w.json {
		b = append(b, '}')
	}
	return b
}

func (e *encoder) setTotals(s *export.Snapshot) {
	i := 0
	for _, values := range s.All() {
		if m := e.order[i]; m != nil && m.isTotal {
			m.setTotal(values)
		}
		i++
	}
}

// describe encodes the metadata of a new generation. Unchanged metrics keep their series.
func (e *encoder) describe(s *export.Snapshot) {
	e.generation = s.Generation
	e.resource, e.scope = e.describeResource(s), e.describeScope()
	if e.metrics == nil {
		e.metrics = map[string]*metric{}
	}
	e.order = e.order[:0]
	names := distinctNames(s)
	for m := range s.All() {
		kind := e.kindOf(m)
		if kind == 0 {
			e.order = append(e.order, nil)
			continue
		}
		old := e.metrics[m.Name]
		now := newMetric(m, kind, cmp.Or(names[m.Name], m.Name), e.JSON)
		if old != nil && old.kind == kind && old.source.Desc == m.Desc {
			now.points, now.double = old.points, old.double
			now.histograms.groups = old.histograms.groups // laid out again, because labels may have changed
			now.live = old.live
		}
		now.described = e.generation
		e.metrics[m.Name] = now
		e.order = append(e.order, now)
	}
	e.totals = false
	for _, m := range e.order {
		if m != nil {
			m.histograms.findTotal(m.source, e.metrics)
			e.totals = e.totals || m.histograms.total != nil
		}
	}
}

// appendEnded ends the series of metrics that no longer exist.
func (e *encoder) appendEnded() {
	for name, m := range e.metrics {
		if m.described != e.generation {
			e.appendMetric(m, pdu.ValueSet{})
			delete(e.metrics, name)
		}
	}
}

// describeResource encodes the attributes of the host.
func (e *encoder) describeResource(s *export.Snapshot) []byte {
	w := builder{json: e.JSON}
	w.open(resourceField)
	w.list(resourceAttributesField)
	set := map[string]bool{}
	add := func(key, value string) {
		if key != "" && !set[key] {
			set[key] = true
			w.stringAttribute(resourceAttributesField, key, value)
		}
	}
	for _, a := range slices.Backward(e.Resource) {
		add(a.Name, a.Value)
	}
	add("service.name", "pcp")
	add("service.instance.id", instanceID(s))
	for l := range s.Context.All() {
		if key := resourceKey(l.Name); !set[key] {
			set[key] = true
			w.label(resourceAttributesField, key, l)
		}
	}
	w.endList()
	w.close()
	return w.b
}

// describeScope encodes the name and version of this module.
func (e *encoder) describeScope() []byte {
	w := builder{json: e.JSON}
	w.open(scopeField)
	w.text(scopeNameField, scopeName)
	if v := build.Version(); v != "" {
		w.text(scopeVersionField, v)
	}
	w.close()
	return w.b
}

// instanceID returns an identifier that distinguishes a host at a receiver. A container has the
// same host name as its host.
func instanceID(s *export.Snapshot) string {
	if container, _ := s.Context.Lookup("container"); container != "" {
		return s.Host + "/" + container
	}
	return s.Host
}

func resourceKey(label string) string {
	switch label {
	case "hostname":
		return "host.name"
	case "machineid":
		return "host.id"
	case "container":
		return "container.id"
	}
	return label
}

// appendMetric writes a metric, if it has points.
func (e *encoder) appendMetric(m *metric, values pdu.ValueSet) {
	w := &e.out
	begin, opened, points := len(w.b), len(w.opened), e.points
	w.item(metricsField)
	switch h := &m.histograms; {
	case m.isHistogram(values):
		w.fields(h.head)
		e.beginPoints(histogramField)
		e.appendHistograms(m)
	case values.Len() == 0 && len(h.groups) > 0 && m.live == 0:
		w.fields(h.head)
		e.beginPoints(histogramField)
		e.appendEndedHistograms(m, values.Err() != nil)
	default:
		w.fields(m.head)
		e.beginPoints(m.data)
		e.appendPoints(m, values)
	}
	if e.points == points {
		w.b, w.opened = w.b[:begin], w.opened[:opened]
		return
	}
	w.endList()
	w.close()
	w.close()
}

// Fields of a metric, and of the points of each kind.
var (
	nameField        = field{1, "name"}
	descriptionField = field{2, "description"}
	unitField        = field{3, "unit"}
	gaugeField       = field{5, "gauge"}
	sumField         = field{7, "sum"}
	histogramField   = field{9, "histogram"}

	dataPointsField  = field{1, "dataPoints"}
	temporalityField = field{2, "aggregationTemporality"}
	monotonicField   = field{3, "isMonotonic"}

	startField = field{2, "startTimeUnixNano"}
	timeField  = field{3, "timeUnixNano"}
)

// cumulative is the temporality of sums and histograms.
const cumulative = 2

// beginPoints begins the list of points of a metric.
func (e *encoder) beginPoints(kind field) {
	w := &e.out
	w.open(kind)
	if kind != gaugeField {
		w.number(temporalityField, cumulative)
	}
	if kind == sumField {
		w.bool(monotonicField, true)
	}
	w.list(dataPointsField)
}

// beginPoint begins a data point without its value.
func (e *encoder) beginPoint(attributes []byte, start int64) {
	w := &e.out
	w.item(dataPointsField)
	w.fields(attributes)
	if start != 0 {
		w.fixed64(startField, min(start, e.now))
	}
	w.fixed64(timeField, e.now)
	e.points++
}
