package toolcmp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
)

// An ending is a reporting tool that runs until something happens to it.
type ending struct {
	line  string
	lines int  // on the terminal, after which it happens
	later bool // more of them come with every interval, so that nothing after them is compared
}

var endings = []ending{
	{line: "pmval -h $H -t $T sample.colour", lines: 9},
	{line: "pmrep -h $H -t $T sample.colour", lines: 4},
	{line: "pmrep -h $H -o csv -t $T sample.colour", lines: 2},
	{line: "pmstat -h $H -t $T -s 3", lines: 3},
	{line: "pmevent -h $H -t $T sample.event.records", lines: 3, later: true},
	{line: "pmiostat -h $H -t 0.3", lines: 2, later: true},
	{line: "pcp-iostat -h $H -t 0.3", lines: 2, later: true},
	{line: "pmclient -h $H -t 0.3", lines: 3, later: true},
}

// events are the causes of an end.
var events = []struct {
	name   string
	signal syscall.Signal
	server func(*relay)
}{
	{name: "SIGHUP", signal: syscall.SIGHUP},
	{name: "SIGINT", signal: syscall.SIGINT},
	{name: "SIGTERM", signal: syscall.SIGTERM},
	{name: "the collector dies", server: (*relay).die},
	{name: "the collector stops", server: (*relay).stop},
	{name: "the connection breaks", server: (*relay).drop},
}

// oneEndingOf is n if the usual test runs 1/n of the endings.
const oneEndingOf = 7

// TestInteropEndings compares how tools end by signals, and without their collector.
func TestInteropEndings(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmval", "pmrep", "pmstat", "pmevent", "pmiostat", "pmclient")
	t.Setenv("PATH", "/usr/bin"+string(os.PathListSeparator)+os.Getenv("PATH")) // for the Python of the system
	// Not the real pmcd: when the last of many clients go at once it may select(2) on fewer
	// descriptors than it has clients, and those above wait in vain for its replies.
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Program: pcptest.Build(t, "./examples/pmcd"), Shipped: []string{"pmcd", "linux", "sample"}})
	i := -1
	for _, e := range endings {
		for _, event := range events {
			i++
			if !*all && i%oneEndingOf != 0 {
				continue
			}
			if strings.HasPrefix(e.line, "pmstat") && event.name == "the collector stops" {
				continue // the real one waits for its greeting as PMCD_REQUEST_TIMEOUT says, but only when it connects again
			}
			t.Run(e.line+", "+event.name, func(t *testing.T) {
				tool := strings.Fields(e.line)[0]
				theirs, ours := pcptest.Tool(t, tool), pcptest.Build(t, "./examples/"+tool)
				t.Parallel()
				var want, got ended
				var wg sync.WaitGroup
				wg.Go(func() { want = e.run(t, pmcd.Addr(), theirs, event.signal, event.server) })
				wg.Go(func() { got = e.run(t, pmcd.Addr(), ours, event.signal, event.server) })
				wg.Wait()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-PCP +ours):\n%s", diff)
				}
			})
		}
	}
}

// ended is how a tool has ended.
type ended struct{ Stdout, Stderr, State string }

var (
	anyNumber = regexp.MustCompile(`[0-9][0-9.:,KMG]*`)
	anyDate   = regexp.MustCompile(`@ [A-Z].*`)
	anyBlanks = regexp.MustCompile(` +`)
)

// run runs a tool until its end.
func (e ending) run(t *testing.T, addr, program string, signal syscall.Signal, server func(*relay)) (end ended) {
	r := newRelay(t, addr)
	interval := "1min"
	if server != nil {
		interval = "0.1"
	}
	line := strings.NewReplacer("$H", r.addr(), "$T", interval).Replace(e.line)
	cmd := exec.Command(program, strings.Fields(line)[1:]...)
	cmd.Env = append(pcptest.Env(), "PMCD_REQUEST_TIMEOUT=1", "PATH="+os.Getenv("PATH"))
	user, terminal := pty.Open(t)
	pty.Resize(t, terminal, 100, 30)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = terminal, &stderr
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return end
	}
	terminal.Close() // so that its end is seen
	watchdog := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer watchdog.Stop()
	var shown []string
	for s := bufio.NewScanner(user); s.Scan(); { // until an error of the terminal without a program
		shown = append(shown, s.Text())
		if len(shown) != e.lines {
			continue
		}
		if server != nil {
			server(r)
		} else if err := cmd.Process.Signal(signal); err != nil {
			t.Error(err)
		}
	}
	cmd.Wait()
	if e.later || server != nil && len(shown) > e.lines && !strings.Contains(e.line, " -s ") {
		shown = shown[:min(e.lines, len(shown))]
	}
	text := anyDate.ReplaceAllString(strings.Join(shown, "\n"), "DATE")
	end.Stdout = anyBlanks.ReplaceAllString(anyNumber.ReplaceAllString(text, "N"), " ")
	end.Stderr = strings.ReplaceAll(stderr.String(), r.addr(), "HOST")
	end.State = cmd.ProcessState.String()
	return end
}

// A relay is a collector's stand-in: connections to it are connections to the collector until
// something happens.
type relay struct {
	l     net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	held  chan struct{} // closed when nothing is passed on any more
	once  sync.Once
}

func newRelay(t *testing.T, to string) *relay {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{l: l, to: to, held: make(chan struct{})}
	var wg sync.WaitGroup
	t.Cleanup(func() { r.die(); wg.Wait() })
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, c, s)
			r.mu.Unlock()
			wg.Go(func() { r.pass(c, s) })
			wg.Go(func() { r.pass(s, c) })
		}
	})
	return r
}

func (r *relay) addr() string { return fmt.Sprintf("localhost:%d", r.l.Addr().(*net.TCPAddr).Port) }

// pass forwards its input until an end.
func (r *relay) pass(from, to net.Conn) {
	defer to.Close()
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		select {
		case <-r.held:
			io.Copy(io.Discard, from)
			return
		default:
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// stop has nothing passed on any more.
func (r *relay) stop() { r.once.Do(func() { close(r.held) }) }

// die closes connections and takes no more.
func (r *relay) die() {
	r.l.Close()
	r.drop()
}

// drop closes connections.
func (r *relay) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
}
