//go:build unix

package collector

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestChaosServer is not a test. It is the program of a collector for TestTerm.
func TestChaosServer(t *testing.T) {
	if flag.Arg(0) != "server" {
		t.Skip("runs as a program of another test")
	}
	os.Exit(chaosServer(flag.Arg(1)))
}

// chaosServer serves on a socket and on TCP.
func chaosServer(socket string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	slow := &faulty{ExactAgent: collectortest.NewExactAgent(20), wrong: noWrongReply}
	slow.fail = func(*pmda.Request, string) error { time.Sleep(500 * time.Millisecond); return nil }
	srv := &Server{Timeout: time.Second, Grace: termGrace, AgentHelloTimeout: collectortest.ReplyLimit, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	pids := []string{}
	err := errors.Join(srv.Add(collectortest.NewExactAgent(10)), srv.Add(slow))
	for _, d := range []pdu.Domain{30, 31, 32} {
		err = errors.Join(err, srv.StartAgent(agentLine(d, time.Second, 1, "")))
		if a := srv.agents.Load().get(d); err == nil {
			pids = append(pids, strconv.Itoa(a.remote.Load().cmd.Process.Pid))
		}
	}
	unix, e := net.Listen("unix", socket)
	tcp, e2 := net.Listen("tcp", "127.0.0.1:0")
	if err = errors.Join(err, e, e2); err == nil {
		fmt.Println(tcp.Addr(), strings.Join(pids, " "))
		err = srv.Serve(ctx, unix, tcp)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// termGrace is enough for requests and agents on a busy machine. A stopped agent uses it up.
const termGrace = 5 * time.Second

// A chaosProcess is a collector in a separate process.
type chaosProcess struct {
	cmd         *exec.Cmd
	socket, tcp string // where it listens
	agents      []int  // process numbers
	ended       chan error
	stderr      strings.Builder // complete when it has ended
}

// startChaosServer runs TestChaosServer as a program with a limit of descriptors.
func startChaosServer(t *testing.T, files int) *chaosProcess {
	p := &chaosProcess{socket: filepath.Join(t.TempDir(), "socket"), ended: make(chan error, 1)}
	p.cmd = exec.Command("sh", "-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(files),
		os.Args[0], "-test.run=^TestChaosServer$", "server", p.socket)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.cmd.Process.Kill()
		t.Fatalf("the collector does not start: %v\n%s", errors.Join(err, p.cmd.Wait()), &p.stderr)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	words := strings.Fields(line)
	p.tcp = words[0]
	for _, w := range words[1:] {
		pid, err := strconv.Atoi(w)
		if err != nil {
			t.Fatal(err)
		}
		p.agents = append(p.agents, pid)
	}
	if len(p.agents) != 3 {
		t.Fatalf("no agents: %q", line)
	}
	return p
}

// end ends the collector with a signal and waits for it. Clients and then agents have termGrace.
func (p *chaosProcess) end(t *testing.T) {
	start := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			t.Errorf("the collector ended with %v:\n%s", err, &p.stderr)
		}
	case <-time.After(2*termGrace + collectortest.ReplyLimit):
		t.Fatalf("the collector is still there %v after the signal", time.Since(start))
	}
	t.Logf("ended after %v", time.Since(start))
}

// TestOutOfDescriptors connects more clients than the process has descriptors. Clients beyond the
// limit get an error, and the others are served. After some have disconnected, others can
// connect.
func TestOutOfDescriptors(t *testing.T) {
	const files = 64
	p := startChaosServer(t, files)
	var clients []*collectortest.Client
	var refused int
	for i := range 3 * files {
		network, addr := "tcp", p.tcp
		if i%2 == 0 {
			network, addr = "unix", p.socket
		}
		n, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		n.SetDeadline(time.Now().Add(collectortest.ReplyLimit))
		g := collectortest.NewClient(t, n)
		switch _, err := pdu.ClientHello(g.Conn, 1, 0); {
		case err == nil:
			g.Conn.Write(1, pdu.SetProfile{})
			clients = append(clients, g)
		case errors.Is(err, pdu.ErrConnLimit):
			refused++
		default:
			t.Fatalf("client %d: %v", i, err)
		}
	}
	t.Logf("%d served, %d refused", len(clients), refused)
	if len(clients) < files/4 || len(clients) > files || refused == 0 {
		t.Errorf("%d clients were served and %d refused with %d descriptors", len(clients), refused, files)
	}
	served := func(what string) {
		t.Helper()
		for _, g := range clients {
			if diff := cmp.Diff([]pdu.Error{0}, g.FetchExact(pdu.MakePMID(10, 0, 0))); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", what, diff)
			}
		}
	}
	served("with no descriptor left")
	for _, g := range clients[:4] {
		g.Net.Close()
	}
	clients = clients[4:]
	collectortest.Eventually(t, "room for another client", func() bool {
		n, err := net.Dial("unix", p.socket)
		if err != nil {
			return false
		}
		g := collectortest.NewClient(t, n)
		if _, err := pdu.ClientHello(g.Conn, 1, 0); err != nil {
			n.Close()
			return false
		}
		t.Cleanup(func() { n.Close() })
		g.Conn.Write(1, pdu.SetProfile{})
		clients = append(clients, g)
		return true
	})
	served("with descriptors again")
	p.end(t)
	if n := strings.Count(p.stderr.String(), "cannot accept clients"); n < 1 || n > 4 {
		t.Errorf("%d lines about it in the log:\n%s", n, &p.stderr)
	}
}

// TestTerm ends a collector with a signal while clients send requests and one of its agents is
// stopped. The collector must end in time, and leave neither agents nor a socket.
func TestTerm(t *testing.T) {
	t.Parallel()
	p := startChaosServer(t, 1024)
	var load sync.WaitGroup
	var replies atomic.Int64
	for i := range 20 {
		network, addr := "tcp", p.tcp
		if i%2 == 0 {
			network, addr = "unix", p.socket
		}
		n, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		g := collectortest.NewClient(t, n).Hello()
		load.Go(func() { replies.Add(requestUntilDisconnected(g, pdu.Domain([]int{10, 20, 30, 31, 32}[i%5]))) })
	}
	time.Sleep(300 * time.Millisecond)
	if err := syscall.Kill(p.agents[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	p.end(t)
	load.Wait()
	if replies.Load() == 0 {
		t.Error("there was no load")
	}
	for _, pid := range p.agents {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("agent %d is still there: %v", pid, err)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if _, err := os.Stat(p.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// requestUntilDisconnected counts replies until the collector disconnects the client, which it
// does between replies.
func requestUntilDisconnected(g *collectortest.Client, d pdu.Domain) (n int64) {
	for {
		err := g.Conn.Write(1, pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(d, 0, 0)}})
		var h pdu.Header
		if err == nil {
			h, _, err = g.Conn.Read()
		}
		switch {
		case err == io.EOF || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET):
			return n
		case err != nil:
			g.T.Errorf("connection of domain %d ended with %v", d, err)
			return n
		case h.Kind == pdu.KindResult:
			n++
		}
		time.Sleep(time.Millisecond)
	}
}
