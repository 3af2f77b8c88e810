package report

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Metric is a metric of a report.
type Metric struct {
	Name      string
	Label     string // the heading
	Desc      pdu.Desc
	Unit      string // the text of its units in headings: "count/s", empty for none
	Raw       bool   // it is no rate, although it may be a counter
	Width     int    // of its columns
	Precision int    // digits after the decimal point
	// Instances are those known at the start, in the order of the columns: after the filters,
	// perhaps with repetitions. A singular metric has one, pdu.NoInst without a name.
	Instances []pdu.Instance
	// Labels are the texts of the labels of instances, of pdu.NoInst for a singular metric:
	// "{'name':'value'}". They are there only with Options.IncludeLabels; an instance that is
	// missing has "{}".
	Labels map[pdu.InstID]string
}

// Singular reports whether the metric has no instances.
func (m *Metric) Singular() bool { return m.Desc.InDom == pdu.NoInDom }

// A Value is the value of an instance in a Sample, after conversion to rates and units. Its Atom is
// of type pdu.TypeDouble if it has been converted, of the metric's type otherwise: one of 32, U32,
// 64, U64, FLOAT, DOUBLE and STRING. The memory of a string is that of the sample.
type Value struct {
	Inst pdu.Instance
	Atom pdu.Atom
}

// A Sample is the values at one time. It is valid until the next one.
type Sample struct {
	Time time.Time
	// Values are those of each metric of the report, in their order: the values that filters,
	// predicates, limits and ranking leave, in the order of the report. An instance without a value
	// is not among them.
	Values [][]Value
}

// A SortKey is a metric whose values determine the order of the rows of instances.
type SortKey struct {
	Metric    int // its index
	Ascending bool
}

// A Header describes a report. It is valid until the end of the report.
type Header struct {
	Metrics []Metric
	Sort    []SortKey
	Columns int // Metrics' instances in all

	Archive  string         // the name of the archives; empty for a live source
	Local    bool           // a local context
	Host     string         // whose metrics these are
	Location *time.Location // in which times are reported
	Start    time.Time      // of the first sample
	End      time.Time      // of the archives; or when a live report ends, zero for never
	Samples  int            // 0 for no end
	Interval time.Duration
	Duration time.Duration // 0 if there is no end
}

// A Ranked is a value of an overall ranking.
type Ranked struct {
	Metric int // its index
	Value  Value
}

// A Printer writes a report. Its methods write whole lines; the writer below is flushed by the
// caller. An error is that of the writer.
type Printer interface {
	// Start is called once, before the first sample: it writes the headers that do not depend on
	// values.
	Start(h *Header) error
	// Print writes a sample.
	Print(s *Sample) error
	// Update is called when the metrics have changed, which only dynamic headers allow.
	Update(h *Header) error
	// Rank writes an overall ranking, in the place of samples.
	Rank(ranking []Ranked) error
	// Resize says how many rows the terminal has now, for RepeatAuto. It is called before Start,
	// too.
	Resize(rows int)
	// Finish is called once, after the last sample.
	Finish() error
}
