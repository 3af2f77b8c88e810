package collector

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

func TestPMCDFence(t *testing.T) {
	b := NewFixture(t, &Server{})
	if err := b.Add(collectortest.EmptyAgent("a", 7)); err != nil {
		t.Fatal(err)
	}
	b.Store("agent.fenced", 1)
	b.Want("agent.fenced", "pmcd 0", "a 1")
	if _, err := b.agents.Load().get(7).handlerFor(false); err != pdu.ErrPMDAFenced {
		t.Errorf("a fenced agent is called: %v", err)
	}
	b.Store("agent.fenced", collectortest.Assign(7, 0))
	b.Want("agent.fenced", "pmcd 0", "a 0")
}

func TestPMCDTimeout(t *testing.T) {
	b := NewFixture(t, &Server{Timeout: 1500 * time.Millisecond})
	b.Want("control.timeout", "2")
	if err := b.Store("control.timeout", 60); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(b.deadline(time.Now())); left < 50*time.Second || left > time.Minute {
		t.Errorf("a request has %v", left)
	}
	if err := b.Store("control.timeout", 0); err != nil {
		t.Fatal(err)
	}
	if d := b.deadline(time.Now()); !d.IsZero() {
		t.Errorf("a request ends at %v", d)
	}
	NewFixture(t, &Server{Timeout: -1}).Want("control.timeout", "0")
}

func TestPMCDClients(t *testing.T) {
	b := NewFixture(t, &Server{})
	b.Want("numclients", "0")
	b.Want("client.whoami")
	first, second := b.join(), b.join()
	b.Want("numclients", "2")
	b.Want("client.whoami", "0 ", "1 ")
	b.Want("client.start_date", "0 "+first.since.Format(time.ANSIC), "1 "+second.since.Format(time.ANSIC))

	b.Me = second.info.Load()
	for _, name := range []string{"client.whoami", "client.container"} {
		if err := b.Store(name, collectortest.Assign(0, "x"), collectortest.Assign(1, "y")); err != pdu.ErrInst {
			t.Errorf("two values for pmcd.%s: %v", name, err)
		}
		if err := b.Store(name, collectortest.Assign(0, "me")); err != nil {
			t.Errorf("pmcd.%s: %v", name, err)
		}
		b.Want(name, "0 ", "1 me")
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
	b.Want("client.whoami", "1 me", "2 ")
	b.Me = first.info.Load() // disconnected; another client has its slot
	if err := b.Store("client.whoami", "ghost"); err != nil {
		t.Error(err)
	}
	b.Want("client.whoami", "1 me", "2 ")
}

// A watcher is an agent that records the containers of clients.
type watcher struct {
	pmda.Handler
	told chan string
}

func (w watcher) SetClient(c *pmda.Client) { w.told <- c.Container }

func TestPMCDContainerIsAnnounced(t *testing.T) {
	b := NewFixture(t, &Server{})
	w := watcher{collectortest.EmptyAgent("w", 7), make(chan string, 10)}
	if err := b.Add(w); err != nil {
		t.Fatal(err)
	}
	b.Me = b.join().info.Load()
	if err := b.Store("client.container", "box"); err != nil {
		t.Fatal(err)
	}
	if got := <-w.told; got != "box" {
		t.Errorf("agents were told %q", got)
	}
	if err := b.Store("client.container", strings.Repeat("x", 4095)); err != pdu.ErrTooBig || len(w.told) > 0 {
		t.Errorf("of a name that no agent could be told: %v", err)
	}
	b.Want("client.container", "0 box")
}

// TestContainerIsToldLater checks that an agent that is added later gets the containers of all
// clients, even of those without other attributes.
func TestContainerIsToldLater(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &Server{})
	near, far := net.Pipe() // as over TCP, the user is unknown
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

func listsClients(line string) bool { return strings.Contains(line, "->Current PMCD clients at ") }

// TestReset checks that OnReset replaces the default action of Reset.
func TestReset(t *testing.T) {
	resets := make(chan struct{})
	b := NewFixture(t, &Server{OnReset: func() { resets <- struct{}{} }})
	b.join()
	b.Log.Take()
	if err := b.Store("control.sighup", 1); err != nil { // does not wait for the reset
		t.Fatal(err)
	}
	collectortest.Eventually(t, "count of the reset", func() bool { return b.sighups.Load() == 1 })
	for range 5 { // together one reset, because another one is running
		b.resetByStore()
	}
	collectortest.Eventually(t, "waiting reset", b.resetting.waiting.Load)
	<-resets
	<-resets
	collectortest.Eventually(t, "count of the second reset", func() bool { return b.sighups.Load() == 2 })
	b.Want("sighups", "2")
	log := b.Log.Take()
	if len(log) == 0 || log[0] != "pmcd reset via pmcd.control.sighup" || slices.ContainsFunc(log, listsClients) {
		t.Errorf("log: %q", log)
	}
}

// TestResetRestarts checks that without OnReset a reset restarts agents that have died, and that
// nothing restarts after Close.
func TestResetRestarts(t *testing.T) {
	b := NewFixture(t, &Server{})
	b.StartAgent(pmcdconf.Agent{Name: "gone", Domain: 8, Kind: "pipe", Argv: []string{filepath.Join(t.TempDir(), "none")}})
	b.Log.Take()
	b.Reset()
	if log := b.Log.Take(); !slices.Contains(log, "agent not started") || !slices.ContainsFunc(log, listsClients) {
		t.Errorf("log: %q", log)
	}
	b.Close()
	b.resetByStore()
	b.Want("sighups", "1")
}

func TestDumpConn(t *testing.T) {
	b := NewFixture(t, &Server{})
	c := b.join()
	c.denied.Store(uint32(access.OpStore))
	c.hasCreds.Store(true)
	b.Log.Take()
	if err := b.Store("control.dumpconn", 1); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.Join(b.Log.Take(), "\n"), "\n")
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
