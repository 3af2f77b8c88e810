package pmcdagent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/strftime"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/internal/eventtrace"
)

// A fakeCollector is a Collector for tests.
type fakeCollector struct {
	mu      sync.Mutex
	agents  []Agent
	clients []Client
	timeout time.Duration
	seqnum  uint32
	local   bool
	tls     bool // encrypted, with certificates
	logins  bool // logins are possible and required
	waits   Latencies
	calls   []string // that change something else
}

func (c *fakeCollector) called(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
}

func (c *fakeCollector) Hostname() string                                 { return "here.example" }
func (c *fakeCollector) LocalOnly() bool                                  { return c.local }
func (c *fakeCollector) Secure() bool                                     { return c.tls }
func (c *fakeCollector) CertRequired() bool                               { return c.tls }
func (c *fakeCollector) Authentication() bool                             { return c.logins }
func (c *fakeCollector) CredsRequired() bool                              { return c.logins }
func (c *fakeCollector) Labels() (string, error)                          { return `{"role":"test"}`, nil }
func (c *fakeCollector) Agents() []Agent                                  { return c.agents }
func (c *fakeCollector) NumAgents() int                                   { return len(c.agents) }
func (c *fakeCollector) Timeout() time.Duration                           { return c.timeout }
func (c *fakeCollector) SetDebug(int32)                                   {}
func (c *fakeCollector) SetTimeout(t time.Duration)                       { c.timeout = t }
func (c *fakeCollector) SeqNum() uint32                                   { return c.seqnum }
func (c *fakeCollector) IncSeqNum()                                       { c.seqnum++ }
func (c *fakeCollector) ReplyWaits() *Latencies                           { return &c.waits }
func (c *fakeCollector) SlowClients() uint64                              { return 3 }
func (c *fakeCollector) Resets() uint32                                   { return 0 }
func (c *fakeCollector) Reset()                                           { c.called("reset") }
func (c *fakeCollector) LogClients()                                      { c.called("log clients") }
func (c *fakeCollector) HasClient(k *pmda.Client) bool                    { return c.index(k) >= 0 }
func (c *fakeCollector) HostnameFor(context.Context, *pmda.Client) string { return "here.example" }

func (c *fakeCollector) Agent(d pdu.Domain) (Agent, bool) {
	for _, a := range c.agents {
		if a.Domain == d {
			return a, true
		}
	}
	return Agent{}, false
}

func (c *fakeCollector) SetFence(d pdu.Domain, fenced bool) {
	for i := range c.agents {
		if c.agents[i].Domain == d {
			c.agents[i].Fenced = fenced
		}
	}
}

func (c *fakeCollector) Clients() []Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.clients)
}

func (c *fakeCollector) index(k *pmda.Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.IndexFunc(c.clients, func(o Client) bool { return o.Seq == k.Seq })
}

func (c *fakeCollector) SetContainer(k *pmda.Client, name string) {
	if i := c.index(k); i >= 0 {
		info := *c.clients[i].Client
		info.Container = name
		c.clients[i].Client = &info
	}
}

// connect adds a client.
func (c *fakeCollector) connect(seq uint64) Client {
	k := Client{Client: pmda.NewClient(uint32(len(c.clients)), seq), Since: time.Now()}
	c.clients = append(c.clients, k)
	return k
}

// A fixture is an agent, with its collector and methods that send requests to it.
type fixture struct {
	*fakeCollector
	*collectortest.PMCDAgent
	t        *testing.T
	agent    *pmda.Agent
	counters pdu.Counters
	trace    eventtrace.Trace
}

// newFixture creates the agent of a collector without other agents, with the directories of a
// Config.
func newFixture(t *testing.T, c Config) *fixture {
	t.Helper()
	b := &fixture{t: t}
	b.fakeCollector = &fakeCollector{seqnum: 2, timeout: 5 * time.Second, agents: []Agent{{Domain: Domain, Name: "pmcd", Latencies: new(Latencies)}}}
	c.Collector, c.Counters, c.Trace, c.Logger = b.fakeCollector, &b.counters, &b.trace, slog.New(slog.DiscardHandler)
	b.agent = New(c)
	b.PMCDAgent = collectortest.NewPMCDAgent(t, b.agent)
	return b
}

// TestTables checks that every metric has a name, help texts and a value. Only the metrics of
// pmlogger and pmie have no value.
func TestTables(t *testing.T) {
	b := newFixture(t, Config{})
	if err := b.agent.Err(); err != nil {
		t.Fatal(err)
	}
	b.Me = b.connect(0).Client
	n := 0
	for name, id := range b.agent.Namespace().All() {
		n++
		for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
			text, err := b.agent.Text(t.Context(), b.Request(), pdu.TextOfMetric(id), kind)
			if err != nil || kind == pdu.TextOneLine && (strings.Contains(text, "\n") || len(text) > 80) {
				t.Errorf("%s: text of kind %v: %q, %v", name, kind, text, err)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if len(line) > 80 {
					t.Errorf("%s: help is %d columns wide: %q", name, len(line), line)
				}
			}
		}
		got := b.Fetch(strings.TrimPrefix(name, "pmcd."))
		below := strings.HasPrefix(name, "pmcd.pmlogger.") || strings.HasPrefix(name, "pmcd.pmie.")
		if below != (len(got) == 0) || len(got) > 0 && strings.HasPrefix(got[0], "error") {
			t.Errorf("%s has the values %q", name, got)
		}
	}
	if n != 121 {
		t.Errorf("%d metrics, want 121", n)
	}
	for serial := 1; serial <= 6; serial++ {
		d := pdu.MakeInDom(Domain, serial)
		for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
			if text, err := b.agent.Text(t.Context(), b.Request(), pdu.TextOfInDom(d), kind); err != nil || text == "" {
				t.Errorf("text of %v: %q, %v", d, text, err)
			}
		}
	}
}

func TestIdentity(t *testing.T) {
	b := newFixture(t, Config{})
	b.Want("hostname", "here.example")
	b.Want("version", "6.0.3")
	b.Want("pid", fmt.Sprint(os.Getpid()))
	b.Want("services", "pmcd")
	b.Want("labels", `{"role":"test"}`)
	b.Want("seqnum", "2")
	b.Want("sighups", "0")
	b.Want("timezone", strftime.Zone(time.Now()))
	if v := buildVersion(); v == "" || strings.ContainsAny(v, "() ") {
		t.Errorf("build is %q", v)
	}
	for _, name := range []string{"ipv6", "unix_domain_sockets"} {
		b.Want("feature."+name, "1")
	}
	for _, name := range []string{
		"secure", "compress", "authentication", "creds_required", "service_discovery", "containers", "local", "client_cert_required",
	} {
		b.Want("feature."+name, "0")
	}
	b.local, b.tls, b.logins = true, true, true
	for _, name := range []string{"local", "secure", "client_cert_required", "authentication", "creds_required"} {
		b.Want("feature."+name, "1")
	}
	b.agents = []Agent{{Domain: 3, Name: "plain"}, {Domain: 4, Name: "knows", Containers: true}}
	b.Want("feature.containers", "1")
}

func TestAgents(t *testing.T) {
	b := newFixture(t, Config{})
	b.agents = []Agent{{Domain: Domain, Name: "pmcd"}, {Domain: 7, Name: "a b", Kind: "pipe", Status: 4},
		{Domain: 250, Name: "zebra", Kind: "socket", Fenced: true}, {Domain: 251, Name: "zebra"}}
	b.Want("numagents", "4")
	b.Want("agent.name", "pmcd pmcd", "a b a b", "zebra zebra", "zebra.251 zebra")
	b.agents = append(b.agents, Agent{Domain: 252, Name: " x"}, Agent{Domain: 253, Name: "line\nbreak"})
	b.Want("agent.type", "pmcd 0", "a b 4", "zebra 2", "zebra.251 0", ".252 0", "line_break 0")
	b.agents = b.agents[:4]
	b.Want("agent.type", "pmcd 0", "a b 4", "zebra 2", "zebra.251 0")
	b.Want("agent.status", "pmcd 0", "a b 4", "zebra 0", "zebra.251 0")
	b.Want("agent.fenced", "pmcd 0", "a b 0", "zebra 1", "zebra.251 0")
}

func TestFence(t *testing.T) {
	b := newFixture(t, Config{})
	b.agents = append(b.agents, Agent{Domain: 7, Name: "a"})
	steps := []struct {
		name   string
		values []any
		err    error
		want   []string
	}{
		{"up for all", []any{1}, nil, []string{"pmcd 0", "a 1"}},
		{"down for one", []any{collectortest.Assign(7, 0)}, nil, []string{"pmcd 0", "a 0"}},
		{"up for one", []any{collectortest.Assign(7, 1)}, nil, []string{"pmcd 0", "a 1"}},
		{"not the collector's own", []any{collectortest.Assign(2, 1)}, nil, []string{"pmcd 0", "a 1"}},
		{"unknown agent", []any{collectortest.Assign(8, 0)}, pdu.ErrInst, []string{"pmcd 0", "a 1"}},
		{"neither up nor down", []any{collectortest.Assign(7, 2)}, pdu.ErrBadStore, []string{"pmcd 0", "a 1"}},
		{"what came before an error stays", []any{collectortest.Assign(7, 0), collectortest.Assign(-3, 1)}, pdu.ErrInst, []string{"pmcd 0", "a 0"}},
	}
	for _, s := range steps {
		if err := b.Store("agent.fenced", s.values...); err != s.err {
			t.Errorf("%s: %v, want %v", s.name, err, s.err)
		}
		b.Want("agent.fenced", s.want...)
	}
}

func TestStore(t *testing.T) {
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
		{"control.register", collectortest.Assign(3, 42), nil, registers("42", 3)},
		{"control.register", collectortest.Assign(16, 42), pdu.ErrInst, registers("")},
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
		{"control.tracebufs", eventtrace.MaxCapacity + 1, pdu.ErrBadStore, []string{"20"}},
		{"control.dumptrace", 5, nil, []string{"0"}},
		{"control.dumpconn", 5, nil, []string{"0"}},
		{"control.sighup", 5, nil, []string{"0"}},
		{"seqnum", 77, nil, []string{"3"}},
		{"numagents", 77, pdu.ErrPMID, []string{"1"}},
		{"version", "x", pdu.ErrPMID, []string{"6.0.3"}},
		{"agent.name", collectortest.Assign(2, "x"), pdu.ErrPMID, []string{"pmcd pmcd"}},
		{"buf.alloc", collectortest.Assign(12, 1), pdu.ErrPMID, []string{"0012 0", "0020 0", "1024 0", "2048 0", "4196 0", "8192 0", "8192+ 0"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.metric, "=", tt.value), func(t *testing.T) {
			b := newFixture(t, Config{})
			if err := b.Store(tt.metric, tt.value); err != tt.err {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			b.Want(tt.metric, tt.want...)
		})
	}
}

// TestStoreUID checks that a client other than root may only change pmcd.seqnum and the metrics
// about the client itself.
func TestStoreUID(t *testing.T) {
	open := []string{"seqnum", "client.whoami", "client.container"}
	for _, uid := range []int{-1, 1000} {
		b := newFixture(t, Config{})
		b.Me.UID = uid
		for id := range b.pmcdStores() {
			name := strings.TrimPrefix(b.agent.Namespace().Names(id)[0], "pmcd.")
			var v any = collectortest.Assign(7, 1)
			if strings.HasPrefix(name, "client.") {
				v = "x"
			}
			var want error
			if !slices.Contains(open, name) {
				want = pdu.ErrPermission
			}
			if err := b.Store(name, v); err != want {
				t.Errorf("user %d stores %s: %v, want %v", uid, name, err, want)
			}
		}
		b.Want("control.timeout", "5")
		b.Want("seqnum", "3")
	}
}

// pmcdStores returns the metrics that clients can store into, according to the documentation.
func (b *fixture) pmcdStores() map[pdu.PMID]bool {
	ids := map[pdu.PMID]bool{}
	for name, id := range b.agent.Namespace().All() {
		if strings.HasPrefix(name, "pmcd.control.") {
			ids[id] = true
		}
	}
	for _, name := range []string{"seqnum", "agent.fenced", "client.whoami", "client.container"} {
		ids[b.PMID(name)] = true
	}
	return ids
}

func TestTimeout(t *testing.T) {
	b := newFixture(t, Config{})
	for timeout, want := range map[time.Duration]string{1500 * time.Millisecond: "2", -1: "0", 0: "0", time.Minute: "60"} {
		b.timeout = timeout
		b.Want("control.timeout", want)
	}
	if err := b.Store("control.timeout", 60); err != nil || b.timeout != time.Minute {
		t.Errorf("60 stored: %v, %v", b.timeout, err)
	}
}

func TestActions(t *testing.T) {
	b := newFixture(t, Config{})
	for _, name := range []string{"control.sighup", "control.dumpconn"} {
		if err := b.Store(name, 1); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"reset", "log clients"}, b.calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClients(t *testing.T) {
	b := newFixture(t, Config{})
	b.Want("numclients", "0")
	b.Want("client.whoami")
	first, second := b.connect(0), b.connect(1)
	b.Want("numclients", "2")
	b.Want("client.whoami", "0 ", "1 ")
	b.Want("client.start_date", "0 "+first.Since.Format(time.ANSIC), "1 "+second.Since.Format(time.ANSIC))

	b.Me = second.Client
	for _, name := range []string{"client.whoami", "client.container"} {
		if err := b.Store(name, collectortest.Assign(0, "x"), collectortest.Assign(1, "y")); err != pdu.ErrInst {
			t.Errorf("two values for pmcd.%s: %v", name, err)
		}
		if err := b.Store(name, collectortest.Assign(0, "me")); err != nil {
			t.Errorf("pmcd.%s: %v", name, err)
		}
		b.Want(name, "0 ", "1 me")
	}
	if err := b.Store("client.container", strings.Repeat("x", 4095)); err != pdu.ErrTooBig {
		t.Errorf("a name that no agent could be told: %v", err)
	}

	b.clients = b.clients[:1]
	b.agent.EndClient(second.Client)
	if err := b.Store("client.whoami", "ghost"); err != nil { // the client has disconnected
		t.Error(err)
	}
	b.Fetch("cputime.per_pdu_in")
	b.connect(2)
	b.Want("client.whoami", "0 ", "2 ")
	b.connect(1) // real collectors do not reuse sequence numbers
	b.Want("client.whoami", "0 ", "2 ", "1 ")
}

func TestCPUPerPDU(t *testing.T) {
	b := newFixture(t, Config{})
	b.Me = b.connect(0).Client
	b.Want("cputime.per_pdu_in", "0.000000e+00") // no PDU has arrived
	spend(t, 20*time.Millisecond)                // makes the processor time grow
	conn := pdu.NewConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader("\x00\x00\x00\x10\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00"), io.Discard})
	conn.Counters = &b.counters
	if _, _, err := conn.Read(); err != nil {
		t.Fatal(err)
	}
	got := b.Fetch("cputime.per_pdu_in")
	var v float64
	if _, err := fmt.Sscan(got[0], &v); err != nil || v < 1000 || v > 60e6 {
		t.Errorf("%v microseconds for one PDU", got)
	}
	b.Want("pdu_in.error", "1")
	b.Want("pdu_in.total", "1")
}

// spend makes the process use processor time. On a busy machine that may take longer.
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

// TestPDUItems checks that the items of the totals are between those of the kinds.
func TestPDUItems(t *testing.T) {
	b := newFixture(t, Config{})
	var names []string
	for name, id := range b.agent.Namespace().All() {
		if rest, ok := strings.CutPrefix(name, "pmcd.pdu_in."); ok {
			names = append(names, fmt.Sprintf("%d %s", id.Item(), rest))
			if out := b.PMID("pdu_out." + rest); out.Cluster() != 2 || out.Item() != id.Item() || id.Cluster() != 1 {
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
		b.Want("pdu_out."+name, want)
		b.Want("pdu_in."+name, "0")
	}
}
