package collector

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// moodEnv makes the test program an agent of domain moodDomain that behaves as
// its value says.
const (
	moodEnv    = "PCP_COLLECTOR_TEST_MOOD"
	moodDomain = 30
)

// stdio is the connection of a pipe agent.
type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }

// runMood is an agent, and returns its exit status.
func runMood(mood string) int {
	mood, arg, _ := strings.Cut(mood, "=")
	switch mood {
	case "good":
		return serveMood(stdio{}, nil)
	case "fails at start":
		return 3
	case "mute":
		io.Copy(io.Discard, os.Stdin)
		return 4
	case "mute and stubborn":
		stayForEver()
	case "garbage at start":
		os.Stdout.WriteString("this is not a PDU")
		io.Copy(io.Discard, os.Stdin)
	case "exits":
		return serveMood(stdio{}, func() { os.Exit(7) })
	case "killed":
		return serveMood(stdio{}, func() {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		})
	case "stubborn":
		serveMood(stdio{}, nil)
		stayForEver()
	case "hangs up":
		serveMood(stdio{}, func() {
			os.Stdout.Close()
			stayForEver()
		})
	case "late":
		late, inTime := false, within(2*time.Minute)
		return serveMood(stdio{}, func() {
			if !late {
				late = true
				for _, err := os.Stat(arg); err != nil && inTime(); _, err = os.Stat(arg) { // until somebody makes this file
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	case "wrong type":
		return answerMood(func(c *pdu.Conn) { c.Write(0, pdu.TextReply{Text: "no result"}) })
	case "wrong count":
		return answerMood(func(c *pdu.Conn) {
			var w pdu.ResultWriter
			w.Begin(pdu.MakePMID(moodDomain, 0, 1))
			w.Begin(pdu.MakePMID(moodDomain, 0, 1))
			c.Write(0, w.PDU(pdu.FormatLowRes))
		})
	case "wrong metric":
		return answerMood(func(c *pdu.Conn) {
			var w pdu.ResultWriter
			w.Begin(pdu.MakePMID(moodDomain, 0, 9))
			c.Write(0, w.PDU(pdu.FormatLowRes))
		})
	case "garbage":
		return answerMood(func(*pdu.Conn) {
			os.Stdout.Write(binary.BigEndian.AppendUint32(nil, 11))
			os.Stdout.WriteString("........")
		})
	case "listens", "goes into the background":
		network, addr, _ := strings.Cut(arg, ":")
		if mood != "listens" {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), moodEnv+"=listens="+arg)
			if cmd.Start() != nil {
				return 1
			}
			return 0
		}
		ln, err := net.Listen(network, addr)
		if err != nil {
			return 5
		}
		conn, err := ln.Accept()
		if err != nil {
			return 6
		}
		return serveMood(conn, nil)
	}
	return 1
}

// within reports whether some time has not passed since now.
func within(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().Before(end) }
}

// stayForEver outlasts everything but SIGKILL; and a collector that has died.
func stayForEver() {
	signal.Ignore(syscall.SIGTERM)
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(20 * time.Millisecond)
	}
	os.Exit(8)
}

// serveMood is an agent that calls event, if it is not nil, at each fetch.
func serveMood(rw io.ReadWriter, event func()) int {
	f := &fake{name: "moody", domain: moodDomain}
	f.failing = func() error {
		if event != nil && f.asked[len(f.asked)-1] == "fetch" {
			event()
		}
		return nil
	}
	if pmda.Serve(context.Background(), f, rw) != nil {
		return 2
	}
	return 0
}

// answerMood is an agent that answers fetches so.
func answerMood(answer func(c *pdu.Conn)) int {
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
			answer(c)
		}
	}
}
