//go:build unix

package collector

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmns"
)

// A chaos runs a collector while its agents fail and some clients misbehave. It uses synthetic
// time with connections and agents in memory, or real time with sockets and processes.
type chaos struct {
	t        *testing.T
	seed     uint64
	srv      *Server
	ctx      context.Context // of the run
	timeout  time.Duration
	think    time.Duration // of a client between requests, on average
	dial     func(network string) (net.Conn, error)
	ca       *tlstest.CA // of the collector's certificate
	log      *chaosLog
	faultLog faultLog
	panics   atomic.Int64 // of agents in this process

	memory    *memoryNet    // in synthetic time
	delays    *delayMonitor // in real time
	faultFile string        // in real time: the faults of agents in other processes

	good, locals, remotes []pdu.Domain // of agents without faults, and of faulty ones
	goodRemote            pdu.Domain   // the one of good that is in another process
	domains               []pdu.Domain // all

	mu     sync.Mutex
	fails  int
	counts map[string]int
	lines  map[string][2]int // least and greatest number of lines in the log, by address
	stood  bool              // the machine has stalled
}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{
		t: t, seed: seed, log: newChaosLog(), counts: map[string]int{}, lines: map[string][2]int{},
		good: []pdu.Domain{10, 11, 12}, goodRemote: 12, locals: []pdu.Domain{20, 21, 22}, remotes: []pdu.Domain{30, 31, 32},
	}
	c.domains = slices.Concat(c.good, c.locals, c.remotes)
	c.log.started = c.faultLog.addStart
	return c
}

// failf reports an error, up to a limited number.
func (c *chaos) failf(format string, args ...any) {
	c.mu.Lock()
	c.fails++
	n := c.fails
	c.mu.Unlock()
	if n <= 20 {
		c.t.Errorf(format, args...)
	}
}

func (c *chaos) count(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

func (c *chaos) badLocal(d pdu.Domain) bool  { return slices.Contains(c.locals, d) }
func (c *chaos) badRemote(d pdu.Domain) bool { return slices.Contains(c.remotes, d) }

func (c *chaos) countValue(d pdu.Domain) {
	switch {
	case c.badLocal(d):
		c.count("values of faulty agents in this process", 1)
	case c.badRemote(d):
		c.count("values of faulty agents in other processes", 1)
	default:
		c.count("values of good agents", 1)
	}
}

// tolerance returns how much later than a limit something may happen in real time, in addition to
// the allowance for the machine.
func (c *chaos) tolerance() time.Duration {
	if c.delays == nil {
		return 0
	}
	return 100 * time.Millisecond * collectortest.RaceFactor
}

// allowance returns how late the machine may have made an event between two times. It is 0 in
// synthetic time.
func (c *chaos) allowance(from, to time.Time) time.Duration {
	if c.delays == nil {
		return 0
	}
	return c.delays.allowance(from, to)
}

// machineStood reports whether the machine has stalled for more than limit since a time. In that
// case a good agent may reply too late, and a client may have taken too long for the rest of a
// PDU.
func (c *chaos) machineStood(since time.Time, limit time.Duration) bool {
	still := c.allowance(since, time.Now()) > limit
	if still {
		c.count("allowances, since the machine stood still", 1)
		c.mu.Lock()
		c.stood = true
		c.mu.Unlock()
	}
	return still
}

// checkWait checks how long a client has waited for a reply.
func (c *chaos) checkWait(p pdu.PDU, domains []pdu.Domain, start, end time.Time) {
	// After the deadline other agents get extraTime, and the watchdog may notice its end up to
	// lateCall late. Besides, a remote agent may have to wait for an unsolicited reply first.
	limit := c.timeout + max(extraTime+2*lateCall, unsolicitedWait)
	if !slices.ContainsFunc(domains, func(d pdu.Domain) bool { return d == c.goodRemote || !slices.Contains(c.good, d) }) {
		limit = c.tolerance() // nothing else delays the replies of these agents
	}
	over := end.Sub(start) - limit
	if over <= 0 {
		return
	}
	allowance := c.allowance(start, end)
	if over > allowance {
		c.failf("%v to %v: reply after %v, %v too late (the machine may have been %v late)", p.Kind(), domains, end.Sub(start), over, allowance)
	}
}

func (c *chaos) expectLines(addr string, least, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[addr]
	c.lines[addr] = [2]int{l[0] + least, l[1] + most}
}

// A chaosLog keeps the relevant parts of the log.
type chaosLog struct {
	slog.Handler
	mu       sync.Mutex
	counts   map[string]int
	agents   map[string][]string // what has happened to each agent in another process
	closed   map[string]int      // clients that were disconnected, by address
	noReason []string            // lines without a reason

	started func(pdu.Domain) // is called when an agent in another process has started
}

func newChaosLog() *chaosLog {
	return &chaosLog{Handler: slog.DiscardHandler, counts: map[string]int{}, agents: map[string][]string{}, closed: map[string]int{}}
}

func (l *chaosLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *chaosLog) Handle(_ context.Context, r slog.Record) error {
	attrs := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		attrs[a.Key] = a.Value.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[r.Message]++
	switch r.Message {
	case "client closed":
		l.closed[attrs["addr"]]++
		l.reason(r.Message, attrs, "err")
	case "agent died":
		l.reason(r.Message, attrs, "err", "process")
	case "agent panicked":
		l.reason(r.Message, attrs, "panic")
	}
	if name, ok := strings.CutPrefix(attrs["agent"], "agent"); ok {
		l.agents[name] = append(l.agents[name], r.Message)
		if r.Message == "agent started" {
			d, _ := strconv.Atoi(name)
			l.started(pdu.Domain(d))
		}
	}
	return nil
}

// reason records a message unless one of the attributes keys is set.
func (l *chaosLog) reason(message string, attrs map[string]string, keys ...string) {
	for _, k := range keys {
		if v := attrs[k]; v != "" && v != "<nil>" {
			return
		}
	}
	l.noReason = append(l.noReason, fmt.Sprint(message, attrs))
}

// TestChaos has many clients, good and bad, send requests to agents that take too long, panic,
// fail, send wrong replies, die and break the protocol. No good client may get a wrong reply,
// wait too long or lose its connection. The errors that clients see must be within the budget of
// the injected faults.
//
// The test runs in synthetic time. PCP_CHAOS_SEED repeats a run, except for the order of events
// at the same time. PCP_CHAOS_TIME makes it longer than 20 s.
func TestChaos(t *testing.T) {
	duration := 20 * time.Second
	if testing.Short() || collectortest.RaceFactor > 1 {
		duration /= 4
	}
	if s := os.Getenv("PCP_CHAOS_TIME"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal("PCP_CHAOS_TIME: ", err)
		}
	}
	seed := chaosSeed(t)
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler)) // agents panic on purpose
	before := countResources()
	synctest.Test(t, func(t *testing.T) {
		c := newChaos(t, seed)
		c.timeout, c.think = 600*time.Millisecond, 60*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), duration)
		defer cancel()
		c.ctx = ctx
		c.memory = &memoryNet{agents: map[pdu.Domain]*memoryAgent{}}
		tcp, unix := c.memory.listen(), c.memory.listen()
		listeners := map[string]*memoryListener{"tcp": tcp, "unix": unix}
		c.dial = func(network string) (net.Conn, error) {
			if l := listeners[network]; l != nil {
				return l.dial()
			}
			return c.srv.DialContext(context.Background(), "", "")
		}
		c.run(160, 40, tcp, unix)
		time.Sleep(10 * c.timeout) // for agents that were in the middle of a request
		c.faultLog.complete(defaultAgentCalls, 0)
		c.report()
	})
	before.compare(t)
}

// TestChaosProcesses is like TestChaos, but with sockets, in real time, and with agents in other
// processes, which signals stop and kill.
func TestChaosProcesses(t *testing.T) {
	if os.Getenv("PCP_CHAOS") == "" {
		t.Skip("uses both cores for some time: set it with PCP_CHAOS=15s")
	}
	duration, err := time.ParseDuration(os.Getenv("PCP_CHAOS"))
	if err != nil {
		t.Fatal("PCP_CHAOS: ", err)
	}
	seed := chaosSeed(t)
	before := countResources()
	c := newChaos(t, seed)
	c.timeout, c.think = 600*time.Millisecond*collectortest.RaceFactor, 60*time.Millisecond*collectortest.RaceFactor
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	c.ctx = ctx
	c.faultFile = filepath.Join(t.TempDir(), "faults")
	if err := os.WriteFile(c.faultFile, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.delays = newDelayMonitor()
	var monitoring sync.WaitGroup
	monitorCtx, stopMonitor := context.WithCancel(context.Background())
	monitoring.Go(func() { c.delays.run(monitorCtx) })
	defer monitoring.Wait()
	defer stopMonitor()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	c.dial = func(network string) (net.Conn, error) {
		switch network {
		case "tcp":
			return net.DialTimeout("tcp", tcp.Addr().String(), collectortest.ReplyLimit)
		case "unix":
			return net.DialTimeout("unix", unix.Addr().String(), collectortest.ReplyLimit)
		}
		return c.srv.DialContext(context.Background(), "", "")
	}
	c.run(160, 40, tcp, unix)
	if err := c.faultLog.readFaults(c.faultFile); err != nil {
		t.Fatal(err)
	}
	c.faultLog.complete(defaultAgentCalls, c.timeout/4)
	c.report()
	c = nil
	stopMonitor()
	monitoring.Wait()
	before.compare(t)
}

// chaosSeed returns the seed of a run, from PCP_CHAOS_SEED or at random.
func chaosSeed(t *testing.T) uint64 {
	seed := rand.Uint64() >> 1
	if s := os.Getenv("PCP_CHAOS_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("PCP_CHAOS_SEED: ", err)
		}
	}
	t.Logf("PCP_CHAOS_SEED=%d", seed)
	return seed
}

// run serves the given numbers of good and bad clients until c.ctx ends.
func (c *chaos) run(good, bad int, listeners ...net.Listener) {
	serving, end := context.WithCancel(context.Background())
	defer end()
	served := c.serve(serving, listeners)
	var actors sync.WaitGroup
	for n := range good {
		actors.Go(newChaosClient(c, n).runGood)
	}
	for n := range bad {
		actors.Go(newChaosClient(c, 1000+n).runHostile)
	}
	actors.Go(c.disturb)
	actors.Wait()
	start := time.Now()
	end()
	if err := <-served; err != nil {
		c.failf("Serve: %v", err)
	}
	if took, limit := time.Since(start), 2*defaultGrace+c.allowance(start, time.Now()); took > limit {
		c.failf("Serve took %v to end, more than %v", took, limit)
	}
}

// serve starts the collector with its agents.
func (c *chaos) serve(ctx context.Context, listeners []net.Listener) <-chan error {
	c.ca = tlstest.NewCA(c.t, "ca")
	c.srv = &Server{
		// A pipe in memory has no buffer: a session ticket would wait for a client that itself
		// waits to send its request.
		TLS:    &tls.Config{Certificates: []tls.Certificate{c.ca.Issue(c.t, "server", tlstest.Leaf{}).TLS}, SessionTicketsDisabled: true},
		Logger: slog.New(c.log), Timeout: c.timeout, WriteTimeout: 2 * c.timeout, Names: remoteNames(append(c.remotes, c.goodRemote)...),
		AgentHelloTimeout: collectortest.ReplyLimit, // a machine under load starts processes slowly
	}
	if c.memory != nil {
		c.srv.dialAgent = c.dialAgent
	}
	c.srv.LogAll()
	for _, d := range c.domains {
		if err := c.startAgent(d); err != nil {
			c.t.Fatal(err)
		}
	}
	served := make(chan error, 1)
	go func() { served <- c.srv.Serve(ctx, listeners...) }()
	return served
}

func (c *chaos) startAgent(d pdu.Domain) error {
	switch remote := c.badRemote(d) || d == c.goodRemote; {
	case remote && c.memory != nil:
		return c.srv.StartAgent(pmcdconf.Agent{Name: fmt.Sprintf("agent%d", d), Domain: d, Kind: "socket",
			Network: "inet", Address: strconv.Itoa(int(d)), Port: int(d)})
	case c.badRemote(d):
		return c.srv.StartAgent(agentLine(d, c.timeout, c.seed, c.faultFile))
	case remote:
		return c.srv.StartAgent(agentLine(d, c.timeout, c.seed, ""))
	case c.badLocal(d):
		return c.srv.Add(newBadLocal(c, d))
	}
	return c.srv.Add(collectortest.NewExactAgent(d))
}

// remoteNames returns the names of the metrics of agents in other processes.
func remoteNames(domains ...pdu.Domain) *pmns.Tree {
	var b pmns.Builder
	for _, d := range domains {
		collectortest.ExpectedNames(&b, d)
	}
	return b.Tree()
}

// disturb stops, kills, restarts and replaces agents.
func (c *chaos) disturb() {
	luck := chance{rand.New(rand.NewPCG(c.seed, 1<<32))}
	var stopped sync.WaitGroup
	defer stopped.Wait()
	for c.ctx.Err() == nil {
		d := c.remotes[luck.IntN(len(c.remotes))]
		switch luck.IntN(20) {
		case 0:
			c.killAgent(d, syscall.SIGKILL)
		case 1:
			c.killAgent(d, syscall.SIGTERM)
		case 2, 3, 4, 5:
			lasts := luck.upTo(3 * c.timeout)
			stopped.Go(func() { c.stopAgent(d, lasts) })
		case 6, 7, 8:
			c.count("agents restarted by hand", len(c.srv.RestartAgents()))
		case 9:
			c.srv.SetNames(remoteNames(append(c.remotes, c.goodRemote)...))
		case 10:
			if luck.IntN(2) == 0 {
				d = c.locals[luck.IntN(len(c.locals))]
			}
			c.replaceAgent(d, luck.upTo(c.timeout/2))
		}
		time.Sleep(luck.upTo(c.timeout / 2))
	}
}

// replaceAgent removes an agent and adds it again after some time.
func (c *chaos) replaceAgent(d pdu.Domain, after time.Duration) {
	from := time.Now()
	if c.badRemote(d) {
		c.faultLog.addFault(d, faultBroken, from, 0)
	}
	if err := c.srv.Remove(d); err != nil {
		c.failf("remove: %v", err)
	}
	time.Sleep(after)
	if err := c.startAgent(d); err != nil {
		c.count("agents that did not start", 1) // killed at the start
	}
	c.faultLog.addFault(d, faultGone, from, time.Since(from))
}

// killAgent sends a signal that ends an agent in another process.
func (c *chaos) killAgent(d pdu.Domain, s syscall.Signal) {
	c.faultLog.addFault(d, faultBroken, time.Now(), 0)
	if c.memory == nil {
		c.signal(c.process(d), s)
		return
	}
	c.memory.mu.Lock()
	a := c.memory.agents[d]
	c.memory.mu.Unlock()
	a.conn.Close()
	c.count("signal: "+s.String(), 1)
}

// stopAgent stops an agent in another process for some time.
func (c *chaos) stopAgent(d pdu.Domain, lasts time.Duration) {
	from := time.Now()
	if c.memory == nil {
		p := c.process(d)
		c.signal(p, syscall.SIGSTOP)
		time.Sleep(lasts)
		c.signal(p, syscall.SIGCONT)
		c.faultLog.addFault(d, faultStall, from, time.Since(from))
		return
	}
	c.faultLog.addFault(d, faultStall, from, lasts)
	c.memory.mu.Lock()
	a := c.memory.agents[d]
	c.memory.mu.Unlock()
	a.stop(lasts)
	c.count("signal: "+syscall.SIGSTOP.String(), 1)
}

// process returns the process of an agent, or nil if there is no such agent.
func (c *chaos) process(d pdu.Domain) *process {
	if a := c.srv.agents.Load().get(d); a != nil {
		return a.remote.Load()
	}
	return nil
}

func (c *chaos) signal(p *process, s syscall.Signal) {
	if p != nil && p.cmd.Process.Signal(s) == nil {
		c.count("signal: "+s.String(), 1)
	}
}

// report checks the results of the run and logs a summary.
func (c *chaos) report() {
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		c.t.Logf("%8d %s", c.counts[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(c.log.counts)) {
		c.t.Logf("%8d logged: %s", c.log.counts[what], what)
	}
	c.t.Log(c.faultLog.summary())
	for i, e := range c.faultLog.unexplained() {
		if i == 20 {
			c.t.Error("and others")
			break
		}
		c.t.Errorf("no fault explains %v at %v after %v: %s (of %v)", e.code, e.to.Format("05.000000"), e.to.Sub(e.from), e.what, e.domains)
	}
	if c.fails > 20 {
		c.t.Errorf("%d failures in all", c.fails)
	}
	for _, whose := range []string{"good agents", "faulty agents in this process", "faulty agents in other processes"} {
		if c.counts["values of "+whose] == 0 {
			c.t.Errorf("no values of %s came", whose)
		}
	}
	c.checkLog()
}

func (c *chaos) checkLog() {
	for _, line := range c.log.noReason {
		c.t.Errorf("logged without a reason: %s", line)
	}
	if got, want := int64(c.log.counts["agent panicked"]), c.panics.Load(); got < want {
		c.t.Errorf("%d panics logged of %d", got, want)
	}
	for addr, n := range c.log.closed {
		if _, known := c.lines[addr]; !known && strings.HasPrefix(addr, "127.") && !c.stood {
			c.t.Errorf("client %s, who did nothing wrong, was closed %d times", addr, n)
		}
	}
	for addr, want := range c.lines {
		if got := c.log.closed[addr]; got < want[0] || got > want[1] {
			c.t.Errorf("client %s: %d lines in the log, want %d to %d", addr, got, want[0], want[1])
		}
	}
	for name, events := range c.log.agents {
		if err := checkAgentEvents(events); err != nil {
			c.t.Errorf("log of agent %s: %v", name, err)
		}
	}
}

// checkAgentEvents checks the order of the log messages about an agent in another process. For
// example, an agent must start before it can be late, and it dies once after each start.
func checkAgentEvents(events []string) error {
	after := map[string][]string{ // what an event may follow; "" is the beginning
		"agent started": {"", "agent died", "agent not started", "agent not restarted", "agent removed"},
		"agent did not reply in time; requests fail until the late reply comes": {"agent started", "agent replies again", "agent is ready"},
		"agent replies again": {"agent did not reply in time; requests fail until the late reply comes"},
		"agent is not ready":  {"agent started", "agent replies again", "agent is ready", "agent did not reply in time; requests fail until the late reply comes"},
		"agent is ready":      {"agent is not ready"},
		"agent not started":   {"", "agent died", "agent removed", "agent not started", "agent not restarted"},
		"agent not restarted": {"agent died", "agent not restarted", "agent not started"},
	}
	alive := []string{"agent started", "agent did not reply in time; requests fail until the late reply comes", "agent replies again", "agent is not ready", "agent is ready"}
	after["agent died"] = alive
	after["agent removed"] = append(slices.Clone(alive), "agent died", "agent not started", "agent not restarted")
	last := ""
	for i, e := range events {
		before, known := after[e]
		if known && !slices.Contains(before, last) {
			return fmt.Errorf("%q after %q: %q", e, last, events[max(0, i-8):i+1])
		}
		if known {
			last = e
		}
	}
	return nil
}

// resources holds the amounts of a process's resources that may leak.
type resources struct {
	goroutines, files, children int
	heap                        uint64
}

func countResources() resources {
	if r, w, err := os.Pipe(); err == nil { // makes the runtime's poller open its descriptors
		r.Close()
		w.Close()
	}
	runtime.GC()
	runtime.GC() // the second one empties pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := resources{goroutines: runtime.NumGoroutine(), files: -1, heap: m.HeapAlloc}
	if dir, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.files = len(dir)
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		s.children += len(strings.Fields(string(b)))
	}
	return s
}

// heapSlack is how much larger the heap may be after a run, because tables of the runtime and of
// the test grow a little.
const heapSlack = 4 << 20

// compare waits a little for goroutines to end, and then checks that no resource has grown.
func (before resources) compare(t *testing.T) {
	t.Helper()
	var now resources
	for range 300 {
		now = countResources()
		if now.goroutines <= before.goroutines && now.files <= before.files && now.children <= before.children &&
			now.heap <= before.heap+heapSlack {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	buf := make([]byte, 1<<20)
	dir, _ := os.ReadDir("/proc/self/fd")
	for _, f := range dir {
		to, _ := os.Readlink(filepath.Join("/proc/self/fd", f.Name()))
		t.Logf("descriptor %s is %s", f.Name(), to)
	}
	t.Errorf("before: %+v\nafter: %+v\n%s", before, now, buf[:runtime.Stack(buf, now.goroutines > before.goroutines)])
}
