package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// newTestFleet returns a fleet of n hosts.
func newTestFleet(t *testing.T, n int) (*pmapitest.Fleet, *pmapi.Fleet[loadHost]) {
	t.Helper()
	hosts, f := pmapitest.NewFleet(n, loadSource), newLoadFleet()
	if err := hosts.AddTo(f); err != nil {
		t.Fatal(err)
	}
	return hosts, f
}

// A loop ends at once when the context.Context ends and at a break, even while hosts hang.
func TestFleetEndsAtOnce(t *testing.T) {
	for _, wait := range []time.Duration{100 * time.Millisecond, 1700 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			hosts, f := newTestFleet(t, 6)
			f.Wait = time.Minute
			hosts.Host("host1").Stop(nil)
			hosts.Host("host2").Hang()
			time.AfterFunc(1200*time.Millisecond, hosts.Host("host3").Hang)
			time.AfterFunc(1200*time.Millisecond, hosts.Host("host2").Resume)
			hosts.Host("host4").SetDelay(200 * time.Millisecond)
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			time.AfterFunc(wait, cancel)
			for range f.Every(ctx, time.Second) {
			}
			if d := time.Since(began); d != wait {
				t.Errorf("a loop that is cancelled after %v ends after %v", wait, d)
			}
			f.Wait = 10 * time.Millisecond
			began = time.Now()
			for range f.Every(t.Context(), time.Second) {
				time.Sleep(wait)
				break
			}
			if d := time.Since(began); d != wait+10*time.Millisecond {
				t.Errorf("a break after %v ends a loop after %v", wait, d)
			}
			ctx, cancel = context.WithCancel(t.Context())
			cancel()
			for range f.Every(ctx, time.Second) {
				t.Error("there is a tick after the end of ctx")
			}
		})
	}
}

// A body that is slower than the interval leaves ticks out.
func TestFleetMissedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f := newTestFleet(t, 2)
		began := time.Now()
		var got []string
		for tick := range f.Every(t.Context(), time.Second) {
			got = append(got, fmt.Sprint(tick.Time.Sub(began), " ", tick.Missed))
			switch len(got) {
			case 2:
				time.Sleep(2500 * time.Millisecond)
			case 3:
				time.Sleep(time.Second)
			}
			if len(got) == 5 {
				break
			}
		}
		if diff := cmp.Diff([]string{"0s 0", "1s 0", "4s 2", "5s 0", "6s 0"}, got); diff != "" {
			t.Errorf("ticks (-want +got):\n%s", diff)
		}
	})
}

// The first tick fetches from a host that connects late, even if silent hosts use up MaxRequests.
func TestFleetFirstTickMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts, f := newTestFleet(t, 2)
		f.MaxRequests, f.Wait = 1, 10*time.Second
		hosts.Host("host1").Restart(func(src *pmapitest.Source) {
			loadSource(1, src)
			src.OnRequest = func(ctx context.Context, r pmapitest.Request) error {
				if r.Method == "Fetch" {
					<-ctx.Done()
				}
				return nil
			}
		})
		hosts.Host("host2").Hang()
		time.AfterFunc(2*time.Second, hosts.Host("host2").Resume)
		for tick := range f.Every(t.Context(), time.Minute) {
			if got := rowText(&tick.Rows[1]); got != "up 1 true" {
				t.Errorf("host2 is %s", got)
			}
			break
		}
	})
}

// Without an interval, ticks without values do not follow each other at once.
func TestFleetWithoutInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts, f := newTestFleet(t, 2)
		f.Wait = time.Second
		hosts.Host("host1").Stop(nil)
		hosts.Host("host2").Stop(nil)
		began, ticks := time.Now(), 0
		for tick := range f.Every(t.Context(), 0) {
			if ticks++; tick.Counts()[pmapi.HostUp] > 0 {
				break
			}
			if time.Since(began) > 10*time.Second {
				hosts.Host("host2").Start()
			}
		}
		if ticks < 100 || ticks > 300 || time.Since(began) > 30*time.Second {
			t.Errorf("%d ticks in %v", ticks, time.Since(began))
		}
	})
}

// Sources that end get the state HostEnded. When all have ended, the loop ends.
func TestFleetEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLoadFleet()
		for i, lasts := range []time.Duration{1500 * time.Millisecond, 2500 * time.Millisecond} {
			src := &pmapitest.Source{End: time.Now().Add(lasts)}
			loadSource(i, src)
			f.AddSource(fmt.Sprint(i), func(context.Context) (*pmapi.Context, error) { return src.Context(), nil })
		}
		got := loop(t, f, 99, func(int) {})
		if diff := cmp.Diff([]string{"0 up 0 true; 1 up 1 true", "0 up 0 true 1/s; 1 up 1 true 1/s", "0 ended; 1 up 1 true 1/s"}, got); diff != "" {
			t.Errorf("ticks (-want +got):\n%s", diff)
		}
	})
}

// Archives are hosts too: with an interval of 0, each tick has the next record of each, malformed
// ones left out.
func TestFleetOfArchives(t *testing.T) {
	f := &pmapi.Fleet[*pmapi.Item[float64]]{Items: func(g *pmapi.Group) *pmapi.Item[float64] {
		return pmapi.Add[float64](g, malformedMetric)
	}}
	bad, before, _ := openMalformed(t, "0", "1", "2", "meta")
	if err := errors.Join(f.Add("../archive/testdata/v3"),
		f.AddSource("bad", func(context.Context) (*pmapi.Context, error) { return bad, nil })); err != nil {
		t.Fatal(err)
	}
	times := map[string][]time.Time{}
	var status pmapi.HostStatus
	for tick := range f.Every(t.Context(), 0) {
		for r := range tick.Up() {
			times[r.Host] = append(times[r.Host], r.Time)
		}
		status = tick.Rows[1].Status
	}
	good := times["../archive/testdata/v3"]
	if len(good) < len(before)+2 || !slices.IsSortedFunc(good, time.Time.Compare) {
		t.Errorf("%d records, want more than %d", len(good), len(before))
	}
	if diff := cmp.Diff(before, times["bad"]); diff != "" {
		t.Errorf("before the malformed record (-want +got):\n%s", diff)
	}
	f.Remove("../archive/testdata/v3")
	ticks := 0
	bad, _, _ = openMalformed(t, "0", "1", "2", "meta")
	for tick := range f.Every(t.Context(), 0) {
		status = tick.Rows[0].Status // the row has the reason and no values
		ticks++
	}
	if want := len(before) + 1; ticks != want {
		t.Errorf("%d ticks, want %d", ticks, want)
	}
	if status.State != pmapi.HostEnded || pdu.FromError(status.Err) != pdu.ErrLogRec {
		t.Errorf("the malformed archive is %v", status)
	}
}

// With an interval, rows of archives are interpolated.
func TestFleetOfArchivesInterpolated(t *testing.T) {
	f := &pmapi.Fleet[*pmapi.Item[float64]]{Wait: time.Minute, Items: func(g *pmapi.Group) *pmapi.Item[float64] {
		return pmapi.Add[float64](g, malformedMetric)
	}}
	if err := f.Add("../archive/testdata/v3"); err != nil {
		t.Fatal(err)
	}
	var last time.Time
	n := 0
	for tick := range f.Every(t.Context(), 5*time.Millisecond) {
		r := &tick.Rows[0]
		if d := r.Time.Sub(last); n > 0 && d != 5*time.Millisecond {
			t.Errorf("row %d is %v after the one before", n, d)
		}
		if last, n = r.Time, n+1; n == 20 {
			break
		}
	}
}

// TestFleetOfArchivesAtFullSpeed: a loop over archives alone does not pause.
func TestFleetOfArchivesAtFullSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &pmapi.Fleet[*pmapi.Item[float64]]{Wait: time.Minute, Items: func(g *pmapi.Group) *pmapi.Item[float64] {
			return pmapi.Add[float64](g, malformedMetric)
		}}
		if err := f.Add("../archive/testdata/v3"); err != nil {
			t.Fatal(err)
		}
		begin, n := time.Now(), 0
		var first, last time.Time
		for tick := range f.Every(t.Context(), time.Second) {
			r := &tick.Rows[0]
			if last = r.Time; n == 0 {
				first = last
			}
			if tick.Missed != 0 {
				t.Errorf("tick %d: %d missed", n, tick.Missed)
			}
			n++
		}
		if n < 2 || time.Since(begin) != 0 {
			t.Errorf("%d ticks from %v to %v took %v", n, first, last, time.Since(begin))
		}
		// A host keeps the loop at its interval.
		hosts := pmapitest.NewFleet(1, loadSource)
		if err := hosts.AddTo(f); err != nil {
			t.Fatal(err)
		}
		begin, n = time.Now(), 0
		for range f.Every(t.Context(), time.Second) {
			if n++; n == 3 {
				break
			}
		}
		if d := time.Since(begin); d != 2*time.Second {
			t.Errorf("with a host: 3 ticks took %v", d)
		}
	})
}

// Several loops over one fleet run at the same time as changes of its hosts.
func TestFleetSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f := newTestFleet(t, 10)
		more := pmapitest.NewFleet(20, loadSource)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				ticks := 0
				for tick := range f.Every(ctx, 10*time.Millisecond) {
					ticks++
					if n := tick.Counts()[pmapi.HostUp]; ticks > 1 && n < 10 {
						t.Errorf("tick %d: %d hosts are up", ticks, n)
					}
				}
				if ticks < 290 {
					t.Errorf("%d ticks", ticks)
				}
			})
		}
		for i := range 4 {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					h := more.Hosts()[10+n%10]
					if err := f.AddSource(h.Name(), h.Open); err != nil && !errors.Is(err, pdu.ErrArg) {
						t.Error(err)
					}
					time.Sleep(time.Duration(i+1) * 3 * time.Millisecond)
					f.Remove(h.Name())
					if n := len(f.Hosts()); n < 10 || n > 20 {
						t.Errorf("%d hosts", n)
					}
				}
			})
		}
		wg.Wait()
	})
}

// A tick allocates nothing for a host.
func TestFleetAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector other things are allocated")
	}
	c := busyCollector(t)
	const hosts, ticks = 20, 10
	f := &pmapi.Fleet[*pmapi.Set[float64]]{Wait: time.Minute, Items: func(g *pmapi.Group) *pmapi.Set[float64] {
		pmapi.Add[float64](g, "busy.single1")
		return pmapi.AddSet[float64](g, "busy.numbers")
	}}
	for i := range hosts {
		f.AddSource(fmt.Sprint(i), func(ctx context.Context) (*pmapi.Context, error) { return c.Dup(ctx) })
	}
	next, stop := iter.Pull(f.Every(t.Context(), 0))
	defer stop()
	least := math.Inf(1) // other goroutines allocate at times
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range ticks {
			if tick, ok := next(); !ok || tick.Rows[hosts-1].Status.State != pmapi.HostUp {
				t.Fatal(ok, tick.Rows)
			}
		}
		runtime.ReadMemStats(&after)
		least = min(least, float64(after.Mallocs-before.Mallocs)/(hosts*ticks))
	}
	if least > 0.5 { // a tick as a whole has some allocations
		t.Errorf("%.2f allocations per host and tick", least)
	}
}

// BenchmarkFleet measures ticks of hosts whose collectors run in this process, too.
func BenchmarkFleet(b *testing.B) {
	c := busyCollector(b)
	for _, hosts := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			f := &pmapi.Fleet[*pmapi.Item[float64]]{Wait: time.Minute, Items: func(g *pmapi.Group) *pmapi.Item[float64] {
				return pmapi.Add[float64](g, "busy.single1")
			}}
			for i := range hosts {
				f.AddSource(fmt.Sprint(i), func(ctx context.Context) (*pmapi.Context, error) { return c.Dup(ctx) })
			}
			next, stop := iter.Pull(f.Every(b.Context(), 0))
			defer stop()
			next()
			b.ReportAllocs()
			for b.Loop() {
				if tick, ok := next(); !ok || tick.Counts()[pmapi.HostUp] != hosts {
					b.Fatal(ok, tick.Counts())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*hosts), "ns/row")
		})
	}
}

// TestFleetBackoffEmpty checks that a fleet waits between attempts to connect, also with a Backoff
// that is empty.
func TestFleetBackoffEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLoadFleet()
		f.Dialer = &pmapi.Dialer{Backoff: []time.Duration{}}
		opened := 0
		err := f.AddSource("down", func(ctx context.Context) (*pmapi.Context, error) {
			if opened++; opened > 100 {
				<-ctx.Done()
			}
			return nil, pdu.ErrIPC
		})
		if err != nil {
			t.Fatal(err)
		}
		loop(t, f, 10, func(int) {})
		if opened != 4 { // at 0, 1, 3 and 8 seconds
			t.Errorf("%d attempts to connect in 9 seconds, want 4", opened)
		}
	})
}
