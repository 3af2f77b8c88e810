package mmv

import (
	"math"
	"runtime/metrics"
	"time"

	"github.com/pcp-go/pcp/internal/goruntime"
	"github.com/pcp-go/pcp/pdu"
)

// AddRuntime registers the metrics of package runtime/metrics below a prefix, such as "go":
// memory, garbage collection, scheduler, mutexes. All are read together when values are read: see
// OnRead. A read takes about 50 µs and allocates nothing.
//
// The names are those of the runtime with dots: /gc/heap/live:bytes is go.gc.heap.live_bytes.
// Cumulative ones are counters. A distribution, such as /sched/latencies:seconds, is four metrics:
//
//	go.sched.latencies_seconds.buckets     count of each non-empty bucket, such as 64ns-128ns
//	go.sched.latencies_seconds.count       the sum of the buckets
//	go.sched.latencies_seconds.quantiles   p50, p90, p99 and max since the process started;
//	                                       of times, in microseconds
//	go.sched.latencies_seconds.recent      the same for the last minute
//
// One more metric, go.godebug.non_default_behavior, counts how often a setting of GODEBUG has made
// a difference. It has an instance for each setting.
//
// Package pmda/pmdago uses the same names. Its overview, such as go.goroutines, is not included;
// go.sched.goroutines_goroutines has the same value. A program with a collector can use that agent
// instead, which also exports versions, the build and the process.
//
// Each prefix can be added once. Adding it again, or an invalid prefix, is an error in Err and has
// no other effect.
func (r *Registry) AddRuntime(prefix string) {
	if !r.startRuntime(prefix) {
		return
	}
	b := &runtimeBridge{registry: r, prefix: prefix}
	var settings *Vec[Gauge]
	for _, d := range metrics.All() {
		if name, ok := goruntime.Setting(d); ok {
			if settings == nil {
				settings = b.vec("godebug.non_default_behavior", "setting",
					"How often a setting of GODEBUG made a difference", pdu.SemCounter)
			}
			b.set(d, func(v metrics.Value) { setUint(settings.With(name), v.Uint64()) })
			continue
		}
		b.add(d)
	}
	r.OnRead(b.read)
}

// startRuntime reports whether a prefix is a valid name that was not added before, and adds an
// error otherwise.
func (r *Registry) startRuntime(prefix string) bool {
	r.mu.Lock()
	defer r.unlock()
	where := r.start()
	if !isName(prefix) {
		r.fail(where, "metrics of the Go runtime below %q: %s", prefix, nameRule)
		return false
	}
	first, again := r.runtimes[prefix]
	if again {
		r.fail(where, "metrics of the Go runtime below %q: already registered at %s", prefix, site(first))
		return false
	}
	r.runtimes[prefix] = where
	return true
}

// A runtimeBridge reads the metrics of the runtime into a Registry.
type runtimeBridge struct {
	registry *Registry
	prefix   string
	samples  []metrics.Sample
	sets     []func(metrics.Value) // by sample
}

// set makes b.read read a metric of the runtime and call f with its value.
func (b *runtimeBridge) set(d metrics.Description, f func(metrics.Value)) {
	b.samples = append(b.samples, metrics.Sample{Name: d.Name})
	b.sets = append(b.sets, func(v metrics.Value) {
		if v.Kind() == d.Kind {
			f(v)
		}
	})
}

// read is called by OnRead, which has one call run at a time.
func (b *runtimeBridge) read() {
	metrics.Read(b.samples)
	for i, set := range b.sets {
		set(b.samples[i].Value)
	}
}

// add registers the metrics for one metric of the runtime.
func (b *runtimeBridge) add(d metrics.Description) {
	m := Metric{
		Text: cutText(goruntime.Sentence(d.Description), maxText), Help: cutText(d.Description, maxText),
		Units: goruntime.Units(d.Name), Sem: goruntime.Sem(d),
	}
	name := goruntime.Name(b.prefix, d.Name)
	switch d.Kind {
	case metrics.KindUint64:
		m.Type = new(pdu.TypeU64)
		g := b.registry.Gauge(name, m)
		b.set(d, func(v metrics.Value) { setUint(g, v.Uint64()) })
	case metrics.KindFloat64:
		g := b.registry.FloatGauge(name, m)
		b.set(d, func(v metrics.Value) { g.Set(v.Float64()) })
	case metrics.KindFloat64Histogram:
		b.addHistogram(name, d, m)
	}
}

// setUint stores a number of the runtime. A limit that is not set is math.MaxInt64 there.
func setUint(g *Gauge, n uint64) { g.Set(int64(min(n, math.MaxInt64))) }

// vec registers counts over a new instance domain.
func (b *runtimeBridge) vec(name, domain, text string, sem pdu.Sem) *Vec[Gauge] {
	d := b.registry.InDom(b.prefix+"."+name+"."+domain, Domain{Text: cutText(text, maxText)})
	return d.Gauge(b.prefix+"."+name, Metric{Text: cutText(text, maxText), Units: pdu.UnitCount, Sem: sem, Type: new(pdu.TypeU64)})
}

// A distribution is a histogram of the runtime as metrics.
type distribution struct {
	seconds           bool // it counts times
	bucket            *Vec[Gauge]
	buckets           []*Gauge // by index; nil for those that have counted nothing
	count             *Gauge
	quantiles, recent [len(goruntime.QuantileNames)]*FloatGauge
	window            goruntime.Window
}

// addHistogram registers the metrics that are made of a histogram.
func (b *runtimeBridge) addHistogram(name string, d metrics.Description, m Metric) {
	h := &distribution{seconds: m.Units == pdu.TimeSec}
	units := m.Units
	if h.seconds {
		units = pdu.TimeUSec
	}
	with := func(what string, u pdu.Units, t pdu.Type) Metric {
		m := m
		m.Text, m.Units, m.Type = cutText(m.Text, maxText-len(what)-2)+": "+what, u, &t
		return m
	}
	r := b.registry
	buckets := r.InDom(name+".bucket", Domain{Text: cutText("Buckets of "+name, maxText),
		Help: "Buckets that have counted something, from the lower limit up to, but not including,\nthe upper one."})
	h.bucket = buckets.Gauge(name+".buckets", with("counts by bucket", pdu.UnitCount, pdu.TypeU64))
	h.count = r.Gauge(name+".count", with("count of all", pdu.UnitCount, pdu.TypeU64))
	at := r.InDom(name+".quantile", Domain{Text: "Quantiles of a distribution",
		Help: "The values that 50, 90, 99 and 100 of 100 do not exceed."})
	m.Sem = pdu.SemInstant
	all := at.FloatGauge(name+".quantiles", with("quantiles since the start", units, pdu.TypeDouble))
	recent := at.FloatGauge(name+".recent", with("quantiles of the last minute", units, pdu.TypeDouble))
	for i, q := range goruntime.QuantileNames {
		at.Add(Instance{ID: new(pdu.InstID(i)), Name: q})
		h.quantiles[i], h.recent[i] = all.With(q), recent.With(q)
	}
	b.set(d, func(v metrics.Value) { h.set(v.Float64Histogram(), time.Now()) })
}

// set stores what a histogram has counted. If it has counted nothing, the quantiles are 0.
func (d *distribution) set(h *metrics.Float64Histogram, now time.Time) {
	if d.buckets == nil {
		d.buckets = make([]*Gauge, len(h.Counts))
	}
	var total uint64
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		if d.buckets[i] == nil {
			name := goruntime.Bucket(h, i, d.seconds)
			d.bucket.dom.Add(Instance{ID: new(pdu.InstID(i)), Name: name})
			d.buckets[i] = d.bucket.With(name)
		}
		setUint(d.buckets[i], n)
		total += n
	}
	setUint(d.count, total)
	all, _ := goruntime.Quantiles(h, nil, d.seconds)
	recent, _ := goruntime.Quantiles(h, d.window.Since(now, h.Counts), d.seconds)
	for i := range all {
		d.quantiles[i].Set(all[i])
		d.recent[i].Set(recent[i])
	}
}
