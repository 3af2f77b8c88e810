package local_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmns"
)

var (
	one, two, many = pdu.MakePMID(400, 0, 1), pdu.MakePMID(400, 0, 2), pdu.MakePMID(400, 0, 3)
	ghost          = pdu.MakePMID(77, 0, 1) // in a domain without an agent
	manyInDom      = pdu.MakeInDom(400, 0)
)

// wants checks the code of an error.
func wants(t *testing.T, what string, err error, want pdu.Error) {
	t.Helper()
	if pdu.FromError(err) != want {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func TestNames(t *testing.T) {
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{newAgent(t, "x", 400), newAgent(t, "y", 401)}})
	ids, err := pc.Lookup(t.Context(), []string{"y.two", "x.deep.down.x", "x.nosuch", "x"})
	if want := []pdu.PMID{pdu.MakePMID(401, 0, 2), pdu.MakePMID(400, 1, 1), pdu.NoPMID, pdu.NoPMID}; !slices.Equal(ids, want) {
		t.Errorf("PMIDs %v, want %v", ids, want)
	}
	if bulk, ok := errors.AsType[*pmapi.BulkError](err); !ok || len(bulk.Unwrap()) != 2 {
		t.Errorf("lookup: %v", err)
	}
	_, err = pc.Lookup(t.Context(), []string{"x.nosuch"})
	wants(t, "unknown name", err, pdu.ErrName)
	_, err = pc.Lookup(t.Context(), []string{"x"})
	wants(t, "name with others below", err, pdu.ErrNonLeaf)

	all, err := pc.Traverse(t.Context(), "x")
	want := []string{"x.one", "x.two", "x.many", "x.deep.down.x", "x.deep.y"}
	if diff := cmp.Diff(want, all); diff != "" || err != nil {
		t.Errorf("traverse: %v (-want +got)\n%s", err, diff)
	}
	children, err := pc.Children(t.Context(), "x.deep")
	if diff := cmp.Diff([]pmns.Child{{Name: "down"}, {Name: "y", Leaf: true}}, children); diff != "" || err != nil {
		t.Errorf("children: %v (-want +got)\n%s", err, diff)
	}
	for id, want := range map[pdu.PMID]string{one: "x.one", pdu.MakePMID(401, 1, 2): "y.deep.y"} {
		if name, err := pc.Name(t.Context(), id); name != want || err != nil {
			t.Errorf("%v is %q, %v, want %q", id, name, err, want)
		}
	}
	_, err = pc.Name(t.Context(), ghost)
	wants(t, "name of a domain without an agent", err, pdu.ErrNoAgent)
	_, err = pc.Name(t.Context(), pdu.MakePMID(400, 7, 7))
	wants(t, "name of an unknown metric", err, pdu.ErrPMID)
}

// TestFileNames: with Agents.Names, names exist without an agent.
func TestFileNames(t *testing.T) {
	loads := 0
	names := func() (*pmns.Tree, error) {
		loads++
		return pmns.Parse("names", strings.NewReader("root {\n a 400:0:1\n b 77:0:1\n c 400:*:*\n d 77:*:*\n e 400:0:2\n}\n"))
	}
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{newAgent(t, "x", 400)}, Names: names})
	ids, err := pc.Lookup(t.Context(), []string{"a", "b", "e"})
	if want := []pdu.PMID{one, ghost, two}; !slices.Equal(ids, want) || err != nil {
		t.Errorf("PMIDs %v, %v, want %v", ids, err, want)
	}
	_, err = pc.Lookup(t.Context(), []string{"d.x"})
	wants(t, "name below the root of a missing agent", err, pdu.ErrNoAgent)
	_, err = pc.Children(t.Context(), "d")
	wants(t, "children of it", err, pdu.ErrNoAgent)
	_, err = pc.Lookup(t.Context(), []string{"x.one"})
	wants(t, "name that only the agent has", err, pdu.ErrName)
	// Traverse returns the names before the failure.
	got, err := pc.Traverse(t.Context(), "")
	wants(t, "traverse", err, pdu.ErrNoAgent) // the error of d; c is empty
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("traverse (-want +got)\n%s", diff)
	}
	if loads != 1 {
		t.Errorf("%d loads", loads)
	}

	pc = open(t, &local.Agents{Names: func() (*pmns.Tree, error) { return nil, os.ErrNotExist }})
	_, err = pc.Lookup(t.Context(), []string{"a"})
	wants(t, "no name space", err, pdu.ErrNoPMNS)
	_, err = pc.Traverse(t.Context(), "")
	wants(t, "no name space", err, pdu.ErrNoPMNS)
}

func TestMetadata(t *testing.T) {
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{newAgent(t, "x", 400)}})
	d, err := pc.Desc(t.Context(), many)
	if d.PMID != many || d.InDom != manyInDom || err != nil {
		t.Errorf("desc %+v, %v", d, err)
	}
	_, err = pc.Desc(t.Context(), ghost)
	wants(t, "desc of a missing agent", err, pdu.ErrNoAgent)
	_, err = pc.Desc(t.Context(), pdu.MakePMID(400, 9, 9))
	wants(t, "desc of an unknown metric", err, pdu.ErrPMID)

	list, err := pc.Instances(t.Context(), manyInDom)
	if want := []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b one"}, {ID: 2, Name: "c"}}; !slices.Equal(list, want) || err != nil {
		t.Errorf("instances %v, %v", list, err)
	}
	if id, err := pc.InstID(t.Context(), manyInDom, "b"); id != 1 || err != nil {
		t.Errorf("instance b is %v, %v", id, err)
	}
	if name, err := pc.InstName(t.Context(), manyInDom, 2); name != "c" || err != nil {
		t.Errorf("instance 2 is %q, %v", name, err)
	}
	_, err = pc.InstID(t.Context(), manyInDom, "z")
	wants(t, "unknown instance", err, pdu.ErrInst)
	_, err = pc.Instances(t.Context(), pdu.MakeInDom(77, 0))
	wants(t, "instances of a missing agent", err, pdu.ErrNoAgent)

	for _, tt := range []struct {
		id   pdu.PMID
		kind pdu.TextKind
		want string
	}{
		{one, pdu.TextOneLine, "The first"}, {one, pdu.TextHelp, "The first"}, {two, pdu.TextHelp, "It can be set."},
	} {
		if text, err := pc.Text(t.Context(), tt.id, tt.kind); text != tt.want || err != nil {
			t.Errorf("text of %v: %q, %v, want %q", tt.id, text, err, tt.want)
		}
	}
	if text, err := pc.InDomText(t.Context(), manyInDom, pdu.TextOneLine); text != "Letters" || err != nil {
		t.Errorf("text of the domain: %q, %v", text, err)
	}
	_, err = pc.Text(t.Context(), ghost, pdu.TextOneLine)
	wants(t, "text of a missing agent", err, pdu.ErrNoAgent)
}

func TestLabels(t *testing.T) {
	labels := collector.ContextLabels{Hostname: func() (string, error) { return "here", nil }, DomainName: func() string { return "there" }}
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{newAgent(t, "x", 400)}, Labels: labels})
	sets, err := pc.Labels(t.Context(), many)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pdu.MergeLabels(func(l pdu.NamedLabel) bool { return l.Flags&pdu.LabelOptional == 0 }, sets...)
	if want := `{"colour":"red","domainname":"there","hostname":"here","machineid":"localmachine"}`; string(all.JSON) != want || err != nil {
		t.Errorf("labels %s, %v, want %s", all.JSON, err, want)
	}
	if err := pc.AddProfile(manyInDom, 1); err != nil {
		t.Fatal(err)
	}
	insts, err := pc.InstanceLabels(t.Context(), manyInDom)
	if err != nil || len(insts) != 1 || insts[0].Inst != 1 || string(insts[0].JSON) != `{"n":1}` {
		t.Errorf("labels of instances %v, %v", insts, err)
	}
	_, err = pc.DomainLabels(t.Context(), 77)
	wants(t, "labels of a missing agent", err, pdu.ErrNoAgent)
}

func TestFetch(t *testing.T) {
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{newAgent(t, "x", 400), newAgent(t, "y", 401)}})
	ids := []pdu.PMID{one, ghost, pdu.MakePMID(401, 0, 1), many, pdu.MakePMID(400, 9, 9), pdu.NoPMID, two}
	var r pdu.Result
	for range 2 { // the second reuses the memory of the first
		before := time.Now()
		if err := pc.Fetch(t.Context(), ids, &r); err != nil {
			t.Fatal(err)
		}
		if r.Time.Before(before) || r.Time.After(time.Now()) {
			t.Errorf("time %v, not after %v", r.Time, before)
		}
		for i, want := range []struct {
			n   int
			err pdu.Error
		}{{n: 1}, {err: pdu.ErrNoAgent}, {n: 1}, {n: 3}, {err: pdu.ErrPMID}, {err: pdu.ErrNoAgent}, {n: 1}} {
			s := r.At(i)
			if s.PMID != ids[i] || s.Len() != want.n || want.err != 0 && s.Err() != want.err {
				t.Errorf("set %d is %v with %d values, %v, want %v with %d, %v", i, s.PMID, s.Len(), s.Err(), ids[i], want.n, want.err)
			}
		}
	}
	if err := pc.AddProfile(manyInDom, 0, 2); err != nil {
		t.Fatal(err)
	}
	if err := pc.Fetch(t.Context(), []pdu.PMID{many}, &r); err != nil || r.At(0).Len() != 2 || r.At(0).Inst(1) != 2 {
		t.Errorf("with a profile %d values, %v", r.At(0).Len(), err)
	}
}

func TestStore(t *testing.T) {
	x, y := newAgent(t, "x", 400), newAgent(t, "y", 401)
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{x, y}})
	if err := pc.Store(t.Context(), "x.two", 7); err != nil {
		t.Error(err)
	}
	x.take()
	y.take()
	var w pdu.ResultWriter
	for _, id := range []pdu.PMID{two, pdu.MakePMID(401, 0, 2), ghost, pdu.MakePMID(401, 0, 2)} {
		w.Begin(id)
		w.Int64(pdu.NoInst, 5)
	}
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	wants(t, "store", pc.StoreResult(t.Context(), r), pdu.ErrNoAgent)
	// A store ends with the first metric that fails.
	if got := append(x.take(), y.take()...); !slices.Equal(got, []string{"store 400.0.2, 1 values", "store 401.0.2, 1 values"}) {
		t.Errorf("stores %q", got)
	}
	wants(t, "store into what cannot be set", pc.Store(t.Context(), "x.one", 1), pdu.ErrPermission)
}

// TestNotArchive: like a context on a collector, a local context has no past.
func TestNotArchive(t *testing.T) {
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{newAgent(t, "x", 400)}})
	wants(t, "mode", pc.SetMode(t.Context(), pmapi.ModeInterp, time.Time{}, time.Second), pdu.ErrMode)
	if err := pc.SetMode(t.Context(), pmapi.ModeLive, time.Time{}, time.Second); err != nil {
		t.Error(err)
	}
	_, err := pc.ArchiveEnd(t.Context())
	wants(t, "end", err, pdu.ErrNotArchive)
	if host, err := os.Hostname(); pc.HostName(t.Context()) != host || err != nil {
		t.Errorf("host %q, want %q", pc.HostName(t.Context()), host)
	}
	if err := pc.Reconnect(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDerived(t *testing.T) {
	d := &pmapi.Derived{}
	for name, expr := range map[string]string{"sum": "x.one + x.two", "bad": "nosuch + 1"} {
		if err := d.Define(name, expr); err != nil {
			t.Fatal(err)
		}
	}
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{newAgent(t, "x", 400)}, Derived: d})
	g := pc.Group()
	sum := pmapi.Add[int64](g, "sum")
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := sum.Value(); v != 3 || err != nil {
		t.Errorf("sum %v, %v", v, err)
	}
	names, err := pc.Traverse(t.Context(), "")
	if slices.Contains(names, "bad") || err != nil {
		t.Errorf("names %q, %v: bad cannot be computed", names, err)
	}
}

func TestLifetime(t *testing.T) {
	x := newAgent(t, "x", 400)
	a := &local.Agents{Handlers: []pmda.Handler{x}}
	check := func(what string, want ...string) {
		t.Helper()
		if got := x.take(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	first := open(t, a)
	check("first context", "serving", "client 1")
	second, err := first.Dup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check("second context", "client 2")
	first.Close()
	first.Close()
	check("first end", "end 1")
	if _, err := first.Desc(t.Context(), one); !errors.Is(err, net.ErrClosed) || pdu.FromError(err) != pdu.ErrNoContext {
		t.Errorf("request of a closed context: %v", err)
	}
	if _, err := second.Desc(t.Context(), one); err != nil {
		t.Error(err)
	}
	second.Close()
	check("last end", "end 2", "served")
	open(t, a)
	check("another context", "serving", "client 3")
}

func TestOpenErrors(t *testing.T) {
	if _, err := local.Open(nil); !errors.Is(err, pdu.ErrArg) {
		t.Errorf("nil: %v", err)
	}
	bad := &pmda.Agent{Name: "bad", Domain: 400}
	pmda.Register(bad, pmda.Metric[int64]{Name: "not a name"})
	if _, err := local.Open(bad); err == nil || bad.Err() == nil || !strings.Contains(err.Error(), bad.Err().Error()) {
		t.Errorf("agent that cannot serve: %v", err)
	}
	// Of two agents of a domain the first is used.
	pc, err := local.Open(newAgent(t, "x", 400), newAgent(t, "y", 400))
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	if names, err := pc.Traverse(t.Context(), ""); !slices.Contains(names, "x.one") || slices.Contains(names, "y.one") || err != nil {
		t.Errorf("names %q, %v", names, err)
	}
}

// A waiting agent's fetches wait until their context ends.
type waiting struct {
	pmda.Handler
	called chan struct{}
	cont   chan struct{} // closed to let fetches continue
}

func (w *waiting) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, out *pdu.ResultWriter) error {
	w.called <- struct{}{}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.cont:
		return w.Handler.Fetch(ctx, r, ids, out)
	}
}

func TestCancelAndClose(t *testing.T) {
	x := newAgent(t, "x", 400)
	w := &waiting{x, make(chan struct{}, 1), make(chan struct{})}
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{w}})
	reason := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	fetch := func(ctx context.Context) { failed <- pc.Fetch(ctx, []pdu.PMID{one}, new(pdu.Result)) }
	go fetch(ctx)
	<-w.called
	cancel(reason)
	if err := <-failed; !errors.Is(err, reason) {
		t.Errorf("cancelled fetch: %v", err)
	}
	if err := pc.Fetch(ctx, []pdu.PMID{one}, new(pdu.Result)); !errors.Is(err, reason) {
		t.Errorf("fetch with a context that has ended: %v", err)
	}

	// A context that is closed during a request ends after the request.
	x.take()
	go fetch(t.Context())
	<-w.called
	pc.Close()
	if got := x.take(); len(got) > 0 {
		t.Errorf("%q during a request", got)
	}
	close(w.cont)
	if err := <-failed; pdu.FromError(err) != pdu.ErrNoContext {
		t.Errorf("fetch of a context that was closed: %v", err)
	}
	if got := x.take(); !slices.Equal(got, []string{"end 1"}) {
		t.Errorf("after it %q", got)
	}
}

// TestReady: requests wait for an agent that is not ready.
func TestReady(t *testing.T) {
	a := &pmda.Agent{Name: "slow", Domain: 400}
	pmda.Register(a, pmda.Metric[int64]{Name: "slow.one", ID: pmda.Item(0, 1),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int64, error) { return 1, nil }})
	a.SetReady(false)
	pc := open(t, &local.Agents{Handlers: []pmda.Handler{a}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pc.Desc(ctx, one); !errors.Is(err, context.Canceled) {
		t.Errorf("before: %v", err)
	}
	described := make(chan error)
	go func() {
		_, err := pc.Desc(t.Context(), one)
		described <- err
	}()
	a.SetReady(true)
	if err := <-described; err != nil {
		t.Error(err)
	}
}

// A broken agent returns other sets than requested, or fails.
type broken struct {
	pmda.Handler
	err error
}

func (b broken) Fetch(_ context.Context, _ *pmda.Request, _ []pdu.PMID, w *pdu.ResultWriter) error {
	w.Begin(ghost)
	w.Int64(pdu.NoInst, 1)
	return b.err
}

func TestBrokenAgent(t *testing.T) {
	for err, want := range map[error]pdu.Error{nil: pdu.ErrPMID, pdu.ErrPMDANotReady: pdu.ErrAgain, pdu.ErrAppVersion: pdu.ErrAppVersion} {
		pc := open(t, &local.Agents{Handlers: []pmda.Handler{broken{newAgent(t, "x", 400), err}, newAgent(t, "y", 401)}})
		var r pdu.Result
		if err := pc.Fetch(t.Context(), []pdu.PMID{one, pdu.MakePMID(401, 0, 1), many}, &r); err != nil {
			t.Fatal(err)
		}
		if r.At(0).Err() != want || r.At(1).Len() != 1 || r.At(2).Err() != want {
			t.Errorf("%v: sets %v, %d values, %v", err, r.At(0).Err(), r.At(1).Len(), r.At(2).Err())
		}
	}
}

// TestConcurrent: contexts on the same agents are opened, used and closed concurrently.
func TestConcurrent(t *testing.T) {
	a := &local.Agents{Handlers: []pmda.Handler{newAgent(t, "x", 400), newAgent(t, "y", 401)}}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 20 {
				pc, err := a.Open()
				if err != nil {
					t.Error(err)
					return
				}
				ids, err := pc.Lookup(t.Context(), []string{"x.many", "y.two", "y.deep.y"})
				var r pdu.Result
				if err == nil {
					err = pc.Fetch(t.Context(), ids, &r)
				}
				if err != nil || r.At(0).Len() != 3 || r.At(2).Len() != 1 {
					t.Errorf("%v, %d values", err, r.Len())
				}
				if err := pc.Store(t.Context(), "y.two", n*i); err != nil {
					t.Error(err)
				}
				pc.Close()
			}
		})
	}
	wg.Wait()
}

func BenchmarkFetch(b *testing.B) {
	agents := func() []pmda.Handler { return []pmda.Handler{newAgent(b, "x", 400), newAgent(b, "y", 401)} }
	srv := &collector.Server{}
	for _, h := range agents() {
		if err := srv.Add(h); err != nil {
			b.Fatal(err)
		}
	}
	defer srv.Close()
	inServer, err := pmapi.Local(b.Context(), srv)
	if err != nil {
		b.Fatal(err)
	}
	defer inServer.Close()
	for name, pc := range map[string]*pmapi.Context{"local": open(b, &local.Agents{Handlers: agents()}), "collector": inServer} {
		b.Run(name, func(b *testing.B) {
			ids := []pdu.PMID{one, pdu.MakePMID(401, 0, 1), many, two}
			var r pdu.Result
			b.ReportAllocs()
			for b.Loop() {
				if err := pc.Fetch(b.Context(), ids, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A panicking agent panics on a request for instances.
type panicking struct{ *watched }

func (panicking) Instances(context.Context, *pmda.Request, pdu.InDom, pdu.InstID, string) ([]pdu.Instance, error) {
	panic("broken")
}

// TestPanic: an agent's panic reaches the caller. The context stays usable, and its Close tells the
// agents that it ends.
func TestPanic(t *testing.T) {
	w := newAgent(t, "a", 400)
	pc, err := local.Open(panicking{w})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if got := recover(); got != "broken" {
				t.Errorf("panic %v", got)
			}
		}()
		_, err := pc.Instances(t.Context(), pdu.MakeInDom(400, 0))
		t.Errorf("no panic: %v", err)
	}()
	if _, err := pc.Lookup(t.Context(), []string{"a.one"}); err != nil {
		t.Error(err)
	}
	w.take()
	func() {
		defer func() { _ = recover() }()
		pc.Instances(t.Context(), pdu.MakeInDom(400, 0))
	}()
	if err := pc.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"end 1", "served"}, w.take()); diff != "" {
		t.Errorf("the agent's end (-want +got):\n%s", diff)
	}
}
