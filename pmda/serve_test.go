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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// A peer is the collector's side of a connection that Serve has.
type peer struct {
	t      *testing.T
	conn   *pdu.Conn
	stream net.Conn
	served chan error
	wanted pdu.Features // what the agent asked for
}

// serve lets a Handler serve and greets it.
func serve(ctx context.Context, t *testing.T, h pmda.Handler) *peer {
	t.Helper()
	ours, theirs := net.Pipe()
	p := &peer{t: t, conn: pdu.NewConn(ours), stream: ours, served: make(chan error, 1)}
	go func() { p.served <- pmda.Serve(ctx, h, theirs) }()
	t.Cleanup(func() { ours.Close() })
	var err error
	if p.wanted, err = pdu.AcceptAgent(p.conn, 4711); err != nil {
		t.Fatal(err)
	}
	return p
}

// tell sends what is not answered.
func (p *peer) tell(from int32, m pdu.PDU) {
	p.t.Helper()
	if err := p.conn.Write(from, m); err != nil {
		p.t.Fatal(err)
	}
}

// ask sends a request and returns the answer, which must not be from anybody.
func (p *peer) ask(from int32, m pdu.PDU) pdu.PDU {
	p.t.Helper()
	p.tell(from, m)
	h, body, err := p.conn.Read()
	if err != nil {
		p.t.Fatal(err)
	}
	if h.From != 0 {
		p.t.Errorf("the answer to %v is from %d", m.Kind(), h.From)
	}
	reply, err := pdu.Decode(h.Kind, bytes.Clone(body))
	if err != nil {
		p.t.Fatal(err)
	}
	return reply
}

// end closes the connection and checks that this ended Serve well.
func (p *peer) end() {
	p.t.Helper()
	p.stream.Close()
	if err := <-p.served; err != nil {
		p.t.Errorf("Serve returned %v at the end of the connection", err)
	}
}

// raw is a PDU of any kind and body.
type raw struct {
	kind pdu.Kind
	body []byte
}

func (r raw) Kind() pdu.Kind                  { return r.kind }
func (r raw) Append(b []byte) ([]byte, error) { return append(b, r.body...), nil }

// A recorder is a Handler that answers as it is told and remembers what it was
// asked.
type recorder struct {
	pmda.Unimplemented
	err       error // for all methods
	instances []pdu.Instance
	names     pdu.NameList
	sets      []pdu.LabelSet

	mu   sync.Mutex
	seen []string
	reqs []*pmda.Request
}

func (h *recorder) saw(r *pmda.Request, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, fmt.Sprintf(format, args...))
	if r != nil {
		h.reqs = append(h.reqs, r)
	}
}

func (h *recorder) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := h.seen
	h.seen = nil
	return seen
}

func (h *recorder) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	h.saw(r, "fetch %v", ids)
	for i, id := range ids {
		w.Begin(id)
		w.Int32(pdu.NoInst, int32(i+1))
	}
	return h.err
}

func (h *recorder) Desc(_ context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	h.saw(r, "desc %v", id)
	return pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}, h.err
}

func (h *recorder) Instances(_ context.Context, r *pmda.Request, d pdu.InDom, i pdu.InstID, name string) ([]pdu.Instance, error) {
	h.saw(r, "instances %v %d %q", d, i, name)
	return h.instances, h.err
}

func (h *recorder) Text(_ context.Context, r *pmda.Request, of pdu.TextTarget, k pdu.TextKind) (string, error) {
	req := of.Request(k)
	h.saw(r, "text %x %v", req.Ident, req.Text)
	return "the text", h.err
}

func (h *recorder) Store(_ context.Context, r *pmda.Request, v *pdu.Result) error {
	for _, s := range v.All() {
		for i, a := range s.All(pdu.Type32) {
			h.saw(r, "store %v[%d] %v", s.PMID, i, a)
		}
	}
	return h.err
}

func (h *recorder) PMID(_ context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	h.saw(r, "pmid %s", name)
	return pdu.MakePMID(1, 2, 3), h.err
}

func (h *recorder) Names(_ context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	h.saw(r, "names %v", id)
	return h.names.Names, h.err
}

func (h *recorder) Children(_ context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	h.saw(r, "children %q", name)
	var children []pmns.Child
	for i, n := range h.names.Names {
		children = append(children, pmns.Child{Name: n, Leaf: h.names.Statuses == nil || h.names.Statuses[i] == pdu.Leaf})
	}
	return children, h.err
}

func (h *recorder) Traverse(_ context.Context, r *pmda.Request, name string) ([]string, error) {
	h.saw(r, "traverse %q", name)
	return h.names.Names, h.err
}

func (h *recorder) Labels(_ context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	h.saw(r, "labels %x %d", of.Request().Ident, of.Class)
	return h.sets, h.err
}

func (h *recorder) EndClient(c *pmda.Client) { h.saw(nil, "end %d seq %d", c.ID, c.Seq) }

func result(t *testing.T, build func(*pdu.ResultWriter)) *pdu.Result {
	t.Helper()
	var w pdu.ResultWriter
	build(&w)
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	if err != nil {
		t.Fatal(err)
	}
	r := new(pdu.Result)
	if err := r.Decode(b[pdu.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	return r
}

// encoded makes PDUs comparable.
func encoded(t *testing.T, p pdu.PDU) string {
	t.Helper()
	if s, ok := p.(*pdu.Status); ok {
		return s.Code.Error()
	}
	b, err := p.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v %x", p.Kind(), b[pdu.HeaderLen:])
}

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
	fail := func(e pdu.Error) pdu.PDU { return &pdu.Status{Code: e} }
	tests := []struct {
		name string
		ask  pdu.PDU
		h    *recorder
		seen []string
		want pdu.PDU
	}{
		{"fetch", pdu.Fetch{PMIDs: []pdu.PMID{id, id + 1}}, &recorder{}, []string{"fetch [251.1.2 251.1.3]"},
			result(t, func(w *pdu.ResultWriter) { w.Begin(id); w.Int32(-1, 1); w.Begin(id + 1); w.Int32(-1, 2) })},
		{"fetch fails", pdu.Fetch{PMIDs: []pdu.PMID{id}}, &recorder{err: pdu.ErrAgain}, []string{"fetch [251.1.2]"}, fail(pdu.ErrAgain)},
		{"fetch not ready", pdu.Fetch{PMIDs: []pdu.PMID{id}}, &recorder{err: pdu.ErrPMDANotReady}, []string{"fetch [251.1.2]"}, fail(pdu.ErrPMDANotReady)},
		{"fetch fails dangerously", pdu.Fetch{PMIDs: []pdu.PMID{id}}, &recorder{err: pdu.ErrTimeout}, []string{"fetch [251.1.2]"}, fail(pdu.ErrGeneric)},
		{"fetch fails oddly", pdu.Fetch{PMIDs: []pdu.PMID{id}}, &recorder{err: pdu.Error(5)}, []string{"fetch [251.1.2]"}, fail(pdu.ErrGeneric)},
		{"fetch undecodable", raw{pdu.KindFetch, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"desc", pdu.DescReq{PMID: id}, &recorder{}, []string{"desc 251.1.2"},
			pdu.DescReply{Desc: pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}}},
		{"desc fails", pdu.DescReq{PMID: id}, &recorder{err: fmt.Errorf("deep: %w", pdu.ErrPMID)}, []string{"desc 251.1.2"}, fail(pdu.ErrPMID)},
		{"desc undecodable", raw{pdu.KindDescReq, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"instances", pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst}, &recorder{instances: two}, []string{`instances 251.3 -1 ""`},
			pdu.InstanceReply{InDom: indom, Instances: two}},
		{"instances of an empty domain", pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst}, &recorder{}, []string{`instances 251.3 -1 ""`},
			pdu.InstanceReply{InDom: indom}},
		{"instance by id", pdu.InstanceReq{InDom: indom, Inst: 4}, &recorder{instances: two[:1]}, []string{`instances 251.3 4 ""`},
			pdu.InstanceReply{InDom: indom, Instances: []pdu.Instance{{ID: pdu.NoInst, Name: "four"}}}},
		{"instance by name", pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst, Name: "four"}, &recorder{instances: two[:1]}, []string{`instances 251.3 -1 "four"`},
			pdu.InstanceReply{InDom: indom, Instances: []pdu.Instance{{ID: 4}}}},
		{"instance missing", pdu.InstanceReq{InDom: indom, Inst: 4}, &recorder{}, []string{`instances 251.3 4 ""`}, fail(pdu.ErrInst)},
		{"instances of no domain", pdu.InstanceReq{InDom: pdu.NoInDom, Inst: pdu.NoInst}, &recorder{instances: two}, nil, fail(pdu.ErrInDom)},
		{"instances fail", pdu.InstanceReq{InDom: indom, Inst: 4}, &recorder{err: pdu.ErrInDom}, []string{`instances 251.3 4 ""`}, fail(pdu.ErrInDom)},
		{"instances undecodable", raw{pdu.KindInstanceReq, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"text", pdu.TextReq{Ident: 0x01020304, Text: pdu.TextPMID | pdu.TextHelp}, &recorder{}, []string{"text 1020304 help,pmid"},
			pdu.TextReply{Ident: 0x01020304, Text: "the text"}},
		{"text with the client's own flag", raw{pdu.KindText - 1, []byte{0, 0, 0, 1, 0, 0, 0, 21}}, &recorder{}, []string{"text 1 oneline,pmid"},
			pdu.TextReply{Ident: 1, Text: "the text"}},
		{"text fails", pdu.TextReq{Text: pdu.TextInDom}, &recorder{err: pdu.ErrText}, []string{"text 0 indom"}, fail(pdu.ErrText)},
		{"text undecodable", raw{pdu.KindTextReq, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"store", stored, &recorder{}, []string{"store 251.1.2[7] 8", "store 251.1.2[9] 10"}, fail(0)},
		{"store refused", stored, &recorder{err: pdu.ErrBadStore}, []string{"store 251.1.2[7] 8", "store 251.1.2[9] 10"}, fail(pdu.ErrBadStore)},
		{"store without a value", result(t, func(w *pdu.ResultWriter) { w.Begin(id) }), &recorder{}, nil, fail(pdu.ErrValue)},
		{"store undecodable", raw{pdu.KindResult, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"pmid", pdu.NameList{Names: []string{"x.y"}}, &recorder{}, []string{"pmid x.y"}, pdu.PMIDList{PMIDs: []pdu.PMID{pdu.MakePMID(1, 2, 3)}}},
		{"pmid fails", pdu.NameList{Names: []string{"x.y"}}, &recorder{err: pdu.ErrNonLeaf}, []string{"pmid x.y"}, fail(pdu.ErrNonLeaf)},
		{"pmid of two", pdu.NameList{Names: []string{"x", "y"}}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"pmid of none", pdu.NameList{}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"pmid undecodable", raw{pdu.KindPMNSNames, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"names", pdu.PMIDList{PMIDs: []pdu.PMID{id}}, &recorder{names: names}, []string{"names 251.1.2"}, pdu.NameList{Names: names.Names}},
		{"names of nothing", pdu.PMIDList{PMIDs: []pdu.PMID{id}}, &recorder{}, []string{"names 251.1.2"}, fail(pdu.ErrPMID)},
		{"names of two", pdu.PMIDList{PMIDs: []pdu.PMID{id, id}}, &recorder{names: names}, nil, fail(pdu.ErrIPC)},
		{"names of an error", pdu.PMIDList{Status: int32(pdu.ErrName), PMIDs: []pdu.PMID{id}}, &recorder{names: names}, nil, fail(pdu.ErrName)},
		{"names fail", pdu.PMIDList{PMIDs: []pdu.PMID{id}}, &recorder{err: pdu.ErrPMID}, []string{"names 251.1.2"}, fail(pdu.ErrPMID)},
		{"names undecodable", raw{pdu.KindPMNSIDs, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"children", pdu.ChildReq{Name: "a"}, &recorder{names: names}, []string{`children "a"`}, pdu.NameList{Names: names.Names}},
		{"children with status", pdu.ChildReq{Name: "a", Status: true}, &recorder{names: names}, []string{`children "a"`}, names},
		{"children fail", pdu.ChildReq{Name: "a"}, &recorder{err: pdu.ErrName}, []string{`children "a"`}, fail(pdu.ErrName)},
		{"children undecodable", raw{pdu.KindPMNSChild, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"traverse", pdu.TraverseReq{Name: "a"}, &recorder{names: names}, []string{`traverse "a"`}, pdu.NameList{Names: names.Names}},
		{"traverse fails", pdu.TraverseReq{}, &recorder{err: pdu.ErrName}, []string{`traverse ""`}, fail(pdu.ErrName)},
		{"traverse undecodable", raw{pdu.KindPMNSTraverse, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"labels", pdu.LabelReq{Ident: 251, Class: pdu.LabelDomain}, &recorder{sets: sets}, []string{"labels fb 2"},
			pdu.LabelReply{Ident: 251, Class: pdu.LabelDomain, Sets: sets[:1]}},
		{"labels of instances", pdu.LabelReq{Ident: 251, Class: pdu.LabelInstances}, &recorder{sets: sets}, []string{"labels fb 32"},
			pdu.LabelReply{Ident: 251, Class: pdu.LabelInstances, Sets: sets}},
		{"labels with flags", pdu.LabelReq{Ident: 251, Class: pdu.LabelItem | 0xc0}, &recorder{sets: sets}, []string{"labels fb 16"},
			pdu.LabelReply{Ident: 251, Class: pdu.LabelItem | 0xc0, Sets: sets[:1]}},
		{"no labels", pdu.LabelReq{Class: pdu.LabelContext}, &recorder{}, []string{"labels 0 1"}, pdu.LabelReply{Class: pdu.LabelContext}},
		{"labels fail", pdu.LabelReq{Class: 3}, &recorder{err: pdu.ErrType}, []string{"labels 0 3"}, fail(pdu.ErrType)},
		{"labels undecodable", raw{pdu.KindLabelReq, cut}, &recorder{}, nil, fail(pdu.ErrIPC)},
		{"labels that do not fit", pdu.LabelReq{Class: pdu.LabelDomain}, &recorder{sets: []pdu.LabelSet{{JSON: make([]byte, pdu.MaxLabelJSON+1)}}},
			[]string{"labels 0 2"}, fail(pdu.ErrGeneric)},
	}
	log := captureLog(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := tt.h
			p := serve(t.Context(), t, h)
			got := p.ask(3, tt.ask)
			if diff := cmp.Diff(encoded(t, tt.want), encoded(t, got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.seen, h.take(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the handler saw (-want +got):\n%s", diff)
			}
			p.end()
			// What the collector is not told is in the log, and only that.
			status, _ := got.(*pdu.Status)
			if hidden := status != nil && status.Code == pdu.ErrGeneric; hidden != strings.Contains(log.take(), "agent failed a request") {
				t.Errorf("failure logged: %v, want %v", !hidden, hidden)
			}
		})
	}
}

// What is not answered: the answer to the request after it comes next.
func TestServeSilence(t *testing.T) {
	log := captureLog(t)
	h := &recorder{}
	p := serve(t.Context(), t, h)
	silent := []struct {
		m      pdu.PDU
		logged string
	}{
		{pdu.Creds{Version: 2}, "unrecognised type CREDS"},
		{pdu.SetProfile{Context: 1}, ""},
		{raw{pdu.KindProfile, []byte{1}}, "decode PROFILE"},
		{pdu.Attr{Attr: pdu.AttrUserID, Value: []byte("12\x00")}, ""},
		{pdu.Attr{Attr: pdu.AttrUserID, Value: []byte("x\x00")}, `attribute userid of client 2`},
		{pdu.Attr{Attr: pdu.AttrSecure, Value: []byte("x\x00")}, ""},
		{raw{pdu.KindAttr, []byte{1}}, "decode ATTR"},
		{pdu.Status{Code: pdu.ErrNotConn}, ""},
		{pdu.Status{Code: pdu.ErrAgain}, "unexpected error: Try again"},
		{pdu.Status{}, "unexpected error"},
		{raw{pdu.KindError, []byte{1}}, "decode ERROR"},
		{raw{pdu.KindControlReq, nil}, "unrecognised type CONTROL_REQ"},
		{raw{pdu.KindDesc, nil}, "unrecognised type DESC"},
		{raw{pdu.KindHighResFetch, nil}, "unrecognised type HIGHRES_FETCH"},
		{raw{0x7777, []byte("anything")}, "unrecognised type TYPE-"},
	}
	for i, s := range silent {
		p.tell(2, s.m)
		want := pdu.DescReply{Desc: pdu.Desc{PMID: pdu.PMID(i), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}}
		if diff := cmp.Diff(encoded(t, want), encoded(t, p.ask(2, pdu.DescReq{PMID: pdu.PMID(i)}))); diff != "" {
			t.Fatalf("after %v %q (-want +got):\n%s", s.m.Kind(), s.logged, diff)
		}
		if got := log.take(); s.logged == "" && got != "" || !strings.Contains(got, s.logged) {
			t.Errorf("after %v, the log has %q, want %q", s.m.Kind(), got, s.logged)
		}
	}
	p.end()
}

// captureLog makes slog's default logger write to what it returns, for this
// test.
func captureLog(t *testing.T) *logBuffer {
	b := new(logBuffer)
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(b, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
	return b
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}

// A watcher also wants attributes.
type watcher struct{ recorder }

func (h *watcher) Info() pmda.Info { return pmda.Info{ClientAttributes: true} }

func (h *watcher) Attributes(c *pmda.Client) {
	h.saw(nil, "client %d seq %d pid %d uid %d gid %d user %q container %q", c.ID, c.Seq, c.PID, c.UID, c.GID, c.User, c.Container)
}

func TestServeClients(t *testing.T) {
	h := &watcher{}
	p := serve(t.Context(), t, h)
	if want := pdu.FeatureAuth | pdu.FeatureContainer; p.wanted != want {
		t.Errorf("a watcher asked for %x, want %x", p.wanted, want)
	}
	attr := func(from int32, a pdu.Attribute, v string) {
		p.tell(from, pdu.Attr{Attr: a, Value: []byte(v + "\x00")})
	}
	attr(5, pdu.AttrProcessID, "17")
	attr(5, pdu.AttrContainer, "box")
	p.ask(5, pdu.DescReq{})
	p.ask(6, pdu.DescReq{}) // known without attributes
	attr(5, pdu.AttrContainer, "")
	attr(5, pdu.AttrUsername, "fred")
	p.ask(5, pdu.DescReq{})
	p.ask(5, pdu.DescReq{})
	p.tell(5, pdu.Status{Code: pdu.ErrNotConn})
	p.tell(9, pdu.Status{Code: pdu.ErrNotConn}) // never seen
	attr(5, pdu.AttrUserID, "12")               // another one in the slot
	attr(5, pdu.AttrGroupID, "13")
	p.ask(5, pdu.DescReq{})
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
	got := h.take()
	ends := got[min(len(want), len(got)):] // of those still there, in any order
	if diff := cmp.Diff(want, got[:len(got)-len(ends)]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"end 5 seq 4", "end 6 seq 2"}, ends, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("events at the end (-want +got):\n%s", diff)
	}
	// Snapshots do not change, and nothing new is made while nothing changes.
	if r := h.reqs[0]; r.Client.Container != "box" || r.Client.User != "" {
		t.Errorf("the first request has become %+v", r.Client)
	}
	if h.reqs[2] != h.reqs[3] {
		t.Error("two requests alike have two Requests")
	}
}

func TestServeAsksForAttributes(t *testing.T) {
	tests := []struct {
		name string
		h    pmda.Handler
		want pdu.Features
	}{
		{"watcher", &watcher{}, 0x44},
		{"none", &recorder{}, 0},
		{"serial watcher", pmda.Serial(&watcher{}), 0x44},
		{"serial", pmda.Serial(&recorder{}), 0},
		{"agent", &pmda.Agent{Name: "x", Domain: 251}, 0},
		{"agent that needs them", &pmda.Agent{Name: "x", Domain: 251, ClientAttributes: true}, 0x44},
	}
	for _, tt := range tests {
		p := serve(t.Context(), t, tt.h)
		if p.wanted != tt.want {
			t.Errorf("%s: asked for %x, want %x", tt.name, p.wanted, tt.want)
		}
		p.end()
	}
}

func TestServeProfile(t *testing.T) {
	h := &recorder{}
	p := serve(t.Context(), t, h)
	fetch := func(from, context int32) *pmda.Request {
		p.ask(from, pdu.Fetch{Context: context, PMIDs: []pdu.PMID{1}})
		return h.reqs[len(h.reqs)-1]
	}
	var prof pdu.Profile
	if err := prof.Delete(pdu.MakeInDom(1, 2)); err != nil {
		t.Fatal(err)
	}
	if r := fetch(0, 7); r.Profile != nil || r.Context != 7 {
		t.Errorf("before any profile: %+v", r)
	}
	p.tell(0, pdu.SetProfile{Context: 7, Profile: prof})
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
	p.tell(1, raw{pdu.KindProfile, []byte{1}})
	if r := fetch(1, 7); r.Profile != first.Profile {
		t.Error("a bad profile replaced the last")
	}
	p.tell(1, pdu.SetProfile{Context: 2})
	r := fetch(1, 2)
	if r.Context != 2 || !r.Profile.Includes(pdu.MakeInDom(1, 2), 0) || first.Profile.Includes(pdu.MakeInDom(1, 2), 0) {
		t.Errorf("after another profile: %+v and %+v", r.Profile, first.Profile)
	}
	p.end()
}

// A sloppy agent breaks the contract of Fetch.
type sloppy struct {
	pmda.Unimplemented
	fetch func(w *pdu.ResultWriter)
}

func (h sloppy) Fetch(_ context.Context, _ *pmda.Request, _ []pdu.PMID, w *pdu.ResultWriter) error {
	h.fetch(w)
	return nil
}

func (h sloppy) EndClient(*pmda.Client) { panic("at the end") }

func TestServeSloppyAgents(t *testing.T) {
	log := captureLog(t)
	tests := []struct {
		name  string
		fetch func(w *pdu.ResultWriter)
		want  string
		log   string
	}{
		{"panic", func(*pdu.ResultWriter) { panic("oh no") }, pdu.ErrGeneric.Error(), "oh no"},
		{"too few", func(*pdu.ResultWriter) {}, pdu.ErrGeneric.Error(), "0 sets for 1 metrics"},
		{"too many", func(w *pdu.ResultWriter) { w.Begin(1); w.Begin(2) }, pdu.ErrGeneric.Error(), "2 sets for 1 metrics"},
		{"a time", func(w *pdu.ResultWriter) { w.Begin(1); w.Time = w.Time.AddDate(1, 0, 0) }, "RESULT 0000000000000000000000010000000100000000", ""},
		{"odd changes", func(w *pdu.ResultWriter) { w.Begin(1); w.Changed = 0xff }, "RESULT 0000001800000000000000010000000100000000", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t.Context(), t, sloppy{fetch: tt.fetch})
			for range 2 { // the second shows that the loop goes on
				if got := encoded(t, p.ask(0, pdu.Fetch{PMIDs: []pdu.PMID{1}})); got != tt.want {
					t.Errorf("answer %q, want %q", got, tt.want)
				}
			}
			got := log.take()
			if tt.log == "" && got != "" || !strings.Contains(got, tt.log) {
				t.Errorf("log %q, want %q", got, tt.log)
			}
			p.tell(0, pdu.Status{Code: pdu.ErrNotConn}) // panics
			p.ask(0, pdu.DescReq{})
			p.end() // panics
			if got := log.take(); strings.Count(got, "at the end") != 2 {
				t.Errorf("log %q, want two panics", got)
			}
		})
	}
}

func TestServeAgentLog(t *testing.T) {
	var b logBuffer
	a := &pmda.Agent{Name: "x", Domain: 1, Logger: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	a.Callbacks.Desc = func(context.Context, *pmda.Request, pdu.PMID) (pdu.Desc, error) { panic("oh no") }
	register(t, a, pmda.Metric[int32]{Name: "x.limit", Value: always[int32](1),
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v int32) error {
			return fmt.Errorf("store %d", v)
		}})
	for _, h := range []pmda.Handler{a, pmda.Serial(a), struct{ *pmda.Agent }{a}} {
		p := serve(t.Context(), t, h)
		p.ask(0, pdu.DescReq{})
		p.end()
		if got := b.take(); !strings.Contains(got, "oh no") || !strings.Contains(got, "type=DESC_REQ") {
			t.Errorf("the agent's log has %q", got)
		}
	}
	p := serve(t.Context(), t, a)
	p.ask(0, stored(t, pdu.MakePMID(1, 0, 0), func(w *pdu.ResultWriter) { w.Int32(-1, 7) }))
	p.end()
	if got := b.take(); strings.Count(got, `"store 7"`) != 1 || !strings.Contains(got, `metric=x.limit err="store 7"`) {
		t.Errorf("the log of a store is %q", got)
	}
}

// Serve ends when its context does, wherever it is, with the cause, and leaves
// no goroutine: synctest would not return.
func TestServeCancel(t *testing.T) {
	cause := errors.New("enough")
	tests := map[string]func(*peer){
		"idle":       func(*peer) {},
		"in a PDU":   func(p *peer) { p.stream.Write([]byte{0, 0, 0}) },
		"not read":   func(p *peer) { p.tell(0, pdu.DescReq{}) },
		"in handler": func(p *peer) { p.tell(0, pdu.Fetch{PMIDs: []pdu.PMID{1}}) },
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				p := serve(ctx, t, waiter{})
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

// A waiter fetches until nobody wants it any more.
type waiter struct{ pmda.Unimplemented }

func (waiter) Fetch(ctx context.Context, _ *pmda.Request, _ []pdu.PMID, _ *pdu.ResultWriter) error {
	<-ctx.Done()
	return ctx.Err()
}

// A stream can be interrupted by a deadline too.
func TestServeCancelByDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() {
			served <- pmda.Serve(ctx, waiter{}, deadlineOnly{theirs, theirs})
		}()
		if _, err := pdu.AcceptAgent(pdu.NewConn(ours), 1); err != nil {
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

// TestServeRefuses: an agent whose tables are wrong does not greet, wrapped or not.
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

func TestServeBadStart(t *testing.T) {
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
		err := pmda.Serve(t.Context(), &recorder{}, struct {
			io.Reader
			io.Writer
		}{strings.NewReader(tt.bytes), io.Discard})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func TestServeBadStream(t *testing.T) {
	p := serve(t.Context(), t, &recorder{})
	if _, err := p.stream.Write([]byte("\x00\x00\x00\x04")); err != nil {
		t.Fatal(err)
	}
	p.stream.Close()
	if err := <-p.served; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Serve returned %v", err)
	}
}

// repeat gives an agent a hello and then the same request many times.
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

func encode(t testing.TB, m pdu.PDU) []byte {
	var b bytes.Buffer
	if err := pdu.NewConn(&b).Write(0, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fixed fetches the same value for every metric.
type fixed struct{ pmda.Unimplemented }

func (fixed) Fetch(_ context.Context, _ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		w.Uint64(pdu.NoInst, 1)
	}
	return nil
}

func TestServeFetchAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	hello := encode(t, pdu.Creds{Version: 2})
	request := encode(t, pdu.Fetch{PMIDs: make([]pdu.PMID, 200)}) // longer than what Conn holds itself
	allocs := func(n int) float64 {
		return testing.AllocsPerRun(5, func() {
			if err := pmda.Serve(t.Context(), fixed{}, &repeat{hello: hello, request: request, n: n}); err != nil {
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
			if err := pmda.Serve(b.Context(), fixed{}, r); err != nil {
				b.Fatal(err)
			}
		})
	}
}
