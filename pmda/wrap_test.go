package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
	"github.com/pcp-go/pcp/pmns"
)

// descCounter overrides one method of a Handler and embeds the others.
type descCounter struct {
	pmda.Handler
	descs *atomic.Int64
}

func (c descCounter) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	c.descs.Add(1)
	return c.Handler.Desc(ctx, r, id)
}

// unwrapping is a wrapper with a method Unwrap, so that As finds the wrapped Handler.
type unwrapping struct{ descCounter }

func (u unwrapping) Unwrap() pmda.Handler { return u.Handler }

// TestWrapper checks that a struct that embeds a Handler keeps its abilities.
func TestWrapper(t *testing.T) {
	newAgent := func() *pmda.Agent {
		a := &pmda.Agent{Name: "a", Domain: 251, ClientAttributes: true}
		register(t, a, pmda.Metric[int32]{Name: "a.x", Text: "line", Value: always[int32](1)})
		return a
	}
	for name, wrap := range map[string]func(descCounter) pmda.Handler{
		"without Unwrap": func(c descCounter) pmda.Handler { return c },
		"with Unwrap":    func(c descCounter) pmda.Handler { return unwrapping{c} },
		"twice":          func(c descCounter) pmda.Handler { return descCounter{unwrapping{c}, new(atomic.Int64)} },
		"serial":         func(c descCounter) pmda.Handler { return pmda.Serial(unwrapping{c}) },
	} {
		t.Run(name, func(t *testing.T) {
			a, descs := newAgent(), new(atomic.Int64)
			h := wrap(descCounter{pmda.Serial(a), descs})
			pmdatest.Run(t, h, pmdatest.Texts())
			if descs.Load() == 0 {
				t.Error("the wrapper is not called")
			}
			if h.Namespace() != a.Namespace() || h.Info() != a.Info() {
				t.Error("the name space or Info are not the Agent's")
			}
			p := serve(t.Context(), t, h)
			if p.features == 0 {
				t.Error("the collector is not asked for attributes")
			}
			p.end()
			pmda.Register(a, pmda.Metric[int32]{Name: "a.x", Value: always[int32](1)})
			if err := pmda.Serve(t.Context(), h, new(bytes.Buffer)); err == nil || !errors.Is(err, a.Err()) {
				t.Errorf("Serve with a failed registration: %v, want %v", err, a.Err())
			}
		})
	}
}

func TestAs(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	c := descCounter{a, new(atomic.Int64)}
	if got, ok := pmda.As[*pmda.Agent](a); got != a || !ok {
		t.Errorf("the Handler itself: %v, %v", got, ok)
	}
	if got, ok := pmda.As[*pmda.Agent](pmda.Serial(unwrapping{c})); got != a || !ok {
		t.Errorf("inside two wrappers: %v, %v", got, ok)
	}
	if got, ok := pmda.As[*pmda.Agent](c); got != nil || ok {
		t.Errorf("inside a wrapper without Unwrap: %v, %v", got, ok)
	}
	if got, ok := pmda.As[pmda.Serving](pmda.Unimplemented(pmda.Info{})); got != nil || ok {
		t.Errorf("no Serving: %v, %v", got, ok)
	}
}

// A recordingWrapper notes which methods are called, and passes them on.
type recordingWrapper struct {
	name  string
	next  pmda.Handler
	calls *callLog
}

func (h recordingWrapper) note(method string) { h.calls.add(h.name + " " + method) }

type callLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *callLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (h recordingWrapper) Info() pmda.Info       { h.note("Info"); return h.next.Info() }
func (h recordingWrapper) Err() error            { h.note("Err"); return h.next.Err() }
func (h recordingWrapper) Namespace() *pmns.Tree { h.note("Namespace"); return h.next.Namespace() }
func (h recordingWrapper) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	h.note("Fetch")
	return h.next.Fetch(ctx, r, ids, w)
}
func (h recordingWrapper) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	h.note("Desc")
	return h.next.Desc(ctx, r, id)
}
func (h recordingWrapper) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	h.note("Instances")
	return h.next.Instances(ctx, r, d, inst, name)
}
func (h recordingWrapper) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	h.note("Text")
	return h.next.Text(ctx, r, of, kind)
}
func (h recordingWrapper) Store(ctx context.Context, r *pmda.Request, v *pdu.Result) error {
	h.note("Store")
	return h.next.Store(ctx, r, v)
}
func (h recordingWrapper) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	h.note("PMID")
	return h.next.PMID(ctx, r, name)
}
func (h recordingWrapper) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	h.note("Names")
	return h.next.Names(ctx, r, id)
}
func (h recordingWrapper) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	h.note("Children")
	return h.next.Children(ctx, r, name)
}
func (h recordingWrapper) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	h.note("Traverse")
	return h.next.Traverse(ctx, r, name)
}
func (h recordingWrapper) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	h.note("Labels")
	return h.next.Labels(ctx, r, of)
}
func (h recordingWrapper) SetClient(c *pmda.Client) { h.note("SetClient"); h.next.SetClient(c) }
func (h recordingWrapper) EndClient(c *pmda.Client) { h.note("EndClient"); h.next.EndClient(c) }

// TestUse wraps an Agent twice. Every method of the Agent calls the later wrapper, that calls the
// earlier one, and that calls the tables.
func TestUse(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	d := a.AddInDom("i", "x", "y")
	d.Text = "domain"
	register(t, a, pmda.Metric[int32]{Name: "a.x", Text: "text", InDom: d, Labels: `{"l":1}`, Value: always[int32](7),
		Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error { return nil }})
	var calls callLog
	for _, name := range []string{"inner", "outer"} {
		a.Use(func(next pmda.Handler) pmda.Handler { return recordingWrapper{name, next, &calls} })
	}
	for _, name := range []string{"first", "second"} {
		a.OnEndClient(func(c *pmda.Client) { calls.add(fmt.Sprint(name, " end of client ", c.Seq)) })
	}
	var want []string
	called := func(method string, more ...string) {
		want = append(append(want, "outer "+method, "inner "+method), more...)
	}
	ctx, r, x := t.Context(), request(), pdu.MakePMID(251, 0, 0)
	must(t, a.Err())
	called("Err")
	if got := a.Info(); got != (pmda.Info{Name: "a", Domain: 251}) {
		t.Errorf("Info: %v", got)
	}
	called("Info")
	if n := a.Namespace().Len(); n != 1 {
		t.Errorf("%d names", n)
	}
	called("Namespace")
	desc, err := a.Desc(ctx, r, x)
	must(t, err)
	called("Desc")
	insts, err := a.Instances(ctx, r, desc.InDom, 1, "")
	must(t, err)
	called("Instances")
	text, err := a.Text(ctx, r, pdu.TextOfMetric(x), pdu.TextOneLine)
	must(t, err)
	called("Text")
	labels, err := a.Labels(ctx, r, pdu.LabelsOfItem(x))
	must(t, err)
	called("Labels")
	must(t, a.Store(ctx, r, stored(t, x, func(w *pdu.ResultWriter) { w.Int32(0, 1) })))
	called("Store")
	var w pdu.ResultWriter
	must(t, a.Fetch(ctx, r, []pdu.PMID{x}, &w))
	called("Fetch")
	_, errPMID := a.PMID(ctx, r, "a.x")
	called("PMID")
	_, errNames := a.Names(ctx, r, x)
	called("Names")
	_, errChildren := a.Children(ctx, r, "a")
	called("Children")
	_, errTraverse := a.Traverse(ctx, r, "a")
	called("Traverse")
	a.SetClient(r.Client)
	called("SetClient")
	a.EndClient(r.Client)
	called("EndClient", fmt.Sprint("first end of client ", r.Client.Seq), fmt.Sprint("second end of client ", r.Client.Seq))
	if diff := cmp.Diff(want, calls.lines); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if desc.PMID != x || len(insts) != 1 || text != "text" || len(labels) != 1 || w.Len() != 1 {
		t.Errorf("replies: %v %v %q %v, %d sets", desc, insts, text, labels, w.Len())
	}
	if !errors.Is(errPMID, pdu.ErrName) || !errors.Is(errNames, pdu.ErrPMID) || !errors.Is(errChildren, pdu.ErrName) || !errors.Is(errTraverse, pdu.ErrName) {
		t.Errorf("dynamic names: %v, %v, %v, %v", errPMID, errNames, errChildren, errTraverse)
	}
	pmdatest.Run(t, a)
}
