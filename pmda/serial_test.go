package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// An exclusive is a Handler that must not be called concurrently. Every request
// takes a second.
type exclusive struct {
	t      *testing.T
	inside atomic.Int32
	log    []string // without a lock: the race detector watches
	end    func(c *pmda.Client)
	fetch  func()
}

func (l *exclusive) call(what string) error {
	if n := l.inside.Add(1); n != 1 {
		l.t.Errorf("%s: %d calls at once", what, n)
	}
	l.log = append(l.log, what)
	time.Sleep(time.Second)
	l.inside.Add(-1)
	return nil
}

func (l *exclusive) Info() pmda.Info       { return pmda.Info{Name: "exclusive", Domain: 251} }
func (l *exclusive) Err() error            { return nil }
func (l *exclusive) Namespace() *pmns.Tree { return nil }
func (l *exclusive) Fetch(context.Context, *pmda.Request, []pdu.PMID, *pdu.ResultWriter) error {
	if l.fetch != nil {
		l.fetch()
	}
	return l.call("fetch")
}
func (l *exclusive) Desc(context.Context, *pmda.Request, pdu.PMID) (pdu.Desc, error) {
	return pdu.Desc{}, l.call("desc")
}
func (l *exclusive) Instances(context.Context, *pmda.Request, pdu.InDom, pdu.InstID, string) ([]pdu.Instance, error) {
	return nil, l.call("instances")
}
func (l *exclusive) Text(context.Context, *pmda.Request, pdu.TextTarget, pdu.TextKind) (string, error) {
	return "", l.call("text")
}
func (l *exclusive) Store(context.Context, *pmda.Request, *pdu.Result) error { return l.call("store") }
func (l *exclusive) PMID(context.Context, *pmda.Request, string) (pdu.PMID, error) {
	return 0, l.call("pmid")
}
func (l *exclusive) Names(context.Context, *pmda.Request, pdu.PMID) ([]string, error) {
	return nil, l.call("names")
}
func (l *exclusive) Children(context.Context, *pmda.Request, string) ([]pmns.Child, error) {
	return nil, l.call("children")
}
func (l *exclusive) Traverse(context.Context, *pmda.Request, string) ([]string, error) {
	return nil, l.call("traverse")
}
func (l *exclusive) Labels(context.Context, *pmda.Request, pdu.LabelTarget) ([]pdu.LabelSet, error) {
	return nil, l.call("labels")
}

func (l *exclusive) EndClient(c *pmda.Client) {
	if n := l.inside.Load(); n != 0 {
		l.t.Errorf("EndClient during a call")
	}
	l.log = append(l.log, fmt.Sprint("end ", c.Seq))
	if l.end != nil {
		l.end(c)
	}
}

func (l *exclusive) SetClient(c *pmda.Client) {
	if n := l.inside.Load(); n != 0 {
		l.t.Errorf("SetClient during a call")
	}
	l.log = append(l.log, fmt.Sprint("attributes ", c.Seq))
}

// requests returns calls of all methods of a Handler that return an error, by name.
func requests(ctx context.Context, h pmda.Handler) map[string]func() error {
	r := request()
	return map[string]func() error{
		"fetch":     func() error { return h.Fetch(ctx, r, nil, new(pdu.ResultWriter)) },
		"desc":      func() error { _, err := h.Desc(ctx, r, 0); return err },
		"instances": func() error { _, err := h.Instances(ctx, r, 0, pdu.NoInst, ""); return err },
		"text":      func() error { _, err := h.Text(ctx, r, pdu.TextTarget{}, 0); return err },
		"store":     func() error { return h.Store(ctx, r, nil) },
		"pmid":      func() error { _, err := h.PMID(ctx, r, ""); return err },
		"names":     func() error { _, err := h.Names(ctx, r, 0); return err },
		"children":  func() error { _, err := h.Children(ctx, r, ""); return err },
		"traverse":  func() error { _, err := h.Traverse(ctx, r, ""); return err },
		"labels":    func() error { _, err := h.Labels(ctx, r, pdu.LabelTarget{}); return err },
	}
}

func TestSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &exclusive{t: t}
		h := pmda.Serial(l)
		if h.Info() != l.Info() {
			t.Errorf("Info: %v", h.Info())
		}
		var wg sync.WaitGroup
		start := time.Now()
		for what, f := range requests(t.Context(), h) {
			wg.Go(func() {
				if err := f(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("ten calls took %v", d)
		}
		slices.Sort(l.log)
		want := []string{"children", "desc", "fetch", "instances", "labels", "names", "pmid", "store", "text", "traverse"}
		if diff := cmp.Diff(want, l.log); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestSerialCancel checks that waiting for the turn ends with the context.
func TestSerialCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &exclusive{t: t}
		h := pmda.Serial(l)
		why := errors.New("nobody waits")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, why)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { _ = requests(t.Context(), h)["fetch"]() })
		synctest.Wait()
		for what, f := range requests(ctx, h) {
			if err := f(); !errors.Is(err, why) {
				t.Errorf("%s: %v", what, err)
			}
		}
		wg.Wait()
		if diff := cmp.Diff([]string{"fetch"}, l.log); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestSerialClients checks that EndClient and SetClient never wait, and that the Handler gets them
// in order and before the next request.
func TestSerialClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &exclusive{t: t}
		h := pmda.Serial(l)
		start := time.Now()
		h.EndClient(pmda.NewClient(0, 1)) // at once
		if len(l.log) != 1 {
			t.Errorf("EndClient while nobody has the turn: %v", l.log)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = requests(t.Context(), h)["fetch"]() })
		synctest.Wait()
		h.EndClient(pmda.NewClient(0, 2))
		h.SetClient(pmda.NewClient(0, 3))
		h.EndClient(pmda.NewClient(0, 3))
		if d := time.Since(start); d != 0 {
			t.Errorf("events waited for %v", d)
		}
		wg.Go(func() { _ = requests(t.Context(), h)["desc"]() })
		wg.Wait()
		want := []string{"end 1", "fetch", "end 2", "attributes 3", "end 3", "desc"}
		if diff := cmp.Diff(want, l.log); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// TestSerialManyClients checks that the Handler gets no events of clients that come and go during a
// request, except of those that it knows.
func TestSerialManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &exclusive{t: t}
		h := pmda.Serial(l)
		client := func(seq uint64) *pmda.Client { return pmda.NewClient(uint32(seq%100), seq) }
		h.SetClient(client(1))
		_, err := h.Desc(t.Context(), &pmda.Request{Client: client(2)}, 0)
		must(t, err)
		var wg sync.WaitGroup
		wg.Go(func() { _ = requests(t.Context(), h)["fetch"]() })
		synctest.Wait()
		const many = 100_000
		h.EndClient(client(2))
		for range many {
			h.SetClient(client(3)) // one that stays
		}
		for seq := range uint64(many) {
			h.SetClient(client(10 + seq))
			h.EndClient(client(10 + seq))
		}
		h.EndClient(client(1))
		wg.Wait()
		l.log = slices.DeleteFunc(l.log, func(s string) bool { return s == "desc" || s == "fetch" })
		count := map[string]int{}
		for _, s := range l.log {
			count[s]++
		}
		if count["end 1"] != 1 || count["end 2"] != 1 || count["attributes 3"] < 1 {
			t.Errorf("%d ends of 1, %d of 2, %d attributes of 3", count["end 1"], count["end 2"], count["attributes 3"])
		}
		if len(l.log) > 3000 {
			t.Errorf("%d events were kept", len(l.log))
		}
	})
}

// TestSerialReentry checks that the Handler may end a client itself, and that a panic of the
// Handler does not block later calls.
func TestSerialReentry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &exclusive{t: t}
		h := pmda.Serial(l)
		l.end = func(c *pmda.Client) {
			if c.Seq < 3 {
				h.EndClient(pmda.NewClient(0, c.Seq+1))
			}
		}
		l.fetch = func() { h.EndClient(pmda.NewClient(0, 1)) }
		must(t, requests(t.Context(), h)["fetch"]())
		if diff := cmp.Diff([]string{"fetch", "end 1", "end 2", "end 3"}, l.log); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		wantPanic := func(what string, f func()) {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f()
		}
		l.fetch, l.end = func() { panic("fetch") }, func(*pmda.Client) { panic("end") }
		wantPanic("fetch", func() { _ = requests(t.Context(), h)["fetch"]() })
		wantPanic("end", func() { h.EndClient(pmda.NewClient(0, 4)) })
		l.fetch = nil
		var wg sync.WaitGroup
		wg.Go(func() { wantPanic("end on leaving", func() { _ = requests(t.Context(), h)["fetch"]() }) })
		synctest.Wait()
		h.EndClient(pmda.NewClient(0, 5))
		wg.Wait()
		l.end = nil
		must(t, requests(t.Context(), h)["desc"]())
		if last := l.log[len(l.log)-1]; last != "desc" {
			t.Errorf("afterwards: %v", l.log)
		}
	})
}

// TestSerialNames checks the Namespace of a wrapped Handler with and without names.
func TestSerialNames(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	register(t, a, pmda.Metric[int32]{Name: "a.x", Value: always[int32](1)})
	if h := pmda.Serial(a); h.Namespace() != a.Namespace() {
		t.Error("Namespace is not that of the Agent")
	}
	h := pmda.Serial(pmda.Unimplemented(pmda.Info{}))
	if n := h.Namespace(); n != (*pmns.Tree)(nil) || n.Len() != 0 {
		t.Errorf("Namespace of a Handler without one: %v", n)
	}
	h.SetClient(pmda.NewClient(0, 1))
}
