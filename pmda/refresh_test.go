package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// A source is read by a Polled in tests. Each reading takes some time, and returns the next number
// or fails.
type source struct {
	takes time.Duration
	start time.Time

	mu    sync.Mutex
	n     int
	err   error
	began []time.Duration // since start
}

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// attempts returns the times of the readings.
func (s *source) attempts() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.began)
}

func (s *source) read(ctx context.Context) (int, error) {
	s.mu.Lock()
	s.began = append(s.began, time.Since(s.start))
	s.mu.Unlock()
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.n++
	return s.n, nil
}

// polledAgent has two metrics of a Polled, 251.0.0 and 251.0.1, and those of the Polled itself from
// 251.1.0 on.
func polledAgent(t *testing.T, c *pmda.Polled[int], log *pcptest.LogBuffer) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "a", Domain: 251, Logger: logLines(log)}
	if err := c.Attach(a); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.x", "a.y"} {
		register(t, a, pmda.Metric[int32]{Name: name, Group: c.Group(),
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return int32(*c.Load()), nil }})
	}
	if err := c.Register("a.refresh", pmda.Item(1, 0)); err != nil {
		t.Fatal(err)
	}
	return a
}

// both fetches the two metrics; "again" is pdu.ErrAgain.
func both(t *testing.T, a *pmda.Agent) string {
	t.Helper()
	got := fetched(t, a, request(), pdu.MakePMID(251, 0, 0), pdu.MakePMID(251, 0, 1))
	got = strings.NewReplacer("251.0.0: ", "", "251.0.1:", "", "\n", "", "error -12389", "again", "-1=", "").Replace(got)
	return got
}

// statistics fetches the metrics of the Polled.
func statistics(t *testing.T, a *pmda.Agent) string {
	t.Helper()
	var all []string
	for i, name := range []string{"age", "interval", "refreshes", "failures"} {
		_, value, ok := strings.Cut(fetched(t, a, request(), pdu.MakePMID(251, 1, i)), "-1=")
		if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); ok && err == nil {
			all = append(all, fmt.Sprint(name, " ", n))
		}
	}
	return strings.Join(all, ", ")
}

// inBubble runs a test in synthetic time. It fails if a goroutine stays.
func inBubble(t *testing.T, c *pmda.Polled[int], s *source, test func(a *pmda.Agent, at func(d time.Duration), log *pcptest.LogBuffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.start = time.Now()
		c.Read = s.read
		var log pcptest.LogBuffer
		at := func(d time.Duration) {
			time.Sleep(d - time.Since(s.start))
			synctest.Wait()
		}
		test(polledAgent(t, c, &log), at, &log)
	})
}

// TestPolled checks that a T is read immediately and then in its interval, independent of the time
// that reading takes, and only while the agent is served.
func TestPolled(t *testing.T) {
	s := &source{takes: 3 * time.Second}
	c := &pmda.Polled[int]{Every: 10 * time.Second}
	inBubble(t, c, s, func(a *pmda.Agent, at func(time.Duration), log *pcptest.LogBuffer) {
		at(time.Hour)
		if c.Load() != nil || len(s.attempts()) > 0 {
			t.Error("it reads before the agent is served")
		}
		s.start = time.Now()
		end := a.BeginServing(nil)
		for _, step := range []struct {
			at               time.Duration
			want, statistics string
		}{
			{2 * time.Second, "again again", "interval 10, refreshes 0, failures 0"},
			{4 * time.Second, "1 1", "age 4, interval 10, refreshes 1, failures 0"},
			{12 * time.Second, "1 1", "age 12, interval 10, refreshes 1, failures 0"},
			{14 * time.Second, "2 2", "age 4, interval 10, refreshes 2, failures 0"},
			{101 * time.Second, "10 10", "age 11, interval 10, refreshes 10, failures 0"},
		} {
			at(step.at)
			if got := both(t, a); got != step.want {
				t.Errorf("after %v: %q, want %q", step.at, got, step.want)
			}
			if got := statistics(t, a); got != step.statistics {
				t.Errorf("after %v: %q, want %q", step.at, got, step.statistics)
			}
		}
		end() // while it reads
		n := len(s.attempts())
		at(time.Hour)
		if len(s.attempts()) != n || *c.Load() != 10 {
			t.Errorf("it reads when the agent is not served: %d times instead of %d, the last is %d", len(s.attempts()), n, *c.Load())
		}
		if log.String() != "" {
			t.Errorf("logged %q", log.String())
		}
	})
}

// TestPolledSlow checks that a reading that takes longer than the interval is followed by the next
// one immediately, and that readings never overlap.
func TestPolledSlow(t *testing.T) {
	s := &source{takes: 25 * time.Second}
	inBubble(t, &pmda.Polled[int]{Every: 10 * time.Second}, s, func(a *pmda.Agent, at func(time.Duration), _ *pcptest.LogBuffer) {
		defer a.BeginServing(nil)()
		at(60 * time.Second)
		if diff := cmp.Diff([]time.Duration{0, 25 * time.Second, 50 * time.Second}, s.attempts()); diff != "" {
			t.Errorf("it reads (-want +got):\n%s", diff)
		}
	})
}

// TestPolledOnDemand checks that a new T is read only after a client has fetched an old one. The
// next client gets the new T.
func TestPolledOnDemand(t *testing.T) {
	s := &source{takes: time.Second}
	c := &pmda.Polled[int]{Every: 10 * time.Second, OnDemand: true}
	inBubble(t, c, s, func(a *pmda.Agent, at func(time.Duration), _ *pcptest.LogBuffer) {
		defer a.BeginServing(nil)()
		for _, step := range []struct {
			at   time.Duration
			want string
			n    int // readings so far
		}{
			{5 * time.Second, "1 1", 1},
			{9 * time.Second, "1 1", 1},
			{1000 * time.Second, "1 1", 2}, // nobody has asked; now somebody does
			{1000*time.Second + 500*time.Millisecond, "1 1", 2},
			{1002 * time.Second, "2 2", 2},
			{1009 * time.Second, "2 2", 2},
			{2000 * time.Second, "2 2", 3},
		} {
			at(step.at)
			got := both(t, a)
			synctest.Wait()
			if got != step.want || len(s.attempts()) != step.n {
				t.Errorf("after %v: %q after %d readings, want %q after %d", step.at, got, len(s.attempts()), step.want, step.n)
			}
		}
	})
}

// TestPolledBackoff checks that the wait between attempts grows after failures, up to a limit, and
// that the last good T stays for MaxAge.
func TestPolledBackoff(t *testing.T) {
	s := &source{}
	c := &pmda.Polled[int]{Every: 5 * time.Second, MaxAge: 100 * time.Second}
	inBubble(t, c, s, func(a *pmda.Agent, at func(time.Duration), log *pcptest.LogBuffer) {
		defer a.BeginServing(nil)()
		at(6 * time.Second)
		s.fail(errors.New("no route"))
		at(105*time.Second - 1)
		if got := both(t, a); got != "2 2" {
			t.Errorf("the last good values are %q", got)
		}
		at(105*time.Second + 1)
		if got := both(t, a); got != "again again" {
			t.Errorf("after the time is over there are still %q", got)
		}
		at(5 * time.Minute)
		seconds := func(n ...time.Duration) (d []time.Duration) {
			for _, n := range n {
				d = append(d, n*time.Second)
			}
			return d
		}
		// The waits are 10, 20, 40, and then 60 seconds.
		if diff := cmp.Diff(seconds(0, 5, 10, 20, 40, 80, 140, 200, 260), s.attempts()); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if got, want := statistics(t, a), "age 295, interval 5, refreshes 2, failures 7"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := log.Take(), "level=WARN msg=\"reading in the background failed\" agent=a of=a.refresh err=\"no route\"\n"; got != want {
			t.Errorf("logged %q, want %q", got, want)
		}
		s.fail(nil)
		at(321 * time.Second) // the next attempt was to be at 320
		if got := both(t, a); got != "3 3" {
			t.Errorf("when all is well again: %q", got)
		}
		at(326 * time.Second)
		if got := both(t, a); got != "4 4" {
			t.Errorf("after the usual interval: %q", got)
		}
	})
}

// TestPolledLongInterval checks that the wait after a failure is never shorter than the interval.
func TestPolledLongInterval(t *testing.T) {
	s := &source{err: errors.New("no")}
	inBubble(t, &pmda.Polled[int]{Every: time.Hour}, s, func(a *pmda.Agent, at func(time.Duration), _ *pcptest.LogBuffer) {
		defer a.BeginServing(nil)()
		at(150 * time.Minute)
		if diff := cmp.Diff([]time.Duration{0, time.Hour, 2 * time.Hour}, s.attempts()); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	})
}

// TestPolledInterval checks that clients can set the interval, and that it counts from the last
// attempt.
func TestPolledInterval(t *testing.T) {
	s := &source{}
	c := &pmda.Polled[int]{Every: time.Hour}
	inBubble(t, c, s, func(a *pmda.Agent, at func(time.Duration), _ *pcptest.LogBuffer) {
		defer a.BeginServing(nil)()
		set := func(v float64) error {
			id := pdu.MakePMID(251, 1, 1)
			return a.Store(t.Context(), request(), stored(t, id, func(w *pdu.ResultWriter) { w.Float64(pdu.NoInst, v) }))
		}
		at(10 * time.Second)
		for _, bad := range []float64{0, -1, 0.0009, 1e9, math.NaN(), math.Inf(1)} {
			if err := set(bad); !errors.Is(err, pdu.ErrBadStore) {
				t.Errorf("setting %v: %v", bad, err)
			}
		}
		if err := set(15); err != nil {
			t.Error(err)
		}
		at(31 * time.Second)
		if err := set(0.5); err != nil { // the attempt is due already
			t.Error(err)
		}
		at(32*time.Second - 1)
		if err := set(31536000); err != nil {
			t.Error(err)
		}
		at(time.Hour)
		second := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
		if diff := cmp.Diff([]time.Duration{0, second(15), second(30), second(31), second(31.5)}, s.attempts()); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if got := fetched(t, a, request(), pdu.MakePMID(251, 1, 1)); got != "251.1.1: -1=3.153600e+07\n" {
			t.Errorf("the interval: %s", got)
		}
	})
}

// TestPolledPanic checks that a panic counts as a failure, and that its stack is logged.
func TestPolledPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log pcptest.LogBuffer
		a := &pmda.Agent{Name: "a", Domain: 251, Logger: log.Logger(slog.LevelInfo)}
		reads := 0
		c := pmda.Every(a, time.Second, func(context.Context) (string, error) {
			if reads++; reads == 2 {
				panic("oops")
			}
			return strconv.Itoa(reads), nil
		})
		defer a.BeginServing(nil)()
		time.Sleep(1500 * time.Millisecond)
		if v := c.Load(); v == nil || *v != "1" {
			t.Errorf("the last good is %v", v)
		}
		if got := log.Take(); !strings.Contains(got, "agent panicked") || !strings.Contains(got, "panic=oops") || !strings.Contains(got, "refresh_test.go") {
			t.Errorf("logged %q", got)
		}
		time.Sleep(2 * time.Second)
		if v := c.Load(); v == nil || *v != "3" {
			t.Errorf("then %v", v)
		}
	})
}

// TestPolledApply checks that the instances change with the T, and that clients do not get a T that
// Apply refuses.
func TestPolledApply(t *testing.T) {
	var log pcptest.LogBuffer
	a := &pmda.Agent{Name: "a", Domain: 251, Logger: logLines(&log)}
	names := []string{"x", "y"}
	d := a.AddInDom("name")
	c := &pmda.Polled[[]string]{Every: time.Second,
		Read:  func(context.Context) ([]string, error) { return slices.Clone(names), nil },
		Apply: func(v *[]string) error { _, err := d.SetNames(*v...); return err }}
	if err := c.Attach(a); err != nil {
		t.Fatal(err)
	}
	d.Group = c.Group()
	register(t, a, pmda.Metric[int32]{Name: "a.length", InDom: d,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
			return int32(len(*c.Load())), nil
		}})
	for _, step := range []struct {
		names []string
		err   string
		want  string
	}{
		{[]string{"x", "y"}, "", "251.0.0: 0=2 1=2\n"},
		{[]string{"y", "y"}, `instance "y" is given twice`, "251.0.0: 0=2 1=2\n"},
		{[]string{"y", "z", "u"}, "", "251.0.0: 1=3 2=3 3=3\n"},
	} {
		names = step.names
		err := c.Refresh(t.Context())
		if (err == nil) != (step.err == "") || err != nil && !strings.Contains(err.Error(), step.err) {
			t.Errorf("names %q: %v, want %s", names, err, step.err)
		}
		if got := fetched(t, a, request(), pdu.MakePMID(251, 0, 0)); got != step.want {
			t.Errorf("names %q: %q, want %q", names, got, step.want)
		}
	}
}

// TestPolledConsistent fetches while the T changes constantly. Both values of a fetch come from the
// same T.
func TestPolledConsistent(t *testing.T) {
	var log pcptest.LogBuffer
	n := 0
	c := &pmda.Polled[int]{Every: time.Millisecond, Read: func(context.Context) (int, error) { n++; return n, nil }}
	a := polledAgent(t, c, &log)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	end := a.BeginServing(nil)
	var clients, reader sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	reader.Go(func() {
		for ctx.Err() == nil {
			c.Refresh(ctx)
		}
	})
	for range 4 {
		clients.Go(func() {
			for range 500 {
				if x, y, _ := strings.Cut(both(t, a), " "); x != y {
					t.Errorf("%s and %s in one fetch", x, y)
				}
			}
		})
	}
	clients.Wait()
	cancel()
	reader.Wait()
	end()
}

// TestPolledRefuses checks the errors of Attach, which also prevent the agent from serving.
func TestPolledRefuses(t *testing.T) {
	read := func(context.Context) (int, error) { return 0, nil }
	attached := &pmda.Polled[int]{Every: time.Second, Read: read}
	attached.Attach(&pmda.Agent{Name: "other", Domain: 250})
	for want, c := range map[string]*pmda.Polled[int]{
		`pmda: agent a: attach "int": its Read is nil`:                                            {Every: time.Second},
		`pmda: agent a: attach "int": interval 0s out of range (1ms..8760h0m0s)`:                  {Read: read},
		`pmda: agent a: attach "int": interval 8760h0m0.000000001s out of range (1ms..8760h0m0s)`: {Read: read, Every: 8760*time.Hour + 1},
		`pmda: agent other: attach "int": it is attached already`:                                 attached,
	} {
		a := &pmda.Agent{Name: "a", Domain: 251}
		err := c.Attach(a)
		if err == nil || err.Error() != want || !errors.Is(a.Err(), err) {
			t.Errorf("Attach: %v; Err: %v; want %s", err, a.Err(), want)
		}
	}
}

// TestPolledNotServed checks the error of a fetch from an agent that is not served.
func TestPolledNotServed(t *testing.T) {
	var log pcptest.LogBuffer
	a := polledAgent(t, &pmda.Polled[int]{Every: time.Second, Read: func(context.Context) (int, error) { return 0, nil }}, &log)
	if got := both(t, a); got != "error -12345 error -12345" {
		t.Errorf("fetch: %q", got)
	}
	if got := log.String(); !strings.Contains(got, "the Agent is not served") {
		t.Errorf("logged %q", got)
	}
}

// TestPolledContract checks that an agent with a Polled meets the contract of Handler.
func TestPolledContract(t *testing.T) {
	var log pcptest.LogBuffer
	c := &pmda.Polled[int]{Every: time.Millisecond, Read: func(context.Context) (int, error) { return 1, nil }}
	a := polledAgent(t, c, &log)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.BeginServing(nil)()
	pmdatest.Run(t, a)
}

// TestPolledStop checks that a stopped Polled never reads again, even if its agent is served again.
func TestPolledStop(t *testing.T) {
	s := &source{}
	c := &pmda.Polled[int]{Every: time.Second}
	inBubble(t, c, s, func(a *pmda.Agent, at func(time.Duration), _ *pcptest.LogBuffer) {
		end := a.BeginServing(nil)
		at(2500 * time.Millisecond)
		c.Stop()
		c.Stop()
		at(10 * time.Second)
		end()
		defer a.BeginServing(nil)()
		at(20 * time.Second)
		if len(s.attempts()) != 3 || *c.Load() != 3 {
			t.Errorf("it has read %d times, the last is %d", len(s.attempts()), *c.Load())
		}
	})
}

func BenchmarkPolled(b *testing.B) {
	for _, onDemand := range []bool{false, true} {
		b.Run(fmt.Sprintf("onDemand=%v", onDemand), func(b *testing.B) {
			a := &pmda.Agent{Name: "a", Domain: 251}
			c := &pmda.Polled[int]{Every: time.Hour, OnDemand: onDemand, MaxAge: time.Hour, Read: func(context.Context) (int, error) { return 1, nil }}
			if err := c.Attach(a); err != nil {
				b.Fatal(err)
			}
			pmda.Register(a, pmda.Metric[uint64]{Name: "a.x", Group: c.Group(),
				Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return uint64(*c.Load()), nil }})
			if err := c.Refresh(b.Context()); err != nil {
				b.Fatal(err)
			}
			var w pdu.ResultWriter
			r, ids := request(), []pdu.PMID{pdu.MakePMID(251, 0, 0)}
			b.ReportAllocs()
			for b.Loop() {
				w.Reset()
				if err := a.Fetch(b.Context(), r, ids, &w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
