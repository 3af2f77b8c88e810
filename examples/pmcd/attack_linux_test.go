package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestAttack runs the program as a user would and attacks it from outside, as its clients and as
// its agents. Each attack has a separate program, which then has a minute to release the resources
// that the attack used.
//
// PCP_ATTACK=all in the environment runs the attacks. PCP_ATTACK=full runs larger ones of the
// same kinds. PCP_ATTACK_PMCD names another program to attack.
func TestAttack(t *testing.T) {
	needAttack(t)
	wide2, ids2 := wideAgents(t, 2)
	wide8, ids8 := wideAgents(t, 8)
	page := freePage(t)
	patient := []string{"-t", "60"} // a busy machine's agents take long to make what is wide
	var resting sync.WaitGroup
	for _, a := range []struct {
		name, conf string
		args       []string
		run        func(s *target)
	}{
		{"memory of one client", wide8, patient, func(s *target) { attackMemory(s, ids8) }},
		{"memory of embedded agents", "", nil, attackEmbedded},
		{"unread replies", wide2, patient, func(s *target) { attackUnread(s, ids2[0]) }},
		{"profiles", "", nil, attackProfiles},
		{"queued requests", confLine(t, "slow", 240, "slow", "1"), nil, func(s *target) { attackQueued(s, ids2[0]) }},
		{"large results that are not read", wide2, patient, func(s *target) { attackInFlight(s, ids2, 0) }},
		{"large results that are read slowly", wide2, patient, func(s *target) { attackInFlight(s, ids2, time.Second/2) }},
		{"beside a huge request", wide2, nil, func(s *target) { attackAgentQueue(s, ids2[0]) }},
		{"beside the widest shapes", wide2 + "simple 253 dso simple_init /none/pmda_simple.so\n", patient, func(s *target) { attackWithShapes(s, ids2) }},
		{"connections", "", nil, attackConnections},
		{"idle connections to the page", "", []string{"-w", page}, attackPage(page)},
		{"agents", hostileAgents(t), []string{"-t", "2"}, attackByAgents},
	} {
		t.Run(a.name, func(sub *testing.T) {
			s := startTarget(t, a.conf, a.args...) // which is there until all attacks are over
			s.name, s.t = a.name, sub
			a.run(s)
			s.hangUp()
			s.t = t
			resting.Go(s.checkRest) // beside the attacks that follow
		})
	}
	resting.Wait()
}

// needAttack skips a test that takes both processors for a while, unless PCP_ATTACK asks for it.
func needAttack(t *testing.T) {
	t.Helper()
	if os.Getenv("PCP_ATTACK") == "" {
		t.Skip("an attack uses both processors for some time: set PCP_ATTACK=all")
	}
}

// fullSize reports whether attacks have their full size.
func fullSize() bool { return os.Getenv("PCP_ATTACK") == "full" }

// size is that of an attack.
func size(short, long int) int {
	if fullSize() {
		return long
	}
	return short
}

// Limits that the program has to keep with its default limits.
//
// A client may make the collector hold 64 MiB. The garbage collector also counts what a client gave
// back while it marked, so it may see twice that, and it lets the heap grow to twice what it saw.
const (
	oneClientMemory   = 4 * 64 << 20 // above idle, whatever one client does
	startMemory       = 192 << 20    // at the start, whatever agents and configuration are
	manyClientsMemory = 1 << 30      // above idle, whatever 1,000 clients do
	restingMemory     = 48 << 20     // above idle, a while after
	restingTime       = time.Minute
)

// A target is a started program that is attacked.
type target struct {
	*pcptest.Process
	t          testing.TB
	name       string // of the attack
	host       string // for net.Dial and -h
	socket     string
	idleMemory int // resident bytes before the attack
	idleFiles  int // open descriptors before the attack
	startPeak  int // most resident bytes during the start

	mu     sync.Mutex
	guests []*guest
	ended  time.Time // when the attack was over
}

// startTarget starts the program with a configuration, without one if it is empty.
func startTarget(t testing.TB, conf string, args ...string) *target {
	t.Helper()
	dir := pcptest.ShortDir(t)
	port := pcptest.FreePort(t)
	s := &target{t: t, host: fmt.Sprintf("localhost:%d", port), socket: filepath.Join(dir, "s")}
	all := []string{"-p", strconv.Itoa(port), "-s", s.socket, "-q", "60"}
	if conf != "" {
		writeFiles(t, dir, map[string]string{"conf": conf, "pmns": "root {\n}\n"})
		all = append(all, "-f", "-i", "127.0.0.1", "-c", filepath.Join(dir, "conf"), "-n", filepath.Join(dir, "pmns"), "-l", "-")
	}
	s.Process = pcptest.Start(t, pcptest.Daemon{
		Path: program(t), Args: append(all, args...), Dir: dir, Addr: s.host, Greets: true,
		Env: []string{"PCP_RUN_DIR=" + dir, "PCP_TMP_DIR=" + dir, "PCP_LOG_DIR=" + dir},
	})
	s.connect().fetch(pmcdMetric)
	s.hangUp()
	s.startPeak = s.status("VmHWM")
	s.settle()
	return s
}

// program is the path of the program that is attacked.
func program(t testing.TB) string {
	t.Helper()
	return cmp.Or(os.Getenv("PCP_ATTACK_PMCD"), pcptest.Build(t, "./examples/pmcd"))
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// pmcdMetric is pmcd.numagents, which the collector itself replies with.
var pmcdMetric = pdu.MakePMID(2, 0, 1)

// settle records the resources of the program while no attack runs.
func (s *target) settle() {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		before := s.files()
		time.Sleep(100 * time.Millisecond)
		if s.idleFiles = s.files(); s.idleFiles == before || time.Now().After(end) {
			break
		}
	}
	s.idleMemory = s.status("VmRSS")
	s.resetPeak()
}

// status is a size in bytes from the program's /proc/PID/status, such as VmHWM.
func (s *target) status(field string) int {
	s.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		s.t.Fatalf("the program is gone: %v", err)
	}
	m := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB$`).FindSubmatch(b)
	if m == nil {
		s.t.Fatalf("no %s in %s", field, b)
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n << 10
}

// resetPeak lets VmHWM begin anew.
func (s *target) resetPeak() {
	s.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.PID()), []byte("5"), 0); err != nil {
		s.t.Fatal(err)
	}
}

// files is how many descriptors the program has open.
func (s *target) files() int {
	s.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID()))
	if err != nil {
		s.t.Fatalf("the program is gone: %v", err)
	}
	return len(list)
}

func mib(n int) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// checkMemory checks that the program needed at most limit bytes more than when idle
// since resetPeak.
func (s *target) checkMemory(limit int) {
	s.t.Helper()
	peak := s.status("VmHWM") - s.idleMemory
	s.t.Logf("peak memory %s above idle (%s)", mib(peak), mib(s.idleMemory))
	if peak > limit {
		s.t.Errorf("peak memory %s above idle, want at most %s", mib(peak), mib(limit))
	}
}

// hangUp ends all clients.
func (s *target) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.guests {
		g.conn.Close()
	}
	s.guests, s.ended = nil, time.Now()
}

// checkRest checks that the program gives back what it took when its clients have gone:
// memory in a minute, and descriptors.
func (s *target) checkRest() {
	s.t.Helper()
	var memory, files int
	for {
		memory, files = s.status("VmRSS")-s.idleMemory, s.files()
		if memory <= restingMemory && files <= s.idleFiles || time.Since(s.ended) > restingTime {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	s.t.Logf("%s: %.1f s later the memory is %s above idle, and there are %d descriptors (%d before)",
		s.name, time.Since(s.ended).Seconds(), mib(memory), files, s.idleFiles)
	if memory > restingMemory {
		s.t.Errorf("%s: a minute later the memory is %s above idle, want at most %s", s.name, mib(memory), mib(restingMemory))
	}
	if files > s.idleFiles { // agents may have had more open when they started
		s.t.Errorf("%s: a minute later %d descriptors are open, %d before", s.name, files, s.idleFiles)
	}
	if code, _ := s.connect().fetch(pmcdMetric); code != 0 {
		s.t.Errorf("%s: afterwards: %v", s.name, code)
	}
}

// A guest is a client of the program. Its methods may be used in any goroutine:
// what fails is an error, and what ought not to fail the test.
type guest struct {
	t    testing.TB
	conn net.Conn
	pdus *pdu.Conn
}

// replyLimit is how long a client waits for a reply: longer than the program may take
// with its default limits, and than this test may be held up on a busy machine.
const replyLimit = 2 * time.Minute

// dial connects to the unix socket, whose buffers are small: what a client does not
// read stays with the program.
func (s *target) dial() (*guest, error) {
	conn, err := net.Dial("unix", s.socket)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(replyLimit))
	g := &guest{t: s.t, conn: conn, pdus: pdu.NewConn(conn)}
	s.mu.Lock()
	s.guests = append(s.guests, g)
	s.mu.Unlock()
	if _, err := pdu.ClientHello(g.pdus, int32(os.Getpid()), 0); err != nil {
		return nil, err
	}
	return g, g.pdus.Write(0, pdu.SetProfile{})
}

// connect is dial, which has to succeed.
func (s *target) connect() *guest {
	s.t.Helper()
	g, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

// reply returns the next PDU that does not report a state change. It drains the body, so that a
// client of huge replies needs little memory. code is the error of an ERROR PDU, and for a result
// the error of its first set.
func (g *guest) reply() (kind pdu.Kind, code pdu.Error, length int, err error) {
	g.conn.SetReadDeadline(time.Now().Add(replyLimit))
	for {
		var head [8]uint32 // as far as the number of values of the first metric
		if err = binary.Read(g.conn, binary.BigEndian, head[:3]); err != nil {
			return 0, 0, 0, err
		}
		length, kind = int(head[0]), pdu.Kind(head[1])
		more := min((length-pdu.HeaderLen)/4, len(head)-3)
		if err = binary.Read(g.conn, binary.BigEndian, head[3:3+more]); err != nil {
			return 0, 0, 0, err
		}
		if _, err = io.CopyN(io.Discard, g.conn, int64(length-pdu.HeaderLen-4*more)); err != nil {
			return 0, 0, 0, err
		}
		switch kind {
		case pdu.KindError:
			if code = pdu.Error(int32(head[3])); code > 0 {
				continue
			}
		case pdu.KindResult:
			code = min(pdu.Error(int32(head[7])), 0)
		}
		return kind, code, length, nil
	}
}

// fetch fetches metrics, and returns the code of the reply and its length.
func (g *guest) fetch(ids ...pdu.PMID) (code pdu.Error, length int) {
	g.t.Helper()
	if err := g.pdus.Write(0, pdu.Fetch{PMIDs: ids}); err != nil {
		g.t.Fatal(err)
	}
	_, code, length, err := g.reply()
	if err != nil {
		g.t.Fatal(err)
	}
	return code, length
}

// mostSets is how many times a client gets a metric in one result.
func (s *target) mostSets(id pdu.PMID) int {
	s.t.Helper()
	g := s.connect()
	defer g.conn.Close()
	n := 1 + sort.Search(1200, func(n int) bool {
		code, _ := g.fetch(times(n+2, id)...)
		return code != 0
	})
	s.t.Logf("up to %d sets fit into a result", n)
	return n
}

// times is a list of PMIDs that has each n times.
func times(n int, ids ...pdu.PMID) []pdu.PMID {
	var all []pdu.PMID
	for _, id := range ids {
		all = append(all, slices.Repeat([]pdu.PMID{id}, n)...)
	}
	return all
}

// A watch is a client that behaves well, and measures how long it waits for a reply.
type watch struct {
	g      *guest
	ids    []pdu.PMID
	stop   chan struct{}
	done   sync.WaitGroup
	delays []time.Duration
	late   []time.Duration // how much longer pauses were than they should: the machine has other work
	codes  map[pdu.Error]int
	err    error

	patience time.Duration // for so long, requests may fail with a code that says to try again
	waited   time.Duration // the longest time without a value
}

// watchPause is the pause between the requests of a watch.
const watchPause = 5 * time.Millisecond

// watch begins to fetch metrics.
func (s *target) watch(ids ...pdu.PMID) *watch {
	s.t.Helper()
	w := &watch{g: s.connect(), ids: ids, stop: make(chan struct{}), codes: map[pdu.Error]int{}}
	w.done.Go(func() {
		good := time.Now()
		for {
			pause := time.Now()
			select {
			case <-w.stop:
				return
			case <-time.After(watchPause):
			}
			begin := time.Now()
			w.late = append(w.late, begin.Sub(pause)-watchPause)
			if w.err = w.g.pdus.Write(0, pdu.Fetch{PMIDs: ids}); w.err != nil {
				return
			}
			_, code, _, err := w.g.reply()
			if w.err = err; err != nil {
				return
			}
			w.delays = append(w.delays, time.Since(begin))
			w.codes[code]++
			if code == 0 {
				good = time.Now()
			}
			w.waited = max(w.waited, time.Since(good))
		}
	})
	return w
}

// end ends the watch. All its requests have to have been replied to.
func (w *watch) end() {
	w.g.t.Helper()
	close(w.stop)
	w.done.Wait()
	w.g.conn.Close()
	if w.err != nil {
		w.g.t.Fatalf("a client that behaves well: %v after %d replies", w.err, len(w.delays))
	}
	switch failed := len(w.delays) - w.codes[0]; {
	case failed == 0:
	case w.patience == 0 || failed > w.codes[pdu.ErrAgain]:
		w.g.t.Errorf("%d of %d requests of a client that behaves well failed: %v", failed, len(w.delays), w.codes)
	case w.waited > w.patience:
		w.g.t.Errorf("a client that behaves well got nothing for %v, want at most %v", w.waited, w.patience)
	default:
		w.g.t.Logf("%d of %d requests of a client that behaves well failed, for up to %v", failed, len(w.delays), w.waited)
	}
	if len(w.delays) == 0 {
		w.g.t.Fatal("a client that behaves well got no reply")
	}
}

// p99 is the 99th percentile of some times.
func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}

// slack is the factor that a short run allows for longer times, because other tests use the
// processors.
const slack = 10

// wakeups is how often the scheduler wakes a process for a reply: the collector and the client, and
// an agent between them.
const wakeups = 4

// checkDelay checks how long a client that behaves well waited beside an attack. An attack
// that is itself short of processors has slack in full size too. In a short run it may
// also be as late as the machine wakes this process.
func (s *target) checkDelay(quiet time.Duration, w *watch, shortOfProcessors bool) {
	s.t.Helper()
	beside, late := p99(w.delays), p99(w.late)
	goal := max(2*quiet, 20*time.Millisecond)
	s.t.Logf("p99 of others: %v quiet, %v beside the attack, the longest %v; goal %v; the machine is %v late",
		quiet, beside, slices.Max(w.delays), goal, late)
	if !fullSize() || shortOfProcessors {
		goal *= slack
	}
	if !fullSize() {
		goal += wakeups * late
	}
	if beside > goal {
		s.t.Errorf("p99 of others %v beside the attack, want at most %v (%v quiet)", beside, goal, quiet)
	}
}

// quiet returns the 99th percentile of the reply times for metrics while no attack runs.
func (s *target) quiet(ids ...pdu.PMID) time.Duration {
	s.t.Helper()
	w := s.watch(ids...)
	time.Sleep(time.Duration(size(1, 5)) * time.Second)
	w.end()
	return p99(w.delays)
}

// refused reports whether a code says clearly that a request was too large, or that
// there is no memory for it now.
func refused(code pdu.Error) bool {
	return code == pdu.ErrTooBig || code == pdu.ErrAgain || code == -11 || code == -12 // EAGAIN, ENOMEM
}

// confLine is a line of pmcd.conf for an agent that this test program plays.
func confLine(t testing.TB, name string, domain pdu.Domain, behavior string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %d pipe binary %s %s %s %s\n", name, domain, self, agentArg, behavior, strings.Join(args, " "))
}

// logLines counts the lines of the log that contain a text.
func (s *target) logLines(text string) int {
	n := 0
	for line := range bytes.Lines([]byte(s.Log())) {
		if bytes.Contains(line, []byte(text)) {
			n++
		}
	}
	return n
}
