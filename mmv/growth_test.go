//go:build unix

package mmv_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// A load is goroutines that update a counter, a float counter, a gauge, a timer and a histogram
// until it is stopped.
type load struct {
	counter *mmv.Counter
	narrow  *mmv.Counter // 32 bits: it wraps
	floats  *mmv.FloatCounter
	gauge   *mmv.Gauge
	last    *mmv.Gauge // set to ascending numbers by one goroutine
	timer   *mmv.Timer
	hist    *mmv.Histogram
	done    atomic.Bool
	wg      sync.WaitGroup
	adds    atomic.Uint64
	sum     atomic.Int64
	lost    atomic.Int64 // values of last that were not there after Set
}

func startLoad(r *mmv.Registry) *load {
	l := &load{
		counter: r.Counter("counter", mmv.Metric{}),
		narrow:  r.Counter("narrow", mmv.Metric{Type: new(pdu.TypeU32)}),
		floats:  r.FloatCounter("floats", mmv.Metric{}),
		gauge:   r.Gauge("gauge", mmv.Metric{}),
		last:    r.Gauge("last", mmv.Metric{}),
		timer:   r.Timer("timer", mmv.Metric{}),
		hist:    r.Histogram("hist", mmv.Metric{}, mmv.LinearBuckets(10, 10, 9)),
	}
	for range 8 {
		l.wg.Go(l.updates)
	}
	l.wg.Go(func() {
		for n := uint64(1); !l.done.Load(); n++ {
			l.last.Set(int64(n))
			if got := l.last.Value(); got != int64(n) {
				l.lost.Add(1)
			}
			l.rest(n)
		}
	})
	return l
}

// rest leaves some of the processors to others.
func (l *load) rest(i uint64) {
	if i%16 == 0 {
		time.Sleep(200 * time.Microsecond)
	}
}

func (l *load) updates() {
	for i := uint64(1); !l.done.Load(); i++ {
		span := l.timer.Start()
		l.counter.Add(i)
		l.narrow.Add(i << 24)
		l.floats.Add(0.5)
		l.gauge.Add(3)
		l.gauge.Add(-2)
		l.hist.Observe(float64(i % 100))
		l.adds.Add(1)
		l.sum.Add(int64(i))
		span.Stop()
		l.rest(i)
	}
}

// stop ends the load and compares the values with what was added.
func (l *load) stop(t *testing.T) {
	t.Helper()
	l.done.Store(true)
	l.wg.Wait()
	n, sum := l.adds.Load(), uint64(l.sum.Load())
	equal := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	equal("counter", l.counter.Value(), sum)
	equal("narrow counter", l.narrow.Value(), uint64(uint32(sum<<24)))
	equal("float counter", l.floats.Value(), float64(n)/2)
	equal("gauge", l.gauge.Value(), int64(n))
	equal("histogram's count", l.hist.Count(), n)
	equal("values that were set and lost", l.lost.Load(), int64(0))
}

// A monitor samples a registry and fails the test when a value goes back.
type monitor struct {
	name    string
	last    map[string]float64
	samples int
}

// sample reads all values. It reports false when the contents have been replaced.
func (m *monitor) sample(t *testing.T, f *mmv.File) bool {
	begin := time.Now()
	s, err := f.Snapshot(begin)
	if err != nil {
		return false
	}
	took := time.Since(begin)
	for _, metric := range s.Metrics {
		switch name := metric.Metric.Name; {
		case name == "narrow", metric.Metric.Sem != pdu.SemCounter && name != "last" && name != "gauge":
			continue
		default:
			for _, v := range metric.Values {
				m.check(t, name+" "+v.Instance.Name, v, took)
			}
		}
	}
	m.samples++
	return true
}

// check compares a value of a snapshot, which took some time, with the one before.
func (m *monitor) check(t *testing.T, key string, v mmv.InstanceValue, took time.Duration) {
	x, err := pdu.As[float64](v.Value)
	if err != nil || v.Err != nil {
		t.Errorf("%s: %s: %v %v", m.name, key, v.Err, err)
	}
	// A gauge is added to and subtracted from: by 2 in each of 8 goroutines. A timer's two words
	// are read one after the other. Each goroutine has one span, which lasts until the beginning
	// of the snapshot.
	slack := 0.
	switch key {
	case "gauge ":
		slack = 16
	case "timer ":
		slack = 1e6 + 8*float64(took.Microseconds())
	}
	if x < m.last[key]-slack {
		t.Errorf("%s: %s goes back from %.0f to %.0f", m.name, key, m.last[key], x)
	}
	m.last[key] = max(x, m.last[key])
}

// watch samples until stop is closed: what open returns, until it has changed.
func (m *monitor) watch(t *testing.T, stop <-chan struct{}, open func() (*mmv.File, error)) {
	m.last = make(map[string]float64)
	for {
		select {
		case <-stop:
			return
		default:
		}
		f, err := open()
		if err != nil {
			if !errors.Is(err, mmv.ErrInFlux) {
				t.Errorf("%s: %v", m.name, err)
				return
			}
			continue
		}
		for range 3 {
			if changed, err := f.Changed(); changed || err != nil || !m.sample(t, f) {
				break
			}
		}
		f.Close()
		time.Sleep(time.Millisecond)
	}
}

// growOften has a registry grow n times in many ways.
func growOften(t *testing.T, r *mmv.Registry, dir string, n int) {
	d := r.InDom("things", mmv.Domain{})
	count, text := d.Counter("things.count", mmv.Metric{}), d.Text("things.text", mmv.Metric{})
	for i := range n {
		time.Sleep(200 * time.Microsecond) // readers get a turn
		switch name := fmt.Sprintf("thing-%d", i); {
		case i%2 == 0:
			count.With(name).Add(uint64(i))
		case i%20 == 1:
			text.With(name).Set("text of " + name)
		case i%20 == 3:
			d.Remove(fmt.Sprintf("thing-%d", i-3), "nothing")
		case i%50 == 5:
			r.AddLabels(mmv.Labels{fmt.Sprint("label", i): i})
		case i%200 == 7:
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if err := r.Publish(dir); err != nil {
				t.Error(err)
			}
		default:
			r.Gauge(fmt.Sprintf("g%d.value", i), mmv.Metric{Text: "A gauge", Units: pdu.UnitCount}).Set(int64(i))
		}
	}
	for i := 2; i < n; i += 2 {
		name := fmt.Sprintf("thing-%d", i)
		if i%20 == 0 {
			continue // it was removed
		}
		if got := count.With(name).Value(); got != uint64(i) {
			t.Errorf("%s is %d", name, got)
		}
	}
}

// TestGrowth: no update is lost nor seen twice while a registry grows, and readers see values that
// do not go back.
func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	r := &mmv.Registry{Name: "growth"}
	l := startLoad(r)
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	file, source := &monitor{name: "file"}, &monitor{name: "source"}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		file.watch(t, stop, func() (*mmv.File, error) {
			f, err := mmv.Open(filepath.Join(dir, "growth"))
			if errors.Is(err, fs.ErrNotExist) { // between Close and Publish
				return nil, mmv.ErrInFlux
			}
			return f, err
		})
	})
	wg.Go(func() {
		source.watch(t, stop, func() (*mmv.File, error) { return mmv.Read(r.Source()) })
	})
	growOften(t, r, dir, 1000)
	close(stop)
	wg.Wait()
	l.stop(t)
	for _, m := range []*monitor{file, source} {
		if m.samples == 0 {
			t.Errorf("%s: no samples", m.name)
		}
		t.Logf("%s: %d samples", m.name, m.samples)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	checkFinal(t, r, filepath.Join(dir, "growth"))
}

// checkFinal compares the values of the file and of the source.
func checkFinal(t *testing.T, r *mmv.Registry, path string) {
	t.Helper()
	values := func(f *mmv.File, err error) map[string]string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if len(f.Problems) > 0 {
			t.Errorf("problems: %v", f.Problems)
		}
		s, err := f.Snapshot(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		m := make(map[string]string)
		for _, metric := range s.Metrics {
			for _, v := range metric.Values {
				m[metric.Metric.Name+" "+v.Instance.Name] = v.Value.String()
			}
		}
		return m
	}
	source := values(mmv.Read(r.Source()))
	if diff := cmp.Diff(source, values(mmv.Open(path))); diff != "" {
		t.Errorf("file (-source +file):\n%s", diff)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(source, values(mmv.Read(r.Source()))); diff != "" {
		t.Errorf("heap after Close (-before +after):\n%s", diff)
	}
}
