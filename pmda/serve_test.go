package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
)

// TestServeReplies checks that Serve decodes every request, calls the Handler and sends the result
// as reply.
func TestServeReplies(t *testing.T) {
	id, indom := pdu.MakePMID(251, 1, 2), pdu.MakeInDom(251, 3)
	two := []pdu.Instance{{ID: 4, Name: "four"}, {ID: 5, Name: "five"}}
	names := pdu.NameList{Names: []string{"a.b", "a.c"}, Statuses: []int32{pdu.Leaf, pdu.NonLeaf}}
	sets := []pdu.LabelSet{{Inst: 4}, {Inst: 5}}
	stored := result(t, func(w *pdu.ResultWriter) {
		w.Begin(id)
		w.Int32(7, 8)
		w.Int32(9, 10)
	})
	cut := []byte{0, 0, 0}
	fail := func(e pdu.Error) pdu.PDU { return pdu.Status{Code: e} }
	tests := []struct {
		name    string
		request pdu.PDU
		h       *recorder
		calls   []string
		reply   pdu.PDU
	}{
		{"fetch", pdu.Fetch{PMIDs: []pdu.PMID{id, id + 1}}, &recorder{Handler: none}, []string{"fetch [251.1.2 251.1.3]"},
			result(t, func(w *pdu.ResultWriter) { w.Begin(id); w.Int32(-1, 1); w.Begin(id + 1); w.Int32(-1, 2) })},
		{"fetch fails", pdu.Fetch{PMIDs: []pdu.PMID{id}}, &recorder{Handler: none, err: pdu.ErrAgain}, []string{"fetch [251.1.2]"}, fail(pdu.ErrAgain)},
		{"fetch not ready", pdu.Fetch{PMIDs: []pdu.PMID{id}}, &recorder{Handler: none, err: pdu.ErrPMDANotReady}, []string{"fetch [251.1.2]"}, fail(pdu.ErrPMDANotReady)},
		{"fetch fails with a code for lost connections", pdu.Fetch{PMIDs: []pdu.PMID{id}}, &recorder{Handler: none, err: pdu.ErrTimeout}, []string{"fetch [251.1.2]"}, fail(pdu.ErrGeneric)},
		{"fetch fails with a code that is no error", pdu.Fetch{PMIDs: []pdu.PMID{id}}, &recorder{Handler: none, err: pdu.Error(5)}, []string{"fetch [251.1.2]"}, fail(pdu.ErrGeneric)},
		{"fetch undecodable", pdutest.Raw(pdu.KindFetch, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"desc", pdu.DescReq{PMID: id}, &recorder{Handler: none}, []string{"desc 251.1.2"},
			pdu.DescReply{Desc: pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}}},
		{"desc fails", pdu.DescReq{PMID: id}, &recorder{Handler: none, err: fmt.Errorf("deep: %w", pdu.ErrPMID)}, []string{"desc 251.1.2"}, fail(pdu.ErrPMID)},
		{"desc undecodable", pdutest.Raw(pdu.KindDescReq, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"instances", pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst}, &recorder{Handler: none, instances: two}, []string{`instances 251.3 -1 ""`},
			pdu.InstanceReply{InDom: indom, Instances: two}},
		{"instances of an empty domain", pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst}, &recorder{Handler: none}, []string{`instances 251.3 -1 ""`},
			pdu.InstanceReply{InDom: indom}},
		{"instance by id", pdu.InstanceReq{InDom: indom, Inst: 4}, &recorder{Handler: none, instances: two[:1]}, []string{`instances 251.3 4 ""`},
			pdu.InstanceReply{InDom: indom, Instances: []pdu.Instance{{ID: pdu.NoInst, Name: "four"}}}},
		{"instance by name", pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst, Name: "four"}, &recorder{Handler: none, instances: two[:1]}, []string{`instances 251.3 -1 "four"`},
			pdu.InstanceReply{InDom: indom, Instances: []pdu.Instance{{ID: 4}}}},
		{"instance missing", pdu.InstanceReq{InDom: indom, Inst: 4}, &recorder{Handler: none}, []string{`instances 251.3 4 ""`}, fail(pdu.ErrInst)},
		{"instances of no domain", pdu.InstanceReq{InDom: pdu.NoInDom, Inst: pdu.NoInst}, &recorder{Handler: none, instances: two}, nil, fail(pdu.ErrInDom)},
		{"instances fail", pdu.InstanceReq{InDom: indom, Inst: 4}, &recorder{Handler: none, err: pdu.ErrInDom}, []string{`instances 251.3 4 ""`}, fail(pdu.ErrInDom)},
		{"instances undecodable", pdutest.Raw(pdu.KindInstanceReq, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"text", pdu.TextReq{Ident: 0x01020304, Text: pdu.TextPMID | pdu.TextHelp}, &recorder{Handler: none}, []string{"text 1020304 help,pmid"},
			pdu.TextReply{Ident: 0x01020304, Text: "the text"}},
		{"text with the client's own flag", pdutest.Raw(pdu.KindText-1, []byte{0, 0, 0, 1, 0, 0, 0, 21}), &recorder{Handler: none}, []string{"text 1 oneline,pmid"},
			pdu.TextReply{Ident: 1, Text: "the text"}},
		{"text fails", pdu.TextReq{Text: pdu.TextInDom}, &recorder{Handler: none, err: pdu.ErrText}, []string{"text 0 indom"}, fail(pdu.ErrText)},
		{"text undecodable", pdutest.Raw(pdu.KindTextReq, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"store", stored, &recorder{Handler: none}, []string{"store 251.1.2[7] 8", "store 251.1.2[9] 10"}, fail(0)},
		{"store refused", stored, &recorder{Handler: none, err: pdu.ErrBadStore}, []string{"store 251.1.2[7] 8", "store 251.1.2[9] 10"}, fail(pdu.ErrBadStore)},
		{"store without a value", result(t, func(w *pdu.ResultWriter) { w.Begin(id) }), &recorder{Handler: none}, nil, fail(pdu.ErrValue)},
		{"store undecodable", pdutest.Raw(pdu.KindResult, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"pmid", pdu.NameList{Names: []string{"x.y"}}, &recorder{Handler: none}, []string{"pmid x.y"}, pdu.PMIDList{PMIDs: []pdu.PMID{pdu.MakePMID(1, 2, 3)}}},
		{"pmid fails", pdu.NameList{Names: []string{"x.y"}}, &recorder{Handler: none, err: pdu.ErrNonLeaf}, []string{"pmid x.y"}, fail(pdu.ErrNonLeaf)},
		{"pmid of two", pdu.NameList{Names: []string{"x", "y"}}, &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"pmid of none", pdu.NameList{}, &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"pmid undecodable", pdutest.Raw(pdu.KindPMNSNames, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"names", pdu.PMIDList{PMIDs: []pdu.PMID{id}}, &recorder{Handler: none, names: names}, []string{"names 251.1.2"}, pdu.NameList{Names: names.Names}},
		{"names of nothing", pdu.PMIDList{PMIDs: []pdu.PMID{id}}, &recorder{Handler: none}, []string{"names 251.1.2"}, fail(pdu.ErrPMID)},
		{"names of two", pdu.PMIDList{PMIDs: []pdu.PMID{id, id}}, &recorder{Handler: none, names: names}, nil, fail(pdu.ErrIPC)},
		{"names of an error", pdu.PMIDList{Status: int32(pdu.ErrName), PMIDs: []pdu.PMID{id}}, &recorder{Handler: none, names: names}, nil, fail(pdu.ErrName)},
		{"names fail", pdu.PMIDList{PMIDs: []pdu.PMID{id}}, &recorder{Handler: none, err: pdu.ErrPMID}, []string{"names 251.1.2"}, fail(pdu.ErrPMID)},
		{"names undecodable", pdutest.Raw(pdu.KindPMNSIDs, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"children", pdu.ChildReq{Name: "a"}, &recorder{Handler: none, names: names}, []string{`children "a"`}, pdu.NameList{Names: names.Names}},
		{"children with status", pdu.ChildReq{Name: "a", Status: true}, &recorder{Handler: none, names: names}, []string{`children "a"`}, names},
		{"children fail", pdu.ChildReq{Name: "a"}, &recorder{Handler: none, err: pdu.ErrName}, []string{`children "a"`}, fail(pdu.ErrName)},
		{"children undecodable", pdutest.Raw(pdu.KindPMNSChild, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"traverse", pdu.TraverseReq{Name: "a"}, &recorder{Handler: none, names: names}, []string{`traverse "a"`}, pdu.NameList{Names: names.Names}},
		{"traverse fails", pdu.TraverseReq{}, &recorder{Handler: none, err: pdu.ErrName}, []string{`traverse ""`}, fail(pdu.ErrName)},
		{"traverse undecodable", pdutest.Raw(pdu.KindPMNSTraverse, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"labels", pdu.LabelReq{Ident: 251, Class: pdu.LabelDomain}, &recorder{Handler: none, sets: sets}, []string{"labels fb 2"},
			pdu.LabelReply{Ident: 251, Class: pdu.LabelDomain, Sets: sets[:1]}},
		{"labels of instances", pdu.LabelReq{Ident: 251, Class: pdu.LabelInstances}, &recorder{Handler: none, sets: sets}, []string{"labels fb 32"},
			pdu.LabelReply{Ident: 251, Class: pdu.LabelInstances, Sets: sets}},
		{"labels with flags", pdu.LabelReq{Ident: 251, Class: pdu.LabelItem | 0xc0}, &recorder{Handler: none, sets: sets}, []string{"labels fb 16"},
			pdu.LabelReply{Ident: 251, Class: pdu.LabelItem | 0xc0, Sets: sets[:1]}},
		{"no labels", pdu.LabelReq{Class: pdu.LabelContext}, &recorder{Handler: none}, []string{"labels 0 1"}, pdu.LabelReply{Class: pdu.LabelContext}},
		{"labels fail", pdu.LabelReq{Class: 3}, &recorder{Handler: none, err: pdu.ErrType}, []string{"labels 0 3"}, fail(pdu.ErrType)},
		{"labels undecodable", pdutest.Raw(pdu.KindLabelReq, cut), &recorder{Handler: none}, nil, fail(pdu.ErrIPC)},
		{"labels that do not fit", pdu.LabelReq{Class: pdu.LabelDomain}, &recorder{Handler: none, sets: []pdu.LabelSet{{JSON: make([]byte, pdu.MaxLabelJSON+1)}}},
			[]string{"labels 0 2"}, fail(pdu.ErrGeneric)},
	}
	log := captureLog(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t.Context(), t, tt.h)
			p.do(pdutest.SendFrom(3, tt.request), pdutest.ExpectFrom(0, tt.reply))
			if diff := cmp.Diff(tt.calls, tt.h.takeCalls(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("calls of the Handler (-want +got):\n%s", diff)
			}
			p.end()
			// Only an error that the reply does not describe is logged.
			status, _ := tt.reply.(pdu.Status)
			if hidden := status.Code == pdu.ErrGeneric; hidden != strings.Contains(log.Take(), "agent failed a request") {
				t.Errorf("failure logged: %v, want %v", !hidden, hidden)
			}
		})
	}
}

// TestServeNotices checks that Serve sends no reply to PDUs that are not requests: the next reply
// is that of the next request. Invalid PDUs are logged.
func TestServeNotices(t *testing.T) {
	log := captureLog(t)
	p := serve(t.Context(), t, &recorder{Handler: none})
	notices := []struct {
		pdu    pdu.PDU
		logged string // a part of the line
	}{
		{pdu.Creds{Version: 2}, "unrecognised type CREDS"},
		{pdu.SetProfile{Context: 1}, ""},
		{pdutest.Raw(pdu.KindProfile, []byte{1}), "decode PROFILE"},
		{pdu.Attr{Key: pdu.AttrUserID, Value: []byte("12\x00")}, ""},
		{pdu.Attr{Key: pdu.AttrUserID, Value: []byte("x\x00")}, `attribute userid of client 2`},
		{pdu.Attr{Key: 2, Value: []byte("x\x00")}, ""},
		{pdutest.Raw(pdu.KindAttr, []byte{1}), "decode ATTR"},
		{pdu.Status{Code: pdu.ErrNotConn}, ""},
		{pdu.Status{Code: pdu.ErrAgain}, "unexpected error: Try again"},
		{pdu.Status{}, "unexpected error"},
		{pdutest.Raw(pdu.KindError, []byte{1}), "decode ERROR"},
		{pdutest.Raw(pdu.KindControlReq, nil), "unrecognised type CONTROL_REQ"},
		{pdutest.Raw(pdu.KindDesc, nil), "unrecognised type DESC"},
		{pdutest.Raw(pdu.KindHighResFetch, nil), "unrecognised type HIGHRES_FETCH"},
		{pdutest.Raw(0x7777, []byte("anything")), "unrecognised type TYPE-"},
	}
	for i, n := range notices {
		id := pdu.PMID(i)
		p.do(pdutest.SendFrom(2, n.pdu), pdutest.SendFrom(2, pdu.DescReq{PMID: id}),
			pdutest.ExpectFrom(0, pdu.DescReply{Desc: pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}}))
		if got := log.Take(); n.logged == "" && got != "" || !strings.Contains(got, n.logged) {
			t.Errorf("after %v, the log has %q, want %q", n.pdu.Kind(), got, n.logged)
		}
	}
	p.end()
}

// TestServeClients checks that a client is identified by its slot, and that a new client in the
// slot has a new Seq. The Handler gets attributes before requests.
func TestServeClients(t *testing.T) {
	h := &attributeRecorder{recorder{Handler: none}}
	p := serve(t.Context(), t, h)
	if want := pdu.FeatureAuth | pdu.FeatureContainer; p.features != want {
		t.Errorf("asked for %x, want %x", p.features, want)
	}
	attr := func(from int32, a pdu.Attribute, v string) {
		p.send(from, pdu.Attr{Key: a, Value: []byte(v + "\x00")})
	}
	attr(5, pdu.AttrProcessID, "17")
	attr(5, pdu.AttrContainer, "box")
	p.request(5, pdu.DescReq{})
	p.request(6, pdu.DescReq{}) // a client without attributes
	attr(5, pdu.AttrContainer, "")
	attr(5, pdu.AttrUsername, "fred")
	p.request(5, pdu.DescReq{})
	p.request(5, pdu.DescReq{})
	p.send(5, pdu.Status{Code: pdu.ErrNotConn})
	p.send(9, pdu.Status{Code: pdu.ErrNotConn}) // unknown
	attr(5, pdu.AttrUserID, "12")               // the next client in the slot
	attr(5, pdu.AttrGroupID, "13")
	p.request(5, pdu.DescReq{})
	p.end()
	want := []string{
		`client 5 seq 1 pid 17 uid -1 gid -1 user "" container ""`,
		`client 5 seq 1 pid 17 uid -1 gid -1 user "" container "box"`,
		"desc 0.0.0",
		`client 6 seq 2 pid -1 uid -1 gid -1 user "" container ""`,
		"desc 0.0.0",
		`client 5 seq 1 pid 17 uid -1 gid -1 user "" container ""`,
		`client 5 seq 1 pid 17 uid -1 gid -1 user "fred" container ""`,
		"desc 0.0.0",
		"desc 0.0.0",
		"end 5 seq 1",
		"end 9 seq 3",
		`client 5 seq 4 pid -1 uid 12 gid -1 user "" container ""`,
		`client 5 seq 4 pid -1 uid 12 gid 13 user "" container ""`,
		"desc 0.0.0",
	}
	got := h.takeCalls()
	ends := got[min(len(want), len(got)):] // of the clients that are left, in any order
	if diff := cmp.Diff(want, got[:len(got)-len(ends)]); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"end 5 seq 4", "end 6 seq 2"}, ends, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("calls at the end (-want +got):\n%s", diff)
	}
	// A Request never changes, and is reused while the client and the profile stay the same.
	if r := h.reqs[0]; r.Client.Container != "box" || r.Client.User != "" {
		t.Errorf("the first request has become %+v", r.Client)
	}
	if h.reqs[2] != h.reqs[3] {
		t.Error("two requests alike have two Requests")
	}
}

// TestServeAsksForAttributes checks that Serve requests attributes if Info says so, even through
// wrappers.
func TestServeAsksForAttributes(t *testing.T) {
	tests := []struct {
		name string
		h    pmda.Handler
		want pdu.Features
	}{
		{"attributes", &attributeRecorder{recorder{Handler: none}}, 0x44},
		{"none", &recorder{Handler: none}, 0},
		{"serial with attributes", pmda.Serial(&attributeRecorder{recorder{Handler: none}}), 0x44},
		{"serial", pmda.Serial(&recorder{Handler: none}), 0},
		{"agent", &pmda.Agent{Name: "x", Domain: 251}, 0},
		{"agent that needs them", &pmda.Agent{Name: "x", Domain: 251, ClientAttributes: true}, 0x44},
	}
	for _, tt := range tests {
		p := serve(t.Context(), t, tt.h)
		if p.features != tt.want {
			t.Errorf("%s: asked for %x, want %x", tt.name, p.features, tt.want)
		}
		p.end()
	}
}

// TestServeProfile checks that the latest profile applies to the requests of all clients.
func TestServeProfile(t *testing.T) {
	h := &recorder{Handler: none}
	p := serve(t.Context(), t, h)
	fetch := func(from, context int32) *pmda.Request {
		p.request(from, pdu.Fetch{Context: context, PMIDs: []pdu.PMID{1}})
		return h.reqs[len(h.reqs)-1]
	}
	var prof pdu.Profile
	if err := prof.Delete(pdu.MakeInDom(1, 2)); err != nil {
		t.Fatal(err)
	}
	if r := fetch(0, 7); r.Profile != nil || r.ContextID != 7 {
		t.Errorf("before any profile: %+v", r)
	}
	p.send(0, pdu.SetProfile{Context: 7, Profile: prof})
	first := fetch(0, 7)
	if diff := cmp.Diff(&prof, first.Profile); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
	if fetch(0, 7) != first {
		t.Error("nothing changed, but the Request did")
	}
	if r := fetch(1, 7); r.Profile != first.Profile || r.Client.ID != 1 {
		t.Errorf("another client has %+v, want the last profile", r)
	}
	p.send(1, pdutest.Raw(pdu.KindProfile, []byte{1}))
	if r := fetch(1, 7); r.Profile != first.Profile {
		t.Error("a bad profile replaced the last")
	}
	p.send(1, pdu.SetProfile{Context: 2})
	r := fetch(1, 2)
	if r.ContextID != 2 || !r.Profile.Includes(pdu.MakeInDom(1, 2), 0) || first.Profile.Includes(pdu.MakeInDom(1, 2), 0) {
		t.Errorf("after another profile: %+v and %+v", r.Profile, first.Profile)
	}
	p.end()
}

// A careless Handler breaks the contract of Fetch, and panics in EndClient.
type careless struct {
	pmda.Handler
	fetch func(w *pdu.ResultWriter)
}

func (h careless) Fetch(_ context.Context, _ *pmda.Request, _ []pdu.PMID, w *pdu.ResultWriter) error {
	h.fetch(w)
	return nil
}

func (h careless) EndClient(*pmda.Client) { panic("at the end") }

// TestServeCarelessHandler checks that a mistake of a Handler is logged and affects only the
// current reply.
func TestServeCarelessHandler(t *testing.T) {
	log := captureLog(t)
	generic := pdu.Status{Code: pdu.ErrGeneric}
	tests := []struct {
		name  string
		fetch func(w *pdu.ResultWriter)
		reply pdu.PDU
		log   string
	}{
		{"panic", func(*pdu.ResultWriter) { panic("oh no") }, generic, "oh no"},
		{"too few", func(*pdu.ResultWriter) {}, generic, "0 sets for 1 metrics"},
		{"too many", func(w *pdu.ResultWriter) { w.Begin(1); w.Begin(2) }, generic, "2 sets for 1 metrics"},
		{"a time", func(w *pdu.ResultWriter) { w.Begin(1); w.Time = w.Time.AddDate(1, 0, 0) }, result(t, func(w *pdu.ResultWriter) { w.Begin(1) }), ""},
		{"changes that no agent can tell", func(w *pdu.ResultWriter) { w.Begin(1); w.Changed = 0xff },
			pdutest.Raw(pdu.KindResult, []byte("\x00\x00\x00\x18\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00")), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t.Context(), t, careless{none, tt.fetch})
			for range 2 { // the second shows that service goes on
				p.do(pdutest.Send(pdu.Fetch{PMIDs: []pdu.PMID{1}}), pdutest.ExpectFrom(0, tt.reply))
			}
			got := log.Take()
			if tt.log == "" && got != "" || !strings.Contains(got, tt.log) {
				t.Errorf("log %q, want %q", got, tt.log)
			}
			p.send(0, pdu.Status{Code: pdu.ErrNotConn}) // panics
			p.request(0, pdu.DescReq{})
			p.end() // panics
			if got := log.Take(); strings.Count(got, "at the end") != 2 {
				t.Errorf("log %q, want two panics", got)
			}
		})
	}
}

// TestServeAgentLog checks that an Agent, wrapped or not, logs each error once to its Logger.
func TestServeAgentLog(t *testing.T) {
	var b pcptest.LogBuffer
	a := &pmda.Agent{Name: "x", Domain: 1, Logger: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	o := override.In(a)
	o.Desc = func(context.Context, *pmda.Request, pdu.PMID) (pdu.Desc, error) { panic("oh no") }
	register(t, a, pmda.Metric[int32]{Name: "x.limit", Value: always[int32](1),
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v int32) error {
			return fmt.Errorf("store %d", v)
		}})
	for _, h := range []pmda.Handler{a, pmda.Serial(a), struct{ *pmda.Agent }{a}} {
		p := serve(t.Context(), t, h)
		p.request(0, pdu.DescReq{})
		p.end()
		if got := b.Take(); !strings.Contains(got, "oh no") || !strings.Contains(got, `msg="Recv: DESC_REQ PDU, pipe, len=16, from=0, body=`) {
			t.Errorf("the agent's log has %q", got)
		}
	}
	p := serve(t.Context(), t, a)
	p.request(0, stored(t, pdu.MakePMID(1, 0, 0), func(w *pdu.ResultWriter) { w.Int32(-1, 7) }))
	p.end()
	if got := b.Take(); strings.Count(got, `"store 7"`) != 1 || !strings.Contains(got, `metric=x.limit err="store 7"`) {
		t.Errorf("the log of a store is %q", got)
	}
}

// TestServeCancel checks that Serve returns the cause of its context when that ends, in every
// state. It leaves no goroutine behind, which synctest checks.
func TestServeCancel(t *testing.T) {
	cause := errors.New("enough")
	tests := map[string]func(*peer){
		"idle":       func(*peer) {},
		"in a PDU":   func(p *peer) { p.Stream.Write([]byte{0, 0, 0}) },
		"not read":   func(p *peer) { p.send(0, pdu.DescReq{}) },
		"in handler": func(p *peer) { p.send(0, pdu.Fetch{PMIDs: []pdu.PMID{1}}) },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				p := serve(ctx, t, waiter{none})
				do(p)
				synctest.Wait()
				cancel(cause)
				if err := <-p.served; err != cause {
					t.Errorf("Serve returned %v", err)
				}
			})
		})
	}
}

// A waiter fetches until its context ends.
type waiter struct{ pmda.Handler }

func (waiter) Fetch(ctx context.Context, _ *pmda.Request, _ []pdu.PMID, _ *pdu.ResultWriter) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestServeCancelByDeadline checks that a deadline interrupts a stream that cannot be closed.
func TestServeCancelByDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() {
			served <- pmda.Serve(ctx, waiter{none}, deadlineOnly{far, far})
		}()
		if _, err := pdu.AcceptAgent(pdu.NewConn(near), 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-served; err != context.Canceled {
			t.Errorf("Serve returned %v", err)
		}
	})
}

type deadlineOnly struct {
	io.ReadWriter
	d interface{ SetDeadline(time.Time) error }
}

func (d deadlineOnly) SetDeadline(t time.Time) error { return d.d.SetDeadline(t) }

// TestServeRefuses checks that an agent with a failed registration is not served, wrapped or not.
func TestServeRefuses(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 251}
	if err := pmda.Register(a, pmda.Metric[int32]{Name: "a.x"}); err == nil {
		t.Fatal("a metric without values was registered")
	}
	for name, h := range map[string]pmda.Handler{"Agent": a, "Serial": pmda.Serial(a), "embedded": struct{ *pmda.Agent }{a}} {
		var out bytes.Buffer
		err := pmda.Serve(t.Context(), h, struct {
			io.Reader
			io.Writer
		}{strings.NewReader(""), &out})
		if err == nil || err.Error() != a.Err().Error() || out.Len() > 0 {
			t.Errorf("%s: Serve returned %v and wrote %q, want %v", name, err, &out, a.Err())
		}
	}
}

// TestServeBadHello checks that Serve fails if the collector does not send its version.
func TestServeBadHello(t *testing.T) {
	tests := map[string]struct {
		bytes string
		want  error
	}{
		"nothing":      {"", io.EOF},
		"another PDU":  {"\x00\x00\x00\x10\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00", pdu.ErrIPC},
		"not PCP":      {"GET / HTTP/1.0\r\n\r\n", io.ErrUnexpectedEOF},
		"half a hello": {"\x00\x00\x00\x14\x00\x00", io.ErrUnexpectedEOF},
	}
	for name, tt := range tests {
		err := pmda.Serve(t.Context(), &recorder{Handler: none}, struct {
			io.Reader
			io.Writer
		}{strings.NewReader(tt.bytes), io.Discard})
		if op, ok := errors.AsType[*pmda.OpError](err); !ok || op.Timeout() || !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// TestServeEndsInPDU checks that the end of the connection within a PDU is an error.
func TestServeEndsInPDU(t *testing.T) {
	p := serve(t.Context(), t, &recorder{Handler: none})
	if _, err := p.Stream.Write([]byte("\x00\x00\x00\x04")); err != nil {
		t.Fatal(err)
	}
	p.Stream.Close()
	err := <-p.served
	if op, ok := errors.AsType[*pmda.OpError](err); !ok || op.Op != "serve the collector" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Serve returned %v", err)
	}
}

// repeat sends an agent a version and then the same request many times.
type repeat struct {
	hello, request []byte
	n              int
	rest           []byte
}

func (r *repeat) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		switch {
		case r.hello != nil:
			r.rest, r.hello = r.hello, nil
		case r.n == 0:
			return 0, io.EOF
		default:
			r.n--
			r.rest = r.request
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (*repeat) Write(p []byte) (int, error) { return len(p), nil }

// fixed fetches the same value for every metric.
type fixed struct{ pmda.Handler }

func (fixed) Fetch(_ context.Context, _ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		w.Uint64(pdu.NoInst, 1)
	}
	return nil
}

// TestServeFetchAllocatesNothing checks that a fetch allocates nothing beyond what the Handler
// allocates.
func TestServeFetchAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	hello := encode(t, pdu.Creds{Version: 2})
	request := encode(t, pdu.Fetch{PMIDs: make([]pdu.PMID, 200)}) // longer than what Conn holds itself
	allocs := func(n int) float64 {
		return testing.AllocsPerRun(5, func() {
			if err := pmda.Serve(t.Context(), fixed{none}, &repeat{hello: hello, request: request, n: n}); err != nil {
				t.Fatal(err)
			}
		})
	}
	const n = 1000
	if few, many := allocs(10), allocs(10+n); many-few > n/100 { // the pools lose some to the collector of garbage
		t.Errorf("%d fetches allocate %v times, 10 do %v times", 10+n, many, few)
	}
}

func BenchmarkServeFetch(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("metrics=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			r := &repeat{hello: encode(b, pdu.Creds{Version: 2}), request: encode(b, pdu.Fetch{PMIDs: make([]pdu.PMID, n)}), n: b.N}
			if err := pmda.Serve(b.Context(), fixed{none}, r); err != nil {
				b.Fatal(err)
			}
		})
	}
}
