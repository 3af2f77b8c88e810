package collector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// A fakeRoot acts as pmdaroot for one client.
type fakeRoot struct {
	t      *testing.T
	socket string

	mu       sync.Mutex
	started  []*exec.Cmd
	labels   []string
	signals  []syscall.Signal
	distorts func(reply []byte, fds []int) ([]byte, []int) // nil to reply as pmdaroot
	deaf     bool                                          // signals are not passed on
}

func newFakeRoot(t *testing.T) *fakeRoot {
	t.Helper()
	f := &fakeRoot{t: t, socket: filepath.Join(pcptest.ShortDir(t), "root.socket")}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: f.socket})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.AcceptUnix()
			if err != nil {
				return
			}
			serving.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		serving.Wait()
	})
	return f
}

// withLength sets the length in the header of a PDU.
func withLength(b []byte) []byte {
	binary.NativeEndian.PutUint32(b[4:], uint32(len(b)))
	return b
}

func rootPDU(kind, status uint32, body ...uint32) []byte {
	b := make([]byte, 0, 128)
	for _, w := range append([]uint32{kind, uint32(16 + 4*len(body)), status, 2}, body...) {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	return b
}

// serve replies to the requests of a client until it closes the connection.
func (f *fakeRoot) serve(c *net.UnixConn) {
	defer c.Close()
	c.Write(rootPDU(0x9000, 0, 7, 0))
	b := make([]byte, 8192)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		var reply []byte
		var fds []int
		word := func(i int) int { return int(int32(binary.NativeEndian.Uint32(b[16+4*i:]))) }
		switch binary.NativeEndian.Uint32(b) {
		case 0x9007:
			reply, fds = f.start(string(b[40:40+word(4)]), strings.Fields(string(b[104:n])))
		case 0x9001:
			reply = hostnameReply(string(b[24:n]))
		case 0x9009:
			f.signal(word(0), word(2) != 0)
			reply = rootPDU(0x900a, 0, uint32(word(0)), 0, uint32(word(2)), 0)
		}
		f.mu.Lock()
		distorts := f.distorts
		f.mu.Unlock()
		passed := fds
		if distorts != nil {
			reply, passed = distorts(reply, fds)
		}
		if reply == nil {
			passed = nil // descriptors need at least one byte of data
			c.Close()
		}
		c.WriteMsgUnix(reply, syscall.UnixRights(passed...), nil)
		for _, fd := range fds {
			syscall.Close(fd)
		}
	}
}

// hostnameReply returns the reply of pmdaroot with the host name of a container, whose name ends
// with a NUL.
func hostnameReply(container string) []byte {
	const notFound = 0xffffcf91
	reply := rootPDU(0x9002, 0, 15, 9)
	switch container {
	case "web\x00":
	case "short\x00":
		return rootPDU(0x9002, 0, 15, 99)
	default:
		return rootPDU(0x9002, notFound, 0, 0)
	}
	return withLength(append(reply, "conthost1"...))
}

func (f *fakeRoot) start(label string, argv []string) (reply []byte, fds []int) {
	var in, out [2]int
	if err := errors.Join(syscall.Pipe2(in[:], syscall.O_CLOEXEC), syscall.Pipe2(out[:], syscall.O_CLOEXEC)); err != nil {
		f.t.Error(err)
		return nil, nil
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	stdin, stdout := os.NewFile(uintptr(in[0]), "in"), os.NewFile(uintptr(out[1]), "out")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		f.t.Error(err)
		return nil, nil
	}
	stdin.Close()
	stdout.Close()
	go cmd.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started, f.labels = append(f.started, cmd), append(f.labels, label)
	return withLength(append(rootPDU(0x9008, 0, uint32(cmd.Process.Pid), 0, 0, 2, uint32(len(label)), 0), make([]byte, 64)...)), []int{in[1], out[0]}
}

func (f *fakeRoot) signal(pid int, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signals = append(f.signals, sig)
	for _, c := range f.started {
		if c.Process.Pid == pid && !f.deaf {
			c.Process.Signal(sig)
		}
	}
}

// seen returns the labels of the started agents, and the signals.
func (f *fakeRoot) seen() (labels []string, signals []syscall.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.labels), slices.Clone(f.signals)
}

// serverUnderRoot returns a Server that is connected to pmdaroot and has given up root's
// privileges.
func serverUnderRoot(t *testing.T, f *fakeRoot) (*Server, *logLines) {
	t.Helper()
	j, log := newLogLines()
	var root atomic.Bool
	root.Store(true)
	s := withTime(t, &Server{Logger: log, RootSocket: f.socket, Grace: 3 * time.Second, isRoot: root.Load, restartDelay: time.Millisecond})
	if err := s.StartAgent(pmcdconf.Agent{Name: "root", Domain: 1, Kind: "pipe", Argv: programArgv("good")}); err != nil {
		t.Fatal(err)
	}
	root.Store(false)
	return s, j
}

// TestStartByRoot checks that a collector starts and restarts agents through pmdaroot, but only
// after it has given up root's privileges.
func TestStartByRoot(t *testing.T) {
	f := newFakeRoot(t)
	s, _ := serverUnderRoot(t, f)
	if labels, _ := f.seen(); labels != nil {
		t.Errorf("started while the collector was root: %q", labels)
	}
	if err := s.StartAgent(programLine("good")); err != nil {
		t.Fatal(err)
	}
	g := collectortest.Connect(t, s)
	if got := fetchProgram(g); got != programValue {
		t.Errorf("fetched %s", got)
	}
	if labels, _ := f.seen(); !slices.Equal(labels, []string{"program"}) {
		t.Errorf("started %q", labels)
	}
	first := s.agents.Load().get(programDomain).remote.Load()
	syscall.Kill(first.byRoot.pid, syscall.SIGKILL)
	collectortest.Eventually(t, "restart", func() bool {
		p := s.agents.Load().get(programDomain).remote.Load()
		return p != nil && p != first
	})
	if labels, _ := f.seen(); !slices.Equal(labels, []string{"program", "program"}) {
		t.Errorf("started %q", labels)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, signals := f.seen(); signals != nil {
		t.Errorf("agents that end at the end of their input got %v", signals)
	}
}

// TestContainerHostname checks that pmcd.hostname is the host name of a client's container, or of
// the host if pmdaroot does not know the container.
func TestContainerHostname(t *testing.T) {
	t.Parallel()
	s, _ := serverUnderRoot(t, newFakeRoot(t))
	v := pmcdView{s: s}
	for name, want := range map[string]string{"web": "conthost1", "": v.Hostname(), "none": v.Hostname(), "short": v.Hostname(), strings.Repeat("n", 4000): v.Hostname()} {
		if got := v.HostnameFor(t.Context(), &pmda.Client{Container: name}); got != want {
			t.Errorf("%.10q: %q, want %q", name, got, want)
		}
	}
	if got := v.HostnameFor(t.Context(), nil); got != v.Hostname() {
		t.Errorf("no client: %q", got)
	}
}

// TestSlowContainerHostname checks that a slow reply about a container neither prevents pmdaroot
// from starting agents nor ends the connection.
func TestSlowContainerHostname(t *testing.T) {
	t.Parallel()
	f := newFakeRoot(t)
	s, _ := serverUnderRoot(t, f)
	asked, reply := make(chan bool), make(chan bool)
	f.mu.Lock()
	f.distorts = func(b []byte, fds []int) ([]byte, []int) {
		if binary.NativeEndian.Uint32(b) == 0x9002 {
			asked <- true
			<-reply
		}
		return b, fds
	}
	f.mu.Unlock()
	v, web := pmcdView{s: s}, &pmda.Client{Container: "web"}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if got := v.HostnameFor(ctx, web); got != v.Hostname() {
		t.Errorf("%q before the reply", got)
	}
	if err := s.StartAgent(programLine("good")); err != nil {
		t.Fatal(err)
	}
	if labels, _ := f.seen(); !slices.Equal(labels, []string{"program"}) {
		t.Errorf("started by pmdaroot: %q", labels)
	}
	reply <- true
	go func() {
		<-asked
		reply <- true
	}()
	if got := v.HostnameFor(t.Context(), web); got != "conthost1" {
		t.Errorf("%q after the reply", got)
	}
}

// TestEndByRoot checks that an agent that does not end gets its signals from pmdaroot.
func TestEndByRoot(t *testing.T) {
	t.Parallel()
	f := newFakeRoot(t)
	s, _ := serverUnderRoot(t, f)
	line := programLine("good")
	line.Argv = []string{"/usr/bin/env", programEnv + "=ignores-signals", os.Args[0]}
	if err := s.StartAgent(line); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, signals := f.seen(); !slices.Equal(signals, []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}) {
		t.Errorf("signals %v", signals)
	}
}

// TestNotEndedByRoot checks that the Server stops waiting for an agent that pmdaroot does not
// end.
func TestNotEndedByRoot(t *testing.T) {
	t.Parallel()
	f := newFakeRoot(t)
	s, _ := serverUnderRoot(t, f)
	f.mu.Lock()
	f.deaf = true
	f.mu.Unlock()
	line := programLine("good")
	line.Argv = []string{"/usr/bin/env", programEnv + "=ignores-signals", os.Args[0]}
	if err := s.StartAgent(line); err != nil {
		t.Fatal(err)
	}
	child := s.agents.Load().get(programDomain).remote.Load().byRoot
	t.Cleanup(func() { syscall.Kill(child.pid, syscall.SIGKILL) })
	if err := s.Remove(programDomain); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d does not end", child.pid)) {
		t.Errorf("Remove: %v", err)
	}
	child.watching.Wait()
	select {
	case <-child.exited:
		t.Error("it counts as ended")
	default:
	}
}

// TestWaitForProcess checks that both ways of waiting notice the end of a process, and that a
// wait can be cancelled.
func TestWaitForProcess(t *testing.T) {
	for name, wait := range map[string]func(context.Context, int) bool{"told": waitForProcess, "looked for": lookForProcess} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("cat")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan bool)
			go func() { ended <- wait(ctx, cmd.Process.Pid) }()
			cancel()
			if <-ended {
				t.Error("it has not ended yet")
			}
			go func() { ended <- wait(t.Context(), cmd.Process.Pid) }()
			stdin.Close()
			cmd.Wait()
			if !<-ended {
				t.Error("it has ended")
			}
			if !wait(t.Context(), cmd.Process.Pid) {
				t.Error("it had ended before")
			}
		})
	}
}

// TestWaitTakesNoThread checks that waiting for processes takes no threads.
func TestWaitTakesNoThread(t *testing.T) {
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := openProcess(cmd.Process.Pid)
	if err != nil {
		t.Skip("the kernel has no descriptors of processes: ", err)
	}
	defer f.Close()
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		t.Errorf("waiting would take a thread: %v", err)
	}
	ended := make(chan bool)
	go func() { ended <- waitForFile(t.Context(), f) }()
	stdin.Close()
	cmd.Wait()
	if !<-ended {
		t.Error("the end was not told")
	}
}

// TestStartByRootFails checks that the collector itself starts an agent that pmdaroot cannot or
// does not start. It closes descriptors that arrive with a bad reply.
func TestStartByRootFails(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		line      func(a *pmcdconf.Agent)
		distorts  func(reply []byte, fds []int) ([]byte, []int)
	}{
		{"blank in an argument", "splits the command at blanks", func(a *pmcdconf.Agent) { a.Argv = append(a.Argv, "a b") }, nil},
		{"empty argument", "splits the command at blanks", func(a *pmcdconf.Agent) { a.Argv = append(a.Argv, "") }, nil},
		{"long name", "too long", func(a *pmcdconf.Agent) { a.Name = strings.Repeat("n", 64) }, nil},
		{"long command", "too long", func(a *pmcdconf.Agent) { a.Argv = append(a.Argv, strings.Repeat("n", 4096)) }, nil},
		{"refused", "status -12345", nil, func([]byte, []int) ([]byte, []int) {
			return rootPDU(0x9008, 0xffffcfc7, make([]uint32, 22)...), nil
		}},
		{"short", "has sent 40 bytes", nil, func(b []byte, fds []int) ([]byte, []int) { return withLength(b[:40]), fds }},
		{"another type", "want type 0x9008", nil, func(_ []byte, fds []int) ([]byte, []int) { return rootPDU(0x900a, 0, 1, 1, 1, 1), fds }},
		{"newer version", "has version 3", nil, func(b []byte, fds []int) ([]byte, []int) { b[12] = 3; return b, fds }},
		{"one descriptor", "has sent 1 descriptors", nil, func(b []byte, fds []int) ([]byte, []int) { return b, fds[:1] }},
		{"no process", "has started process -1", nil, func(b []byte, fds []int) ([]byte, []int) {
			binary.NativeEndian.PutUint32(b[16:], 0xffffffff)
			return b, fds
		}},
		{"the connection closed", "EOF", nil, func([]byte, []int) ([]byte, []int) { return nil, nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeRoot(t)
			f.distorts = tt.distorts
			s, j := serverUnderRoot(t, f)
			line := programLine("good")
			if tt.line != nil {
				tt.line(&line)
			}
			if err := s.StartAgent(line); err != nil {
				t.Fatal(err)
			}
			if p := s.agents.Load().get(programDomain).remote.Load(); p.byRoot != nil || p.cmd == nil {
				t.Error("the collector has not started the agent itself")
			}
			if got := fetchProgram(collectortest.Connect(t, s)); got != programValue {
				t.Errorf("fetched %s", got)
			}
			if log := fmt.Sprint(j.lines()); !strings.Contains(log, "agent is started without root's privileges") || !strings.Contains(log, tt.why) {
				t.Errorf("log %s\nwant %q", log, tt.why)
			}
		})
	}
}

// TestNoRootAgent checks that agents start normally without root's privileges and without
// pmdaroot.
func TestNoRootAgent(t *testing.T) {
	f := newFakeRoot(t)
	for _, s := range []*Server{
		{RootSocket: f.socket, isRoot: func() bool { return false }},
		{RootSocket: f.socket + ".none", isRoot: func() bool { return true }},
		{isRoot: func() bool { return false }},
	} {
		withTime(t, s)
		if err := s.StartAgent(pmcdconf.Agent{Name: "root", Domain: 1, Kind: "pipe", Argv: programArgv("good")}); err != nil {
			t.Fatal(err)
		}
		if err := s.StartAgent(programLine("good")); err != nil {
			t.Fatal(err)
		}
		if got := collectortest.Connect(t, s).Request(pdu.Fetch{PMIDs: []pdu.PMID{programMetric}}); got != programValue {
			t.Errorf("fetched %s", got)
		}
	}
	if labels, _ := f.seen(); labels != nil {
		t.Errorf("started by pmdaroot: %q", labels)
	}
}

// TestRunAsRoot checks that a command runs as root with pipes for its input and output. Without
// pmdaroot, RunAsRoot fails.
func TestRunAsRoot(t *testing.T) {
	f := newFakeRoot(t)
	s, _ := serverUnderRoot(t, f)
	in, out, err := s.RunAsRoot("echo", "cat", "-")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	io.WriteString(in, "hello")
	in.Close()
	if b, err := io.ReadAll(out); string(b) != "hello" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if labels, _ := f.seen(); !slices.Equal(labels, []string{"echo"}) {
		t.Errorf("started %q", labels)
	}
	if _, _, err := s.RunAsRoot("echo", "cat", "a b"); err == nil || !strings.Contains(err.Error(), "splits the command at blanks") {
		t.Errorf("a blank in an argument: %v", err)
	}
	if _, _, err := withTime(t, &Server{}).RunAsRoot("echo", "cat"); !errors.Is(err, pdu.ErrNotConn) {
		t.Errorf("without pmdaroot: %v", err)
	}
}
