package collector

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// The test program, started with the variable programEnv, is an agent of domain
// programDomain that behaves as the value says.
const (
	programEnv    = "PCP_COLLECTOR_TEST_AGENT"
	programDomain = 30
)

// stdio is the connection of a pipe agent.
type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }

// runAgentProgram runs the agent, and returns its exit status.
func runAgentProgram(behavior string) int {
	behavior, arg, _ := strings.Cut(behavior, "=")
	switch behavior {
	case "good":
		return serveAgentProgram(stdio{}, nil)
	case "fails at start":
		return 3
	case "mute":
		io.Copy(io.Discard, os.Stdin)
		return 4
	case "mute, ignores signals":
		ignoreSignals()
	case "garbage at start":
		os.Stdout.WriteString("this is not a PDU")
		io.Copy(io.Discard, os.Stdin)
	case "exits":
		return serveAgentProgram(stdio{}, func() { os.Exit(7) })
	case "exits well":
		return serveAgentProgram(stdio{}, func() { os.Exit(0) })
	case "killed":
		return serveAgentProgram(stdio{}, func() {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		})
	case "ignores signals", "ignores-signals": // the latter for commands without blanks
		serveAgentProgram(stdio{}, nil)
		ignoreSignals()
	case "hangs up":
		serveAgentProgram(stdio{}, func() {
			os.Stdout.Close()
			ignoreSignals()
		})
	case "late":
		wait := sync.OnceFunc(func() { awaitFile(arg) })
		return serveAgentProgram(stdio{}, wait)
	case "wrong type":
		return replyToFetches(func(c *pdu.Conn) { c.Write(0, pdu.TextReply{Text: "no result"}) })
	case "wrong count":
		return replyToFetches(func(c *pdu.Conn) {
			var w pdu.ResultWriter
			w.Begin(pdu.MakePMID(programDomain, 0, 1))
			w.Begin(pdu.MakePMID(programDomain, 0, 1))
			c.Write(0, w.PDU(pdu.FormatLowRes))
		})
	case "wrong metric":
		return replyToFetches(func(c *pdu.Conn) {
			var w pdu.ResultWriter
			w.Begin(pdu.MakePMID(programDomain, 0, 9))
			c.Write(0, w.PDU(pdu.FormatLowRes))
		})
	case "garbage":
		return replyToFetches(func(*pdu.Conn) {
			os.Stdout.Write(binary.BigEndian.AppendUint32(nil, 11))
			os.Stdout.WriteString("........")
		})
	case "changing": // has a changing number of metrics
		n, _ := strconv.Atoi(arg)
		if pmda.Serve(context.Background(), changing(n), stdio{}) != nil {
			return 2
		}
		return 0
	case "pausing": // until files exist in a directory
		if pmda.Serve(context.Background(), pausing(arg), stdio{}) != nil {
			return 2
		}
		return 0
	case "noting": // writes its callbacks to a file
		notes, err := os.OpenFile(arg, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil || pmda.Serve(context.Background(), noting(notes), stdio{}) != nil {
			return 2
		}
		return 0
	case "listens":
		return listenAsAgent(arg)
	case "goes into the background":
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), programEnv+"=listens="+arg)
		if cmd.Start() == nil {
			return 0
		}
	}
	return 1
}

// pausing returns an agent that is not ready until dir has a file "begin". After a store into
// pausing.value it is not ready until dir has a file "resume".
func pausing(dir string) *pmda.Agent {
	a := &pmda.Agent{Name: "pausing", Domain: programDomain, StartsNotReady: true}
	readyWith := func(file string) {
		awaitFile(filepath.Join(dir, file))
		a.SetReady(true)
	}
	pmda.Register(a, pmda.Metric[int32]{Name: "pausing.value",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 7, nil },
		Store: func(context.Context, *pmda.Request, pdu.Instance, int32) error {
			a.SetReady(false)
			go readyWith("resume")
			return nil
		}})
	go readyWith("begin")
	return a
}

// awaitFile waits until the test creates a file.
func awaitFile(name string) {
	inTime := within(2 * time.Minute)
	for _, err := os.Stat(name); err != nil && inTime(); _, err = os.Stat(name) {
		time.Sleep(10 * time.Millisecond)
	}
}

// listenAsAgent serves one connection to an address, which is preceded by its network.
func listenAsAgent(where string) int {
	network, addr, _ := strings.Cut(where, ":")
	ln, err := net.Listen(network, addr)
	if err != nil {
		return 5
	}
	conn, err := ln.Accept()
	if err != nil {
		return 6
	}
	return serveAgentProgram(conn, nil)
}

// within returns a function that reports whether d has not passed yet.
func within(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}

// ignoreSignals runs until SIGKILL or the end of the collector.
func ignoreSignals() {
	signal.Ignore(syscall.SIGTERM)
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(20 * time.Millisecond)
	}
	os.Exit(8)
}

// serveAgentProgram serves a collectortest.Agent that calls event, if it is not nil, at each
// fetch.
func serveAgentProgram(rw io.ReadWriter, event func()) int {
	f := &collectortest.Agent{Name: "program", Domain: programDomain}
	f.Failing = func() error {
		if event != nil && f.Called[len(f.Called)-1] == "fetch" {
			event()
		}
		return nil
	}
	if pmda.Serve(context.Background(), f, rw) != nil {
		return 2
	}
	return 0
}

// replyToFetches runs an agent that calls reply for each fetch.
func replyToFetches(reply func(c *pdu.Conn)) int {
	c := pdu.NewConn(stdio{})
	if _, err := pdu.AgentHello(c, int32(os.Getpid()), 0); err != nil {
		return 2
	}
	for {
		h, _, err := c.Read()
		if err != nil {
			return 0
		}
		if h.Kind == pdu.KindFetch {
			reply(c)
		}
	}
}
