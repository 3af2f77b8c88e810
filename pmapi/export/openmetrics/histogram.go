package openmetrics

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// buckets are how the instances of a metric are those of a histogram.
type buckets struct {
	cumulative bool
	bound      conversion // of upper bounds
	sum        string     // the name of the metric that has the sum; ""
}

// findBuckets makes a histogram of a family whose labels say so.
func (f *family) findBuckets() {
	m := f.metric
	how, _ := m.Labels.Lookup("buckets")
	if m.InDom == nil || how != "cumulative" && how != "disjoint" {
		return
	}
	f.bucket = &buckets{cumulative: how == "cumulative", bound: same}
	f.bucket.sum, _ = m.Labels.Lookup("sum_metric")
	units := m.Desc.Units
	if text, ok := m.Labels.Lookup("le_unit"); ok {
		if u, mult, err := pdu.ParseUnits(text); err == nil && mult == 1 {
			units = u
		}
	}
	if c, ok := toBase(units); ok {
		f.bucket.bound = c
	}
	if f.kind == counter {
		f.kind = histogram
	} else {
		f.kind = gaugeHistogram
	}
	// A histogram counts; its name has the unit of what is observed.
	f.conv = conversion{suffix: f.bucket.bound.suffix, unit: f.bucket.bound.unit, mul: f.conv.mul, div: f.conv.div}
}

// A bucket is one instance of a histogram.
type bucket struct {
	le    float64
	count number
}

// boundOf is the upper bound of an instance, by its label "le".
func (b *buckets) boundOf(inst *export.Instance) (le float64, ok bool) {
	text, ok := inst.Labels.Lookup("le")
	if !ok {
		return 0, false
	}
	le, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(le) {
		return 0, false
	}
	return le*b.bound.mul/b.bound.div - b.bound.sub, true
}

// A group of buckets is one histogram: those whose other labels are equal.
type group struct {
	labels  []label
	key     string
	buckets []bucket
}

// appendHistograms writes the histograms of a metric; ok is false if its instances are no buckets after all. sums are the values of
// all metrics by name.
func (e *Encoder) appendHistograms(b []byte, f *family, values pdu.ValueSet, sum func(name string) (number, bool)) (_ []byte, ok bool) {
	groups, ok := e.groups(f, values)
	if !ok {
		return b, false
	}
	for _, g := range groups {
		if b, ok = e.appendHistogram(b, f, g, sum); !ok {
			return b, false
		}
	}
	return b, true
}

func (e *Encoder) groups(f *family, values pdu.ValueSet) (groups []*group, ok bool) {
	byKey := map[string]*group{}
	for id, a := range values.All(f.metric.Desc.Type) {
		inst := f.metric.InDom.Instance(id)
		le, hasBound := f.bucket.boundOf(inst)
		n, isNumber := numberOf(a)
		if !hasBound || !isNumber || n.neg || math.IsNaN(n.float) {
			return nil, false
		}
		own, err := pdu.MergeLabels(func(l pdu.NamedLabel) bool { return l.Name != "le" }, inst.Labels)
		if err != nil {
			return nil, false
		}
		g := byKey[own.String()]
		if g == nil {
			labels := slices.DeleteFunc(e.labelsOf(f.metric.Labels, own), func(l label) bool {
				return l.pcp == "buckets" || l.pcp == "le_unit" || l.pcp == "sum_metric"
			})
			g = &group{labels: sorted(labels), key: own.String()}
			byKey[g.key] = g
			groups = append(groups, g)
		}
		g.buckets = append(g.buckets, bucket{le, n})
	}
	slices.SortFunc(groups, func(a, b *group) int { return strings.Compare(a.key, b.key) })
	return groups, true
}

// appendHistogram writes one; ok is false if two buckets have one bound, or counts fall that must not.
func (e *Encoder) appendHistogram(b []byte, f *family, g *group, sum func(name string) (number, bool)) (_ []byte, ok bool) {
	slices.SortFunc(g.buckets, func(a, b bucket) int {
		switch {
		case a.le < b.le:
			return -1
		case a.le > b.le:
			return 1
		}
		return 0
	})
	total := number{isInt: true}
	for i := range g.buckets {
		this := &g.buckets[i]
		if i > 0 && this.le == g.buckets[i-1].le {
			return b, false
		}
		if f.bucket.cumulative {
			if this.count.float < total.float {
				return b, false
			}
			total = this.count
			continue
		}
		total = total.plus(this.count)
		this.count = total
	}
	if n := len(g.buckets); n == 0 || !math.IsInf(g.buckets[n-1].le, 1) {
		g.buckets = append(g.buckets, bucket{math.Inf(1), total})
	}
	count, summed := "_count", "_sum"
	if f.kind == gaugeHistogram {
		count, summed = "_gcount", "_gsum"
	}
	sample := f.name + "_bucket"
	plainGauge := f.kind == gaugeHistogram && e.Format != OpenMetrics
	if plainGauge {
		sample = f.name
	}
	for _, this := range g.buckets {
		labels := sorted(append(slices.Clone(g.labels), label{"le", e.boundText(this.le), "le"}))
		b = append(e.appendSeries(b, sample, labels), ' ')
		b = append(this.count.append(b), '\n')
		e.written++
	}
	if plainGauge {
		return b, true
	}
	b = append(e.appendSeries(b, f.name+count, g.labels), ' ')
	b = append(total.append(b), '\n')
	if v, found := sum(f.bucket.sum); found && g.buckets[0].le >= 0 {
		b = append(e.appendSeries(b, f.name+summed, g.labels), ' ')
		b = append(v.append(b), '\n')
	}
	return b, true
}

func (n number) plus(m number) number {
	if n.isInt && m.isInt && n.integer+m.integer >= n.integer {
		n.integer += m.integer
		n.float = float64(n.integer)
		return n
	}
	return number{float: n.float + m.float}
}

// boundText writes the bound of a bucket, in OpenMetrics always with a point or an exponent.
func (e *Encoder) boundText(le float64) string {
	text := string(number{float: le}.append(nil))
	if e.Format == OpenMetrics && !strings.ContainsAny(text, ".eI") {
		text += ".0"
	}
	return text
}
