package main

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// unreadPatience is how long others may be told to try again because clients do not read
// their results: after a second such clients are disconnected.
const unreadPatience = 3 * time.Second

// attackInFlight has clients that request as large results as they get, until there is
// no room for more, and never read them, or a few bytes at every pause: others get their
// large results nevertheless.
func attackInFlight(s *target, ids []pdu.PMID, pause time.Duration) {
	large := times(25, ids[1]) // 1.6 MB
	quiet := s.quiet(large...)
	most := s.mostSets(ids[0])
	var hogs []*guest
	for i := range 17 + 40 {
		g, sets := s.connect(), most/2
		if i >= 17 {
			sets = len(large) // for which there may be room beside the larger ones
		}
		if err := g.pdus.Write(0, pdu.Fetch{PMIDs: times(sets, ids[0])}); err != nil {
			s.t.Fatal(err)
		}
		hogs = append(hogs, g)
	}
	eachOf(hogs, func(g *guest) { io.ReadFull(g.conn, make([]byte, pdu.HeaderLen)) }) // until all have their replies
	var reading sync.WaitGroup
	if pause > 0 {
		for _, g := range hogs {
			reading.Go(func() {
				for b := make([]byte, 16); ; time.Sleep(pause) {
					if _, err := g.conn.Read(b); err != nil {
						return
					}
				}
			})
		}
	}
	w := s.watch(large...)
	w.patience = unreadPatience
	time.Sleep(time.Duration(size(3, 30)) * time.Second)
	w.end()
	s.checkDelay(quiet, w, false)
	s.checkMemory(manyClientsMemory)
	s.hangUp()
	reading.Wait()
}

// othersBlocked is how long others may get no values of an agent, when a client has sent
// it a request for far more than a result may have: the time-out for the reply of an
// agent, and some time for what is left of it.
const othersBlocked = 10 * time.Second

// attackAgentQueue has one client send an agent in another process requests for a
// gigabyte: others have their values of it soon.
func attackAgentQueue(s *target, id pdu.PMID) {
	g := s.connect()
	var attack sync.WaitGroup
	attack.Go(func() {
		for range size(1, 5) {
			if err := g.pdus.Write(0, pdu.Fetch{PMIDs: times(maxFetch, id)}); err != nil {
				return
			}
			_, code, _, err := g.reply()
			s.t.Logf("the huge request: %v, %v", code, err)
			if err != nil {
				return
			}
		}
	})
	time.Sleep(100 * time.Millisecond)
	other := s.connect()
	var longest time.Duration
	failures := map[pdu.Error]int{}
	begin := time.Now()
	for good := begin; time.Since(begin) < time.Duration(size(6, 60))*time.Second || good == begin && time.Since(begin) < time.Minute; {
		if code, _ := other.fetch(id); code == 0 {
			good = time.Now()
		} else {
			failures[code]++
		}
		longest = max(longest, time.Since(good))
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Logf("another client had no values of the agent for up to %.1f s; failures: %v", longest.Seconds(), failures)
	if longest > othersBlocked {
		s.t.Errorf("another client had no values of the agent for %.1f s, want at most %v", longest.Seconds(), othersBlocked)
	}
	s.checkMemory(oneClientMemory)
	g.conn.Close()
	attack.Wait()
}

// attackWithShapes has 16 clients fetch the widest shapes, of embedded agents and of
// agents in other processes, beside a client that behaves well.
func attackWithShapes(s *target, ids []pdu.PMID) {
	color := pdu.MakePMID(253, 0, 1) // with three instances
	others := []pdu.PMID{pmcdMetric, color, pdu.MakePMID(253, 0, 0)}
	quiet := s.quiet(others...)
	most := s.mostSets(ids[0])
	shapes := [][]pdu.PMID{
		times(maxFetch, color),
		times(maxFetch/2, color, pdu.MakePMID(2, 0, 5)),
		times(15, ids[0]), // below 1 MiB
		times(most, ids[1]),
		times(most/2, ids...),
		times(maxFetch/2, ids...),
	}
	stop := make(chan struct{})
	var attack sync.WaitGroup
	var replies, refusals atomic.Int64
	for n := range 16 {
		g := s.connect()
		attack.Go(func() {
			defer g.conn.Close()
			for i := n; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := g.pdus.Write(0, pdu.Fetch{PMIDs: shapes[i%len(shapes)]}); err != nil {
					s.t.Error(err)
					return
				}
				_, code, _, err := g.reply()
				switch {
				case err != nil:
					s.t.Error(err)
					return
				case code != 0:
					refusals.Add(1)
				default:
					replies.Add(1)
				}
			}
		})
	}
	w := s.watch(others...)
	time.Sleep(time.Duration(size(4, 60)) * time.Second)
	w.end()
	close(stop)
	attack.Wait()
	s.t.Logf("the attackers got %d results and %d refusals", replies.Load(), refusals.Load())
	s.checkDelay(quiet, w, false)
	s.checkMemory(manyClientsMemory)
}

// attackConnections floods the program with connections that say nothing, half of a PDU,
// a byte at a time, or nonsense, beside a client that behaves well.
func attackConnections(s *target) {
	quiet := s.quiet(pmcdMetric)
	w := s.watch(pmcdMetric)
	creds := []byte{0, 0, 0, 20, 0, 0, 0x70, 0x0c, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 0, 0}
	half := append(slices.Clip(creds), 0, 0, 0xff, 0, 0, 0, 0x70, 3, 0, 0, 0, 1, 0, 0)
	ways := []struct {
		name, sent string
		stays      bool // open, until the time to the credentials is over
	}{
		{"nothing", "", true},
		{"half of a request", string(half), false},
		{"half of the credentials", string(creds[:7]), false},
		{"nonsense", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", false},
	}
	var open []net.Conn
	for i := range size(400, 2000) {
		conn := s.dialTCP()
		open = append(open, conn)
		io.WriteString(conn, ways[i%len(ways)].sent)
	}
	var slow sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		conn := s.dialTCP()
		open = append(open, conn)
		slow.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
				}
				if _, err := conn.Write(half[i%20 : i%20+1]); err != nil {
					return
				}
			}
		})
	}
	end := time.Now().Add(time.Duration(size(3, 20)) * time.Second)
	flood := 0
	for ; time.Now().Before(end); flood++ {
		s.dialTCP().Close()
	}
	close(stop)
	slow.Wait()
	w.end()
	s.t.Logf("%d connections that stay, %d that come and go", len(open), flood)
	s.checkDelay(quiet, w, true)
	s.checkMemory(oneClientMemory)
	for i, way := range slices.Backward(ways) {
		limit := 10 * time.Second // more than the time-out for the rest of a PDU
		if way.stays {
			limit = 100 * time.Millisecond
		}
		open[i].SetReadDeadline(time.Now().Add(limit))
		if _, err := io.Copy(io.Discard, open[i]); errors.Is(err, os.ErrDeadlineExceeded) != way.stays {
			s.t.Errorf("a connection that said %s: %v", way.name, err)
		}
	}
	for _, conn := range open {
		conn.Close()
	}
}

// dialTCP makes a connection that says nothing.
func (s *target) dialTCP() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.host)
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// The behaviors of agents. All but the last one are hostile.
var behaviors = []string{"huge-reply", "endless-reply", "endless-replies", "bad-header", "huge-hello", "dies", "wide"}

// hostileAgents are lines for agents that send what no agent sends.
func hostileAgents(t testing.TB) (conf string) {
	for i, b := range behaviors {
		conf += confLine(t, b, pdu.Domain(240+i), b, "1")
	}
	return conf
}

// attackByAgents has agents that send what no agent sends: their own clients get an
// error, others what they asked for, and nothing grows.
func attackByAgents(s *target) {
	s.t.Logf("peak memory at the start %s", mib(s.startPeak))
	if s.startPeak > startMemory {
		s.t.Errorf("peak memory at the start %s, want at most %s", mib(s.startPeak), mib(startMemory))
	}
	good := pdu.MakePMID(pdu.Domain(240+len(behaviors)-1), 0, 0)
	quiet := s.quiet(good, pmcdMetric)
	w := s.watch(good, pmcdMetric)
	for round := range size(1, 3) {
		for i, b := range behaviors[:4] {
			g := s.connect()
			begin := time.Now()
			code, length := g.fetch(pdu.MakePMID(pdu.Domain(240+i), 0, 0))
			s.t.Logf("%s, round %d: %v, %d bytes, after %.1f s", b, round, code, length, time.Since(begin).Seconds())
			if code == 0 && b != "endless-replies" {
				s.t.Errorf("%s: no error", b)
			}
		}
		time.Sleep(time.Duration(size(2, 10)) * time.Second)
	}
	w.end()
	s.checkDelay(quiet, w, false)
	s.checkMemory(oneClientMemory)
	s.hangUp()
	time.Sleep(time.Second)
	s.idleFiles = s.files() // agents that have died have none any more
}
