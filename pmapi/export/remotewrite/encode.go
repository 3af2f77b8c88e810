package remotewrite

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
)

const defaultMaxSamples = 2000

// maxBytes is the length of a complete message before compression.
const maxBytes = 1 << 20

// metadataEvery is the interval of sending types, help texts and units again, because receivers
// forget them.
const metadataEvery = 10 * time.Minute

// staleNaN is the staleness marker of Prometheus, the value of a series that has ended. No sample
// has this NaN by chance, because values that are NaN get the bits of math.NaN.
var staleNaN = math.Float64frombits(0x7ff0000000000002)

// An encoder makes messages from the snapshots of one Reader. It remembers the series of the last
// snapshot and the samples that are not yet in a message. The zero value is ready to use. Fields
// must not change after the first Add. Only one goroutine at a time may use it.
type encoder struct {
	Labels  []export.Label // as in Exporter
	Strings bool           // as in Exporter

	// MaxSamples limits the samples of a message. Only a single series can exceed it. 0 means
	// 2000.
	MaxSamples int

	pages      exposition.Encoder
	page       []byte
	generation uint64
	added      []export.Label
	families   map[string]*family // by the names of metrics; "" for the lines about the host
	described  []*family          // the families of the snapshot's metrics
	order      []int              // indices in described, sorted by name: the name space may be reordered
	round      uint64
	floor      int64  // the latest time of the series of removed families
	last       int64  // the latest time of a snapshot
	late       uint64 // samples dropped because their time was not after the previous one

	waiting  []*series // those with samples that are not yet in a message
	samples  int       // number of these samples
	metadata []byte    // metadata fields of the next message
}

// A family has the series of a metric.
type family struct {
	live        []*series // of the previous round, in the order of the page
	next        []*series // of this round
	series      map[string]*series
	floor       int64 // the latest time of series that have ended
	describedAt int64 // when metadata was sent; 0 if the next message must send it
	described   uint64
}

// A series is a series that has not ended.
type series struct {
	text    []byte // the text before the value in the page
	labels  []byte // the label fields of its TimeSeries
	last    int64  // the time of its last sample
	round   uint64
	samples []sample // those that are not yet in a message
}

// Add adds the values of a snapshot. It does not keep the snapshot.
func (e *encoder) Add(s *export.Snapshot) {
	e.round++
	e.pages.Strings = e.Strings
	e.page = e.pages.Append(e.page[:0], s)
	now := s.Time.UnixMilli()
	if e.generation != s.Generation {
		e.describe(s, now)
	}
	begin, _ := e.pages.Part(0)
	e.addFamily(e.families[""], e.page[:begin], now)
	for _, i := range e.order {
		if s.Has(i) {
			begin, end := e.pages.Part(i)
			e.addFamily(e.described[i], e.page[begin:end], now)
		}
	}
	e.last = max(e.last, now)
}

// describe sets the families for the metrics of a new generation. A metric continues the series of
// the previous metric with its name. Series of other families end.
func (e *encoder) describe(s *export.Snapshot, now int64) {
	e.generation = s.Generation
	if e.families == nil {
		e.families = map[string]*family{"": {series: map[string]*series{}}}
	}
	if added := e.addedLabels(s.Context); !slices.Equal(added, e.added) {
		for _, f := range e.families {
			e.endAll(f, e.last+1)
		}
		e.added = added
	}
	e.described, e.order = e.described[:0], e.order[:0]
	var names []string
	for m := range s.All() {
		f := e.families[m.Name]
		if f == nil {
			f = &family{series: map[string]*series{}, floor: e.floor}
			e.families[m.Name] = f
		}
		f.described, f.describedAt = e.generation, 0
		e.described, e.order, names = append(e.described, f), append(e.order, len(e.order)), append(names, m.Name)
	}
	slices.SortFunc(e.order, func(i, j int) int { return strings.Compare(names[i], names[j]) })
	e.families[""].described, e.families[""].describedAt = e.generation, 0
	for _, name := range slices.Sorted(maps.Keys(e.families)) {
		if f := e.families[name]; f.described != e.generation {
			e.endAll(f, now)
			e.floor = max(e.floor, f.floor)
			delete(e.families, name)
		}
	}
}

// addedLabels returns the labels of the encoder and of the host.
func (e *encoder) addedLabels(context pdu.LabelSet) []export.Label {
	added := slices.Clone(e.Labels)
	add := func(name, value string) {
		if value != "" && !slices.ContainsFunc(added, func(l export.Label) bool { return l.Name == name }) {
			added = append(added, export.Label{Name: name, Value: value})
		}
	}
	add("job", "pcp")
	host, _ := context.Lookup("hostname")
	add("instance", host)
	return added
}

// addFamily adds the samples in the lines of a family, and ends its series without a line.
func (e *encoder) addFamily(f *family, lines []byte, now int64) {
	f.next = f.next[:0]
	about, lines := cutComments(lines)
	for len(lines) > 0 {
		line := lines
		if n := bytes.IndexByte(lines, '\n'); n >= 0 {
			line = lines[:n]
		}
		lines = lines[min(len(line)+1, len(lines)):]
		space := bytes.LastIndexByte(line, ' ')
		if space < 0 {
			continue
		}
		value, err := strconv.ParseFloat(string(line[space+1:]), 64)
		if s := e.find(f, line[:space]); err == nil && s.round != e.round {
			s.round = e.round
			f.next = append(f.next, s)
			e.addSample(s, sample{now, value}, f != e.families[""])
		}
	}
	e.describeFamily(f, about, now)
	for _, s := range f.live {
		if s.round != e.round {
			e.end(f, s, now)
		}
	}
	f.live, f.next = f.next, f.live
}

// cutComments divides the lines that describe a family from its samples.
func cutComments(lines []byte) (about, samples []byte) {
	samples = lines
	for len(samples) > 0 && samples[0] == '#' {
		n := bytes.IndexByte(samples, '\n')
		if n < 0 {
			return lines, nil
		}
		samples = samples[n+1:]
	}
	return lines[:len(lines)-len(samples)], samples
}

// find returns the series of a line. In most cases it is at the same place as in the previous
// round.
func (e *encoder) find(f *family, text []byte) *series {
	if n := len(f.next); n < len(f.live) && bytes.Equal(f.live[n].text, text) {
		return f.live[n]
	}
	s := f.series[string(text)]
	if s == nil {
		s = &series{text: bytes.Clone(text), labels: e.labelsOf(text), last: f.floor}
		f.series[string(text)] = s
	}
	return s
}

// addSample adds a sample, unless it is late.
func (e *encoder) addSample(s *series, v sample, counts bool) {
	if v.at <= s.last {
		if counts {
			e.late++
		}
		return
	}
	if len(s.samples) == 0 {
		e.waiting = append(e.waiting, s)
	}
	s.last = v.at
	s.samples = append(s.samples, v)
	e.samples++
}

// end ends a series with a staleness marker.
func (e *encoder) end(f *family, s *series, now int64) {
	e.addSample(s, sample{max(now, s.last+1), staleNaN}, false)
	f.floor = max(f.floor, s.last)
	delete(f.series, string(s.text))
}

func (e *encoder) endAll(f *family, now int64) {
	for _, s := range f.live {
		e.end(f, s, now)
	}
	f.live = f.live[:0]
}

// End ends all series, as after a mark in an archive. Each ends a millisecond after the last
// snapshot, or after its own last value if that is later. Series with values in the next snapshot
// begin again.
func (e *encoder) End() {
	for _, name := range slices.Sorted(maps.Keys(e.families)) {
		e.endAll(e.families[name], e.last+1)
	}
}

// discard drops the samples that are not yet in a message, as if they had been sent.
func (e *encoder) discard() {
	for _, s := range e.waiting {
		s.samples = s.samples[:0]
	}
	clear(e.waiting)
	e.waiting, e.samples, e.metadata = e.waiting[:0], 0, e.metadata[:0]
}

// Append appends the next message, a WriteRequest, to b. It returns the number of its samples, or 0
// and no message if no samples wait.
func (e *encoder) Append(b []byte) (_ []byte, samples int) {
	if e.samples == 0 {
		return b, 0
	}
	begin := len(b)
	b = append(b, e.metadata...)
	e.metadata = e.metadata[:0]
	most := cmp.Or(e.MaxSamples, defaultMaxSamples)
	n := 0
	for _, s := range e.waiting {
		if samples > 0 && (samples+len(s.samples) > most || len(b)-begin > maxBytes) {
			break
		}
		b = appendSeries(b, s.labels, s.samples)
		samples += len(s.samples)
		s.samples = s.samples[:0]
		n++
	}
	left := copy(e.waiting, e.waiting[n:])
	clear(e.waiting[left:])
	e.waiting = e.waiting[:left]
	e.samples -= samples
	return b, samples
}
