package pmdago

import (
	"context"
	"math"
	"runtime/metrics"

	"github.com/pcp-go/pcp/internal/goruntime"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A histogram is a histogram of the runtime. Its non-empty buckets are instances, whose IDs are
// their indexes among all buckets. The limits of the buckets never change.
type histogram struct {
	reading *reading
	seconds bool      // it counts times
	limits  []float64 // of the buckets, one more than buckets
	indom   pmda.InDom
	recent  goruntime.Window
}

// value returns the histogram from the last read, or nil if the metric was not a histogram then.
func (h *histogram) value() *metrics.Float64Histogram {
	if v := h.reading.sample.Value; v.Kind() == metrics.KindFloat64Histogram {
		return v.Float64Histogram()
	}
	return nil
}

// list adds instances for buckets that are no longer empty.
func (h *histogram) list() {
	v := h.value()
	if v == nil {
		return
	}
	if h.listed(v.Counts) {
		return
	}
	var insts []pdu.Instance
	before := h.indom.Instances()
	for i, c := range v.Counts {
		switch {
		case c == 0:
		case len(before) > 0 && before[0].ID == pdu.InstID(i): // it already has a name
			insts, before = append(insts, before[0]), before[1:]
		default:
			insts = append(insts, pdu.Instance{ID: pdu.InstID(i), Name: goruntime.Bucket(v, i, h.seconds)})
		}
	}
	h.indom.SetInstances(insts...) // names differ, since limits ascend
}

// listed reports whether the non-empty buckets are the instances.
func (h *histogram) listed(counts []uint64) bool {
	list := h.indom.Instances()
	for i, c := range counts {
		if c == 0 {
			continue
		}
		if len(list) == 0 || list[0].ID != pdu.InstID(i) {
			return false
		}
		list = list[1:]
	}
	return len(list) == 0
}

// labels returns the limits of a bucket as labels. An infinite limit has no label, because JSON
// cannot express it.
func (h *histogram) labels(i pdu.Instance) string {
	lower, upper := h.limits[i.ID], h.limits[i.ID+1]
	all := map[string]any{}
	if !math.IsInf(lower, 0) {
		all["ge"] = lower
	}
	if !math.IsInf(upper, 0) {
		all["lt"] = upper
	}
	return pmda.LabelJSON(all)
}

// addHistogram adds the metrics of a histogram.
func (a *agent) addHistogram(rd *reading, d metrics.Description, at place) {
	h := &histogram{reading: rd, seconds: goruntime.Units(d.Name) == pdu.TimeSec}
	rd.hist = h
	a.want(rd)
	a.read()
	if v := h.value(); v != nil {
		h.limits = v.Buckets
	}
	a.histograms[at.serial] = h
	units := goruntime.Units(d.Name)
	if h.seconds {
		units = pdu.TimeUSec
	}
	name, line := a.name(d.Name), goruntime.Sentence(d.Description)
	h.indom.Name, h.indom.Serial = "bucket", pmda.InDomSerial(at.serial)
	h.indom.Text = "Buckets of " + name
	h.indom.Help = "Buckets that have counted something, from the lower limit up to, but not including,\nthe upper one. The labels ge and lt have the limits as numbers."
	h.indom.InstanceLabels = h.labels
	a.Attach(&h.indom)
	pmda.Register(a.Agent, pmda.Metric[uint64]{
		Name: name + ".buckets", Text: line + ": counts by bucket", Help: d.Description,
		ID: a.file(rd, at, clusterBuckets), Sem: goruntime.Sem(d), Units: pdu.UnitCount, InDom: &h.indom, Values: h.buckets,
	})
	pmda.Register(a.Agent, pmda.Metric[uint64]{
		Name: name + ".count", Text: line + ": count of all", Help: d.Description,
		ID: a.file(rd, at, clusterCount), Sem: goruntime.Sem(d), Units: pdu.UnitCount, Value: h.count,
	})
	pmda.Register(a.Agent, pmda.Metric[float64]{
		Name: name + ".quantiles", Text: line + ": quantiles since the start", Help: d.Description + sinceStart,
		ID: a.file(rd, at, clusterQuantiles), Units: units, InDom: a.quantiles,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[float64]) error {
			if v := h.value(); v != nil {
				putQuantiles(s, v, nil, h.seconds)
			}
			return nil
		},
	})
	pmda.Register(a.Agent, pmda.Metric[float64]{
		Name: name + ".recent", Text: line + ": quantiles of the last minute", Help: d.Description + sinceMinute,
		ID: a.file(rd, at, clusterRecent), Units: units, InDom: a.quantiles,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[float64]) error {
			if v := h.value(); v != nil {
				putQuantiles(s, v, h.recent.Since(a.now(), v.Counts), h.seconds)
			}
			return nil
		},
	})
}

const (
	sinceStart = `

Quantiles of all that was counted since the process began. They are as exact as
the buckets: a value is the upper limit of the bucket that the quantile is in,
and so never too low; of the last bucket, which has none, it is the lower limit.`
	sinceMinute = `

Quantiles of what was counted lately: since the newest look at this metric, by
whichever client, that is a minute old. Without such a look it is the oldest, or
the start of the process if there is none. Values are as those of quantiles.`
)

// buckets adds the counts of the instances.
func (h *histogram) buckets(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
	if v := h.value(); v != nil {
		for i, c := range v.Counts {
			if c > 0 {
				s.Put(pdu.InstID(i), c)
			}
		}
	}
	return nil
}

// count returns the sum of all counts.
func (h *histogram) count(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
	v := h.value()
	if v == nil {
		return 0, pmda.NoValue
	}
	var n uint64
	for _, c := range v.Counts {
		n += c
	}
	return n, nil
}
