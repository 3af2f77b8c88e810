package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A loadHost has the items that the tests of fleets fetch.
type loadHost struct {
	load  *pmapi.Item[float64]
	count *pmapi.Item[float64]
}

func newLoadFleet() *pmapi.Fleet[loadHost] {
	return &pmapi.Fleet[loadHost]{Items: func(g *pmapi.Group) loadHost {
		return loadHost{pmapi.Add[float64](g, "load"), pmapi.Add[float64](g, "count")}
	}}
}

// loadSource returns a source with the load of host i, and a counter that grows by one a second.
func loadSource(i int, src *pmapitest.Source) {
	began := time.Now()
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "load"}).Set(float64(i))
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "count", Sem: pdu.SemCounter,
		Value: func(now time.Time, _ pdu.Instance) (float64, error) { return now.Sub(began).Seconds(), nil }})
}

// rowText returns a row as a short text.
func rowText(r *pmapi.FleetRow[loadHost]) string {
	s := r.Status
	text := s.State.String()
	if s.Err != nil {
		text += cause(s.Err)
	}
	if s.State != pmapi.HostUp {
		if r.Items != (loadHost{}) || !r.Time.IsZero() || r.Err() != nil {
			text += " with values"
		}
		return text
	}
	load, err := r.Items.load.Value()
	text += fmt.Sprintf(" %v %v", load, pdu.FromError(err) == 0)
	if rate, err := r.Items.count.Value(); err == nil {
		text += fmt.Sprintf(" %.3v/s", rate)
	}
	if s.Missing > 0 {
		text += fmt.Sprintf(", %d missing%s", s.Missing, cause(r.Err()))
	}
	return text
}

// cause returns the last part of the text of an error.
func cause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return " (" + text + ")"
}

// A script says what happens to hosts before certain ticks, and which rows of one host are expected
// then.
type script struct {
	name string
	wait time.Duration
	do   map[int]func(h *pmapitest.Host)
	want []string
}

// TestFleetFaults: each fault is seen in the row of its host, while the rows of the others are
// complete and on time.
func TestFleetFaults(t *testing.T) {
	for _, tt := range []script{
		{name: "none", want: []string{"up 0 true", "up 0 true 1/s", "up 0 true 1/s"}},
		{name: "stopped", do: map[int]func(*pmapitest.Host){
			1: func(h *pmapitest.Host) { h.Stop(errors.New("killed")) },
			4: func(h *pmapitest.Host) { h.Start() },
		}, want: []string{"up 0 true", "down (killed)", "down (killed)", "down (killed)", "down (killed)", "up 0 true", "up 0 true 1/s"}},
		{name: "hanging", do: map[int]func(*pmapitest.Host){
			1: func(h *pmapitest.Host) { h.Hang() },
			3: func(h *pmapitest.Host) { h.Resume() },
		}, want: []string{"up 0 true", "late (no reply in time)", "late (no reply in time)", "up 0 true 1/s", "up 0 true 1/s"}},
		{name: "hanging for long", do: map[int]func(*pmapitest.Host){
			1:  func(h *pmapitest.Host) { h.Hang() },
			20: func(h *pmapitest.Host) { h.Resume() },
		}, want: slices.Concat([]string{"up 0 true"}, repeated(10, "late (no reply in time)"),
			[]string{"late (no reply in time)|down (Timeout waiting for a response from PMCD)"},
			repeated(8, "down (Timeout waiting for a response from PMCD)"), []string{"up 0 true", "up 0 true 1/s"})},
		{name: "slow", do: map[int]func(*pmapitest.Host){
			1: func(h *pmapitest.Host) { h.SetDelay(700 * time.Millisecond) },
			3: func(h *pmapitest.Host) { h.SetDelay(0) },
		}, want: []string{"up 0 true", "late (no reply in time)", "late (no reply in time)", "up 0 true 1/s", "up 0 true 1/s"}},
		{name: "slow, but not too slow", wait: 800 * time.Millisecond, do: map[int]func(*pmapitest.Host){
			1: func(h *pmapitest.Host) { h.SetDelay(700 * time.Millisecond) },
		}, want: []string{"up 0 true", "up 0 true 1/s", "up 0 true 1/s"}},
		{name: "other metrics", do: map[int]func(*pmapitest.Host){
			1: func(h *pmapitest.Host) {
				h.Restart(func(src *pmapitest.Source) { pmapitest.Add(src, pmapitest.Metric[float64]{Name: "load"}).Set(7) })
			},
		}, want: []string{"up 0 true", "down (the collector is stopped)", "up 7 true, 1 missing (Unknown metric name)"}},
		{name: "no metrics", do: map[int]func(*pmapitest.Host){
			1: func(h *pmapitest.Host) { h.Restart(func(*pmapitest.Source) {}) },
		}, want: []string{"up 0 true", "down (the collector is stopped)", "failing (Unknown metric name)", "failing (Unknown metric name)"}},
		{name: "failing fetch", do: map[int]func(*pmapitest.Host){
			1: func(h *pmapitest.Host) { h.Source().FailFetch(pdu.ErrPermission) },
			2: func(h *pmapitest.Host) { h.Source().FailFetch(nil) },
		}, want: []string{"up 0 true", "failing (No permission to perform requested operation)", "up 0 true 1/s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tt.run(t) })
		})
	}
}

func repeated(n int, s string) []string { return slices.Repeat([]string{s}, n) }

func (s *script) run(t *testing.T) {
	hosts := pmapitest.NewFleet(20, loadSource)
	f := newLoadFleet()
	f.Wait = s.wait
	f.Dialer = &pmapi.Dialer{Backoff: []time.Duration{1300 * time.Millisecond}}
	if err := hosts.AddTo(f); err != nil {
		t.Fatal(err)
	}
	var got []string
	began, n, reconnects := time.Now(), 0, 0
	for tick := range f.Every(t.Context(), time.Second) {
		at := began.Add(time.Duration(n) * time.Second)
		late, most := time.Since(at), 500*time.Millisecond // half of the interval
		if n > 0 && strings.HasPrefix(got[n-1], "late") {
			most /= 10 // it waits less for a host that was late
		}
		if !tick.Time.Equal(at) || tick.Missed != 0 || late > most && s.wait == 0 {
			t.Errorf("tick %d is that of %v, at %v, %d missed", n, tick.Time.Sub(began), time.Since(began), tick.Missed)
		}
		// After the loss, the host may or may not be connected again before the tick is complete.
		got = append(got, strings.Replace(rowText(&tick.Rows[0]), "connecting (", "down (", 1))
		reconnects = tick.Rows[0].Status.Reconnects
		for i := range tick.Rows[1:] {
			want := fmt.Sprintf("up %d true", i+1)
			if n > 0 {
				want += " 1/s"
			}
			if is := rowText(&tick.Rows[i+1]); is != want {
				t.Errorf("tick %d: %s is %s, want %s", n, tick.Rows[i+1].Host, is, want)
			}
		}
		if n++; n == len(s.want) {
			break
		}
		time.Sleep(700*time.Millisecond - late) // between ticks
		if do := s.do[n]; do != nil {
			do(hosts.Host("host1"))
		}
	}
	for i, want := range s.want {
		if is, other, ok := strings.Cut(want, "|"); ok && (got[i] == is || got[i] == other) {
			got[i] = want
		}
	}
	if diff := cmp.Diff(s.want, got); diff != "" {
		t.Errorf("host1 (-want +got):\n%s", diff)
	}
	if lost := strings.Contains(strings.Join(got, ""), "down"); lost != (reconnects == 1) {
		t.Errorf("%d times connected again", reconnects)
	}
}

// loop collects ticks, each as the rows of all hosts in short, and calls do between them.
func loop(t *testing.T, f *pmapi.Fleet[loadHost], n int, do func(n int)) (ticks []string) {
	for tick := range f.Every(t.Context(), time.Second) {
		var rows []string
		for i := range tick.Rows {
			rows = append(rows, tick.Rows[i].Host+" "+rowText(&tick.Rows[i]))
		}
		if ticks = append(ticks, strings.Join(rows, "; ")); len(ticks) == n {
			break
		}
		time.Sleep(300 * time.Millisecond)
		do(len(ticks))
	}
	return ticks
}

// Hosts are added and removed while a loop runs, and the next tick has the change.
func TestFleetAddRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := pmapitest.NewFleet(3, loadSource).Hosts()
		f := newLoadFleet()
		add := func(i int) {
			if err := f.AddSource(hosts[i].Name(), hosts[i].Open); err != nil {
				t.Error(err)
			}
		}
		got := loop(t, f, 7, func(n int) {
			switch n {
			case 1:
				add(0)
				add(1)
			case 2:
				hosts[1].Hang()
			case 3: // while a tick waits for it
				if !f.Remove("host2") || f.Remove("host2") {
					t.Error("Remove reports the wrong thing")
				}
				add(2)
			case 5:
				hosts[1].Resume()
				add(1)
				f.Remove("host1")
			}
		})
		if diff := cmp.Diff([]string{
			"",
			"host1 up 0 true; host2 up 1 true",
			"host1 up 0 true 1/s; host2 late (no reply in time)",
			"host1 up 0 true 1/s; host3 up 2 true",
			"host1 up 0 true 1/s; host3 up 2 true 1/s",
			"host3 up 2 true 1/s; host2 up 1 true",
			"host3 up 2 true 1/s; host2 up 1 true 1/s",
		}, got); diff != "" {
			t.Errorf("ticks (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"host3", "host2"}, f.Hosts()); diff != "" {
			t.Errorf("hosts (-want +got):\n%s", diff)
		}
	})
}

func TestFleetAddErrors(t *testing.T) {
	f := newLoadFleet()
	for _, tt := range []struct {
		add  []string
		want string
	}{
		{[]string{"web1", "./archive"}, ""},
		{[]string{"web2", "web1"}, "pmapi: add on web1: the fleet has this host already: Bad value for function argument"},
		{[]string{"web2", "web2"}, "pmapi: add on web2: the fleet has this host already: Bad value for function argument"},
		{[]string{"web2:port"}, "pmapi: add: bad host"},
	} {
		err := f.Add(tt.add...)
		if tt.want == "" && err == nil || tt.want != "" && err != nil && strings.HasPrefix(err.Error(), tt.want) {
			continue
		}
		t.Errorf("Add(%q): %v, want %s", tt.add, err, tt.want)
	}
	if diff := cmp.Diff([]string{"web1", "./archive"}, f.Hosts()); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
}

// Hosts that hang use up neither the requests nor the connections that others need.
func TestFleetLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests, connections, most atomic.Int64
		count := func(n *atomic.Int64) func() {
			most.Store(max(most.Load(), n.Add(1)))
			return func() { n.Add(-1) }
		}
		hosts := pmapitest.NewFleet(60, func(i int, src *pmapitest.Source) {
			loadSource(i, src)
			hang := src.OnRequest
			src.OnRequest = func(ctx context.Context, r pmapitest.Request) error {
				if err := hang(ctx, r); err != nil || r.Method != "Fetch" {
					return err
				}
				defer count(&requests)()
				time.Sleep(time.Millisecond)
				return nil
			}
		})
		f := newLoadFleet()
		f.MaxRequests, f.MaxConnecting = 4, 4
		for i, h := range hosts.Hosts() {
			if i%3 == 0 {
				h.Hang()
			}
			f.AddSource(h.Name(), func(ctx context.Context) (*pmapi.Context, error) {
				if i%3 != 0 {
					defer count(&connections)()
					time.Sleep(time.Millisecond)
				}
				return h.Open(ctx)
			})
		}
		n := 0
		for tick := range f.Every(t.Context(), 10*time.Second) {
			counts := tick.Counts()
			want := map[pmapi.HostState]int{pmapi.HostConnecting: 20, pmapi.HostUp: 40}
			switch n {
			case 0: // connections take a second where others hang
				want = counts
			case 1:
				want = map[pmapi.HostState]int{pmapi.HostDown: 20, pmapi.HostUp: 40}
			case 2: // the others; those that hang are up first, and then late
				want = map[pmapi.HostState]int{pmapi.HostLate: 20, pmapi.HostUp: 40}
			}
			if diff := cmp.Diff(want, counts); diff != "" {
				t.Errorf("hosts at tick %d (-want +got):\n%s", n, diff)
			}
			if n++; n == 3 {
				break
			}
			time.Sleep(5 * time.Second)
			if n == 2 {
				for _, h := range hosts.Hosts() {
					h.Resume()
				}
				time.Sleep(3500 * time.Millisecond)
				for i, h := range hosts.Hosts() {
					if i%3 == 0 {
						h.Hang()
					}
				}
			}
		}
		if m := most.Load(); m > 4 || m < 2 {
			t.Errorf("%d requests or connections at a time, want up to 4", m)
		}
	})
}
