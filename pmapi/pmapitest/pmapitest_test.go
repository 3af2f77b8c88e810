package pmapitest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmns"
)

func TestMetadata(t *testing.T) {
	src := &pmapitest.Source{Host: "made.up", Labels: `{"site":"lab"}`}
	disks := src.InDom("sda", "sdb solid")
	disks.SetLabels(`{"kind":"disk"}`, func(i pdu.Instance) string { return `{"name":"` + i.Name[:3] + `"}` })
	reads := pmapitest.Add(src, pmapitest.Metric[uint64]{
		Name: "disk.read", InDom: disks, Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: "Reads", Labels: `{"a":1}`,
	})
	pmapitest.Add(src, pmapitest.Metric[string]{Name: "state", Text: "State", Help: "The state."})
	c, ctx := src.Context(), t.Context()

	ids, err := c.Lookup(ctx, []string{"disk.read", "state", "disk", "none", "event.flags"})
	if !errors.Is(err, pdu.ErrNonLeaf) || ids[0] != reads.Desc().PMID || ids[2] != pdu.NoPMID || ids[4] != pdu.EventFlagsPMID {
		t.Errorf("%v, %v", ids, err)
	}
	descs, err := c.Descs(ctx, ids[:2])
	want := []pdu.Desc{reads.Desc(), {PMID: ids[1], Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemInstant}}
	if diff := cmp.Diff(want, descs); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	names, err := c.Traverse(ctx, "")
	if !slices.Equal(names, []string{"disk.read", "state", "event.flags", "event.missed"}) || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	children, err := c.Children(ctx, "disk")
	if diff := cmp.Diff([]pmns.Child{{Name: "read", Leaf: true}}, children); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if name, err := c.Name(ctx, ids[1]); name != "state" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if id, err := c.InstID(ctx, disks.ID(), "sdb"); id != 1 || err != nil {
		t.Errorf("%v, %v", id, err)
	}
	if name, err := c.InstName(ctx, disks.ID(), 1); name != "sdb solid" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if text, err := c.Text(ctx, ids[0], pdu.TextHelp); text != "Reads" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := c.Text(ctx, ids[1], pdu.TextHelp); text != "The state." || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	sets, err := c.Labels(ctx, ids[0])
	if got := merged(sets); got != `{"a":1,"kind":"disk","site":"lab"}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	sets, err = c.InstanceLabels(ctx, disks.ID())
	if err != nil || len(sets) != 2 || sets[1].Inst != 1 || sets[1].String() != `{"name":"sdb"}` {
		t.Errorf("%v, %v", sets, err)
	}
	if name := c.HostName(ctx); name != "made.up" {
		t.Error(name)
	}
	for _, err := range []error{
		second(c.Desc(ctx, 77)), second(c.Name(ctx, 77)), second(c.Text(ctx, 77, pdu.TextHelp)), second(c.ItemLabels(ctx, 77)),
	} {
		if !errors.Is(err, pdu.ErrPMID) || !strings.Contains(err.Error(), "on made.up") {
			t.Errorf("error %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestStore: the next fetch returns the stored value, unless the metric has a Value function.
func TestStore(t *testing.T) {
	src := new(pmapitest.Source)
	level := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "level"})
	fixed := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "fixed", Value: func(time.Time, pdu.Instance) (int32, error) { return 1, nil }})
	c, ctx := src.Context(), t.Context()
	store := func(id pdu.PMID) error {
		var w pdu.ResultWriter
		w.Begin(id)
		w.Int32(pdu.NoInst, 5)
		r, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		return c.StoreResult(ctx, r)
	}
	if err := store(level.Desc().PMID); err != nil {
		t.Error(err)
	}
	if err := store(fixed.Desc().PMID); !errors.Is(err, pdu.ErrPermission) {
		t.Error(err)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, []pdu.PMID{level.Desc().PMID, fixed.Desc().PMID}, &r); err != nil {
		t.Fatal(err)
	}
	if a, b := r.At(0).Atom(0, pdu.Type32), r.At(1).Atom(0, pdu.Type32); !a.Equal(pdu.Int32(5)) || !b.Equal(pdu.Int32(1)) {
		t.Error(a, b)
	}
}

// TestSynctest: within synctest, the time of the source is that of the program.
func TestSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := new(pmapitest.Source)
		ticks := pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "ticks"})
		ticks.Set(1)
		src.SetDelay(100 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		g := src.Context().Group()
		pmapi.Add[uint32](g, "ticks")
		began, n := time.Now(), 0
		for now, err := range g.Every(ctx, time.Second) {
			if err != nil || now.After(time.Now()) || now.Before(began) {
				t.Error(now, err)
			}
			n++
		}
		if d := time.Since(began); d != 5*time.Second || n != 5 {
			t.Errorf("%d fetches in %v", n, d)
		}
	})
}

// TestClose: the end of a context.Context and Close each end a waiting request. After Close all
// requests fail.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{OnRequest: func(ctx context.Context, _ pmapitest.Request) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		c := src.Context()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Lookup(ctx, []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.AfterFunc(time.Second, func() { c.Close() })
		for range 2 {
			if _, err := c.Lookup(t.Context(), []string{"a"}); !errors.Is(err, pdu.ErrNoContext) {
				t.Error(err)
			}
		}
		for _, err := range []error{c.Close(), c.Reconnect(t.Context()), second(c.Dup(t.Context()))} {
			if err != nil && !errors.Is(err, pdu.ErrNoContext) {
				t.Error(err)
			}
		}
	})
}

// TestBreak: a broken connection stays broken until Reconnect, which fails before Restore. Contexts
// that reconnect automatically report all changes.
func TestBreak(t *testing.T) {
	for _, reconnects := range []bool{false, true} {
		src := &pmapitest.Source{AutoReconnect: reconnects, Start: noon}
		in := src.InDom("red", "blue")
		m := pmapitest.Add(src, pmapitest.Metric[int64]{Name: "a.b", InDom: in})
		m.Set(1, 2)
		c, ctx := src.Context(), t.Context()
		id := m.Desc().PMID
		use := func() error {
			_, err := c.Lookup(ctx, []string{"a.b"})
			return errors.Join(err, second(c.Desc(ctx, id)), second(c.Instances(ctx, in.ID())))
		}
		if err := use(); err != nil {
			t.Fatal(err)
		}
		other, err := c.Dup(ctx)
		if err != nil {
			t.Fatal(err)
		}
		broken := errors.New("it broke")
		src.Break(broken)
		for range 2 {
			if err := use(); !errors.Is(err, pdu.ErrIPC) || !errors.Is(err, broken) {
				t.Error(err)
			}
			if err := c.Reconnect(ctx); !errors.Is(err, pdu.ErrIPC) {
				t.Error(err)
			}
		}
		m.Rename("a.c")
		in.SetNames("blue", "green")
		src.Advance(time.Minute)
		src.Restore()
		if err := use(); reconnects == errors.Is(err, pdu.ErrIPC) {
			t.Error(err)
		}
		if err := c.Reconnect(ctx); err != nil {
			t.Error(err)
		}
		var r pdu.Result
		err = c.Fetch(ctx, []pdu.PMID{id}, &r)
		gap, _ := errors.AsType[*pmapi.Gap](err)
		if !reconnects {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		want := &pmapi.Gap{
			Lost: noon, Restored: noon.Add(time.Minute), Cause: broken,
			Names: map[string]pmapi.GapChange[pdu.PMID]{"a.b": {Was: id, Is: pdu.NoPMID}},
			InDoms: map[pdu.InDom]pmapi.GapChange[[]pdu.Instance]{in.ID(): {
				Was: []pdu.Instance{{ID: 0, Name: "red"}, {ID: 1, Name: "blue"}},
				Is:  []pdu.Instance{{ID: 1, Name: "blue"}, {ID: 2, Name: "green"}}}},
		}
		if diff := cmp.Diff(want, gap, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })); diff != "" {
			t.Errorf("gap (-want +got):\n%s", diff)
		}
		if err := c.Fetch(ctx, []pdu.PMID{id}, &r); err != nil {
			t.Error(err)
		}
		if err := other.Fetch(ctx, []pdu.PMID{id}, &r); !errors.Is(err, pdu.ErrIPC) {
			t.Error(err)
		}
		if err := other.Fetch(ctx, []pdu.PMID{id}, &r); !errors.As(err, &gap) || len(gap.Names) != 1 {
			t.Error(err)
		}
	}
}

// TestChanges: the next fetch reports added and removed metrics.
func TestChanges(t *testing.T) {
	src := new(pmapitest.Source)
	a := pmapitest.Add(src, pmapitest.Metric[float32]{Name: "a"})
	a.Set(1)
	c, ctx := src.Context(), t.Context()
	ids := []pdu.PMID{a.Desc().PMID}
	var r pdu.Result
	fetch := func() pdu.Change {
		t.Helper()
		if err := c.Fetch(ctx, ids, &r); err != nil {
			t.Fatal(err)
		}
		return r.Changed
	}
	if got := fetch(); got != 0 {
		t.Error(got)
	}
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "b"})
	src.Notify(pdu.ChangeHostname)
	if got := fetch(); got != pdu.ChangeNames|pdu.ChangeHostname {
		t.Error(got)
	}
	a.Remove()
	if got := fetch(); got != pdu.ChangeNames || r.At(0).Err() != error(pdu.ErrPMID) {
		t.Error(got, r.At(0).Err())
	}
}

// merged returns the merged label sets as a JSON object.
func merged(sets []pdu.LabelSet) string {
	set, err := pdu.MergeLabels(nil, sets...)
	if err != nil {
		return err.Error()
	}
	return set.String()
}

// TestContextOnBrokenSource: a context that is opened while connections are broken works after
// Restore: with AutoReconnect at once and without a gap, otherwise after Reconnect.
func TestContextOnBrokenSource(t *testing.T) {
	for _, reconnects := range []bool{false, true} {
		src := &pmapitest.Source{AutoReconnect: reconnects, Start: noon}
		pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "size"}).Set(7)
		src.Break(errors.New("not started"))
		c := src.Context()
		g := c.Group()
		size := pmapi.Add[uint32](g, "size")
		for range 2 {
			if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrIPC) || !strings.Contains(err.Error(), "not started") {
				t.Error(err)
			}
		}
		twin, err := c.Dup(t.Context())
		if reconnects != (err == nil) {
			t.Errorf("Dup with AutoReconnect %v: %v", reconnects, err)
		}
		src.Restore()
		if !reconnects {
			if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrIPC) {
				t.Error(err)
			}
			if err := c.Reconnect(t.Context()); err != nil {
				t.Error(err)
			}
		} else if err := twin.Fetch(t.Context(), []pdu.PMID{1}, new(pdu.Result)); err != nil {
			t.Error(err)
		}
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Error(err)
		}
		if v, err := size.Value(); v != 7 || err != nil {
			t.Error(v, err)
		}
	}
}
