package collector

import (
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
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// A fixture is a Server and ways to send requests to its own agent.
type fixture struct {
	*Server
	t     *testing.T
	agent *pmda.Agent
	log   *collectortest.Messages
	me    *pmda.Client // who asks: root, unless a test says otherwise
}

func newFixture(t *testing.T, s *Server) *fixture {
	t.Helper()
	log := collectortest.NewMessages()
	s.Logger = slog.New(log)
	s.AgentHelloTimeout = time.Minute // a busy machine starts processes slowly
	s.init()
	t.Cleanup(func() { s.Close() })
	me := pmda.NewClient(99, 99)
	me.UID, me.GID = 0, 0
	return &fixture{Server: s, t: t, log: log, me: me, agent: s.agents.Load().get(pmcdagent.Domain).local.(*pmda.Agent)}
}

func (b *fixture) request() *pmda.Request { return &pmda.Request{Client: b.me} }

// pmid is the metric of a name below pmcd.
func (b *fixture) pmid(name string) pdu.PMID {
	b.t.Helper()
	id, err := b.agent.Namespace().Lookup("pmcd." + name)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// instances are those of a metric's domain, by ID.
func (b *fixture) instances(d pdu.InDom) map[pdu.InstID]string {
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
func (b *fixture) fetch(name string) []string {
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
func (b *fixture) want(name string, want ...string) {
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
func (b *fixture) store(name string, values ...any) error {
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
func (b *fixture) join() *client {
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

func TestPMCDLabels(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "optional"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"role":"test","n":1.50}`), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newFixture(t, &Server{Labels: ContextLabels{Dir: dir}})
	b.want("labels", `{"n":1.50,"role":"test"}`)
	b.Labels.Dir = filepath.Join(dir, "none")
	b.want("labels", "error No such file or directory")
}

func TestPMCDAgents(t *testing.T) {
	b := newFixture(t, &Server{})
	b.want("numagents", "1")
	for _, a := range []pmda.Unimplemented{collectortest.EmptyAgent("zebra", 250), collectortest.EmptyAgent("aardvark", 7), collectortest.EmptyAgent("zebra", 251)} {
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
	err := b.StartAgent(pmcdconf.Agent{Name: "gone", Domain: 8, Kind: pmcdconf.KindPipe, Argv: []string{filepath.Join(t.TempDir(), "none")}})
	if err == nil {
		t.Fatal("an agent without a program has started")
	}
	b.want("numagents", "3")
	b.want("agent.type", "pmcd 0", "gone 4", "zebra 0", "zebra.251 0")
	b.want("agent.status", "pmcd 0", "gone 4", "zebra 0", "zebra.251 0")
}

func TestPMCDFence(t *testing.T) {
	b := newFixture(t, &Server{})
	if err := b.Add(collectortest.EmptyAgent("a", 7)); err != nil {
		t.Fatal(err)
	}
	b.store("agent.fenced", 1)
	b.want("agent.fenced", "pmcd 0", "a 1")
	if _, err := b.agents.Load().get(7).handlerFor(false); err != pdu.ErrPMDAFenced {
		t.Errorf("a fenced agent is called: %v", err)
	}
	b.store("agent.fenced", assignment{7, 0})
	b.want("agent.fenced", "pmcd 0", "a 0")
}

func TestPMCDHostname(t *testing.T) {
	newFixture(t, &Server{Hostname: "here.example"}).want("hostname", "here.example")
	if host, err := os.Hostname(); err == nil {
		newFixture(t, &Server{}).want("hostname", host)
	}
}

func TestPMCDTimeout(t *testing.T) {
	b := newFixture(t, &Server{Timeout: 1500 * time.Millisecond})
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
	newFixture(t, &Server{Timeout: -1}).want("control.timeout", "0")
}

func TestPMCDClients(t *testing.T) {
	b := newFixture(t, &Server{})
	b.want("numclients", "0")
	b.want("client.whoami")
	first, second := b.join(), b.join()
	b.want("numclients", "2")
	b.want("client.whoami", "0 ", "1 ")
	b.want("client.start_date", "0 "+first.since.Format(time.ANSIC), "1 "+second.since.Format(time.ANSIC))

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
	collectortest.Eventually(t, "end of the first client", func() bool { return len(b.clientList()) == 1 })
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

func (w watcher) SetClient(c *pmda.Client) { w.told <- c.Container }

func TestPMCDContainerIsAnnounced(t *testing.T) {
	b := newFixture(t, &Server{})
	w := watcher{collectortest.EmptyAgent("w", 7), make(chan string, 10)}
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
	s := collectortest.CloseAtEnd(t, &Server{})
	near, far := net.Pipe() // as over TCP: nothing is known of who is there
	s.serveConn(far)
	g := collectortest.NewClient(t, near).Hello()
	var w pdu.ResultWriter
	w.Begin(pdu.MakePMID(pmcdagent.Domain, 6, 2))
	w.String(pdu.NoInst, "box")
	if got := g.Request(w.PDU(pdu.FormatLowRes)); got != "success" {
		t.Fatal(got)
	}
	agent := watcher{collectortest.EmptyAgent("w", 7), make(chan string, 10)}
	collectortest.Add(t, s, agent)
	select {
	case got := <-agent.told:
		if got != "box" {
			t.Errorf("the agent was told %q", got)
		}
	default:
		t.Error("the agent was told nothing")
	}
}

func TestReset(t *testing.T) {
	resets := make(chan struct{})
	b := newFixture(t, &Server{OnReset: func() { resets <- struct{}{} }})
	b.join()
	b.log.Take()
	if err := b.store("control.sighup", 1); err != nil { // does not wait for the reset
		t.Fatal(err)
	}
	collectortest.Eventually(t, "count of the reset", func() bool { return b.sighups.Load() == 1 })
	for range 5 { // all of them one reset, since one is running
		b.resetByStore()
	}
	collectortest.Eventually(t, "waiting reset", b.resetting.waiting.Load)
	<-resets
	<-resets
	collectortest.Eventually(t, "count of the second reset", func() bool { return b.sighups.Load() == 2 })
	b.want("sighups", "2")
	log := b.log.Take()
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
	s := collectortest.CloseAtEnd(t, &Server{Labels: ContextLabels{Dir: dir}})
	g := collectortest.Connect(t, s)
	told := func(what string, want bool) {
		t.Helper()
		got := g.Request(pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(pmcdagent.Domain, 0, 23)}})
		if strings.HasPrefix(got, "change: ") {
			g.Receive()
		}
		if (got == "change: labels") != want {
			t.Errorf("%s: %s", what, got)
		}
	}
	s.Reset()
	g.Request(pdu.LabelReq{Class: pdu.LabelContext})
	told("nothing has changed", false)
	write(`{"a":2}`)
	told("before a reset", false)
	s.Reset()
	told("reset", true)
	told("told already", false)
	write(`{"a":3}`)
	g.Request(pdu.LabelReq{Class: pdu.LabelContext})
	told("request", true)
	s.Reset()
	told("noticed already", false)
}

// Without OnReset, agents that have died are tried again; after Close nothing is.
func TestResetRestarts(t *testing.T) {
	b := newFixture(t, &Server{})
	b.StartAgent(pmcdconf.Agent{Name: "gone", Domain: 8, Kind: pmcdconf.KindPipe, Argv: []string{filepath.Join(t.TempDir(), "none")}})
	b.log.Take()
	b.Reset()
	if log := b.log.Take(); !slices.Contains(log, "agent not started") {
		t.Errorf("log: %q", log)
	}
	b.Close()
	b.resetByStore()
	b.want("sighups", "1")
}

func TestDumpConn(t *testing.T) {
	b := newFixture(t, &Server{})
	c := b.join()
	c.denied.Store(uint32(pmcdconf.OpStore))
	b.log.Take()
	if err := b.store("control.dumpconn", 1); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.Join(b.log.Take(), "\n"), "\n")
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

// Everything is fetched and stored while clients and agents come and go.
func TestPMCDConcurrency(t *testing.T) {
	b := newFixture(t, &Server{TmpDir: t.TempDir()})
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
					if _, err := b.agent.Instances(t.Context(), r, pdu.MakeInDom(pmcdagent.Domain, serial), pdu.NoInst, ""); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 40 {
			if err := b.Add(collectortest.EmptyAgent(fmt.Sprint("a", i), pdu.Domain(100+i))); err != nil {
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
	w.Begin(pdu.MakePMID(pmcdagent.Domain, 6, 2))
	w.String(pdu.NoInst, "box")
	if err := c.Write(0, w.PDU(pdu.FormatLowRes)); err != nil {
		return err
	}
	_, _, err := c.Read()
	return err
}
