package pmda_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// noted returns an agent that records the calls of its functions, with the user of the client.
func noted(t testing.TB, calls *callLog) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "a", Domain: 251, ClientAttributes: true}
	note := func(what string, r *pmda.Request) {
		c := r.Client
		calls.add(fmt.Sprintf("%s of %s, uid %d, gid %d, pid %d, container %s", what, c.User, c.UID, c.GID, c.PID, c.Container))
	}
	refresh := func(what string) func(context.Context, *pmda.Request) error {
		return func(_ context.Context, r *pmda.Request) error { note(what, r); return nil }
	}
	d := &pmda.InDom{Name: "i", Refresh: refresh("refresh")}
	must(t, a.Attach(d), setNames(d, "x"))
	register(t, a, pmda.Metric[int32]{Name: "a.value", InDom: d, Group: a.Group(refresh("group")),
		Value: func(_ context.Context, r *pmda.Request, _ pdu.Instance) (int32, error) {
			note("value", r)
			return 1, nil
		},
		Store: func(_ context.Context, r *pmda.Request, _ pdu.Instance, _ int32) error { note("store", r); return nil }})
	register(t, a, pmda.Metric[int32]{Name: "a.values",
		Values: func(_ context.Context, r *pmda.Request, s *pmda.Values[int32]) error {
			note("values", r)
			s.Put(pdu.NoInst, 1)
			return nil
		}})
	a.OnRequest(func(_ context.Context, kind pdu.Kind, r *pmda.Request) error {
		note(fmt.Sprint("request ", kind), r)
		return nil
	})
	a.OnReply(func(kind pdu.Kind, r *pmda.Request) { note(fmt.Sprint("reply ", kind), r) })
	a.OnEndClient(func(c *pmda.Client) { note("end", &pmda.Request{Client: c}) })
	return a
}

// allRequests makes each request of an agent once, and returns the kinds of their PDUs.
func allRequests(ctx context.Context, t testing.TB, h pmda.Handler, r *pmda.Request) (kinds []pdu.Kind, errs []error) {
	x, d := pdu.MakePMID(251, 0, 0), pdu.MakeInDom(251, 0)
	did := func(kind pdu.Kind, err error) { kinds, errs = append(kinds, kind), append(errs, err) }
	did(pdu.KindFetch, h.Fetch(ctx, r, []pdu.PMID{x}, new(pdu.ResultWriter)))
	_, err := h.Desc(ctx, r, x)
	did(pdu.KindDescReq, err)
	_, err = h.Instances(ctx, r, d, pdu.NoInst, "")
	did(pdu.KindInstanceReq, err)
	_, err = h.Text(ctx, r, pdu.TextOfMetric(x), pdu.TextOneLine)
	did(pdu.KindTextReq, err)
	did(pdu.KindResult, h.Store(ctx, r, stored(t.(*testing.T), x, func(w *pdu.ResultWriter) { w.Int32(0, 1) })))
	_, err = h.PMID(ctx, r, "a.x")
	did(pdu.KindPMNSNames, err)
	_, err = h.Names(ctx, r, x)
	did(pdu.KindPMNSIDs, err)
	_, err = h.Children(ctx, r, "a")
	did(pdu.KindPMNSChild, err)
	_, err = h.Traverse(ctx, r, "a")
	did(pdu.KindPMNSTraverse, err)
	_, err = h.Labels(ctx, r, pdu.LabelsOfItem(x))
	did(pdu.KindLabelReq, err)
	return kinds, errs
}

// TestHooks checks that the functions of OnRequest and OnReply are called for every kind of
// request, and that an error of OnRequest refuses the request.
func TestHooks(t *testing.T) {
	a := jobs(t)
	var calls, want callLog
	var refuse error
	for _, n := range []int{1, 2} {
		a.OnRequest(func(_ context.Context, kind pdu.Kind, r *pmda.Request) error {
			calls.add(fmt.Sprint("request ", n, " ", kind, " ", r.Client.Seq))
			return refuse
		})
		a.OnReply(func(kind pdu.Kind, r *pmda.Request) { calls.add(fmt.Sprint("reply ", n, " ", kind, " ", r.Client.Seq)) })
	}
	kinds, _ := allRequests(t.Context(), t, a, request())
	for _, k := range kinds {
		for _, s := range []string{"request 1", "request 2", "reply 1", "reply 2"} {
			want.add(fmt.Sprint(s, " ", k, " ", request().Client.Seq))
		}
	}
	if diff := cmp.Diff(want.lines, calls.lines); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	calls, want, refuse = callLog{}, callLog{}, pdu.ErrNYI
	kinds, errs := allRequests(t.Context(), t, a, request())
	for i, k := range kinds {
		want.add(fmt.Sprint("request 1 ", k, " ", request().Client.Seq))
		if errs[i] != refuse {
			t.Errorf("%v: error %v", k, errs[i])
		}
	}
	if diff := cmp.Diff(want.lines, calls.lines); diff != "" {
		t.Errorf("calls when refused (-want +got):\n%s", diff)
	}
}

// TestServeHooks checks that OnReply is called after the reply has been sent, even if that is an
// error.
func TestServeHooks(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	valued, replied := make(chan bool, 1), make(chan pdu.Kind, 2)
	register(t, a, pmda.Metric[int32]{Name: "a.x", Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
		valued <- true
		return 1, nil
	}})
	a.OnReply(func(kind pdu.Kind, r *pmda.Request) { replied <- kind })
	p := serve(t.Context(), t, a)
	p.send(1, pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(251, 0, 0)}})
	<-valued
	select {
	case k := <-replied:
		t.Errorf("OnReply of %v before the reply was sent", k)
	default:
	}
	if _, _, err := p.Receive(); err != nil {
		t.Fatal(err)
	}
	if k := <-replied; k != pdu.KindFetch {
		t.Errorf("OnReply of %v", k)
	}
	if got := encoded(t, p.request(1, pdu.DescReq{PMID: 1})); got != pdu.ErrPMID.Error() {
		t.Errorf("reply %q", got)
	}
	if k := <-replied; k != pdu.KindDescReq {
		t.Errorf("OnReply of %v", k)
	}
	a.OnReply(func(pdu.Kind, *pmda.Request) { panic("in OnReply") })
	for range 2 {
		if got := encoded(t, p.request(1, pdu.DescReq{PMID: 1})); got != pdu.ErrPMID.Error() {
			t.Errorf("reply %q", got)
		}
		<-replied
	}
	a.OnRequest(func(context.Context, pdu.Kind, *pmda.Request) error { panic("in OnRequest") })
	if got := encoded(t, p.request(1, pdu.DescReq{PMID: 1})); got != pdu.ErrGeneric.Error() {
		t.Errorf("reply %q", got)
	}
	p.end()
}

// TestClientInFunctions checks that all functions of an agent see the client.
func TestClientInFunctions(t *testing.T) {
	var calls callLog
	p := serve(t.Context(), t, noted(t, &calls))
	for key, value := range map[pdu.Attribute]string{pdu.AttrUsername: "joe", pdu.AttrUserID: "1", pdu.AttrGroupID: "2", pdu.AttrProcessID: "3", pdu.AttrContainer: "box"} {
		p.send(7, pdu.Attr{Key: key, Value: append([]byte(value), 0)})
	}
	x := pdu.MakePMID(251, 0, 0)
	p.request(7, pdu.Fetch{PMIDs: []pdu.PMID{x, pdu.MakePMID(251, 0, 1)}})
	p.request(7, pdu.InstanceReq{InDom: pdu.MakeInDom(251, 0), Inst: pdu.NoInst})
	p.request(7, stored(t, x, func(w *pdu.ResultWriter) { w.Int32(0, 1) }))
	p.send(7, pdu.Status{Code: pdu.ErrNotConn})
	p.end()
	var want []string
	for _, what := range []string{
		"request FETCH", "refresh", "group", "value", "values", "reply FETCH",
		"request INSTANCE_REQ", "refresh", "reply INSTANCE_REQ",
		"request RESULT", "refresh", "store", "reply RESULT", "end",
	} {
		want = append(want, what+" of joe, uid 1, gid 2, pid 3, container box")
	}
	if diff := cmp.Diff(want, calls.lines); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
