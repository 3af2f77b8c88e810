package remote_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
	"github.com/pcp-go/pcp/pmns"
)

// A randomHandler returns what rapid has randomHandler.
type randomHandler struct {
	pmda.Handler
	err      error
	values   []pdu.Atom // of each metric
	metric   pdu.Error
	change   pdu.Change
	desc     pdu.Desc
	insts    []pdu.Instance
	text     string
	id       pdu.PMID
	names    []string
	children []pmns.Child
	labels   []pdu.LabelSet

	called string // the latest call, with its arguments
}

func (h *randomHandler) noteCall(r *pmda.Request, args ...any) {
	h.called = fmt.Sprint(append(args, r.Client.ID)...)
}

func (h *randomHandler) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	h.noteCall(r, "fetch", ids, r.ContextID, *r.Profile)
	for i, id := range ids {
		w.Begin(id)
		if i%3 == 2 {
			w.Fail(h.metric)
		}
		for j, a := range h.values {
			w.Atom(pdu.InstID(j*i), a)
		}
	}
	w.Changed = h.change
	return h.err
}

func (h *randomHandler) Desc(_ context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	h.noteCall(r, "desc", id)
	d := h.desc
	d.PMID = id
	return d, h.err
}

func (h *randomHandler) Instances(_ context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	h.noteCall(r, "instances", d, inst, name)
	for _, i := range h.insts {
		if i.ID == inst || name != "" && i.Name == name {
			return []pdu.Instance{i}, h.err
		}
	}
	if inst != pdu.NoInst || name != "" {
		return nil, pdu.ErrInst
	}
	return h.insts, h.err
}

func (h *randomHandler) Text(_ context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	h.noteCall(r, "text", of, kind)
	return h.text, h.err
}

func (h *randomHandler) Store(_ context.Context, r *pmda.Request, values *pdu.Result) error {
	h.noteCall(r, "store")
	for _, s := range values.All() {
		h.called += fmt.Sprint(s.PMID)
		for i, a := range s.All(pdu.TypeU32) {
			h.called += fmt.Sprintf("[%d]%x%v", i, a.Bytes(), a)
		}
	}
	return h.err
}

func (h *randomHandler) PMID(_ context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	h.noteCall(r, "pmid", name)
	return h.id, h.err
}

func (h *randomHandler) Names(_ context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	h.noteCall(r, "names", id)
	return h.names, h.err
}

func (h *randomHandler) Children(_ context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	h.noteCall(r, "children", name)
	return h.children, h.err
}

func (h *randomHandler) Traverse(_ context.Context, r *pmda.Request, name string) ([]string, error) {
	h.noteCall(r, "traverse", name)
	return h.names, h.err
}

func (h *randomHandler) Labels(_ context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	h.noteCall(r, "labels", of, *r.Profile)
	if of.Class != pdu.LabelInstances {
		return h.labels[:min(1, len(h.labels))], h.err
	}
	return h.labels, h.err
}

// draw draws anew what h returns.
func (h *randomHandler) draw(t *rapid.T) {
	word := rapid.StringMatching(`[a-z]{1,8}( [a-z]{0,9})?`)
	h.err = rapid.SampledFrom([]error{nil, nil, nil, pdu.ErrPMID, pdu.ErrAppVersion, pdu.Error(-1), fmt.Errorf("deep: %w", pdu.ErrPermission)}).Draw(t, "err")
	h.metric = rapid.SampledFrom([]pdu.Error{pdu.ErrAppVersion, pdu.ErrAgain}).Draw(t, "metric error")
	h.change = rapid.SampledFrom([]pdu.Change{0, pdu.ChangeNames, pdu.ChangeLabels, pdu.ChangeNames | pdu.ChangeLabels}).Draw(t, "change")
	one := rapid.SampledFrom([]*rapid.Generator[pdu.Atom]{
		rapid.Map(rapid.Uint32(), pdu.Uint32),
		rapid.Map(rapid.Int64(), pdu.Int64),
		rapid.Map(rapid.Float64(), pdu.Float64),
		rapid.Map(word, pdu.String),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 600), pdu.Aggregate),
	}).Draw(t, "type")
	h.values = rapid.SliceOfN(one, 0, 20).Draw(t, "values")
	h.desc = pdu.Desc{Type: pdu.TypeU64, InDom: pdu.InDom(rapid.Uint32().Draw(t, "indom")), Units: pdu.Units(rapid.Uint32().Draw(t, "units"))}
	h.names = rapid.SliceOfNDistinct(word, 1, 9, rapid.ID).Draw(t, "names")
	h.insts, h.children, h.labels = nil, nil, nil
	for i, n := range h.names {
		h.insts = append(h.insts, pdu.Instance{ID: pdu.InstID(i * i), Name: n})
		h.children = append(h.children, pmns.Child{Name: n, Leaf: i%2 == 0})
		set, err := pdu.MakeLabels(pdu.LabelInstances, map[string]any{"n": n, "i": i}, i%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		set.Inst = pdu.InstID(i)
		h.labels = append(h.labels, set)
	}
	h.text = rapid.StringN(1, 2000, 4000).Draw(t, "text")
	h.id = pdu.PMID(rapid.Uint32Max(1<<31).Draw(t, "id"))
}

// callMethod calls a method of a Handler, with arguments made of n and name.
func callMethod(ctx context.Context, h pmda.Handler, r *pmda.Request, method int, n uint32, name string, values *pdu.Result) (any, error) {
	switch method {
	case 0:
		ids := make([]pdu.PMID, 1+n%40)
		for i := range ids {
			ids[i] = pdu.PMID(uint32(i) * n)
		}
		var w pdu.ResultWriter
		if err := h.Fetch(ctx, r, ids, &w); err != nil {
			return nil, err
		}
		return appended(&w)
	case 1:
		return h.Desc(ctx, r, pdu.PMID(n))
	case 2:
		return h.Instances(ctx, r, pdu.InDom(n>>2), pdu.NoInst, "")
	case 3:
		return h.Instances(ctx, r, pdu.InDom(n>>2), pdu.InstID(n%10), "")
	case 4:
		return h.Instances(ctx, r, pdu.InDom(n>>2), pdu.NoInst, name)
	case 5:
		return h.Text(ctx, r, pdu.TextReq{Ident: n, Text: pdu.TextInDom}.Target(), pdu.TextOneLine)
	case 6:
		return nil, h.Store(ctx, r, values)
	case 7:
		return h.PMID(ctx, r, name)
	case 8:
		return h.Names(ctx, r, pdu.PMID(n))
	case 9:
		if n%2 == 0 {
			return h.Traverse(ctx, r, name)
		}
		return h.Children(ctx, r, name)
	default:
		return h.Labels(ctx, r, pdu.LabelReq{Ident: n, Class: pdu.LabelClass(1 << (n % 6))}.Target())
	}
}

// appended is what a writer has, without a time.
func appended(w *pdu.ResultWriter) (string, error) {
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	return fmt.Sprintf("%v %x", w.Changed, b), err
}

// TestHandlerBehindConnection: a Handler behind a connection gets the same arguments and returns
// the same results as in direct calls.
func TestHandlerBehindConnection(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			h := &randomHandler{Handler: pmda.Unimplemented(pmda.Info{})}
			near, far := open(t)
			agent := behind(t, h, near, far)
			rapid.Check(t, func(t *rapid.T) {
				h.draw(t)
				n, name := rapid.Uint32().Draw(t, "n"), rapid.SampledFrom(h.names).Draw(t, "name")
				var prof pdu.Profile
				for _, d := range rapid.SliceOfN(rapid.Uint32(), 0, 5).Draw(t, "profile") {
					if err := prof.Delete(pdu.InDom(d&0x7fffffff), pdu.InstID(d%5)); err != nil {
						t.Fatal(err)
					}
				}
				r := &pmda.Request{Client: pmda.NewClient(n%7, 0), ContextID: int32(n % 64), Profile: &prof}
				var w pdu.ResultWriter
				w.Begin(pdu.PMID(n))
				w.Atom(3, append(h.values, pdu.Uint32(4))[0])
				values, err := w.Result()
				if err != nil {
					t.Fatal(err)
				}
				for method := range 11 {
					want, wantErr := callMethod(context.Background(), h, r, method, n, name, values)
					called := h.called
					got, err := callMethod(context.Background(), agent, r, method, n, name, values)
					if wantErr != nil {
						if pdu.FromError(err) != pdu.FromError(wantErr) {
							t.Fatalf("%s: error %v, want %v", called, err, wantErr)
						}
					} else if err != nil {
						t.Fatalf("%s: error %v", called, err)
					} else if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("%s (-want +got):\n%s", called, diff)
					}
					if h.called != called {
						t.Fatalf("the call was %s, want %s", h.called, called)
					}
				}
			})
		})
	}
}

// TestAgentBehindConnection: a pmda.Agent behind a connection keeps the contract of a Handler.
func TestAgentBehindConnection(t *testing.T) {
	a := testAgent(t)
	near, far := streams["pipe"](t)
	pmdatest.Run(t, behind(t, a, near, far), pmdatest.Names(a.Namespace()))
}

// A clientRecorder records what a Handler learns about clients.
type clientRecorder struct {
	pmda.Handler
	mu      sync.Mutex
	clients []*pmda.Client // of its requests
	ended   []string
}

func (h *clientRecorder) SetClient(*pmda.Client) {}

func (h *clientRecorder) Desc(_ context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients = append(h.clients, r.Client)
	return pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}, nil
}

func (h *clientRecorder) EndClient(c *pmda.Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = append(h.ended, fmt.Sprintf("%d seq %d", c.ID, c.Seq))
}

// TestClientsBehindConnection: a Handler behind a connection learns of clients and their ends.
func TestClientsBehindConnection(t *testing.T) {
	h := &clientRecorder{Handler: pmda.Unimplemented(pmda.Info{ClientAttributes: true})}
	near, far := streams["memory"](t)
	agent := behind(t, h, near, far)
	c := &pmda.Client{ID: 4, Seq: 9, PID: 17, UID: 18, GID: 19, User: "fred", Container: "box"}
	agent.SetClient(c)
	next := pmda.NewClient(4, 10)
	for _, c := range []*pmda.Client{c, next} {
		if _, err := agent.Desc(t.Context(), &pmda.Request{Client: c}, testID); err != nil {
			t.Fatal(err)
		}
		agent.EndClient(c)
		if _, err := agent.Desc(t.Context(), request7(), testID); err != nil { // after the end of c
			t.Fatal(err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.clients[0]; c.PID != 17 || c.UID != 18 || c.GID != 19 || c.User != "fred" || c.Container != "box" {
		t.Errorf("the first is %+v", c)
	}
	if diff := cmp.Diff([]string{"4 seq 1", "4 seq 3"}, h.ended); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if c := h.clients[2]; c.PID != -1 || c.Container != "" {
		t.Errorf("the next in the slot is %+v", c)
	}
}
