package mmv

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Histogram counts observations, such as times or sizes, by bucket. Its methods are safe for
// concurrent use. Observe is three atomic additions, without a lock or an allocation. A Histogram
// is several metrics:
//
//	NAME.bucket   number of observations in each bucket, over a separate domain. Instance
//	              "0.5..1" has those greater than 0.5 and at most 1; "..0.5" is the first
//	              bucket, "8.." the last. pdu.SemCounter
//	NAME.count    number of observations. pdu.SemCounter
//	NAME.sum      sum of the observations. pdu.SemCounter
//	NAME.p50 …    quantiles, estimated from the buckets. pdu.SemInstant
//
// Quantiles cover all observations since the program started. They never exceed the last bound, so
// bounds should go beyond the expected values. Their metrics are updated when the functions of
// Registry.OnRead are called.
//
// The rate of NAME.sum divided by the rate of NAME.count is the current mean.
//
// Over an instance domain, count, sum and quantiles have the instances of the domain. The names of
// buckets begin with the name of the instance up to its first space, as in "GET_/::0.5..1".
type Histogram struct {
	bounds    []float64
	buckets   []cell // one more than bounds
	count     cell
	sum       cell
	quantiles []cell
	at        []float64 // of quantiles
	unit      float64   // nanoseconds
}

// maxBounds is how many bounds a histogram may have.
const maxBounds = 500

// LinearBuckets returns n bounds: start, start+width, start+2·width and so on.
func LinearBuckets(start, width float64, n int) []float64 {
	bounds := make([]float64, max(n, 0))
	for i := range bounds {
		bounds[i] = start + float64(i)*width
	}
	return bounds
}

// ExponentialBuckets returns n bounds: start, start·factor, start·factor² and so on.
func ExponentialBuckets(start, factor float64, n int) []float64 {
	bounds := make([]float64, max(n, 0))
	for i := range bounds {
		bounds[i] = start * math.Pow(factor, float64(i))
	}
	return bounds
}

// A histogramSpec is what all histograms of one registration have in common.
type histogramSpec struct {
	unit      float64 // nanoseconds
	bounds    []float64
	at        []float64
	names     []string // of buckets
	domain    *InDom   // of buckets
	bucket    *metric
	count     *metric
	sum       *metric
	quantiles []*metric
}

// Histogram registers a histogram and returns its handle. Bounds are the upper bounds of the
// buckets, ascending and finite. One more bucket has the observations above the last bound.
// Quantiles are numbers between 0 and 1; the default is 0.5, 0.9 and 0.99. The metric of 0.999 is
// NAME.p99_9.
//
// Units of m are those of the observations. Text of m is used for all metrics. Type and Sem must
// not be set. If Item is set, the metrics have it and the following numbers, in the order of the
// list at the type Histogram.
func (r *Registry) Histogram(name string, m Metric, bounds []float64, quantiles ...float64) *Histogram {
	r.mu.Lock()
	defer r.unlock()
	where := r.start()
	spec := r.histogram(where, name, m, nil, bounds, quantiles)
	h := spec.create(where, nil)
	r.grow()
	return h
}

// Histogram registers a histogram over the domain: see Registry.Histogram.
func (d *InDom) Histogram(name string, m Metric, bounds []float64, quantiles ...float64) *Vec[Histogram] {
	r := d.registry
	r.mu.Lock()
	defer r.unlock()
	spec := r.histogram(r.start(), name, m, d, bounds, quantiles)
	r.grow()
	return newVec(d, spec.create)
}

// histogram registers the metrics of histograms.
func (r *Registry) histogram(where uintptr, name string, m Metric, d *InDom, bounds, quantiles []float64) *histogramSpec {
	bounds, at, err := checkBuckets(bounds, quantiles)
	if err != nil {
		r.fail(where, "histogram %q: %w", name, err)
	}
	if m.Type != nil || m.Sem != 0 {
		r.fail(where, "histogram %q: Type and Sem must not be set", name)
		m.Type, m.Sem = nil, 0
	}
	s := &histogramSpec{unit: timeUnit(m.Units), bounds: bounds, at: at, names: bucketNames(bounds)}
	s.domain = r.inDom(where, name+".bucket", Domain{Text: cutText("Buckets of "+name, maxText)})
	of := func(suffix, what string, units pdu.Units, k class, d *InDom) *metric {
		spec := m
		spec.Units = units
		if spec.Text != "" {
			spec.Text = cutText(spec.Text, maxText-len(what)-2) + ": " + what
		}
		if m.Item != 0 {
			m.Item++
		}
		return r.metric(where, name+"."+suffix, spec, k, d)
	}
	s.bucket = of("bucket", "observations by bucket", pdu.UnitCount, counterClass, s.domain)
	s.count = of("count", "observations", pdu.UnitCount, counterClass, d)
	s.sum = of("sum", "sum of observations", m.Units, floatCounterClass, d)
	for _, q := range at {
		percent := strconv.FormatFloat(100*q, 'g', 6, 64)
		suffix := "p" + strings.ReplaceAll(percent, ".", "_")
		s.quantiles = append(s.quantiles, of(suffix, percent+" % quantile", m.Units, floatGaugeClass, d))
	}
	return s
}

// checkBuckets returns usable bounds and quantiles, and an error for the invalid ones.
func checkBuckets(bounds, quantiles []float64) (b, q []float64, err error) {
	b, q = slices.Clone(bounds), slices.Clone(quantiles)
	if len(q) == 0 {
		q = []float64{0.5, 0.9, 0.99}
	}
	for _, x := range q {
		if !(x > 0 && x < 1) {
			return []float64{1}, nil, fmt.Errorf("quantile %v is not between 0 and 1", x)
		}
	}
	if len(b) == 0 || len(b) > maxBounds {
		return []float64{1}, nil, fmt.Errorf("%d bounds, there may be 1 to %d", len(b), maxBounds)
	}
	for i, x := range b {
		if math.IsInf(x, 0) || x != x || i > 0 && x <= b[i-1] {
			return []float64{1}, nil, fmt.Errorf("bound %v: bounds must ascend and be finite", x)
		}
	}
	return b, q, nil
}

// bucketNames are the names of the instances.
func bucketNames(bounds []float64) []string {
	names := make([]string, 0, len(bounds)+1)
	last := ""
	for _, b := range bounds {
		s := strconv.FormatFloat(b, 'g', -1, 64)
		names = append(names, last+".."+s)
		last = s
	}
	return append(names, last+"..")
}

// create returns a histogram for an instance. in is nil for a singular histogram.
func (s *histogramSpec) create(where uintptr, in *instance) *Histogram {
	h := &Histogram{bounds: s.bounds, at: s.at, unit: s.unit,
		buckets: make([]cell, len(s.names)), quantiles: make([]cell, len(s.at))}
	r := s.bucket.registry
	for i := range h.buckets {
		name, id := s.names[i], pdu.InstID(i)
		if in != nil {
			name, id = firstWord(in.name)+"::"+name, autoID
		}
		bucket := &instance{dom: s.domain, bad: true}
		if in == nil || !in.bad {
			bucket = s.domain.instance(where, name, id)
		}
		if in != nil {
			in.children = append(in.children, bucket)
		}
		h.buckets[i].init(s.bucket, bucket)
		r.add(&h.buckets[i])
	}
	h.count.init(s.count, in)
	r.add(&h.count)
	h.sum.init(s.sum, in)
	r.add(&h.sum)
	for i := range h.quantiles {
		h.quantiles[i].init(s.quantiles[i], in)
		r.add(&h.quantiles[i])
	}
	if len(h.quantiles) > 0 {
		r.histograms[h] = in
	}
	return h
}

// Observe counts an observation. A NaN is not counted.
func (h *Histogram) Observe(f float64) {
	if f != f || len(h.buckets) == 0 {
		return
	}
	bucket := &h.buckets[h.bucket(f)]
	// All lookups come before the first addition: processors start no load before an atomic
	// addition is over.
	b, n, s := bucket.slot.Load(), h.count.slot.Load(), h.sum.slot.Load()
	inBucket, inAll, sum := &b.record[0], &n.record[0], &s.record[0]
	old := atomic.LoadUint64(sum)
	if !atomic.CompareAndSwapUint64(sum, old, math.Float64bits(math.Float64frombits(old)+f)) {
		s.addFloat(typeDouble, f)
	}
	atomic.AddUint64(inBucket, 1)
	atomic.AddUint64(inAll, 1)
	if s.moved.Load() {
		h.sum.carry(s)
	}
	if b.moved.Load() {
		bucket.carry(b)
	}
	if n.moved.Load() {
		h.count.carry(n)
	}
}

// ObserveDuration counts an observation of a time, in the metric's Units: 1.5 s is 1500 if they are
// pdu.TimeMSec. It is in seconds if they have no dimension of time.
//
//	defer func(start time.Time) { latency.ObserveDuration(time.Since(start)) }(time.Now())
func (h *Histogram) ObserveDuration(d time.Duration) { h.Observe(float64(d) / h.unit) }

// timeUnit returns the length of the unit of time in nanoseconds, or that of a second if u has no
// known unit of time.
func timeUnit(u pdu.Units) float64 {
	scales := [...]time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour}
	if u.DimTime() == 0 || u.ScaleTime() >= len(scales) {
		return float64(time.Second)
	}
	return float64(scales[u.ScaleTime()])
}

// bucket is the index of the bucket of f: how many bounds are less than f.
func (h *Histogram) bucket(f float64) int {
	low, n := 0, len(h.bounds)
	for n > 0 {
		half := n / 2
		if h.bounds[low+half] < f {
			low += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return low
}

// Count is how many observations there were.
func (h *Histogram) Count() uint64 { return h.count.word() }

// Sum is the sum of all observations.
func (h *Histogram) Sum() float64 { return typeDouble.float(h.sum.word()) }

// Quantile estimates the value that a fraction q of all observations does not exceed: 0.5 is for
// the median. It takes observations to be spread evenly over their bucket. The first bucket begins
// at 0, or at its bound if that is negative. Observations above the last bound count as the last
// bound. Without observations the result is 0.
func (h *Histogram) Quantile(q float64) float64 {
	var counts bucketCounts
	return quantile(h.bounds, h.countBuckets(&counts), q)
}

// bucketCounts has room for the observations in each bucket.
type bucketCounts [maxBounds + 1]uint64

// countBuckets reads how many observations are in each bucket.
func (h *Histogram) countBuckets(room *bucketCounts) []uint64 {
	counts := room[:len(h.buckets)]
	for i := range counts {
		counts[i] = h.buckets[i].word()
	}
	return counts
}

func quantile(bounds []float64, counts []uint64, q float64) float64 {
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank := min(max(q, 0), 1) * float64(total)
	below := uint64(0)
	for i, n := range counts[:len(bounds)] {
		if n > 0 && float64(below+n) >= rank {
			low := min(bounds[0], 0)
			if i > 0 {
				low = bounds[i-1]
			} else if bounds[0] < 0 {
				low = bounds[0]
			}
			return low + (bounds[i]-low)*(rank-float64(below))/float64(n)
		}
		below += n
	}
	return bounds[len(bounds)-1]
}

// updateQuantiles stores the quantiles.
func (h *Histogram) updateQuantiles() {
	var room bucketCounts
	counts := h.countBuckets(&room)
	for i := range h.quantiles {
		h.quantiles[i].set(typeDouble.bits(quantile(h.bounds, counts, h.at[i])))
	}
}
