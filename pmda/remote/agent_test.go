package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/remote"
	"github.com/pcp-go/pcp/pmns"
)

// A far is an agent in the hands of a test, at the far end of a Remote's stream.
type far struct {
	t      *testing.T
	stream net.Conn
	conn   *pdu.Conn
	told   chan string // what arrives, as "from: PDU"; closed at the end
}

// connect greets a new Remote on behalf of an agent that wants something, and
// takes what it writes at once. It is closed when the test ends.
func connect(t *testing.T, wants pdu.Features, cfg remote.Config) (*remote.Agent, *far) {
	t.Helper()
	m, f := connectDeaf(t, wants, cfg)
	go func() {
		defer close(f.told)
		for {
			h, body, err := f.conn.Read()
			if err != nil {
				return
			}
			f.told <- fmt.Sprintf("%d: %s", h.From, showPDU(h.Kind, body))
		}
	}()
	return m, f
}

// connectDeaf is connect for an agent of which the test reads what it gets.
func connectDeaf(t *testing.T, wants pdu.Features, cfg remote.Config) (*remote.Agent, *far) {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet().Logger
	}
	ours, theirs := net.Pipe()
	f := &far{t: t, stream: theirs, conn: pdu.NewConn(theirs), told: make(chan string, 1000)}
	hello := make(chan error)
	go func() {
		_, err := pdu.AgentHello(f.conn, 1, wants)
		hello <- err
	}()
	m, err := remote.New(t.Context(), pmda.Info{Name: "far", Domain: 251}, ours, cfg)
	if err := errors.Join(err, <-hello); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		theirs.Close()
	})
	return m, f
}

// showPDU is a PDU as a test reads it.
func showPDU(k pdu.Kind, body []byte) string {
	p, err := pdu.Decode(k, body)
	if err != nil {
		return err.Error()
	}
	switch p := p.(type) {
	case *pdu.Status:
		return p.Code.Error()
	case *pdu.Attr:
		return fmt.Sprintf("%v %q", p.Attr, p.Value)
	case *pdu.Result:
		s := fmt.Sprintf("%v at %d", k, p.Time.Unix())
		if p.Time.IsZero() {
			s = k.String()
		}
		for _, set := range p.All() {
			s += fmt.Sprintf(" %v", set.PMID)
			for i, a := range set.All(pdu.Type32) {
				s += fmt.Sprintf("[%d] %v", i, a)
			}
		}
		return s
	}
	return k.String() + strings.TrimPrefix(fmt.Sprintf("%+v", p), "&")
}

// heard checks what the agent has been told since the last time. Nothing more
// is on its way.
func (f *far) heard(want ...string) {
	f.t.Helper()
	synctest.Wait()
	var got []string
	for len(f.told) > 0 {
		got = append(got, <-f.told)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.t.Errorf("the agent was told (-want +got):\n%s", diff)
	}
}

// say sends PDUs.
func (f *far) say(pdus ...pdu.PDU) {
	f.t.Helper()
	for _, p := range pdus {
		if err := f.conn.Queue(0, p); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := f.conn.Flush(); err != nil {
		f.t.Fatal(err)
	}
}

// A call is a request under way.
type call[T any] struct {
	t    *testing.T
	done chan struct{}
	v    T
	err  error
}

func start[T any](t *testing.T, f func() (T, error)) *call[T] {
	c := &call[T]{t: t, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.v, c.err = f()
	}()
	synctest.Wait()
	return c
}

// wants waits for the end of the request and checks its error.
func (c *call[T]) wants(err error) T {
	c.t.Helper()
	<-c.done
	if !errors.Is(c.err, err) || err == nil && c.err != nil {
		c.t.Errorf("the request ended with %v, want %v", c.err, err)
	}
	return c.v
}

// waits checks that the request has not ended.
func (c *call[T]) waits() {
	c.t.Helper()
	synctest.Wait()
	select {
	case <-c.done:
		c.t.Errorf("the request has ended, with %v", c.err)
	default:
	}
}

var (
	testID    = pdu.MakePMID(251, 1, 2)
	testInDom = pdu.MakeInDom(251, 3)
	testDesc  = pdu.DescReply{Desc: pdu.Desc{PMID: testID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}}
)

// fetch begins a fetch of one metric and shows its result.
func fetch(t *testing.T, ctx context.Context, m *remote.Agent, r *pmda.Request) *call[string] {
	return start(t, func() (string, error) { return fetchText(ctx, m, r, testID) })
}

func fetchText(ctx context.Context, h pmda.Handler, r *pmda.Request, ids ...pdu.PMID) (string, error) {
	var w pdu.ResultWriter
	err := h.Fetch(ctx, r, ids, &w)
	v, e := w.Result()
	if e != nil {
		return "", e
	}
	s := fmt.Sprintf("%v:", w.Changed)
	for _, set := range v.All() {
		s += fmt.Sprintf(" %v", set.PMID)
		if set.Err() != nil {
			s += " " + set.Err().Error()
		}
		for i, a := range set.All(pdu.TypeU32) {
			s += fmt.Sprintf("[%d] %v", i, a)
		}
	}
	return s, err
}

func fetchReply(t *testing.T, v uint32, ids ...pdu.PMID) pdu.PDU {
	return result(t, func(w *pdu.ResultWriter) {
		for _, id := range ids {
			w.Begin(id)
			w.Uint32(pdu.NoInst, v)
		}
	})
}

// asker is a request of client 7.
func asker() *pmda.Request { return &pmda.Request{Client: pmda.NewClient(7, 1)} }

const (
	profile7 = "7: PROFILE{Context:0 Profile:{Exclude:false InDoms:[]}}"
	fetch7   = "7: FETCH{HighRes:false Context:0 PMIDs:[251.1.2]}"
	desc7    = "7: DESC_REQ{PMID:251.1.2}"
	gone7    = "7: Not Connected"
)

// A method is one of Handler's, asked of testID and its like.
type method struct {
	name   string
	ask    func(context.Context, pmda.Handler, *pmda.Request) (any, error)
	told   []string // what the agent gets
	answer pdu.PDU
	want   any
}

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
	insts := func(inst pdu.InstID, name string) func(context.Context, pmda.Handler, *pmda.Request) (any, error) {
		return func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Instances(ctx, r, testInDom, inst, name)
		}
	}
	instReply := func(list ...pdu.Instance) pdu.PDU {
		return pdu.InstanceReply{InDom: testInDom, Instances: list}
	}
	four := []pdu.Instance{{ID: 4, Name: "four"}}
	two := append(four, pdu.Instance{ID: 5, Name: "five"})
	status := pdu.NameList{Names: []string{"x", "y"}, Statuses: []int32{pdu.Leaf, pdu.NonLeaf}}
	return []method{
		{"fetch", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return fetchText(ctx, h, r, testID, testID+1)
		}, []string{profile7, "7: FETCH{HighRes:false Context:0 PMIDs:[251.1.2 251.1.3]}"},
			fetchReply(t, 8, testID, testID+1), "none: 251.1.2[-1] 8 251.1.3[-1] 8"},
		{"desc", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Desc(ctx, r, testID)
		}, []string{desc7}, testDesc, testDesc.Desc},
		{"all instances", insts(pdu.NoInst, ""), []string{"7: INSTANCE_REQ{InDom:251.3 Inst:-1 Name:}"}, instReply(two...), two},
		{"one of all", insts(pdu.NoInst, ""), []string{"7: INSTANCE_REQ{InDom:251.3 Inst:-1 Name:}"}, instReply(four...), four},
		{"instance by id", insts(4, ""), []string{"7: INSTANCE_REQ{InDom:251.3 Inst:4 Name:}"}, instReply(pdu.Instance{ID: -1, Name: "four"}), four},
		{"instance by name", insts(pdu.NoInst, "four"), []string{"7: INSTANCE_REQ{InDom:251.3 Inst:-1 Name:four}"}, instReply(pdu.Instance{ID: 4}), four},
		{"instance in full", insts(4, ""), []string{"7: INSTANCE_REQ{InDom:251.3 Inst:4 Name:}"}, instReply(two...), four},
		{"text", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Text(ctx, r, pdu.TextOfMetric(testID), pdu.TextHelp)
		}, []string{"7: TEXT_REQ{Ident:1052771330 Text:help,pmid}"}, pdu.TextReply{Ident: 3, Text: "words"}, "words"},
		{"store", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return nil, h.Store(ctx, r, values)
		}, []string{"7: RESULT 251.1.2[4] 5"}, pdu.Status{}, nil},
		{"pmid", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.PMID(ctx, r, "a.b")
		}, []string{"7: PMNS_NAMES{Names:[a.b] Statuses:[] Err:No error}"}, pdu.PMIDList{Status: 1, PMIDs: []pdu.PMID{testID}}, testID},
		{"names", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Names(ctx, r, testID)
		}, []string{"7: PMNS_IDS{Status:0 PMIDs:[251.1.2]}"}, pdu.NameList{Names: []string{"x", "y"}}, []string{"x", "y"}},
		{"children", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Children(ctx, r, "a.b")
		}, []string{"7: PMNS_CHILD{Name:a.b Status:true}"}, status, []pmns.Child{{Name: "x", Leaf: true}, {Name: "y"}}},
		{"children without status", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Children(ctx, r, "a.b")
		}, []string{"7: PMNS_CHILD{Name:a.b Status:true}"}, pdu.NameList{Names: []string{"x"}}, []pmns.Child{{Name: "x", Leaf: true}}},
		{"traverse", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Traverse(ctx, r, "a.b")
		}, []string{"7: PMNS_TRAVERSE{Name:a.b}"}, pdu.NameList{Names: []string{"x", "y"}}, []string{"x", "y"}},
		{"labels", func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
			return h.Labels(ctx, r, pdu.LabelsOfItem(testID))
		}, []string{profile7, "7: LABEL_REQ{Ident:1052771330 Class:pmid}"},
			pdu.LabelReply{Ident: uint32(testID), Class: pdu.LabelItem, Sets: []pdu.LabelSet{labels}}, []pdu.LabelSet{labels}},
	}
}

// Every method asks, and answers what the agent has answered; and is told by
// the agent that it cannot.
func TestMethods(t *testing.T) {
	for _, tt := range methods(t) {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, 0, remote.Config{})
				c := start(t, func() (any, error) { return tt.ask(t.Context(), m, asker()) })
				f.heard(tt.told...)
				f.say(tt.answer)
				got := c.wants(nil)
				for code, want := range map[pdu.Error]error{pdu.ErrPMID: pdu.ErrPMID, pdu.ErrIPC: pdu.ErrIPC, 1: pdu.ErrGeneric} {
					c = start(t, func() (any, error) { return tt.ask(t.Context(), m, asker()) })
					f.heard(tt.told[len(tt.told)-1]) // the profile is known
					f.say(pdu.Status{Code: code})
					c.wants(want)
				}
				long := start(t, func() (string, error) { return m.Text(t.Context(), asker(), pdu.TextOfMetric(1), 0) })
				f.say(pdu.TextReply{Text: strings.Repeat("x", 400)})
				long.wants(nil)
				if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" { // it is still what it was
					t.Errorf("answer (-want +got):\n%s", diff)
				}
				if err := m.Err(); err != nil {
					t.Errorf("an answer ended the connection: %v", err)
				}
			})
		})
	}
}

// What breaks the protocol costs any request, and the agent, the connection.
func TestBreaches(t *testing.T) {
	for _, tt := range methods(t) {
		breaches := map[string]pdu.PDU{
			"wrong kind":       pdu.Creds{Version: 2},
			"unknown kind":     raw{0x7777, nil},
			"malformed":        raw{tt.answer.Kind(), []byte{1, 2, 3}},
			"malformed status": raw{pdu.KindError, []byte{1, 2, 3}},
			"ready in place":   pdu.Status{Code: pdu.ErrPMDAReady},
		}
		if tt.name != "store" {
			breaches["success in place"] = pdu.Status{}
		}
		for name, answer := range breaches {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, f := connect(t, 0, remote.Config{})
					c := start(t, func() (any, error) { return tt.ask(t.Context(), m, asker()) })
					f.say(answer)
					if name == "success in place" {
						c.wants(pdu.ErrGeneric)
						return
					}
					c.wants(pdu.ErrIPC)
					wantDead(t, m, nil)
				})
			})
		}
	}
}

// wantDead checks that a connection was given up, for a reason.
func wantDead(t *testing.T, m *remote.Agent, why error) {
	t.Helper()
	select {
	case <-m.Done():
	default:
		t.Error("the connection was not given up")
	}
	if err := m.Err(); err == nil || why != nil && !errors.Is(err, why) {
		t.Errorf("given up for %v, want %v", err, why)
	}
	if m.Ready() {
		t.Error("ready when dead")
	}
	if _, err := m.Desc(t.Context(), asker(), testID); err != pdu.ErrNoAgent {
		t.Errorf("then a request gets %v, want %v", err, pdu.ErrNoAgent)
	}
	m.EndClient(pmda.NewClient(7, 1))
	m.Attributes(&pmda.Client{ID: 7, Seq: 2})
}

// Answers about something else than what was asked, and odd ones.
func TestWrongAnswers(t *testing.T) {
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
	one := method{ask: func(ctx context.Context, h pmda.Handler, r *pmda.Request) (any, error) {
		return fetchText(ctx, h, r, testID)
	}}
	tests := []struct {
		name   string
		method method
		answer pdu.PDU
		err    error
		dead   bool
		want   any
	}{
		{"fetch of fewer", all["fetch"], fetchReply(t, 1, testID), pdu.ErrIPC, true, "none:"},
		{"fetch of more", one, fetchReply(t, 1, testID, testID), pdu.ErrIPC, true, "none:"},
		{"fetch of another", all["fetch"], fetchReply(t, 1, testID, testID), pdu.ErrIPC, true, "none:"},
		{"fetch in another order", all["fetch"], fetchReply(t, 1, testID+1, testID), pdu.ErrIPC, true, "none:"},
		{"fetch of a bad block", one, raw{pdu.KindResult, body[pdu.HeaderLen:]}, nil, false, "none: 251.1.2 IPC protocol failure"},
		{"fetch in high resolution", one, raw{pdu.KindHighResResult, make([]byte, 20)}, pdu.ErrIPC, true, "none:"},
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
				m, f := connect(t, 0, remote.Config{})
				c := start(t, func() (any, error) { return tt.method.ask(t.Context(), m, asker()) })
				f.say(tt.answer)
				got := c.wants(tt.err)
				if err := m.Err(); err != nil != tt.dead {
					t.Errorf("given up for %v, want %v", err, tt.dead)
				}
				if !tt.dead || tt.method.name == "fetch" {
					if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("answer (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

// An agent says in the time of a result what has changed.
func TestChanges(t *testing.T) {
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
		var log logBuffer
		m, f := connect(t, 0, remote.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for _, tt := range tests {
			c := fetch(t, t.Context(), m, asker())
			var w pdu.ResultWriter
			w.Changed = tt.change
			w.Begin(testID)
			f.say(w.PDU(pdu.FormatLowRes))
			if got := c.wants(nil); got != tt.want {
				t.Errorf("%d: got %q, want %q", tt.change, got, tt.want)
			}
			if got := log.take(); tt.logged != strings.Contains(got, "bogus state change") {
				t.Errorf("%d: the log has %q", tt.change, got)
			}
		}
		// A microsecond is not a change, and not the zero time either.
		c := fetch(t, t.Context(), m, asker())
		f.say(raw{pdu.KindResult, []byte("\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x01\x3e\xc0\x04\x02\x00\x00\x00\x00")})
		if got := c.wants(nil); got != "none: 251.1.2" {
			t.Errorf("with microseconds, got %q", got)
		}
	})
}

// What the agent cannot be asked leaves it and the connection as they are.
func TestUnsendable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, pdu.FeatureAuth, remote.Config{})
		r := asker()
		if _, err := fetchText(t.Context(), m, r); !errors.Is(err, pdu.ErrTooSmall) {
			t.Errorf("fetch of nothing: %v", err)
		}
		f.heard(profile7) // which is true all the same
		negative := asker()
		negative.Context = -1
		if _, err := fetchText(t.Context(), m, negative, testID); !errors.Is(err, pdu.ErrNoContext) {
			t.Errorf("fetch in context -1: %v", err)
		}
		f.heard()
		c := fetch(t, t.Context(), m, r)
		f.heard(fetch7)
		f.say(fetchReply(t, 3, testID))
		c.wants(nil)
	})
}

// The agent is told a profile when it is not the last that it was told.
func TestProfile(t *testing.T) {
	one, two := &pdu.Profile{}, &pdu.Profile{Exclude: true}
	profile := func(client, context int, exclude bool) string {
		return fmt.Sprintf("%d: PROFILE{Context:%d Profile:{Exclude:%v InDoms:[]}}", client, context, exclude)
	}
	steps := []struct {
		name    string
		id      uint32
		seq     uint64
		context int32
		profile *pdu.Profile
		want    string // nothing if none is told
	}{
		{"first", 1, 10, 0, one, profile(1, 0, false)},
		{"again", 1, 10, 0, one, ""},
		{"another profile", 1, 10, 0, two, profile(1, 0, true)},
		{"another context", 1, 10, 1, two, profile(1, 1, true)},
		{"another client", 2, 11, 1, two, profile(2, 1, true)},
		{"the first client", 1, 10, 1, two, profile(1, 1, true)},
		{"no profile", 1, 10, 1, nil, profile(1, 1, false)},
		{"no profile again", 1, 10, 1, nil, ""},
		{"equal, but another", 1, 10, 1, new(pdu.Profile), profile(1, 1, false)},
	}
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{})
		for _, s := range steps {
			r := &pmda.Request{Client: pmda.NewClient(s.id, s.seq), Context: s.context, Profile: s.profile}
			c := fetch(t, t.Context(), m, r)
			want := []string{fmt.Sprintf("%d: FETCH{HighRes:false Context:%d PMIDs:[251.1.2]}", s.id, s.context)}
			if s.want != "" {
				want = append([]string{s.want}, want...)
			}
			f.heard(want...)
			f.say(fetchReply(t, 1, testID))
			c.wants(nil)
			// Other requests neither need nor disturb it.
			d := start(t, func() (pdu.Desc, error) {
				return m.Desc(t.Context(), &pmda.Request{Client: pmda.NewClient(9, 9)}, testID)
			})
			f.heard("9: DESC_REQ{PMID:251.1.2}")
			f.say(testDesc)
			d.wants(nil)
		}
		// A new client in the same slot has the same pointer and context.
		m.EndClient(pmda.NewClient(1, 10))
		f.heard("1: Not Connected")
		c := fetch(t, t.Context(), m, &pmda.Request{Client: pmda.NewClient(1, 12), Context: 1, Profile: steps[8].profile})
		f.heard(profile(1, 1, false), "1: FETCH{HighRes:false Context:1 PMIDs:[251.1.2]}")
		f.say(fetchReply(t, 1, testID))
		c.wants(nil)
	})
}

// A profile and the request behind it travel in one write.
func TestWritesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connectDeaf(t, pdu.FeatureAuth, remote.Config{})
		r := asker()
		c := fetch(t, t.Context(), m, r)
		b := make([]byte, 1000)
		n, err := f.stream.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if want := 28 + 32; n != want {
			t.Errorf("the first write has %d bytes, want %d", n, want)
		}
		f.say(fetchReply(t, 1, testID))
		c.wants(nil)
	})
}

func TestHello(t *testing.T) {
	creds := encode(t, pdu.Creds{Version: 2, Features: pdu.FeatureAuth | pdu.FeatureContainer})
	tests := []struct {
		name, bytes string
		close       bool
		want        error
		after       time.Duration
	}{
		{"nothing", "", false, pdu.ErrTimeout, remote.DefaultHelloTimeout},
		{"end", "", true, io.EOF, 0},
		{"half", string(creds[:10]), false, pdu.ErrTimeout, remote.DefaultHelloTimeout},
		{"half and end", string(creds[:10]), true, io.ErrUnexpectedEOF, 0},
		{"something else", string(encode(t, pdu.Status{})), false, pdu.ErrIPC, 0},
		{"no PDU", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", false, pdu.ErrIPC, 0},
		{"text", "Segmentation fault\n", false, pdu.ErrTimeout, remote.DefaultHelloTimeout}, // the start of a long PDU
		{"version 1", string(encode(t, pdu.Creds{Version: 1})), false, pdu.ErrIPC, 0},
		{"answer not taken", string(creds), false, pdu.ErrTimeout, remote.DefaultHelloTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				go func() {
					io.WriteString(theirs, tt.bytes)
					if tt.close {
						theirs.Close()
					}
				}()
				begin := time.Now()
				m, err := remote.New(t.Context(), pmda.Info{Name: "far"}, ours, quiet())
				if m != nil || !errors.Is(err, tt.want) || !strings.Contains(fmt.Sprint(err), `agent "far"`) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if took := time.Since(begin); took != tt.after {
					t.Errorf("took %v, want %v", took, tt.after)
				}
				if _, err := ours.Read(make([]byte, 1)); err != io.ErrClosedPipe {
					t.Errorf("the stream was not closed: %v", err)
				}
			})
		})
	}
	t.Run("answer", func(t *testing.T) {
		ours, theirs := net.Pipe()
		go remote.New(t.Context(), pmda.Info{}, ours, quiet())
		granted, err := pdu.AgentHello(pdu.NewConn(theirs), 1, pdu.FeatureAuth|pdu.FeatureContainer)
		if granted != pdu.FeatureAuth || err != nil {
			t.Errorf("granted %#x, %v", granted, err)
		}
	})
}

func TestInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n pdu.Counters
		m, f := connect(t, 0, remote.Config{Counters: &n})
		if diff := cmp.Diff(pmda.Info{Name: "far", Domain: 251}, m.Info()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		c := fetch(t, t.Context(), m, asker())
		f.say(fetchReply(t, 1, testID))
		c.wants(nil)
		if in, out := n.Total(); in != 2 || out != 3 {
			t.Errorf("%d PDUs in and %d out, want 2 and 3", in, out)
		}
	})
}

// twoPipes are a connection over two pipes, as to a child process.
type twoPipes struct{ r, w *os.File }

func (p twoPipes) Read(b []byte) (int, error)         { return p.r.Read(b) }
func (p twoPipes) Write(b []byte) (int, error)        { return p.w.Write(b) }
func (p twoPipes) SetReadDeadline(t time.Time) error  { return p.r.SetReadDeadline(t) }
func (p twoPipes) SetWriteDeadline(t time.Time) error { return p.w.SetWriteDeadline(t) }
func (p twoPipes) Close() error                       { return errors.Join(p.w.Close(), p.r.Close()) }

// streams are the ways to connect the two sides.
var streams = map[string]func(testing.TB) (near, far remote.Stream){
	"memory": func(testing.TB) (near, far remote.Stream) { return net.Pipe() },
	"pipe": func(t testing.TB) (near, far remote.Stream) {
		r1, w1, err1 := os.Pipe()
		r2, w2, err2 := os.Pipe()
		if err := errors.Join(err1, err2); err != nil {
			t.Skipf("no pipes: %v", err)
		}
		return twoPipes{r1, w2}, twoPipes{r2, w1}
	},
}

// behind is a Handler behind a connection: what Remote and Serve make of h.
func behind(t testing.TB, h pmda.Handler, near, far remote.Stream) *remote.Agent {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- pmda.Serve(context.Background(), h, far) }()
	m, err := remote.New(t.Context(), h.Info(), near, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		far.Close()
	})
	return m
}

func BenchmarkFetch(b *testing.B) {
	for name, open := range streams {
		b.Run("stream="+name, func(b *testing.B) {
			near, far := open(b)
			m := behind(b, fixed{}, near, far)
			ctx, r, ids := b.Context(), asker(), []pdu.PMID{testID}
			var w pdu.ResultWriter
			b.ReportAllocs()
			for b.Loop() {
				w.Reset()
				if err := m.Fetch(ctx, r, ids, &w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A large result is not kept for the next.
func TestForgetsLargeResults(t *testing.T) {
	const size = 8 << 20
	var w pdu.ResultWriter
	w.Begin(testID)
	w.String(pdu.NoInst, strings.Repeat("x", size))
	large := encode(t, w.PDU(pdu.FormatLowRes))
	m, f := connectDeaf(t, 0, remote.Config{})
	answer := func(b []byte) {
		for range 2 {
			if h, _, err := f.conn.Read(); err != nil || h.Kind == pdu.KindFetch {
				break
			}
		}
		f.stream.Write(b)
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
		go answer(b)
		var w pdu.ResultWriter
		if err := m.Fetch(t.Context(), asker(), []pdu.PMID{testID}, &w); err != nil {
			t.Fatal(err)
		}
		if got := w.Size() > size; got != (i == 0) {
			t.Errorf("result %d has %d bytes", i, w.Size())
		}
	}
	if kept := heap() - before; kept > size/2 {
		t.Errorf("%d bytes kept", kept)
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(large)
}

// A fetch over pipes allocates nothing, on either side.
func TestFetchAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	near, far := streams["pipe"](t)
	m := behind(t, fixed{}, near, far)
	ctx, r, ids := t.Context(), asker(), make([]pdu.PMID, 200)
	var w pdu.ResultWriter
	n := testing.AllocsPerRun(200, func() {
		w.Reset()
		if err := m.Fetch(ctx, r, ids, &w); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations per fetch, want 0", n)
	}
	if w.Len() != len(ids) {
		t.Errorf("%d sets, want %d", w.Len(), len(ids))
	}
}
