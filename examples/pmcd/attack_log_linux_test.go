package main

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// countedLines is how many lines a log says that it has left out of a message.
func countedLines(t *testing.T, log, message string) int {
	t.Helper()
	sum := 0
	for _, m := range regexp.MustCompile(regexp.QuoteMeta(message)+`: (\d+) more of this kind in the last \d+ s`).FindAllStringSubmatch(log, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestAttackLogBadConnections makes connections that break the protocol in several
// ways: the log says of each way what it is and how often it came, and stays small.
func TestAttackLogBadConnections(t *testing.T) {
	t.Parallel()
	s := startTarget(t, "")
	before := len(s.Log())
	creds := []byte{0, 0, 0, 20, 0, 0, 0x70, 0x0c, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 0, 0}
	header := func(length, kind byte) []byte { return []byte{0, 0, 0, length, 0, 0, 0x70, kind, 0, 0, 0, 1} }
	ways := [][]byte{
		append(creds[:20:20], header(7, 3)...),                             // a length below a header's
		append(creds[:20:20], 0x7f, 0xff, 0, 0, 0, 0, 0x70, 3, 0, 0, 0, 0), // more than is accepted
		append(append(creds[:20:20], header(16, 3)...), 0, 0),              // half of a request
		header(13, 3), // a request before the credentials
	}
	n := size(4_000, 40_000)
	var wg sync.WaitGroup
	begin := time.Now()
	for c := range 4 {
		wg.Go(func() {
			for i := c; i < n; i += 4 {
				conn, err := net.Dial("unix", s.socket)
				if err != nil {
					t.Error(err)
					return
				}
				way := ways[i%4]
				conn.SetDeadline(time.Now().Add(replyLimit))
				conn.Write(way)
				conn.(*net.UnixConn).CloseWrite()
				io.Copy(io.Discard, conn)
				conn.Close()
			}
		})
	}
	wg.Wait()
	grown := len(s.Log()) - before
	t.Logf("%d bad connections in %.1f s: the log has grown by %d bytes", n, time.Since(begin).Seconds(), grown)
	if most := 32 << 10; grown > most {
		t.Errorf("the log has grown by %d bytes, want at most %d", grown, most)
	}
	s.checkRest()
	s.Stop()
	if sum := s.logLines("Info: client closed addr=") + countedLines(t, s.Log(), "client closed"); sum < n*3/4 {
		t.Errorf("the log tells of %d of %d bad connections:\n%s", sum, n, s.Log())
	}
}

// TestAttackLogFlappingAgents has agents that change their state with each request, and
// others that die at once: one agent's lines do not take the place of another's.
func TestAttackLogFlappingAgents(t *testing.T) {
	t.Parallel()
	const agents = 3
	conf := confLine(t, "dead", 240, "dies")
	for i := range agents {
		conf += confLine(t, fmt.Sprintf("flap%d", i), pdu.Domain(241+i), "flaps")
	}
	s := startTarget(t, conf)
	before := len(s.Log())
	var wg sync.WaitGroup
	n := size(300, 3000)
	for i := range agents {
		g := s.connect()
		wg.Go(func() {
			for range n {
				if err := g.pdus.Write(0, pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(pdu.Domain(241+i), 0, 0)}}); err != nil {
					t.Error(err)
					return
				}
				if _, _, _, err := g.reply(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	begin := time.Now()
	wg.Wait()
	grown := len(s.Log()) - before
	t.Logf("%d changes of state in %.1f s: the log has grown by %d bytes", 2*n*agents, time.Since(begin).Seconds(), grown)
	if most := 16 << 10; grown > most {
		t.Errorf("the log has grown by %d bytes, want at most %d", grown, most)
	}
	s.Stop()
	for i := range agents {
		if of := fmt.Sprintf("agent=flap%d ", i); s.logLines("agent is not ready "+of) < 10 || s.logLines("more of this kind") < agents {
			t.Errorf("the log does not tell of %s:\n%s", of, s.Log())
		}
	}
	if s.logLines("agent not started agent=dead ") != 1 {
		t.Errorf("the log does not tell of the agent that died:\n%s", s.Log())
	}
}

// TestAttackLogStores has a client that stores what makes the collector log something:
// the trace, the clients, and a reset.
func TestAttackLogStores(t *testing.T) {
	pcptest.NeedRoot(t, "only root may store into pmcd.control")
	t.Parallel()
	s := startTarget(t, "")
	before := len(s.Log())
	g := s.connect()
	n := size(300, 3000)
	for _, item := range []int{12, 13, 15} { // pmcd.control.dumptrace, dumpconn and sighup
		for range n {
			var w pdu.ResultWriter
			w.Begin(pdu.MakePMID(2, 0, item))
			w.Int32(pdu.NoInst, 1)
			if err := g.pdus.Write(0, w.PDU(pdu.FormatLowRes)); err != nil {
				t.Fatal(err)
			}
			if _, code, _, err := g.reply(); err != nil || code != 0 {
				t.Fatalf("item %d: %v, %v", item, code, err)
			}
		}
	}
	grown := len(s.Log()) - before
	t.Logf("%d stores: the log has grown by %d bytes", 3*n, grown)
	if most := 32 << 10; grown > most {
		t.Errorf("the log has grown by %d bytes, want at most %d:\n%s", grown, most, s.Log())
	}
	s.Stop()
	const reset = "pmcd reset via pmcd.control.sighup"
	told := s.logLines(reset) - s.logLines(reset+": ")
	if sum := told + countedLines(t, s.Log(), reset); sum != n {
		t.Errorf("the log tells of %d of %d resets:\n%s", sum, n, s.Log())
	}
}
