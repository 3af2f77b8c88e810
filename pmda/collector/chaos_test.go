//go:build unix

package collector

import (
	"context"
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
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// The numbers of the chaos run. raceFactor stretches times under the race
// detector.
const (
	chaosClients = 160
	chaosVandals = 40
	chaosTimeout = 600 * time.Millisecond * raceFactor
	chaosThink   = 60 * time.Millisecond * raceFactor
)

// A chaos is a collector in trouble.
type chaos struct {
	t         *testing.T
	seed      uint64
	srv       *Server
	ctx       context.Context
	timeout   time.Duration
	think     time.Duration // of a client between requests, on average
	addr      map[string]string
	luck      *dice
	metronome *metronome
	log       *chaosLog
	panics    atomic.Int64 // of agents in this process

	healthy, hotheads, ruffians []pdu.Domain
	outside                     pdu.Domain   // that of healthy which is in another process, as ruffians are
	domains                     []pdu.Domain // all

	mu      sync.Mutex
	fails   int
	counts  map[string]int
	lines   map[string][2]int // least and greatest number of lines in the log, by address
	longest time.Duration     // beyond what is allowed without slack
	slack   time.Duration     // the greatest that was granted
	stood   bool              // the machine has stood still
}

// failf reports what is wrong, but not for ever.
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

func (c *chaos) anyMoody(ds []pdu.Domain) bool { return slices.ContainsFunc(ds, c.moody) }

// moody reports whether something may be wrong with an agent. One in another
// process is late, and then owes a reply, also if the machine stands still.
func (c *chaos) moody(d pdu.Domain) bool {
	return !slices.Contains(c.healthy, d) || d == c.outside && c.standstill(time.Now().Add(-3*c.timeout), c.timeout/6)
}

// distant reports whether others have a share in how soon an agent answers.
func (c *chaos) distant(d pdu.Domain) bool { return d == c.outside || !slices.Contains(c.healthy, d) }

func (c *chaos) hothead(d pdu.Domain) bool { return slices.Contains(c.hotheads, d) }
func (c *chaos) ruffian(d pdu.Domain) bool { return slices.Contains(c.ruffians, d) }
func (c *chaos) kind(d pdu.Domain) string {
	switch {
	case c.hothead(d):
		return "hothead"
	case c.ruffian(d):
		return "ruffian"
	}
	return "healthy"
}

func (c *chaos) countValue(d pdu.Domain) { c.count("value of "+c.kind(d), 1) }

func (c *chaos) countError(code pdu.Error, domains []pdu.Domain) {
	if code < 0 && code > -20000 && len(domains) == 1 {
		c.count(fmt.Sprintf("%s: %v", c.kind(domains[0]), code), 1)
	}
}

// troubles are the errors that moody agents cause: those of the collector, their
// own, and those of an agent that has been removed for a while.
var troubles = []pdu.Error{
	pdu.ErrTimeout, pdu.ErrAgain, pdu.ErrNoAgent, pdu.ErrIPC, pdu.ErrPMDAFenced, pdu.ErrGeneric, pdu.ErrPMID,
	pdu.ErrAppVersion, pdu.ErrTooBig, -pdu.Error(syscall.EPIPE),
	pdu.ErrInDom, pdu.ErrName,
}

// excused reports whether a request to some domains may fail so.
func (c *chaos) excused(code pdu.Error, domains ...pdu.Domain) bool {
	if c.anyMoody(domains) {
		return slices.Contains(troubles, code)
	}
	return code == pdu.ErrTimeout && c.standstill(time.Now().Add(-c.timeout), c.timeout/2)
}

// standstill reports whether the machine has stood still, for more than a limit,
// since some time: then an agent in good health may be too late, and a client
// have taken too long for the rest of a PDU.
func (c *chaos) standstill(since time.Time, limit time.Duration) bool {
	still := c.metronome.slack(since, time.Now()) > limit
	if still {
		c.count("excused, since the machine stood still", 1)
		c.mu.Lock()
		c.stood = true
		c.mu.Unlock()
	}
	return still
}

// waited checks how long a client has waited for an answer.
func (c *chaos) waited(p pdu.PDU, domains []pdu.Domain, start, end time.Time) {
	over := end.Sub(start) - c.timeout - 100*time.Millisecond
	if !slices.ContainsFunc(domains, c.distant) {
		over += c.timeout // agents in good health in this process answer at once
	}
	if over <= 0 {
		return
	}
	slack := c.metronome.slack(start, end)
	c.mu.Lock()
	c.longest, c.slack = max(c.longest, over), max(c.slack, slack)
	c.mu.Unlock()
	if over > slack {
		c.failf("%v to %v: answered after %v, %v too late (%v would be excused: the machine was slow)",
			p.Kind(), domains, end.Sub(start), over, slack)
	}
}

func (c *chaos) expectLines(addr string, least, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[addr]
	c.lines[addr] = [2]int{l[0] + least, l[1] + most}
}

// A chaosLog keeps what matters of the log.
type chaosLog struct {
	slog.Handler
	mu     sync.Mutex
	counts map[string]int
	agents map[string][]string // what has happened to each agent in another process
	closed map[string]int      // clients that were broken off, by address
	vague  []string            // lines without a reason
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
	if name := attrs["agent"]; strings.HasPrefix(name, "pipe") {
		l.agents[name] = append(l.agents[name], r.Message)
	}
	return nil
}

// reason wants one of some attributes.
func (l *chaosLog) reason(message string, attrs map[string]string, keys ...string) {
	for _, k := range keys {
		if v := attrs[k]; v != "" && v != "<nil>" {
			return
		}
	}
	l.vague = append(l.vague, fmt.Sprint(message, attrs))
}

// TestChaos lets many clients, good and bad, ask agents that stall, panic, lie,
// die and break the protocol, and wants the good ones served as if nothing were.
//
// PCP_CHAOS says for how long, PCP_CHAOS_SEED makes it the same chaos again, as
// far as that goes.
func TestChaos(t *testing.T) {
	if os.Getenv("PCP_CHAOS") == "" {
		t.Skip("takes both cores and much time: say for how long with PCP_CHAOS=60s")
	}
	duration, err := time.ParseDuration(os.Getenv("PCP_CHAOS"))
	if err != nil {
		t.Fatal("PCP_CHAOS: ", err)
	}
	seed := rand.Uint64() >> 1
	if s := os.Getenv("PCP_CHAOS_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("PCP_CHAOS_SEED: ", err)
		}
	}
	t.Logf("PCP_CHAOS=%v PCP_CHAOS_SEED=%d", duration, seed)
	before := takeStock()
	c := runChaos(t, duration, seed)
	c.report()
	c = nil
	before.compare(t)
}

func runChaos(t *testing.T, duration time.Duration, seed uint64) *chaos {
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	c := &chaos{
		t: t, seed: seed, ctx: ctx, timeout: chaosTimeout, think: chaosThink, luck: newDice(seed, 0),
		metronome: newMetronome(), log: newChaosLog(), counts: map[string]int{}, lines: map[string][2]int{},
		healthy: []pdu.Domain{10, 11, 12}, outside: 12, hotheads: []pdu.Domain{20, 21, 22}, ruffians: []pdu.Domain{30, 31, 32},
	}
	c.domains = slices.Concat(c.healthy, c.hotheads, c.ruffians)
	var beating sync.WaitGroup
	rhythm, silence := context.WithCancel(context.Background())
	beating.Go(func() { c.metronome.run(rhythm) })
	defer beating.Wait()
	defer silence()

	serving, end := context.WithCancel(context.Background())
	defer end()
	served := c.serve(serving)
	var people sync.WaitGroup
	for n := range chaosClients {
		people.Go(newVisitor(c, n).behave)
	}
	for n := range chaosVandals {
		people.Go(newVisitor(c, 1000+n).misbehave)
	}
	people.Go(c.monkey)
	people.Wait()
	start := time.Now()
	end()
	if err := <-served; err != nil {
		c.failf("Serve: %v", err)
	}
	if took, limit := time.Since(start), 2*defaultGrace+c.metronome.slack(start, time.Now()); took > limit {
		c.failf("Serve took %v to end, more than %v", took, limit)
	}
	return c
}

// serve starts the collector with its agents.
func (c *chaos) serve(ctx context.Context) <-chan error {
	c.srv = &Server{
		Logger: slog.New(c.log), Timeout: c.timeout, WriteTimeout: 2 * c.timeout, Names: c.pipeNames(),
		AgentHelloTimeout: patience, // a machine under load starts processes slowly
	}
	fatal := func(err error) {
		if err != nil {
			c.t.Fatal(err)
		}
	}
	for _, d := range c.domains {
		fatal(c.startAgent(d))
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	fatal(err)
	unix, err := net.Listen("unix", filepath.Join(c.t.TempDir(), "socket"))
	fatal(err)
	c.addr = map[string]string{"tcp": tcp.Addr().String(), "unix": unix.Addr().String()}
	served := make(chan error, 1)
	go func() { served <- c.srv.Serve(ctx, tcp, unix) }()
	return served
}

func (c *chaos) startAgent(d pdu.Domain) error {
	switch {
	case c.hothead(d):
		return c.srv.Add(newHothead(d, c.timeout, c.luck, &c.panics))
	case c.ruffian(d), d == c.outside:
		return c.srv.Start(agentLine(d, c.timeout, c.seed, !c.ruffian(d)))
	}
	return c.srv.Add(newOracle(d))
}

// pipeNames are the names of the agents in other processes.
func (c *chaos) pipeNames() *pmns.Tree {
	var b pmns.Builder
	for _, d := range append(slices.Clone(c.ruffians), c.outside) {
		truthNames(&b, d)
	}
	return b.Tree()
}

// monkey does to agents what administrators and kernels do.
func (c *chaos) monkey() {
	var stopped sync.WaitGroup
	defer stopped.Wait()
	for c.ctx.Err() == nil {
		d := c.ruffians[c.luck.n(len(c.ruffians))]
		switch c.luck.n(20) {
		case 0:
			c.signal(c.process(d), syscall.SIGKILL)
		case 1:
			c.signal(c.process(d), syscall.SIGTERM)
		case 2, 3, 4, 5:
			p := c.process(d)
			stopped.Go(func() {
				c.signal(p, syscall.SIGSTOP)
				time.Sleep(c.luck.upTo(3 * c.timeout))
				c.signal(p, syscall.SIGCONT)
			})
		case 6, 7, 8:
			c.count("restarted by hand", len(c.srv.Restart()))
		case 9:
			c.srv.SetNames(c.pipeNames())
		case 10:
			if c.luck.n(2) == 0 {
				d = c.hotheads[c.luck.n(len(c.hotheads))]
			}
			if err := c.srv.Remove(d); err != nil {
				c.failf("remove: %v", err)
			}
			time.Sleep(c.luck.upTo(c.timeout / 2))
			if err := c.startAgent(d); err != nil {
				c.count("agent did not start", 1) // killed at its start
			}
		}
		time.Sleep(c.luck.upTo(c.timeout / 2))
	}
}

// process is that of an agent, nil if it is not there.
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

// report looks at the log, and shows that something has happened.
func (c *chaos) report() {
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		c.t.Logf("%8d %s", c.counts[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(c.log.counts)) {
		c.t.Logf("%8d logged: %s", c.log.counts[what], what)
	}
	c.t.Logf("the latest answer came %v after the limit, the greatest allowance for such was %v", c.longest, c.slack)
	if c.fails > 20 {
		c.t.Errorf("%d faults in all", c.fails)
	}
	for _, kind := range []string{"healthy", "hothead", "ruffian"} {
		if c.counts["value of "+kind] == 0 {
			c.t.Errorf("no value of a %s agent came", kind)
		}
	}
	c.checkLog()
}

func (c *chaos) checkLog() {
	for _, line := range c.log.vague {
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
		if err := agentStory(events); err != nil {
			c.t.Errorf("log of agent %s: %v", name, err)
		}
	}
}

// agentStory checks that what the log says of an agent in another process makes
// sense: it starts, is late and catches up, dies, once each.
func agentStory(events []string) error {
	after := map[string][]string{ // what an event may follow; "" is the beginning
		"agent started":       {"", "agent died", "agent not started", "agent not restarted", "agent removed"},
		"agent owes a reply":  {"agent started", "agent replies again", "agent is ready"},
		"agent replies again": {"agent owes a reply"},
		"agent is not ready":  {"agent started", "agent replies again", "agent is ready", "agent owes a reply"},
		"agent is ready":      {"agent is not ready"},
		"agent not started":   {"", "agent died", "agent removed", "agent not started", "agent not restarted"},
		"agent not restarted": {"agent died", "agent not restarted", "agent not started"},
	}
	alive := []string{"agent started", "agent owes a reply", "agent replies again", "agent is not ready", "agent is ready"}
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

// A stock is what a process has.
type stock struct {
	goroutines, files, children int
	heap                        uint64
}

func takeStock() stock {
	if r, w, err := os.Pipe(); err == nil { // from now on the poller of the run time library has its descriptors
		r.Close()
		w.Close()
	}
	runtime.GC()
	runtime.GC() // pools give up what they hold at the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := stock{goroutines: runtime.NumGoroutine(), files: -1, heap: m.HeapAlloc}
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

// heapSlack is how much larger the heap may be afterwards: tables of the run
// time library and of the test grow a little.
const heapSlack = 4 << 20

// compare waits a little for things to settle, then wants no more than before.
func (before stock) compare(t *testing.T) {
	t.Helper()
	var now stock
	for range 300 {
		now = takeStock()
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
