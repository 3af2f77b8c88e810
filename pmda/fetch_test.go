package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// TestFetchErrors fetches instances with values, without values and with errors. The set has the
// values if any exist, or else the last error.
func TestFetchErrors(t *testing.T) {
	oops := errors.New("oops")
	for _, c := range []struct {
		name    string
		results []error // nil is a value
		want    string
		logged  string
	}{
		{"values", []error{nil, nil}, " 0=0 1=1", ""},
		{"one without", []error{nil, pmda.NoValue, nil}, " 0=0 2=2", ""},
		{"one fails", []error{pdu.ErrInst, nil}, " 1=1", "metric=a.x instance=i0"},
		{"all without", []error{pmda.NoValue, pmda.NoValue}, "", ""},
		{"wrapped", []error{fmt.Errorf("now: %w", pmda.NoValue)}, "", ""},
		{"the last fails", []error{pmda.NoValue, pdu.ErrAgain}, " error -12389", ""},
		{"the last is without", []error{oops, pmda.NoValue}, "", "err=oops"},
		{"all fail", []error{pdu.ErrAgain, pdu.ErrValue, pdu.ErrAppVersion}, " error -12350", ""},
		{"any error", []error{oops}, " error -12345", "err=oops"},
		{"no instances", nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			a := &pmda.Agent{Name: "a", Domain: 251, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			register(t, a, pmda.Metric[int32]{Name: "a.x", InDom: a.AddInDom("i", names(len(c.results))...),
				Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
					return int32(i.ID), c.results[i.ID]
				}})
			want := "251.0.0:" + c.want + "\n"
			if got := fetched(t, a, request(), pdu.MakePMID(251, 0, 0)); got != want {
				t.Errorf("fetch: %q, want %q", got, want)
			}
			if (log.Len() > 0) != (c.logged != "") || !strings.Contains(log.String(), c.logged) {
				t.Errorf("log: %q, want %q in it", log.String(), c.logged)
			}
			a.Logger = nil
			if got := fetched(t, a, request(), pdu.MakePMID(251, 0, 0)); got != want {
				t.Errorf("fetch without a log: %q, want %q", got, want)
			}
		})
	}
}

// TestFetchMore fetches singular metrics, metrics with Values and unknown metrics.
func TestFetchMore(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i", "x", "y", "z")
	fail := func(err error) func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
		return func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 7, err }
	}
	register(t, a, pmda.Metric[int32]{Name: "a.none", Value: fail(pmda.NoValue)})
	register(t, a, pmda.Metric[int32]{Name: "a.fail", Value: fail(pdu.ErrAgain)})
	values := func(err error, ids ...pdu.InstID) func(context.Context, *pmda.Request, *pmda.Values[int32]) error {
		return func(_ context.Context, _ *pmda.Request, s *pmda.Values[int32]) error {
			for _, id := range ids {
				s.Put(id, int32(id))
			}
			return err
		}
	}
	register(t, a, pmda.Metric[int32]{Name: "a.some", InDom: d, Values: values(nil, 2, 0)})
	register(t, a, pmda.Metric[int32]{Name: "a.someFailed", InDom: d, Values: values(pdu.ErrAgain, 1)})
	register(t, a, pmda.Metric[int32]{Name: "a.allFailed", InDom: d, Values: values(pdu.ErrAgain)})
	register(t, a, pmda.Metric[int32]{Name: "a.noValue", InDom: d, Values: values(pmda.NoValue)})
	register(t, a, pmda.Metric[int32]{Name: "a.list", InDom: d,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[int32]) error {
			for i := range s.Instances() {
				s.Put(i.ID, int32(len(i.Name)))
				if i.Name == "y" {
					break
				}
			}
			return nil
		}})
	register(t, a, pmda.Metric[int32]{Name: "a.wants",
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[int32]) error {
			for range s.Instances() {
				return errors.New("a singular metric has instances")
			}
			if s.Wants(pdu.NoInst) {
				s.Put(pdu.NoInst, 1)
			}
			return nil
		}})
	var ids []pdu.PMID
	for _, id := range a.Namespace().All() {
		ids = append(ids, id)
	}
	ids = append(ids, pdu.NoPMID, pdu.MakePMID(250, 0, 0), pdu.MakePMID(251, 0, 8), pdu.MakePMID(251, 1, 0), 1<<31|pdu.MakePMID(251, 0, 2))
	want := `251.0.0:
251.0.1: error -12389
251.0.2: 2=2 0=0
251.0.3: 1=1
251.0.4: error -12389
251.0.5:
251.0.6: 0=1 1=1
251.0.7: -1=1
PM_ID_NULL: error -12358
250.0.0: error -12358
251.0.8: error -12358
251.1.0: error -12358
251.0.2: error -12358
`
	if diff := cmp.Diff(want, fetched(t, a, request(), ids...)); diff != "" {
		t.Errorf("fetch (-want +got):\n%s", diff)
	}
}

// TestProfile checks with Value and Values that a fetch under a profile returns exactly the values
// that the profile includes.
func TestProfile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		insts := rapid.SliceOfNDistinct(rapid.Int32Range(0, 12), 0, 8, rapid.ID).Draw(t, "instances")
		a := &pmda.Agent{Name: "a", Domain: 251}
		d := a.AddInDom("i")
		var list []pdu.Instance
		for _, i := range insts {
			list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: fmt.Sprint("n", i)})
		}
		calls := 0
		p := new(pdu.Profile)
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			in := rapid.SampledFrom([]pdu.InDom{d.ID(), d.ID(), pdu.NoInDom, pdu.MakeInDom(251, 1)}).Draw(t, "indom")
			var of []pdu.InstID
			if in != pdu.NoInDom {
				for _, i := range rapid.SliceOfN(rapid.Int32Range(0, 12), 0, 5).Draw(t, "of") {
					of = append(of, pdu.InstID(i))
				}
			}
			change := p.Add
			if rapid.Bool().Draw(t, "delete") {
				change = p.Delete
			}
			if err := change(in, of...); err != nil {
				t.Fatal(err)
			}
		}
		errs := []error{setInstances(d, list...),
			pmda.Register(a, pmda.Metric[int32]{Name: "a.each", InDom: d,
				Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
					calls++
					return int32(i.ID), nil
				}}),
			pmda.Register(a, pmda.Metric[int32]{Name: "a.all", InDom: d,
				Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[int32]) error {
					for _, i := range d.Instances() {
						s.Put(i.ID, int32(i.ID))
					}
					return nil
				}}),
			pmda.Register(a, pmda.Metric[int32]{Name: "a.listed", InDom: d,
				Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[int32]) error {
					for i := range s.Instances() {
						s.Put(i.ID, int32(i.ID))
					}
					return nil
				}}),
			pmda.Register(a, pmda.Metric[int32]{Name: "a.singular", Value: always[int32](1)}),
			a.Err()}
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		values, n := "", 0
		for _, i := range list {
			if p.Includes(d.ID(), i.ID) {
				values += fmt.Sprintf(" %d=%d", i.ID, i.ID)
				n++
			}
		}
		want := fmt.Sprintf("251.0.0:%[1]s\n251.0.1:%[1]s\n251.0.2:%[1]s\n251.0.3: -1=1\n", values)
		r := request()
		r.Profile = p
		if got := fetchedIn(t, a, r, 4); got != want {
			t.Fatalf("fetch:\n%swant:\n%s", got, want)
		}
		if calls != n {
			t.Fatalf("Value was called %d times for %d instances", calls, n)
		}
	})
}

// fetchedIn is fetched for items 0 to n-1 of cluster 0, within a property.
func fetchedIn(t *rapid.T, a *pmda.Agent, r *pmda.Request, n int) string {
	var w pdu.ResultWriter
	var ids []pdu.PMID
	for i := range n {
		ids = append(ids, pdu.MakePMID(251, 0, i))
	}
	if err := a.Fetch(context.Background(), r, ids, &w); err != nil {
		t.Fatal(err)
	}
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
	res := pdu.Result{Format: pdu.FormatHighRes}
	if err = errors.Join(err, res.Decode(b[pdu.HeaderLen:])); err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	for _, set := range res.All() {
		fmt.Fprintf(&s, "%v:", set.PMID)
		for id, a := range set.All(pdu.Type32) {
			fmt.Fprintf(&s, " %d=%v", id, a)
		}
		s.WriteString("\n")
	}
	return s.String()
}

// TestRefresh checks that each request refreshes an instance domain that it uses once. If the
// refresh fails, so do the metrics of the domain.
func TestRefresh(t *testing.T) {
	var log bytes.Buffer
	a := &pmda.Agent{Name: "a", Domain: 251, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	n := 0
	var fail error
	d := a.AddInDom("job")
	d.Refresh = func(context.Context, *pmda.Request) error {
		n++
		if fail != nil {
			return fail
		}
		return setNames(d, fmt.Sprint("job", n))
	}
	value := func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) { return i.Name, nil }
	register(t, a, pmda.Metric[string]{Name: "a.x", InDom: d, Value: value})
	register(t, a, pmda.Metric[string]{Name: "a.y", InDom: d, Value: value,
		Store: func(_ context.Context, _ *pmda.Request, i pdu.Instance, v string) error { return nil }})
	register(t, a, pmda.Metric[int32]{Name: "a.one", Value: always[int32](1)})
	x, y, single := pdu.MakePMID(251, 0, 0), pdu.MakePMID(251, 0, 1), pdu.MakePMID(251, 0, 2)
	ctx, r := t.Context(), request()

	if got, want := fetched(t, a, r, x, single, y, x), "251.0.0: 0=\"job1\"\n251.0.2: -1=1\n251.0.1: 0=\"job1\"\n251.0.0: 0=\"job1\"\n"; got != want {
		t.Errorf("fetch:\n%swant:\n%s", got, want)
	}
	if fetched(t, a, r, single); n != 1 {
		t.Errorf("%d times refreshed, want 1", n)
	}
	list, err := a.Instances(ctx, r, d.ID(), pdu.NoInst, "")
	if diff := cmp.Diff([]pdu.Instance{{ID: 1, Name: "job2"}}, list); diff != "" || err != nil {
		t.Errorf("Instances (%v, -want +got):\n%s", err, diff)
	}
	sets, err := a.Labels(ctx, r, pdu.LabelsOfInstances(d.ID()))
	if err != nil || len(sets) != 1 || sets[0].Inst != 2 {
		t.Errorf("Labels: %v (%v), want a set of instance 2", sets, err)
	}
	if err := a.Store(ctx, r, stored(t, y, func(w *pdu.ResultWriter) { w.String(3, "s") })); err != nil {
		t.Errorf("Store into the instance of its refresh: %v", err)
	}

	fail = pdu.ErrAgain
	if got, want := fetched(t, a, r, x, single, y), "251.0.0: error -12389\n251.0.2: -1=1\n251.0.1: error -12389\n"; got != want {
		t.Errorf("fetch of a failed domain:\n%swant:\n%s", got, want)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "refresh of an instance domain failed") {
		t.Errorf("log: %s", log.String())
	}
	_, err1 := a.Instances(ctx, r, d.ID(), pdu.NoInst, "")
	_, err2 := a.Labels(ctx, r, pdu.LabelsOfInstances(d.ID()))
	err3 := a.Store(ctx, r, stored(t, y, func(w *pdu.ResultWriter) { w.String(3, "s") }))
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, pdu.ErrAgain) {
			t.Errorf("question about a failed domain: %v", err)
		}
	}
}

// stored returns the values of a store.
func stored(t testing.TB, id pdu.PMID, add func(w *pdu.ResultWriter)) *pdu.Result {
	t.Helper()
	var w pdu.ResultWriter
	w.Begin(id)
	add(&w)
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	must(t, err)
	r := new(pdu.Result)
	must(t, r.Decode(b[pdu.HeaderLen:]))
	return r
}

// TestGroupOnce checks that each fetch of a group's metrics refreshes the group once, before the
// first value.
func TestGroupOnce(t *testing.T) {
	var log bytes.Buffer
	a := &pmda.Agent{Name: "a", Domain: 251, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	var events []string
	group := func(name string, err error) *pmda.Group {
		return a.Group(func(context.Context, *pmda.Request) error {
			events = append(events, "refresh "+name)
			return err
		})
	}
	value := func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
		events = append(events, "value")
		return 1, nil
	}
	first, second, broken, lock := group("first", nil), group("second", nil), group("broken", pdu.ErrAgain), a.Group(nil)
	for i, g := range []*pmda.Group{second, first, broken, nil, first, lock} {
		register(t, a, pmda.Metric[int32]{Name: fmt.Sprint("a.m", i), Group: g, Value: value})
	}
	want := "251.0.0: -1=1\n251.0.1: -1=1\n251.0.2: error -12389\n251.0.3: -1=1\n251.0.4: -1=1\n251.0.5: -1=1\n251.0.2: error -12389\n"
	var ids []pdu.PMID
	for i := range 6 {
		ids = append(ids, pdu.MakePMID(251, 0, i))
	}
	if got := fetched(t, a, request(), append(ids, ids[2])...); got != want {
		t.Errorf("fetch:\n%swant:\n%s", got, want)
	}
	wantEvents := []string{"refresh first", "refresh second", "refresh broken", "value", "value", "value", "value", "value"}
	if diff := cmp.Diff(wantEvents, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "refresh of a group failed") {
		t.Errorf("log: %s", log.String())
	}
	events = nil
	if fetched(t, a, request(), ids[3]); len(events) != 1 {
		t.Errorf("a fetch without groups: %v", events)
	}
}

// TestGroupExcludes checks that refresh, values and stores of a group run for one request at a
// time, and that two groups do not wait for each other.
func TestGroupExcludes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &pmda.Agent{Name: "a", Domain: 251}
		var in [2]atomic.Int32
		groups := make([]*pmda.Group, 2)
		work := func(n int) {
			if c := in[n].Add(1); c != 1 {
				t.Errorf("%d in group %d", c, n)
			}
			time.Sleep(time.Second)
			in[n].Add(-1)
		}
		for n := range groups {
			groups[n] = a.Group(func(context.Context, *pmda.Request) error { work(n); return nil })
			register(t, a, pmda.Metric[int32]{Name: fmt.Sprint("a.m", n), Group: groups[n],
				Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { work(n); return 1, nil },
				Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { work(n); return nil }})
		}
		x, y := pdu.MakePMID(251, 0, 0), pdu.MakePMID(251, 0, 1)
		must(t, a.Err())
		for _, c := range []struct {
			name string
			ids  [][]pdu.PMID
			want time.Duration
		}{
			{"one group", [][]pdu.PMID{{x}, {x}, {x}}, 6 * time.Second},
			{"two groups", [][]pdu.PMID{{x}, {y}}, 2 * time.Second},
			{"both in both orders", [][]pdu.PMID{{x, y}, {y, x}, {x, y}}, 12 * time.Second},
		} {
			start := time.Now()
			var wg sync.WaitGroup
			for _, ids := range c.ids {
				wg.Go(func() {
					var w pdu.ResultWriter
					if err := a.Fetch(t.Context(), request(), ids, &w); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if d := time.Since(start); d != c.want {
				t.Errorf("%s: %v, want %v", c.name, d, c.want)
			}
		}
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { fetched(t, a, request(), x) })
		wg.Go(func() {
			must(t, a.Store(t.Context(), request(), stored(t, x, func(w *pdu.ResultWriter) { w.Int32(-1, 1) })))
		})
		wg.Wait()
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("a fetch and a store: %v", d)
		}
	})
}

// TestGroupCancel checks that waiting for a group ends with the context.
func TestGroupCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &pmda.Agent{Name: "a", Domain: 251}
		free := make(chan struct{})
		g := a.Group(func(context.Context, *pmda.Request) error { <-free; return nil })
		d := a.AddInDom("i", "x")
		d.Group = g
		register(t, a, pmda.Metric[int32]{Name: "a.x", Group: g, Value: always[int32](1),
			Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { return nil }})
		x := pdu.MakePMID(251, 0, 0)
		var wg sync.WaitGroup
		wg.Go(func() { fetched(t, a, request(), x) })
		synctest.Wait()

		why := errors.New("nobody waits")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		start := time.Now()
		var w pdu.ResultWriter
		if err := a.Fetch(ctx, request(), []pdu.PMID{x}, &w); !errors.Is(err, why) || time.Since(start) != time.Second {
			t.Errorf("Fetch: %v after %v", err, time.Since(start))
		}
		if _, err := a.Instances(ctx, request(), d.ID(), pdu.NoInst, ""); !errors.Is(err, why) {
			t.Errorf("Instances: %v", err)
		}
		if err := a.Store(ctx, request(), stored(t, x, func(w *pdu.ResultWriter) { w.Int32(-1, 1) })); !errors.Is(err, why) {
			t.Errorf("Store: %v", err)
		}
		close(free)
		wg.Wait()
		if got := fetched(t, a, request(), x); got != "251.0.0: -1=1\n" {
			t.Errorf("afterwards: %s", got)
		}
	})
}

// TestGroupInDom checks a group whose refresh finds instances and values at once.
func TestGroupInDom(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	stats := map[string]uint64{}
	var d *pmda.InDom
	var fail error
	now := map[string]uint64{"sda": 1, "sdb": 2}
	g := a.Group(func(context.Context, *pmda.Request) error {
		if fail != nil {
			return fail
		}
		clear(stats)
		var disks []string
		for n, v := range now {
			stats[n] = v
			disks = append(disks, n)
		}
		slices.Sort(disks)
		return setNames(d, disks...)
	})
	d = &pmda.InDom{Name: "disk", Group: g}
	must(t, a.Attach(d))
	register(t, a, pmda.Metric[uint64]{Name: "a.read", InDom: d, // of no Group: its domain's counts
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) { return stats[i.Name], nil }})
	x := pdu.MakePMID(251, 0, 0)
	list := func() []pdu.Instance {
		l, err := a.Instances(t.Context(), request(), d.ID(), pdu.NoInst, "")
		must(t, err)
		return l
	}
	if diff := cmp.Diff([]pdu.Instance{{ID: 0, Name: "sda"}, {ID: 1, Name: "sdb"}}, list()); diff != "" {
		t.Errorf("Instances before a fetch (-want +got):\n%s", diff)
	}
	now = map[string]uint64{"sdb": 3, "sdc": 4}
	if got := fetched(t, a, request(), x); got != "251.0.0: 1=3 2=4\n" {
		t.Errorf("fetch: %s", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				fetched(t, a, request(), x)
				list()
			}
		})
	}
	wg.Wait()
	fail = pdu.ErrAgain
	if got := fetched(t, a, request(), x); got != "251.0.0: error -12389\n" {
		t.Errorf("fetch of a failed group: %s", got)
	}
	if _, err := a.Instances(t.Context(), request(), d.ID(), 1, ""); !errors.Is(err, pdu.ErrAgain) {
		t.Errorf("Instances of a failed group: %v", err)
	}
}

// TestGroupStore checks that a store locks the group of its metric and the group of the metric's
// domain, and that concurrent stores and fetches do not deadlock.
func TestGroupStore(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	var in [2]sync.Mutex // held by whoever is in a function of the group
	work := func(groups ...int) {
		for _, n := range groups {
			if !in[n].TryLock() {
				t.Errorf("two requests in group %d", n)
				return
			}
			defer in[n].Unlock()
		}
		time.Sleep(100 * time.Microsecond)
	}
	var groups [2]*pmda.Group
	var domains [2]*pmda.InDom
	for n := range groups {
		groups[n] = a.Group(func(context.Context, *pmda.Request) error { work(n); return nil })
		domains[n] = &pmda.InDom{Serial: pmda.InDomSerial(n), Name: "i", Group: groups[n]}
		must(t, a.Attach(domains[n]), setNames(domains[n], "x"))
	}
	var ids []pdu.PMID
	for item, c := range []struct {
		domain, group int // -1 for none of its own
		in            []int
	}{{0, -1, []int{0}}, {1, -1, []int{1}}, {0, 0, []int{0}}, {0, 1, []int{0, 1}}, {1, 0, []int{0, 1}}} {
		m := pmda.Metric[int32]{Name: fmt.Sprint("a.m", item), InDom: domains[c.domain],
			Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { work(c.in...); return 1, nil },
			Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { work(c.in...); return nil }}
		if c.group >= 0 {
			m.Group = groups[c.group]
		}
		register(t, a, m)
		ids = append(ids, pdu.MakePMID(251, 0, item))
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		for range 4 {
			wg.Go(func() {
				if err := a.Store(t.Context(), request(), stored(t, id, func(w *pdu.ResultWriter) { w.Int32(0, 1) })); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() { fetched(t, a, request(), id) })
		}
	}
	wg.Wait()
}

// TestPanic checks that a panic in a function of a metric fails only that metric, and leaves
// nothing locked.
func TestPanic(t *testing.T) {
	var log pcptest.LogBuffer
	a := &pmda.Agent{Name: "a", Domain: 251, Logger: logLines(&log)}
	broken := true
	g := a.Group(nil)
	register(t, a, pmda.Metric[int32]{Name: "a.first", Group: g, Value: always[int32](1)})
	register(t, a, pmda.Metric[int32]{Name: "a.value", Group: g,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
			if broken {
				panic("oh")
			}
			return 1, nil
		},
		Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { panic("no") }})
	register(t, a, pmda.Metric[int32]{Name: "a.values", InDom: a.AddInDom("i", "x"), Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[int32]) error {
		s.Put(0, 1)
		if broken {
			panic("ah")
		}
		return nil
	}})
	register(t, a, pmda.Metric[int32]{Name: "a.last", Group: g, Value: always[int32](1)})
	var ids []pdu.PMID
	for i := range 4 {
		ids = append(ids, pdu.MakePMID(251, 0, i))
	}
	const bad = "251.0.0: -1=1\n251.0.1: error -12345\n251.0.2: error -12345\n251.0.3: -1=1\n"
	const good = "251.0.0: -1=1\n251.0.1: -1=1\n251.0.2: 0=1\n251.0.3: -1=1\n"
	for range 2 {
		if got := fetched(t, a, request(), ids...); got != bad {
			t.Errorf("fetch:\n%swant:\n%s", got, bad)
		}
	}
	if got := fetched(t, a, request(), ids[1]); got != "251.0.1: error -12345\n" { // the last of a fetch
		t.Errorf("fetch: %s", got)
	}
	err := a.Store(t.Context(), request(), stored(t, ids[1], func(w *pdu.ResultWriter) { w.Int32(-1, 1) }))
	if pdu.FromError(err) != pdu.ErrGeneric {
		t.Errorf("Store: %v", err)
	}
	broken = false
	if got := fetched(t, a, request(), ids...); got != good {
		t.Errorf("fetch:\n%swant:\n%s", got, good)
	}
	want := `level=ERROR msg="agent panicked" agent=a metric=a.value function=Value panic=oh
level=ERROR msg="agent panicked" agent=a metric=a.values function=Value panic=ah
level=ERROR msg="agent panicked" agent=a metric=a.value function=Store panic=no
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestRegisterWhileServing registers, sets instances and notifies from functions of the agent and
// other goroutines while requests run.
func TestRegisterWhileServing(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i", "x")
	n := 0
	g := a.Group(func(context.Context, *pmda.Request) error {
		n++
		a.Notify(pdu.ChangeLabels)
		if n%20 == 0 {
			a.AddInDom(fmt.Sprint("more", n), "y")
			return pmda.Register(a, pmda.Metric[int32]{Name: fmt.Sprint("a.more", n), Value: always[int32](1)})
		}
		return setInstances(d, pdu.Instance{ID: pdu.InstID(n), Name: fmt.Sprint("i", n)})
	})
	register(t, a, pmda.Metric[int32]{Name: "a.x", InDom: d, Group: g, Value: always[int32](1)})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 100 {
				fetched(t, a, request(), pdu.MakePMID(251, 0, 0))
				a.Namespace().Len()
				must(t, setNames(d, "a", "b"))
			}
		})
	}
	wg.Wait()
	if err := a.Err(); err != nil || a.Namespace().Len() != 1+300/20 {
		t.Errorf("%d names, %v", a.Namespace().Len(), err)
	}
}
