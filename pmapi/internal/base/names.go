package base

import (
	"slices"
	"strconv"
	"strings"
)

// A Shape says which samples a metric has in Prometheus.
type Shape int

// The shapes of metrics.
const (
	Counter Shape = iota
	Gauge
	Info
	Histogram
	GaugeHistogram
)

// suffix is what names of samples end with.
func (s Shape) suffix() string {
	switch s {
	case Counter:
		return "_total"
	case Info:
		return "_info"
	}
	return ""
}

// A Name is the name of a metric in Prometheus, in parts.
type Name struct {
	Stem  string // the name in PCP without Unit and suffix
	Unit  string // of the values, as Conversion has it
	Shape Shape
}

// NameOf returns the name of a metric. A unit and a suffix that the name in PCP has already are not
// repeated.
func NameOf(pcp, unit string, shape Shape) Name {
	stem := withoutSuffix(pcp, shape.suffix())
	if unit != "" {
		stem = withoutSuffix(stem, "_"+unit)
	}
	return Name{stem, unit, shape}
}

// withoutSuffix removes a suffix, be it "_total" or ".total", unless it is the whole name.
func withoutSuffix(name, suffix string) string {
	n := len(name) - len(suffix)
	if suffix != "" && n > 0 && name[n+1:] == suffix[1:] && (name[n] == '_' || name[n] == '.') {
		return name[:n]
	}
	return name
}

// Write returns the names of the family and of its samples, written with a function such as
// Underscores.
func (n Name) Write(escape func(string) string) (family, sample string) {
	name := n.Stem
	if n.Unit != "" {
		name += "_" + n.Unit
	}
	sample = escape(name + n.Shape.suffix())
	return strings.TrimSuffix(sample, n.Shape.suffix()), sample
}

// Names are the names of the metrics of a source. No sample of a metric has the name of a sample of
// another. The zero Names is ready for use.
type Names struct {
	taken map[string]bool
	last  map[string]int // the last number after a name
}

// The names of what a page says about its host and itself.
const (
	TargetInfo     = "target_info"
	ScrapeDuration = "pcp_gateway_scrape_duration_seconds"
	MetricsFailed  = "pcp_gateway_metrics_failed"
	DroppedSamples = "pcp_gateway_dropped_samples" // a counter
	Truncated      = "pcp_gateway_truncated"
)

// ReservePage reserves the names that a page has for itself. All exporters do so, because a metric
// has one name in all of them.
func (t *Names) ReservePage() {
	t.reserve("target", TargetInfo)
	t.reserve(ScrapeDuration, MetricsFailed, Truncated)
	t.reserve(samples(Counter, DroppedSamples, DroppedSamples+"_total")...)
}

// reserve keeps names of samples from metrics that are added later.
func (t *Names) reserve(samples ...string) {
	if t.taken == nil {
		t.taken, t.last = map[string]bool{}, map[string]int{}
	}
	for _, s := range samples {
		t.taken[s] = true
	}
}

// Add returns n. If another metric has one of its names, the stem is followed by "_2", "_3" and so
// on. The caller adds metrics in the order of their names in PCP, so that the order of the name
// space makes no difference.
func (t *Names) Add(n Name, escape func(string) string) (_ Name, numbered bool) {
	stem := n.Stem
	family, sample := n.Write(escape)
	key := sample
	for t.anyTaken(n.Shape, family, sample) {
		t.last[key] = max(t.last[key]+1, 2)
		n.Stem = stem + "_" + strconv.Itoa(t.last[key])
		family, sample = n.Write(escape)
		numbered = true
	}
	t.reserve(samples(n.Shape, family, sample)...)
	return n, numbered
}

func (t *Names) anyTaken(s Shape, family, sample string) bool {
	return slices.ContainsFunc(samples(s, family, sample), func(name string) bool { return t.taken[name] })
}

// samples are the names that a metric has in one of the formats, or could have.
func samples(s Shape, family, sample string) []string {
	switch s {
	case Counter:
		return []string{family, sample, family + "_created"}
	case Info:
		return []string{family, sample}
	case Histogram:
		return []string{family, family + "_bucket", family + "_count", family + "_sum", family + "_created"}
	case GaugeHistogram:
		return []string{family, family + "_bucket", family + "_gcount", family + "_gsum"}
	}
	return []string{sample}
}

// IsNameRune reports whether names of Prometheus have r, at their beginning or after it.
func IsNameRune(r rune, first bool) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || !first && r >= '0' && r <= '9'
}

// Underscores writes "_" for all that names of Prometheus do not have, and before a digit at the
// beginning.
func Underscores(name string) string { return WithDots(name, '_') }

// WithDots is like Underscores, but writes dot for each dot.
func WithDots(name string, dot byte) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '.':
			b.WriteByte(dot)
		case IsNameRune(r, i == 0):
			b.WriteRune(r)
		case i == 0 && r >= '0' && r <= '9':
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}
