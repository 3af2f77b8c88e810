package collector

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A messages logger keeps what is logged.
type messages struct {
	slog.Handler
	mu   sync.Mutex
	text []string
}

func newMessages() *messages { return &messages{Handler: slog.DiscardHandler} }

func (m *messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *messages) Handle(_ context.Context, r slog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = append(m.text, r.Message)
	return nil
}

// take returns what was logged since the last call.
func (m *messages) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.text
	m.text = nil
	return text
}

// A bench is a Server and a way to ask its own agent.
type bench struct {
	*Server
	t     *testing.T
	agent *pmda.Agent
	log   *messages
	me    *pmda.Client // who asks: root, unless a test says otherwise
}

func newBench(t *testing.T, s *Server) *bench {
	t.Helper()
	log := newMessages()
	s.Logger = slog.New(log)
	s.AgentHelloTimeout = time.Minute // a busy machine starts processes slowly
	s.init()
	t.Cleanup(func() { s.Close() })
	me := pmda.NewClient(99, 99)
	me.UID, me.GID = 0, 0
	return &bench{Server: s, t: t, log: log, me: me, agent: s.agents.Load().get(pmcdDomain).handler.(*pmda.Agent)}
}

func (b *bench) request() *pmda.Request { return &pmda.Request{Client: b.me} }

// pmid is the metric of a name below pmcd.
func (b *bench) pmid(name string) pdu.PMID {
	b.t.Helper()
	id, err := b.agent.Namespace().Lookup("pmcd." + name)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// instances are those of a metric's domain, by ID.
func (b *bench) instances(d pdu.InDom) map[pdu.InstID]string {
	b.t.Helper()
	names := map[pdu.InstID]string{}
	if d == pdu.NoInDom {
		return names
	}
	list, err := b.agent.Instances(b.t.Context(), b.request(), d, pdu.NoInst, "")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, i := range list {
		names[i.ID] = i.Name
	}
	return names
}

// fetch gives the values of a metric: "value" of a singular one, else
// "instance value", in the order of the result.
func (b *bench) fetch(name string) []string {
	b.t.Helper()
	id := b.pmid(name)
	var w pdu.ResultWriter
	if err := b.agent.Fetch(b.t.Context(), b.request(), []pdu.PMID{id}, &w); err != nil {
		b.t.Fatal(err)
	}
	res, err := w.Result()
	if err != nil {
		b.t.Fatal(err)
	}
	d, err := b.agent.Desc(b.t.Context(), b.request(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	s := res.At(0)
	if err := s.Err(); err != nil {
		return []string{"error " + err.Error()}
	}
	names := b.instances(d.InDom)
	values := []string{}
	for inst, a := range s.All(d.Type) {
		v := strings.Trim(a.String(), `"`)
		if inst != pdu.NoInst {
			v = names[inst] + " " + v
		}
		values = append(values, v)
	}
	return values
}

// want compares the values of a metric.
func (b *bench) want(name string, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), b.fetch(name)); diff != "" {
		b.t.Errorf("pmcd.%s (-want +got):\n%s", name, diff)
	}
}

// An assignment is a value for an instance.
type assignment struct {
	inst pdu.InstID
	v    any
}

// store stores values of a metric; a bare value goes to no instance.
func (b *bench) store(name string, values ...any) error {
	b.t.Helper()
	var w pdu.ResultWriter
	w.Begin(b.pmid(name))
	for _, v := range values {
		a, ok := v.(assignment)
		if !ok {
			a = assignment{pdu.NoInst, v}
		}
		switch v := a.v.(type) {
		case int:
			w.Int32(a.inst, int32(v))
		case string:
			w.String(a.inst, v)
		}
	}
	res, err := w.Result()
	if err != nil {
		b.t.Fatal(err)
	}
	return b.agent.Store(b.t.Context(), b.request(), res)
}

// join connects a client in this process, which does not speak.
func (b *bench) join() *client {
	b.t.Helper()
	before := b.clientList()
	conn, err := b.DialContext(b.t.Context(), "", "")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	if _, err := io.ReadFull(conn, make([]byte, 20)); err != nil { // the challenge
		b.t.Fatal(err)
	}
	go io.Copy(io.Discard, conn)
	for _, c := range b.clientList() {
		if !slices.Contains(before, c) {
			return c
		}
	}
	b.t.Fatal("the client is not in the table")
	return nil
}

// eventually waits for what other goroutines bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	const limit = time.Minute
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s did not happen in %v", what, limit)
}

// Every metric has a name, texts and, for those that always have one, a value.
func TestPMCDTables(t *testing.T) {
	b := newBench(t, &Server{})
	if err := b.agent.Err(); err != nil {
		t.Fatal(err)
	}
	b.me = b.join().info.Load()
	n := 0
	for name, id := range b.agent.Namespace().All() {
		n++
		for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
			text, err := b.agent.Text(t.Context(), b.request(), uint32(id), pdu.TextPMID|kind)
			if err != nil || kind == pdu.TextOneLine && (strings.Contains(text, "\n") || len(text) > 80) {
				t.Errorf("%s: text of kind %v: %q, %v", name, kind, text, err)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if len(line) > 80 {
					t.Errorf("%s: help is %d columns wide: %q", name, len(line), line)
				}
			}
		}
		got := b.fetch(strings.TrimPrefix(name, "pmcd."))
		below := strings.HasPrefix(name, "pmcd.pmlogger.") || strings.HasPrefix(name, "pmcd.pmie.")
		if below != (len(got) == 0) || len(got) > 0 && strings.HasPrefix(got[0], "error") {
			t.Errorf("%s has the values %q", name, got)
		}
	}
	if n != 108 {
		t.Errorf("%d metrics, want 108", n)
	}
	for serial := 1; serial <= 6; serial++ {
		d := pdu.MakeInDom(pmcdDomain, serial)
		for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
			if text, err := b.agent.Text(t.Context(), b.request(), uint32(d), pdu.TextInDom|kind); err != nil || text == "" {
				t.Errorf("text of %v: %q, %v", d, text, err)
			}
		}
	}
}

func TestPMCDIdentity(t *testing.T) {
	b := newBench(t, &Server{Hostname: "here.example"})
	b.want("hostname", "here.example")
	b.want("version", "6.0.3")
	b.want("pid", fmt.Sprint(os.Getpid()))
	b.want("services", "pmcd")
	b.want("labels", "")
	b.want("seqnum", "2")
	b.want("sighups", "0")
	b.want("timezone", posixZone(time.Now()))
	if host, err := os.Hostname(); err == nil {
		newBench(t, &Server{}).want("hostname", host)
	}
	if v := build(); v == "" || strings.ContainsAny(v, "() ") {
		t.Errorf("build is %q", v)
	}
	for _, name := range []string{"ipv6", "unix_domain_sockets", "containers"} {
		b.want("feature."+name, "1")
	}
	for _, name := range []string{"secure", "compress", "authentication", "creds_required", "service_discovery", "local", "client_cert_required"} {
		b.want("feature."+name, "0")
	}
}

func TestPMCDLabels(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "optional"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"role":"test","n":1.50}`), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, &Server{Labels: ContextLabels{Dir: dir}})
	b.want("labels", `{"n":1.50,"role":"test"}`)
	b.Labels.Dir = filepath.Join(dir, "none")
	b.want("labels", "error No such file or directory")
}

// fakeAgent is an agent in this process without metrics.
func fakeAgent(name string, d pdu.Domain) pmda.Unimplemented {
	return pmda.Unimplemented{Name: name, Domain: d}
}

func TestPMCDAgents(t *testing.T) {
	b := newBench(t, &Server{})
	b.want("numagents", "1")
	for _, a := range []pmda.Unimplemented{fakeAgent("zebra", 250), fakeAgent("aardvark", 7), fakeAgent("zebra", 251)} {
		if err := b.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	b.want("seqnum", "5")
	b.want("numagents", "4")
	b.want("agent.name", "pmcd pmcd", "aardvark aardvark", "zebra zebra", "zebra.251 zebra")
	b.want("agent.type", "pmcd 0", "aardvark 0", "zebra 0", "zebra.251 0")
	b.want("agent.status", "pmcd 0", "aardvark 0", "zebra 0", "zebra.251 0")
	if err := b.Remove(7); err != nil {
		t.Fatal(err)
	}
	b.want("numagents", "3")
	b.want("agent.fenced", "pmcd 0", "zebra 0", "zebra.251 0")
	err := b.Start(AgentConfig{Name: "gone", Domain: 8, Kind: KindPipe, Argv: []string{filepath.Join(t.TempDir(), "none")}})
	if err == nil {
		t.Fatal("an agent without a program has started")
	}
	b.want("numagents", "3")
	b.want("agent.type", "pmcd 0", "gone 4", "zebra 0", "zebra.251 0")
	b.want("agent.status", "pmcd 0", "gone 4", "zebra 0", "zebra.251 0")
}

func TestPMCDFence(t *testing.T) {
	b := newBench(t, &Server{})
	if err := b.Add(fakeAgent("a", 7)); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name   string
		values []any
		err    error
		want   []string
	}{
		{"up for all", []any{1}, nil, []string{"pmcd 0", "a 1"}},
		{"down for one", []any{assignment{7, 0}}, nil, []string{"pmcd 0", "a 0"}},
		{"up for one", []any{assignment{7, 1}}, nil, []string{"pmcd 0", "a 1"}},
		{"not the collector's own", []any{assignment{2, 1}}, nil, []string{"pmcd 0", "a 1"}},
		{"unknown agent", []any{assignment{8, 0}}, pdu.ErrInst, []string{"pmcd 0", "a 1"}},
		{"neither up nor down", []any{assignment{7, 2}}, pdu.ErrBadStore, []string{"pmcd 0", "a 1"}},
		{"what came before an error stays", []any{assignment{7, 0}, assignment{-3, 1}}, pdu.ErrInst, []string{"pmcd 0", "a 0"}},
	}
	for _, s := range steps {
		if err := b.store("agent.fenced", s.values...); err != s.err {
			t.Errorf("%s: %v, want %v", s.name, err, s.err)
		}
		b.want("agent.fenced", s.want...)
	}
	b.store("agent.fenced", 1)
	if _, err := b.agents.Load().get(7).handlerFor(false); err != pdu.ErrPMDAFenced {
		t.Errorf("a fenced agent is asked: %v", err)
	}
}

func TestPMCDStore(t *testing.T) {
	registers := func(v string, at ...int) []string {
		var list []string
		for i := range 16 {
			if slices.Contains(at, i) {
				list = append(list, fmt.Sprintf("%d %s", i, v))
			} else {
				list = append(list, fmt.Sprintf("%d 0", i))
			}
		}
		return list
	}
	tests := []struct {
		metric string
		value  any
		err    error
		want   []string
	}{
		{"control.debug", 1, nil, []string{"1"}},
		{"control.debug", -1, nil, []string{"-1"}},
		{"control.debug", "1", pdu.ErrConv, []string{"0"}},
		{"control.timeout", 7, nil, []string{"7"}},
		{"control.timeout", 0, nil, []string{"0"}},
		{"control.timeout", -1, pdu.ErrSign, []string{"5"}},
		{"control.register", assignment{3, 42}, nil, registers("42", 3)},
		{"control.register", assignment{16, 42}, pdu.ErrInst, registers("")},
		{"control.register", 42, pdu.ErrInst, registers("")},
		{"control.traceconn", 1, nil, []string{"1"}},
		{"control.traceconn", 2, pdu.ErrBadStore, []string{"0"}},
		{"control.tracepdu", 1, nil, []string{"1"}},
		{"control.tracepdu", -1, pdu.ErrBadStore, []string{"0"}},
		{"control.tracenobuf", 1, nil, []string{"1"}},
		{"control.tracenobuf", 3, pdu.ErrBadStore, []string{"0"}},
		{"control.tracebufs", 0, nil, []string{"0"}},
		{"control.tracebufs", 30, nil, []string{"30"}},
		{"control.tracebufs", -1, pdu.ErrSign, []string{"20"}},
		{"control.tracebufs", maxTraceBufs + 1, pdu.ErrBadStore, []string{"20"}},
		{"control.dumptrace", 5, nil, []string{"0"}},
		{"control.dumpconn", 5, nil, []string{"0"}},
		{"control.sighup", 5, nil, []string{"0"}},
		{"seqnum", 77, nil, []string{"3"}},
		{"numagents", 77, pdu.ErrPMID, []string{"1"}},
		{"version", "x", pdu.ErrPMID, []string{"6.0.3"}},
		{"agent.name", assignment{2, "x"}, pdu.ErrPMID, []string{"pmcd pmcd"}},
		{"buf.alloc", assignment{12, 1}, pdu.ErrPMID, []string{"0012 0", "0020 0", "1024 0", "2048 0", "4196 0", "8192 0", "8192+ 0"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.metric, "=", tt.value), func(t *testing.T) {
			b := newBench(t, &Server{})
			if err := b.store(tt.metric, tt.value); err != tt.err {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			b.want(tt.metric, tt.want...)
		})
	}
}

// Who is not root may change nothing but what is about himself, and seqnum.
func TestPMCDStoreUID(t *testing.T) {
	open := []string{"seqnum", "client.whoami", "client.container"}
	for _, uid := range []int{-1, 1000} {
		b := newBench(t, &Server{})
		b.me.UID = uid
		for id := range b.pmcdStores() {
			name := strings.TrimPrefix(b.agent.Namespace().Names(id)[0], "pmcd.")
			var v any = assignment{7, 1}
			if strings.HasPrefix(name, "client.") {
				v = "x"
			}
			var want error
			if !slices.Contains(open, name) {
				want = pdu.ErrPermission
			}
			if err := b.store(name, v); err != want {
				t.Errorf("user %d stores %s: %v, want %v", uid, name, err, want)
			}
		}
		b.want("control.timeout", "5")
		b.want("seqnum", "3")
	}
}

// pmcdStores are the metrics that can be stored into, by the documentation.
func (b *bench) pmcdStores() map[pdu.PMID]bool {
	ids := map[pdu.PMID]bool{}
	for name, id := range b.agent.Namespace().All() {
		if strings.HasPrefix(name, "pmcd.control.") {
			ids[id] = true
		}
	}
	for _, name := range []string{"seqnum", "agent.fenced", "client.whoami", "client.container"} {
		ids[b.pmid(name)] = true
	}
	return ids
}

func TestPMCDTimeout(t *testing.T) {
	b := newBench(t, &Server{Timeout: 1500 * time.Millisecond})
	b.want("control.timeout", "2")
	if err := b.store("control.timeout", 60); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(b.deadline(time.Now())); left < 50*time.Second || left > time.Minute {
		t.Errorf("a request has %v", left)
	}
	if err := b.store("control.timeout", 0); err != nil {
		t.Fatal(err)
	}
	if d := b.deadline(time.Now()); !d.IsZero() {
		t.Errorf("a request ends at %v", d)
	}
	newBench(t, &Server{Timeout: -1}).want("control.timeout", "0")
}

func TestPMCDClients(t *testing.T) {
	b := newBench(t, &Server{})
	b.want("numclients", "0")
	b.want("client.whoami")
	first, second := b.join(), b.join()
	b.want("numclients", "2")
	b.want("client.whoami", "0 ", "1 ")
	b.want("client.start_date", "0 "+ctime(first.since), "1 "+ctime(second.since))

	b.me = second.info.Load()
	for _, name := range []string{"client.whoami", "client.container"} {
		if err := b.store(name, assignment{0, "x"}, assignment{1, "y"}); err != pdu.ErrInst {
			t.Errorf("two values for pmcd.%s: %v", name, err)
		}
		if err := b.store(name, assignment{0, "me"}); err != nil {
			t.Errorf("pmcd.%s: %v", name, err)
		}
		b.want(name, "0 ", "1 me")
	}
	if got := second.info.Load(); got.Container != "me" || got.Seq != 1 || got.UID != os.Getuid() {
		t.Errorf("after the store the client is %+v", got)
	}

	first.disconnect(0)
	eventually(t, "end of the first client", func() bool { return len(b.clientList()) == 1 })
	third := b.join()
	if third.info.Load().ID != 0 {
		t.Errorf("the slot is not used again: %+v", third.info.Load())
	}
	b.want("client.whoami", "1 me", "2 ")
	b.me = first.info.Load() // gone; its slot is another's
	if err := b.store("client.whoami", "ghost"); err != nil {
		t.Error(err)
	}
	b.want("client.whoami", "1 me", "2 ")
}

// A watcher is an agent that is told about clients.
type watcher struct {
	pmda.Unimplemented
	told chan string
}

func (w watcher) Attributes(c *pmda.Client) { w.told <- c.Container }

func TestPMCDContainerIsAnnounced(t *testing.T) {
	b := newBench(t, &Server{})
	w := watcher{fakeAgent("w", 7), make(chan string, 10)}
	if err := b.Add(w); err != nil {
		t.Fatal(err)
	}
	b.me = b.join().info.Load()
	if err := b.store("client.container", "box"); err != nil {
		t.Fatal(err)
	}
	if got := <-w.told; got != "box" {
		t.Errorf("agents were told %q", got)
	}
	if err := b.store("client.container", strings.Repeat("x", 4095)); err != pdu.ErrTooBig || len(w.told) > 0 {
		t.Errorf("of a name that no agent could be told: %v", err)
	}
	b.want("client.container", "0 box")
}

// An agent that comes later is told the containers of all clients, also of those
// who are not known otherwise.
func TestContainerIsToldLater(t *testing.T) {
	s := closed(t, &Server{})
	near, far := net.Pipe() // as over TCP: nothing is known of who is there
	s.serveConn(far)
	g := newProber(t, near).greet()
	var w pdu.ResultWriter
	w.Begin(pdu.MakePMID(pmcdDomain, 6, 2))
	w.String(pdu.NoInst, "box")
	if got := g.ask(w.PDU(pdu.FormatLowRes)); got != "success" {
		t.Fatal(got)
	}
	agent := watcher{fakeAgent("w", 7), make(chan string, 10)}
	add(t, s, agent)
	select {
	case got := <-agent.told:
		if got != "box" {
			t.Errorf("the agent was told %q", got)
		}
	default:
		t.Error("the agent was told nothing")
	}
}

func TestPMCDCPUPerPDU(t *testing.T) {
	b := newBench(t, &Server{})
	c := b.join()
	b.me = c.info.Load()
	b.want("cputime.per_pdu_in", "0.000000e+00") // no PDU has come
	mark := c.cpu
	if mark.time == 0 {
		t.Error("nothing is remembered for the client")
	}
	spend(t, 20*time.Millisecond) // time to be counted
	conn := pdu.NewConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader("\x00\x00\x00\x10\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00"), io.Discard})
	conn.Counters = &b.counters
	if _, _, err := conn.Read(); err != nil {
		t.Fatal(err)
	}
	got := b.fetch("cputime.per_pdu_in")
	var v float64
	if _, err := fmt.Sscan(got[0], &v); err != nil || v < 1000 || v > 60e6 {
		t.Errorf("%v microseconds for one PDU", got)
	}
	b.want("pdu_in.error", "1")
	b.want("pdu_in.total", "1")
}

// spend makes the process use time of its processors, which it may not get at once.
func spend(t *testing.T, d time.Duration) {
	t.Helper()
	began, err := cpuTime()
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		if now, err := cpuTime(); err != nil || now-began >= d {
			return
		}
	}
	t.Fatalf("did not get %v of a processor", d)
}

// The totals stand in the middle of the kinds.
func TestPMCDPDUItems(t *testing.T) {
	b := newBench(t, &Server{})
	var names []string
	for name, id := range b.agent.Namespace().All() {
		if rest, ok := strings.CutPrefix(name, "pmcd.pdu_in."); ok {
			names = append(names, fmt.Sprintf("%d %s", id.Item(), rest))
			if out := b.pmid("pdu_out." + rest); out.Cluster() != 2 || out.Item() != id.Item() || id.Cluster() != 1 {
				t.Errorf("pmcd.pdu_out.%s is %v", rest, out)
			}
		}
	}
	want := strings.Split("0 error,1 result,2 profile,3 fetch,4 desc_req,5 desc,6 instance_req,7 instance,8 text_req,9 text,"+
		"10 control_req,12 creds,13 pmns_ids,14 pmns_names,15 pmns_child,16 total,17 pmns_traverse,18 auth,19 label_req,"+
		"20 label,21 highres_fetch,22 highres_result,23 desc_ids,24 descs", ",")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	conn := pdu.NewConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), io.Discard})
	conn.Counters = &b.counters
	for _, p := range []pdu.PDU{pdu.Attr{}, pdu.Status{}, pdu.DescsReq{PMIDs: []pdu.PMID{1}}} {
		if err := conn.Write(0, p); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"auth": "1", "error": "1", "desc_ids": "1", "descs": "0", "total": "3", "control_req": "0"} {
		b.want("pdu_out."+name, want)
		b.want("pdu_in."+name, "0")
	}
}

func TestReset(t *testing.T) {
	resets := make(chan struct{})
	b := newBench(t, &Server{OnReset: func() { resets <- struct{}{} }})
	b.join()
	b.log.take()
	if err := b.store("control.sighup", 1); err != nil { // does not wait for the reset
		t.Fatal(err)
	}
	eventually(t, "count of the reset", func() bool { return b.sighups.Load() == 1 })
	for range 5 { // all of them one reset, since one is running
		b.resetByStore()
	}
	eventually(t, "waiting reset", b.resetting.waiting.Load)
	<-resets
	<-resets
	eventually(t, "count of the second reset", func() bool { return b.sighups.Load() == 2 })
	b.want("sighups", "2")
	log := b.log.take()
	if len(log) == 0 || log[0] != "pmcd reset via pmcd.control.sighup" ||
		!slices.ContainsFunc(log, func(s string) bool { return strings.Contains(s, "->Current PMCD clients at ") }) {
		t.Errorf("log: %q", log)
	}
}

// A change of the label files is told after a reset, and after a request that
// meets it.
func TestLabelChange(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "labels"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"a":1}`)
	s := closed(t, &Server{Labels: ContextLabels{Dir: dir}})
	g := welcome(t, s)
	told := func(what string, want bool) {
		t.Helper()
		got := g.ask(pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(pmcdDomain, 0, 23)}})
		if strings.HasPrefix(got, "change: ") {
			g.hear()
		}
		if (got == "change: labels") != want {
			t.Errorf("%s: %s", what, got)
		}
	}
	s.Reset()
	g.ask(pdu.LabelReq{Class: pdu.LabelContext})
	told("nothing has changed", false)
	write(`{"a":2}`)
	told("before a reset", false)
	s.Reset()
	told("reset", true)
	told("told already", false)
	write(`{"a":3}`)
	g.ask(pdu.LabelReq{Class: pdu.LabelContext})
	told("request", true)
	s.Reset()
	told("noticed already", false)
}

// Without OnReset, agents that have died are tried again; after Close nothing is.
func TestResetRestarts(t *testing.T) {
	b := newBench(t, &Server{})
	b.Start(AgentConfig{Name: "gone", Domain: 8, Kind: KindPipe, Argv: []string{filepath.Join(t.TempDir(), "none")}})
	b.log.take()
	b.Reset()
	if log := b.log.take(); !slices.Contains(log, "agent not started") {
		t.Errorf("log: %q", log)
	}
	b.Close()
	b.resetByStore()
	b.want("sighups", "1")
}

func TestDumpConn(t *testing.T) {
	b := newBench(t, &Server{})
	c := b.join()
	c.denied.Store(uint32(OpStore))
	b.log.take()
	if err := b.store("control.dumpconn", 1); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.Join(b.log.take(), "\n"), "\n")
	want := []string{"",
		"->Current PMCD clients at",
		"     fd  client connection from                    ipc ver  operations denied",
		"     ==  ========================================  =======  =================",
		"     -1  in-process                                      2  store",
		""}
	if len(lines) > 1 {
		lines[1], _, _ = strings.Cut(lines[1], " at ")
		lines[1] += " at"
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Everything is asked and set while clients and agents come and go.
func TestPMCDConcurrency(t *testing.T) {
	b := newBench(t, &Server{TmpDir: t.TempDir()})
	var ids []pdu.PMID
	for _, id := range b.agent.Namespace().All() {
		ids = append(ids, id)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for range 20 {
				conn, err := b.DialContext(t.Context(), "", "")
				if err != nil {
					t.Error(err)
					return
				}
				conn.SetDeadline(time.Now().Add(time.Minute))
				if err := fetchOver(conn, ids); err != nil {
					t.Error(err)
				}
				conn.Close()
				r := &pmda.Request{Client: pmda.NewClient(uint32(worker), uint64(worker))}
				for serial := 1; serial <= 6; serial++ {
					if _, err := b.agent.Instances(t.Context(), r, pdu.MakeInDom(pmcdDomain, serial), pdu.NoInst, ""); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 40 {
			if err := b.Add(fakeAgent(fmt.Sprint("a", i), pdu.Domain(100+i))); err != nil {
				t.Error(err)
			}
			for _, name := range []string{"control.traceconn", "control.tracepdu", "control.dumptrace", "control.dumpconn", "agent.fenced"} {
				if err := b.store(name, i%2); err != nil {
					t.Error(err)
				}
			}
			if err := b.Remove(pdu.Domain(100 + i)); err != nil {
				t.Error(err)
			}
			b.Reset()
		}
	})
	wg.Wait()
}

// fetchOver greets a collector, fetches metrics and stores a container.
func fetchOver(conn net.Conn, ids []pdu.PMID) error {
	c := pdu.NewConn(conn)
	if _, _, err := c.Read(); err != nil {
		return err
	}
	if err := c.Queue(0, pdu.Creds{Version: pdu.ProtocolVersion}); err != nil {
		return err
	}
	if err := c.Queue(0, pdu.SetProfile{}); err != nil {
		return err
	}
	if err := c.Write(0, pdu.Fetch{PMIDs: ids}); err != nil {
		return err
	}
	for {
		h, body, err := c.Read()
		if err != nil {
			return err
		}
		if h.Kind == pdu.KindError {
			continue // a change of state
		}
		res := pdu.Result{Format: pdu.FormatLowRes}
		if err := res.Decode(body); err != nil {
			return err
		}
		if res.Len() != len(ids) {
			return fmt.Errorf("%d metrics, want %d", res.Len(), len(ids))
		}
		break
	}
	var w pdu.ResultWriter
	w.Begin(pdu.MakePMID(pmcdDomain, 6, 2))
	w.String(pdu.NoInst, "box")
	if err := c.Write(0, w.PDU(pdu.FormatLowRes)); err != nil {
		return err
	}
	_, _, err := c.Read()
	return err
}
