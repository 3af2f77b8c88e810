package otlp

import (
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// ScopeName is the name of the instrumentation scope of all metrics.
const ScopeName = "github.com/pcp-go/pcp"

// An Attribute is an attribute of a resource.
type Attribute struct{ Key, Value string }

// An Encoder writes the snapshots of one Reader as messages. It remembers the series of the last
// snapshot: their start times, and which have to be ended. The zero value is ready to use. Fields
// must not change after the first Append. Only one goroutine at a time may use it.
type Encoder struct {
	// Resource lists attributes of the resource. They have precedence over the labels of the host.
	// If a key is listed twice, the last one is used. Without service.name in the list,
	// service.name is "pcp".
	Resource []Attribute

	// Strings converts discrete strings to gauges.
	Strings bool

	head       []byte // up to the first metric
	generation uint64
	metrics    map[string]*metric
	order      []*metric // of the snapshot, with nil for what is left out
	round      uint64
	totals     bool // there are metrics that are the sums of histograms
	points     int
	now        int64
	first      bool // no metric has been written yet
}

// Points returns the number of data points in the last message. Do not send a message without
// points.
func (e *Encoder) Points() int { return e.points }

// Append appends an ExportMetricsServiceRequest in JSON. It keeps neither b nor the snapshot.
func (e *Encoder) Append(b []byte, s *export.Snapshot) []byte {
	e.round++
	e.points, e.first, e.now = 0, true, s.Time.UnixNano()
	if e.generation != s.Generation {
		e.describe(s)
		b = append(b, e.head...)
		b = e.appendEnded(b)
	} else {
		b = append(b, e.head...)
	}
	i := 0
	for _, values := range s.All() {
		if !e.totals {
			break
		}
		if m := e.order[i]; m != nil && m.isTotal {
			m.setTotal(values)
		}
		i++
	}
	i = 0
	for _, values := range s.All() {
		if m := e.order[i]; m != nil && s.Has(i) {
			b = e.appendMetric(b, m, values)
		}
		i++
	}
	return append(b, "]}]}]}"...)
}

// AppendEnd appends a message that ends all series a nanosecond after their last values, as after a
// mark in an archive. Counters have new start times after that.
func (e *Encoder) AppendEnd(b []byte) []byte {
	e.round++
	e.points, e.first = 0, true
	e.now++
	b = append(b, e.head...)
	for _, m := range e.order {
		if m != nil {
			b = e.appendMetric(b, m, pdu.ValueSet{})
			m.histograms.forget()
		}
	}
	return append(b, "]}]}]}"...)
}

// describe takes the metrics of a new generation. Those that stay what they were keep their series.
func (e *Encoder) describe(s *export.Snapshot) {
	e.generation = s.Generation
	e.head = e.appendHead(e.head[:0], s.Context)
	if e.metrics == nil {
		e.metrics = map[string]*metric{}
	}
	e.order = e.order[:0]
	for m := range s.All() {
		kind := e.kindOf(m)
		if kind == 0 {
			e.order = append(e.order, nil)
			continue
		}
		old := e.metrics[m.Name]
		now := newMetric(m, kind)
		if old != nil && old.kind == kind && old.source.Desc == m.Desc {
			now.points, now.double = old.points, old.double
			now.histograms.groups = old.histograms.groups // laid out anew, since labels may be others
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

// appendEnded ends the series of metrics that are there no more.
func (e *Encoder) appendEnded(b []byte) []byte {
	for name, m := range e.metrics {
		if m.described != e.generation {
			b = e.appendMetric(b, m, pdu.ValueSet{})
			delete(e.metrics, name)
		}
	}
	return b
}

// appendHead writes the beginning of a message, with the resource.
func (e *Encoder) appendHead(b []byte, labels pdu.LabelSet) []byte {
	b = append(b, `{"resourceMetrics":[{"resource":{"attributes":[`...)
	set := map[string]bool{}
	for i := len(e.Resource) - 1; i >= 0; i-- {
		if a := e.Resource[i]; a.Key != "" && !set[a.Key] {
			set[a.Key] = true
			b = appendStringAttribute(b, a.Key, a.Value)
		}
	}
	if !set["service.name"] {
		set["service.name"] = true
		b = appendStringAttribute(b, "service.name", "pcp")
	}
	for l := range labels.All() {
		key := resourceKey(l.Name)
		if set[key] {
			continue
		}
		set[key] = true
		b = appendLabel(b, key, l)
	}
	b = append(b, `]},"scopeMetrics":[{"scope":{"name":"`+ScopeName+`"`...)
	if v := moduleVersion(); v != "" {
		b = appendString(append(b, `,"version":`...), v)
	}
	return append(b, `},"metrics":[`...)
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

// moduleVersion is the version of this module, if it was built as one.
var moduleVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == ScopeName && m.Version != "(devel)" {
			return m.Version
		}
	}
	return ""
})

// appendMetric writes a metric, if it has points.
func (e *Encoder) appendMetric(b []byte, m *metric, values pdu.ValueSet) []byte {
	begin, points := len(b), e.points
	if !e.first {
		b = append(b, ',')
	}
	switch h := &m.histograms; {
	case m.isHistogram(values):
		b = e.appendHistograms(append(append(b, h.head...), openHistogram...), m)
	case values.Len() == 0 && len(h.groups) > 0 && m.live == 0:
		b = e.appendEndedHistograms(append(append(b, h.head...), openHistogram...), m, values.Err() != nil)
	default:
		b = e.appendPoints(append(append(b, m.head...), m.open...), m, values)
	}
	if e.points == points {
		return b[:begin]
	}
	e.first = false
	return append(b, "]}}"...)
}

const openHistogram = `"histogram":{"aggregationTemporality":2,"dataPoints":[`

// appendPoint begins a data point; its value follows.
func (e *Encoder) appendPoint(b []byte, attributes []byte, start int64) []byte {
	if b[len(b)-1] == '}' {
		b = append(b, ',')
	}
	b = append(append(b, '{'), attributes...)
	if start != 0 {
		b = strconv.AppendInt(append(b, `"startTimeUnixNano":"`...), min(start, e.now), 10)
		b = append(b, `",`...)
	}
	b = strconv.AppendInt(append(b, `"timeUnixNano":"`...), e.now, 10)
	e.points++
	return append(b, '"', ',')
}
