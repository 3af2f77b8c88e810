package remote_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
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
	"github.com/pcp-go/pcp/pmda/internal/remote"
	"github.com/pcp-go/pcp/pmns"
)

// A method is one of the Handler, called about testID and the like.
type method struct {
	name    string
	call    func(context.Context, pmda.Handler, *pmda.Request) (any, error)
	request pdu.PDU // what the agent is sent
	profile bool    // it is sent the client's profile before
	reply   pdu.PDU
	want    any
}

// sends is the step that expects the request.
func (m method) sends() pdutest.Step { return pdutest.ExpectFrom(7, m.request) }

// methods are all methods of a Handler that send a request.
func methods(t *testing.T) []method {
	labels, err := pdu.ParseLabels(pdu.LabelItem, `{"a":1}`, false)
	if err != nil {
		t.Fatal(err)
	}
	var w pdu.ResultWriter
	w.Time = time.Unix(1_700_000_000, 0)
	w.Begin(testID)
	w.Int32(4, 5)
	values, err := w.Result() // of the format that agents do not know
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return fetchText(ctx, h, r, testID, testID+1)
	}
	desc := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) { return h.Desc(ctx, r, testID) }
	instances := func(inst pdu.InstID, name string) func(context.Context, pmda.Handler, *pmda.Request) (any, error) {
		return func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Instances(ctx, r, testInDom, inst, name)
		}
	}
	text := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return h.Text(ctx, r, pdu.TextOfMetric(testID), pdu.TextHelp)
	}
	store := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return nil, h.Store(ctx, r, values)
	}
	pmid := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) { return h.PMID(ctx, r, "a.b") }
	names := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return h.Names(ctx, r, testID)
	}
	children := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return h.Children(ctx, r, "a.b")
	}
	traverse := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return h.Traverse(ctx, r, "a.b")
	}
	itemLabels := func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return h.Labels(ctx, r, pdu.LabelsOfItem(testID))
	}
	all := pdu.InstanceReq{InDom: testInDom, Inst: pdu.NoInst}
	byID := pdu.InstanceReq{InDom: testInDom, Inst: 4}
	byName := pdu.InstanceReq{InDom: testInDom, Inst: pdu.NoInst, Name: "four"}
	replyOf := func(list ...pdu.Instance) pdu.PDU { return pdu.InstanceReply{InDom: testInDom, Instances: list} }
	four := []pdu.Instance{{ID: 4, Name: "four"}}
	two := append(four, pdu.Instance{ID: 5, Name: "five"})
	xy := []string{"x", "y"}
	return []method{
		{"fetch", fetch, pdu.Fetch{PMIDs: []pdu.PMID{testID, testID + 1}}, true,
			fetchReply(t, 8, testID, testID+1), "none: 251.1.2[-1] 8 251.1.3[-1] 8"},
		{"desc", desc, pdu.DescReq{PMID: testID}, false, testDesc, testDesc.Desc},
		{"all instances", instances(pdu.NoInst, ""), all, false, replyOf(two...), two},
		{"one of all", instances(pdu.NoInst, ""), all, false, replyOf(four...), four},
		{"instance by id", instances(4, ""), byID, false, replyOf(pdu.Instance{ID: -1, Name: "four"}), four},
		{"instance by name", instances(pdu.NoInst, "four"), byName, false, replyOf(pdu.Instance{ID: 4}), four},
		{"instance in full", instances(4, ""), byID, false, replyOf(two...), four},
		{"text", text, pdu.TextReq{Ident: uint32(testID), Text: pdu.TextPMID | pdu.TextHelp}, false,
			pdu.TextReply{Ident: 3, Text: "words"}, "words"},
		{"store", store, result(t, func(w *pdu.ResultWriter) { w.Begin(testID); w.Int32(4, 5) }), false, pdu.Status{}, nil},
		{"pmid", pmid, pdu.NameList{Names: []string{"a.b"}}, false, pdu.PMIDList{Status: 1, PMIDs: []pdu.PMID{testID}}, testID},
		{"names", names, pdu.PMIDList{PMIDs: []pdu.PMID{testID}}, false, pdu.NameList{Names: xy}, xy},
		{"children", children, pdu.ChildReq{Name: "a.b", Status: true}, false,
			pdu.NameList{Names: xy, Statuses: []int32{pdu.Leaf, pdu.NonLeaf}}, []pmns.Child{{Name: "x", Leaf: true}, {Name: "y"}}},
		{"children without status", children, pdu.ChildReq{Name: "a.b", Status: true}, false,
			pdu.NameList{Names: []string{"x"}}, []pmns.Child{{Name: "x", Leaf: true}}},
		{"traverse", traverse, pdu.TraverseReq{Name: "a.b"}, false, pdu.NameList{Names: xy}, xy},
		{"labels", itemLabels, pdu.LabelReq{Ident: uint32(testID), Class: pdu.LabelItem}, true,
			pdu.LabelReply{Ident: uint32(testID), Class: pdu.LabelItem, Sets: []pdu.LabelSet{labels}}, []pdu.LabelSet{labels}},
	}
}

// TestMethodSendsRequestAndReturnsReply: every method sends its request, after the profile where
// that matters, and returns the agent's reply or its error. Later requests do not change a
// returned value.
func TestMethodSendsRequestAndReturnsReply(t *testing.T) {
	for _, tt := range methods(t) {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, 0, remote.Config{})
				c := start(t, func() (any, error) { return tt.call(t.Context(), agent, request7()) })
				if tt.profile {
					far.do(profile7)
				}
				far.expect(tt.sends())
				far.send(tt.reply)
				got := c.ends(nil)
				for code, want := range map[pdu.Error]error{pdu.ErrPMID: pdu.ErrPMID, pdu.ErrIPC: pdu.ErrIPC, 1: pdu.ErrGeneric} {
					c = start(t, func() (any, error) { return tt.call(t.Context(), agent, request7()) })
					far.expect(tt.sends()) // the agent has the profile
					far.send(pdu.Status{Code: code})
					c.ends(want)
				}
				long := start(t, func() (string, error) { return agent.Text(t.Context(), request7(), pdu.TextOfMetric(1), 0) })
				far.send(pdu.TextReply{Text: strings.Repeat("x", 400)})
				long.ends(nil)
				if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" { // it is still what it was
					t.Errorf("reply (-want +got):\n%s", diff)
				}
				if err := agent.Err(); err != nil {
					t.Errorf("a reply ended the connection: %v", err)
				}
			})
		})
	}
}

// TestWrongReplyEndsConnection: a PDU that does not reply to the request ends the connection, for
// every method.
func TestWrongReplyEndsConnection(t *testing.T) {
	for _, tt := range methods(t) {
		breaches := map[string]pdu.PDU{
			"wrong kind":       pdu.Creds{Version: 2},
			"unknown kind":     pdutest.Raw(0x7777, nil),
			"malformed":        pdutest.Raw(tt.reply.Kind(), []byte{1, 2, 3}),
			"malformed status": pdutest.Raw(pdu.KindError, []byte{1, 2, 3}),
			"ready in place":   pdu.Status{Code: pdu.ErrPMDAReady},
		}
		if tt.name != "store" {
			breaches["success in place"] = pdu.Status{}
		}
		for name, reply := range breaches {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					agent, far := connect(t, 0, remote.Config{})
					c := start(t, func() (any, error) { return tt.call(t.Context(), agent, request7()) })
					far.send(reply)
					if name == "success in place" {
						c.ends(pdu.ErrGeneric)
						return
					}
					c.ends(pdu.ErrIPC)
					checkEnded(t, agent, nil)
				})
			})
		}
	}
}

// TestReplyAboutSomethingElse: a reply of the right type may still be about something else than
// the request, which ends the connection, or it may be empty.
func TestReplyAboutSomethingElse(t *testing.T) {
	bad := result(t, func(w *pdu.ResultWriter) { w.Begin(testID); w.Uint64(1, 2) })
	body, err := bad.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		t.Fatal(err)
	}
	body[len(body)-12-1] = 0xff // the index of the block
	all := map[string]method{}
	for _, tt := range methods(t) {
		all[tt.name] = tt
	}
	one := method{call: func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return fetchText(ctx, h, r, testID)
	}}
	tests := []struct {
		name   string
		method method
		reply  pdu.PDU
		err    error
		ended  bool // the connection
		want   any
	}{
		{"fetch of fewer", all["fetch"], fetchReply(t, 1, testID), pdu.ErrIPC, true, "none:"},
		{"fetch of more", one, fetchReply(t, 1, testID, testID), pdu.ErrIPC, true, "none:"},
		{"fetch of another", all["fetch"], fetchReply(t, 1, testID, testID), pdu.ErrIPC, true, "none:"},
		{"fetch in another order", all["fetch"], fetchReply(t, 1, testID+1, testID), pdu.ErrIPC, true, "none:"},
		{"fetch of a bad block", one, pdutest.Raw(pdu.KindResult, body[pdu.HeaderLen:]), nil, false, "none: 251.1.2 IPC protocol failure"},
		{"fetch in high resolution", one, pdutest.Raw(pdu.KindHighResResult, make([]byte, 20)), pdu.ErrIPC, true, "none:"},
		{"desc of another", all["desc"], pdu.DescReply{Desc: pdu.Desc{PMID: 5}}, pdu.ErrIPC, true, pdu.Desc{}},
		{"no instance", all["instance by id"], pdu.InstanceReply{InDom: testInDom}, pdu.ErrInst, false, []pdu.Instance(nil)},
		{"two metrics of a name", all["pmid"], pdu.PMIDList{PMIDs: []pdu.PMID{1, 2}}, pdu.ErrIPC, true, pdu.NoPMID},
		{"no metric of a name", all["pmid"], pdu.PMIDList{PMIDs: []pdu.PMID{pdu.NoPMID}}, pdu.ErrName, false, pdu.NoPMID},
		{"name refused in a list", all["pmid"], pdu.PMIDList{Status: int32(pdu.ErrNonLeaf)}, pdu.ErrNonLeaf, false, pdu.NoPMID},
		{"no names", all["names"], pdu.NameList{}, pdu.ErrPMID, false, []string(nil)},
		{"names refused in a list", all["names"], pdu.NameList{Err: pdu.ErrAppVersion}, pdu.ErrAppVersion, false, []string(nil)},
		{"children refused in a list", all["children"], pdu.NameList{Err: pdu.ErrName}, pdu.ErrName, false, []pmns.Child(nil)},
		{"no children", all["children"], pdu.NameList{}, nil, false, []pmns.Child(nil)},
		{"labels of another", all["labels"], pdu.LabelReply{Ident: 1, Class: pdu.LabelItem}, pdu.ErrIPC, true, []pdu.LabelSet(nil)},
		{"labels of another class", all["labels"], pdu.LabelReply{Ident: uint32(testID), Class: pdu.LabelDomain}, pdu.ErrIPC, true, []pdu.LabelSet(nil)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, 0, remote.Config{})
				c := start(t, func() (any, error) { return tt.method.call(t.Context(), agent, request7()) })
				far.send(tt.reply)
				got := c.ends(tt.err)
				if err := agent.Err(); err != nil != tt.ended {
					t.Errorf("the connection ended with %v, want %v", err, tt.ended)
				}
				if !tt.ended || tt.method.name == "fetch" {
					if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("reply (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

// TestFetchReturnsStateChanges: an agent reports state changes in the time of a result. A real
// time, which some agents send, is logged once.
func TestFetchReturnsStateChanges(t *testing.T) {
	tests := []struct {
		change pdu.Change
		want   string
		logged bool
	}{
		{0, "none: 251.1.2", false},
		{pdu.ChangeLabels, "labels: 251.1.2", false},
		{pdu.ChangeNames | pdu.ChangeLabels, "labels,names: 251.1.2", false},
		{pdu.ChangeLabels | pdu.ChangeAddAgent, "labels: 251.1.2", true},
		{1_700_000_001, "none: 251.1.2", false}, // only the first is logged
	}
	synctest.Test(t, func(t *testing.T) {
		var log pcptest.LogBuffer
		agent, far := connect(t, 0, remote.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for _, tt := range tests {
			c := startFetch(t, t.Context(), agent, request7())
			var w pdu.ResultWriter
			w.Changed = tt.change
			w.Begin(testID)
			far.send(w.PDU(pdu.FormatLowRes))
			if got := c.ends(nil); got != tt.want {
				t.Errorf("%d: got %q, want %q", tt.change, got, tt.want)
			}
			if got := log.Take(); tt.logged != strings.Contains(got, "bogus state change") {
				t.Errorf("%d: the log has %q", tt.change, got)
			}
		}
		// A microsecond is not a change, and not the zero time either.
		c := startFetch(t, t.Context(), agent, request7())
		far.send(pdutest.Raw(pdu.KindResult, []byte("\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x01\x3e\xc0\x04\x02\x00\x00\x00\x00")))
		if got := c.ends(nil); got != "none: 251.1.2" {
			t.Errorf("with microseconds, got %q", got)
		}
	})
}

// TestRequestThatCannotBeEncoded: a request that no PDU can hold fails, and the connection stays.
func TestRequestThatCannotBeEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, pdu.FeatureAuth, remote.Config{})
		r := request7()
		if _, err := fetchText(t.Context(), agent, r); !errors.Is(err, pdu.ErrTooSmall) {
			t.Errorf("fetch of nothing: %v", err)
		}
		far.expect(profile7) // which is still valid
		negative := request7()
		negative.ContextID = -1
		if _, err := fetchText(t.Context(), agent, negative, testID); !errors.Is(err, pdu.ErrNoContext) {
			t.Errorf("fetch in context -1: %v", err)
		}
		far.expect()
		c := startFetch(t, t.Context(), agent, r)
		far.expect(fetch7)
		far.send(fetchReply(t, 3, testID))
		c.ends(nil)
	})
}

// TestProfileIsSentWhenItDiffers: the agent gets a profile before a fetch if the last one it got
// was different.
func TestProfileIsSentWhenItDiffers(t *testing.T) {
	one, two := &pdu.Profile{}, &pdu.Profile{Exclude: true}
	profile := func(client, context int32, exclude bool) []pdutest.Step {
		return []pdutest.Step{pdutest.ExpectFrom(client, pdu.SetProfile{Context: context, Profile: pdu.Profile{Exclude: exclude}})}
	}
	fetch := func(client, context int32) pdutest.Step {
		return pdutest.ExpectFrom(client, pdu.Fetch{Context: context, PMIDs: []pdu.PMID{testID}})
	}
	steps := []struct {
		name    string
		id      uint32
		seq     uint64
		context int32
		profile *pdu.Profile
		want    []pdutest.Step // before the fetch
	}{
		{"first", 1, 10, 0, one, profile(1, 0, false)},
		{"again", 1, 10, 0, one, nil},
		{"another profile", 1, 10, 0, two, profile(1, 0, true)},
		{"another context", 1, 10, 1, two, profile(1, 1, true)},
		{"another client", 2, 11, 1, two, profile(2, 1, true)},
		{"the first client", 1, 10, 1, two, profile(1, 1, true)},
		{"no profile", 1, 10, 1, nil, profile(1, 1, false)},
		{"no profile again", 1, 10, 1, nil, nil},
		{"equal, but another", 1, 10, 1, new(pdu.Profile), profile(1, 1, false)},
	}
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{})
		for _, s := range steps {
			r := &pmda.Request{Client: pmda.NewClient(s.id, s.seq), ContextID: s.context, Profile: s.profile}
			c := startFetch(t, t.Context(), agent, r)
			far.expect(append(s.want, fetch(int32(s.id), s.context))...)
			far.send(fetchReply(t, 1, testID))
			c.ends(nil)
			// Other requests neither need nor disturb it.
			d := startDesc(t, t.Context(), agent, &pmda.Request{Client: pmda.NewClient(9, 9)})
			far.expect(descFrom(9))
			far.send(testDesc)
			d.ends(nil)
		}
		// A new client in the same slot has the same pointer and context.
		agent.EndClient(pmda.NewClient(1, 10))
		far.expect(ended(1))
		c := startFetch(t, t.Context(), agent, &pmda.Request{Client: pmda.NewClient(1, 12), ContextID: 1, Profile: steps[8].profile})
		far.expect(append(profile(1, 1, false), fetch(1, 1))...)
		far.send(fetchReply(t, 1, testID))
		c.ends(nil)
	})
}

// TestProfileAndFetchAreOneWrite: a profile and the following fetch are one write.
func TestProfileAndFetchAreOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connectUnbuffered(t, pdu.FeatureAuth, remote.Config{})
		r := request7()
		c := startFetch(t, t.Context(), agent, r)
		b := make([]byte, 1000)
		n, err := far.Stream.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if want := 28 + 32; n != want {
			t.Errorf("the first write has %d bytes, want %d", n, want)
		}
		far.send(fetchReply(t, 1, testID))
		c.ends(nil)
	})
}

// TestLargeResultIsNotKept: the buffer of a large result is not kept for the next result.
func TestLargeResultIsNotKept(t *testing.T) {
	const size = 8 << 20
	var w pdu.ResultWriter
	w.Begin(testID)
	w.String(pdu.NoInst, strings.Repeat("x", size))
	large := encode(t, w.PDU(pdu.FormatLowRes))
	agent, far := connectUnbuffered(t, 0, remote.Config{})
	reply := func(b []byte) {
		for range 2 { // the profile comes first, once
			if h, _, err := far.Conn.Read(); err != nil || h.Kind == pdu.KindFetch {
				break
			}
		}
		far.Stream.Write(b)
	}
	small := encode(t, fetchReply(t, 1, testID))
	heap := func() int {
		var s runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int(s.HeapAlloc)
	}
	before := heap()
	for i, b := range [][]byte{large, small} {
		go reply(b)
		var w pdu.ResultWriter
		if err := agent.Fetch(t.Context(), request7(), []pdu.PMID{testID}, &w); err != nil {
			t.Fatal(err)
		}
		if got := w.Size() > size; got != (i == 0) {
			t.Errorf("result %d has %d bytes", i, w.Size())
		}
	}
	if kept := heap() - before; kept > size/2 {
		t.Errorf("%d bytes kept", kept)
	}
	runtime.KeepAlive(agent)
	runtime.KeepAlive(large)
}
