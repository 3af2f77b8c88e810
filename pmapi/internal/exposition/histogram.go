package exposition

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// buckets describes a metric whose instances are buckets.
type buckets struct {
	cumulative bool
	bound      base.Conversion // conversion of the upper bounds
	sum        string          // name of the metric with the sum, or ""
}

// findBuckets makes a family a histogram if its labels say so.
func (f *family) findBuckets() {
	m := f.metric
	how, _ := m.Labels.Lookup("buckets")
	if m.InDom == nil || how != "cumulative" && how != "disjoint" {
		return
	}
	units := m.Desc.Units
	if text, ok := m.Labels.Lookup("le_unit"); ok {
		u, mult, err := pdu.ParseUnits(text)
		if err != nil || mult != 1 {
			return
		}
		units = u
	}
	f.bucket = &buckets{cumulative: how == "cumulative", bound: base.Same}
	sum, _ := m.Labels.Lookup("sum_metric")
	if sum != "" && !strings.Contains(sum, ".") {
		sum = m.Name[:strings.LastIndexByte(m.Name, '.')+1] + sum
	}
	f.bucket.sum = sum
	if c, ok := base.From(units); ok {
		f.bucket.bound = c
	}
	if f.kind == base.Counter {
		f.kind = base.Histogram
	} else {
		f.kind = base.GaugeHistogram
	}
	// A histogram counts, but its name has the unit of the observed values.
	f.conv = f.bucket.bound
}

// A bucket is one instance of a histogram.
type bucket struct {
	le    float64
	count base.Number
}

// boundOf returns the upper bound of an instance, from its label "le".
func (b *buckets) boundOf(inst *export.Instance) (le float64, ok bool) {
	text, ok := inst.Labels.Lookup("le")
	if !ok {
		return 0, false
	}
	le, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(le) {
		return 0, false
	}
	return b.bound.Float(le), true
}

// A group holds the buckets of one histogram: their other labels are equal.
type group struct {
	labels  []label
	key     string // the encoded labels
	buckets []bucket
}

// appendHistograms writes the histograms of a metric. It returns ok false if the instances are not
// buckets. sum finds the values of other metrics by name.
func (e *Encoder) appendHistograms(b []byte, f *family, values pdu.ValueSet, sum func(name string) (base.Number, bool)) (_ []byte, ok bool) {
	groups, ok := e.groups(f, values)
	if !ok {
		return b, false
	}
	if len(groups) > 1 {
		sum = func(string) (base.Number, bool) { return base.Number{}, false } // it would be that of all
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
		n, isNumber := base.NumberOf(a)
		if !hasBound || !isNumber || n.Neg || !n.IsInt && (math.IsInf(n.Float, 1) || n.Float != math.Trunc(n.Float)) {
			return nil, false
		}
		labels := sorted(slices.DeleteFunc(e.labelsOf(f.metric.Labels, inst.Labels), func(l label) bool {
			return l.pcp == "le" || l.pcp == "buckets" || l.pcp == "le_unit" || l.pcp == "sum_metric"
		}))
		key := string(e.appendSeries(nil, "", labels))
		g := byKey[key]
		if g == nil {
			g = &group{labels: labels, key: key}
			byKey[key] = g
			groups = append(groups, g)
		}
		g.buckets = append(g.buckets, bucket{le, n})
	}
	slices.SortFunc(groups, func(a, b *group) int { return strings.Compare(a.key, b.key) })
	return groups, true
}

// cumulate sorts the buckets of a group and adds one for +Inf. It makes their counts cumulative
// unless they are already. It returns ok false if two buckets have the same bound, or if cumulative
// counts fall.
func (g *group) cumulate(are bool) (total base.Number, ok bool) {
	slices.SortFunc(g.buckets, func(a, b bucket) int { return cmp.Compare(a.le, b.le) })
	total = base.Number{IsInt: true}
	for i := range g.buckets {
		this := &g.buckets[i]
		if i > 0 && this.le == g.buckets[i-1].le {
			return total, false
		}
		if !are {
			this.count = total.Plus(this.count)
		} else if this.count.Float < total.Float {
			return total, false
		}
		total = this.count
	}
	if !math.IsInf(g.buckets[len(g.buckets)-1].le, 1) {
		g.buckets = append(g.buckets, bucket{math.Inf(1), total})
	}
	return total, true
}

// appendHistogram writes a histogram. It returns ok false if the values are not those of a
// histogram.
func (e *Encoder) appendHistogram(b []byte, f *family, g *group, sum func(name string) (base.Number, bool)) (_ []byte, ok bool) {
	total, ok := g.cumulate(f.bucket.cumulative)
	if !ok {
		return b, false
	}
	if e.written+len(g.buckets)+2 > e.limit() { // a truncated histogram would be a different one
		e.truncated = true
		return b, true
	}
	bucketName, count, summed := f.name+"_bucket", "_count", "_sum"
	switch {
	case f.kind == base.GaugeHistogram && e.Format != OpenMetrics:
		bucketName, count = f.name, ""
	case f.kind == base.GaugeHistogram:
		count, summed = "_gcount", "_gsum"
	}
	for _, this := range g.buckets {
		labels := sorted(append(slices.Clone(g.labels), label{"le", e.boundText(this.le), "le"}))
		b = append(e.appendSeries(b, bucketName, labels), ' ')
		b = e.endSample(b, this.count)
	}
	if count == "" {
		return b, true
	}
	b = append(e.appendSeries(b, f.name+count, g.labels), ' ')
	b = e.endSample(b, total)
	if v, found := sum(f.bucket.sum); found && !v.Neg && !math.IsNaN(v.Float) && g.buckets[0].le >= 0 {
		b = append(e.appendSeries(b, f.name+summed, g.labels), ' ')
		b = e.endSample(b, v)
	}
	return b, true
}

// boundText returns the bound of a bucket, in OpenMetrics always with a point or an exponent.
func (e *Encoder) boundText(le float64) string {
	text := string(base.Number{Float: le}.Append(nil))
	if e.Format == OpenMetrics && !strings.ContainsAny(text, ".eI") {
		text += ".0"
	}
	return text
}
