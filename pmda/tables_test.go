package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// namesOf returns the names of an agent with their PMIDs.
func namesOf(a *pmda.Agent) []string {
	var names []string
	for name, id := range a.Namespace().All() {
		names = append(names, name+" "+id.String())
	}
	return names
}

// changesOf returns the changes that the next fetch reports.
func changesOf(t *testing.T, a *pmda.Agent) pdu.Change {
	t.Helper()
	var w pdu.ResultWriter
	must(t, a.Fetch(t.Context(), request(), nil, &w))
	return w.Changed
}

func wantNames(t *testing.T, a *pmda.Agent, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, namesOf(a)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestRemove(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i", "x")
	for _, name := range []string{"a.x", "a.y", "a.z"} {
		register(t, a, pmda.Metric[int32]{Name: name, InDom: d, Text: "line", Value: always[int32](1)})
	}
	must(t, a.AddDynamic("a.dynamic"))
	wantNames(t, a, "a.x 251.0.0", "a.y 251.0.1", "a.z 251.0.2", "a.dynamic 251.*.*")
	y := pdu.MakePMID(251, 0, 1)

	err := a.Remove("a.x", "a.none")
	if e, ok := errors.AsType[*pmda.OpError](err); !ok || e.Op != "remove" || e.Agent != "a" || e.Name != "a.none" || !errors.Is(err, pdu.ErrName) {
		t.Errorf("Remove of an unknown name: %v", err)
	}
	must(t, a.Remove())
	if c := changesOf(t, a); c != 0 {
		t.Errorf("nothing is removed, and clients are told %v", c)
	}
	must(t, a.Remove("a.y", "a.dynamic"))
	if c := changesOf(t, a); c != pdu.ChangeNames {
		t.Errorf("clients are told %v", c)
	}
	wantNames(t, a, "a.x 251.0.0", "a.z 251.0.2")
	if _, err := a.Desc(t.Context(), request(), y); err != pdu.ErrPMID {
		t.Errorf("Desc of a metric that is removed: %v", err)
	}
	if got := fetched(t, a, request(), y); got != "251.0.1: error -12358\n" {
		t.Errorf("Fetch of a metric that is removed: %s", got)
	}
	// The names are free again, also for names above or below them.
	register(t, a, pmda.Metric[int32]{Name: "a.y.below", Value: always[int32](1)})
	register(t, a, pmda.Metric[int32]{Name: "a.dynamic", Value: always[int32](1)})
	wantNames(t, a, "a.x 251.0.0", "a.z 251.0.2", "a.y.below 251.0.3", "a.dynamic 251.0.4")
	must(t, a.Err())
	pmdatest.Run(t, a)
}

// TestNumbersKept checks that a metric that is registered again keeps its number, unless its
// description has changed. A number is reused only when no other number is free.
func TestNumbersKept(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i")
	x := pmda.Metric[int32]{Name: "a.x", InDom: d, Value: always[int32](1)}
	register(t, a, x)
	must(t, a.Remove("a.x"))
	register(t, a, pmda.Metric[int32]{Name: "a.y", Value: always[int32](1)})
	register(t, a, x)
	wantNames(t, a, "a.y 251.0.1", "a.x 251.0.0")
	must(t, a.Remove("a.x"))
	register(t, a, pmda.Metric[int64]{Name: "a.x", InDom: d, Value: always[int64](1)}) // another type
	wantNames(t, a, "a.y 251.0.1", "a.x 251.0.2")
	must(t, a.Remove("a.x"))
	for i := 3; i <= pdu.MaxItem; i++ {
		name := fmt.Sprint("a.n", i)
		register(t, a, pmda.Metric[int32]{Name: name, Value: always[int32](1)})
		must(t, a.Remove(name))
	}
	register(t, a, pmda.Metric[int32]{Name: "a.last", Value: always[int32](1)})
	wantNames(t, a, "a.y 251.0.1", "a.last 251.0.0")
	register(t, a, pmda.Metric[int32]{Name: "a.fixed", ID: pmda.Item(0, 2), Value: always[int32](1)})
	register(t, a, pmda.Metric[int32]{Name: "a.next", Value: always[int32](1)})
	wantNames(t, a, "a.y 251.0.1", "a.last 251.0.0", "a.fixed 251.0.2", "a.next 251.0.3")
}

func TestDetach(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d, e := a.AddInDom("disk", "sda"), &pmda.InDom{Name: "fixed", Serial: pmda.InDomSerial(1)}
	must(t, a.Attach(e))
	register(t, a, pmda.Metric[int32]{Name: "a.x", InDom: d, Value: always[int32](1)})
	if err := a.Detach(d); err == nil || err.Error() != `pmda: agent a: detach instance domain "disk": metric "a.x" has it` {
		t.Errorf("Detach of a domain in use: %v", err)
	}
	must(t, a.Remove("a.x"), a.Detach(d), a.Detach(e))
	if err := a.Detach(d); err == nil || !strings.Contains(err.Error(), "it is not attached") {
		t.Errorf("Detach twice: %v", err)
	}
	if _, err := a.Instances(t.Context(), request(), d.ID(), pdu.NoInst, ""); err != pdu.ErrInDom {
		t.Errorf("Instances of a domain that is detached: %v", err)
	}
	if n := a.AddInDom("new").ID().Serial(); n != 2 {
		t.Errorf("a new domain has serial %d", n)
	}
	must(t, a.Attach(d))
	if n := d.ID().Serial(); n != 0 || d.Serial != 0 {
		t.Errorf("the domain comes back with serial %d, field %v", n, d.Serial)
	}
	other := &pmda.Agent{Name: "other", Domain: 252}
	if err := other.Attach(d); err == nil || !strings.Contains(err.Error(), "it belongs to agent a") {
		t.Errorf("Attach to another agent: %v", err)
	}
	must(t, a.Err())
}

// TestReleased checks that removed domains and groups can be garbage-collected.
func TestReleased(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	fill := func(name string) (weak.Pointer[pmda.InDom], weak.Pointer[pmda.Group]) {
		g := a.Group(func(context.Context, *pmda.Request) error { return nil })
		d := &pmda.InDom{Name: "i", Group: g}
		must(t, setNames(d, "x", "y"), a.Attach(d))
		register(t, a, pmda.Metric[int32]{Name: name, InDom: d, Value: always[int32](1)})
		return weak.Make(d), weak.Make(g)
	}
	use := func(name string) {
		id, err := a.Namespace().Lookup(name)
		must(t, err)
		fetched(t, a, request(), id)
	}
	d, g := fill("a.x")
	use("a.x")
	must(t, a.Remove("a.x"), a.Detach(d.Value()))
	a.Namespace()
	for range 10 { // a pool is emptied by the second
		runtime.GC()
		if d.Value() == nil && g.Value() == nil {
			return
		}
	}
	t.Errorf("kept: %v %v that were removed", d.Value(), g.Value())
}

// TestReplaceWhileServing removes and adds metrics and instance domains while clients fetch.
func TestReplaceWhileServing(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	shared := a.AddInDom("shared", "one", "two")
	var own *pmda.InDom
	build := func(n int32) {
		if own != nil {
			must(t, a.Remove("a.m0", "a.m1", "a.m2"), a.Detach(own))
		}
		g := a.Group(func(context.Context, *pmda.Request) error { return nil })
		own = &pmda.InDom{Name: "own", Serial: pmda.InDomSerial(7), Group: g}
		must(t, a.Attach(own), setNames(own, "x", fmt.Sprint("y", n)))
		for i, d := range []*pmda.InDom{nil, shared, own} {
			register(t, a, pmda.Metric[int32]{Name: fmt.Sprint("a.m", i), ID: pmda.Item(1, i), InDom: d, Group: g, Value: always(n)})
		}
	}
	build(0)
	ids := []pdu.PMID{pdu.MakePMID(251, 1, 0), pdu.MakePMID(251, 1, 1), pdu.MakePMID(251, 1, 2), pdu.MakePMID(251, 0, 0)}
	stop := make(chan struct{})
	var changing, fetching sync.WaitGroup
	for range 3 {
		fetching.Go(func() {
			var w pdu.ResultWriter
			for range 300 {
				w.Reset()
				if err := a.Fetch(t.Context(), request(), ids, &w); err != nil {
					t.Error(err)
				}
				r, err := w.Result()
				must(t, err)
				for _, s := range r.All() {
					var seen []int32
					for _, v := range s.All(pdu.Type32) {
						n, err := pdu.As[int32](v)
						must(t, err)
						seen = append(seen, n)
					}
					if len(slices.Compact(seen)) > 1 {
						t.Errorf("%v has values of several metrics: %v", s.PMID, seen)
					}
				}
				if _, err := a.Instances(t.Context(), request(), pdu.MakeInDom(251, 7), pdu.NoInst, ""); err != nil && err != pdu.ErrInDom {
					t.Error(err)
				}
				a.Namespace().Lookup("a.m0")
			}
		})
	}
	changing.Go(func() {
		for n := int32(1); ; n++ {
			select {
			case <-stop:
				return
			default:
				build(n)
			}
		}
	})
	changing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				register(t, a, pmda.Metric[string]{Name: "a.short", Labels: `{"a":1}`, Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) { return "", pmda.NoValue }})
				must(t, a.Remove("a.short"))
			}
		}
	})
	fetching.Wait()
	close(stop)
	changing.Wait()
}

func TestOpError(t *testing.T) {
	for _, c := range []struct {
		err     *pmda.OpError
		text    string
		timeout bool
	}{
		{&pmda.OpError{Op: "register", Agent: "a", Name: "a.x", Err: pdu.ErrName}, `pmda: agent a: register "a.x": Unknown metric name`, false},
		{&pmda.OpError{Op: "serve", Err: fmt.Errorf("no hello: %w", pdu.ErrTimeout)}, "pmda: serve: no hello: Timeout waiting for a response from PMCD", true},
		{&pmda.OpError{Op: "serve", Err: context.DeadlineExceeded}, "pmda: serve: context deadline exceeded", true},
	} {
		if got := c.err.Error(); got != c.text {
			t.Errorf("got %q, want %q", got, c.text)
		}
		if got := c.err.Timeout(); got != c.timeout || !errors.Is(c.err, c.err.Err) {
			t.Errorf("%v: Timeout is %v", c.err, got)
		}
	}
}
