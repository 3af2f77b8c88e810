package collector

import (
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// limited returns a Server with limits, its log, and a client as over TCP.
func limited(t *testing.T, l pmcdconf.Limits) (*Server, *pcptest.LogBuffer, *collectortest.Client) {
	log := new(pcptest.LogBuffer)
	s := collectortest.CloseAtEnd(t, &Server{Limits: l, Logger: log.Logger(slog.LevelInfo)})
	collectortest.Add(t, s, collectortest.EmptyAgent("one", 7))
	return s, log, connectFar(t, s)
}

func connectFar(t *testing.T, s *Server) *collectortest.Client {
	near, far := net.Pipe()
	s.serveConn(far)
	return collectortest.NewClient(t, near).Hello()
}

// allowed sends requests, and returns how many succeed before the first one is refused.
func allowed(g *collectortest.Client, most int) int {
	for n := range most {
		if g.Code(pdu.DescReq{PMID: pdu.MakePMID(9, 0, 1)}) == pdu.ErrAgain {
			return n
		}
	}
	return most
}

// TestLimitOfRequests checks that a client may make the requests of a second at once, and then as
// many as the passed time permits. Other clients are not limited by that, and PROFILE, which has no
// reply, is not refused.
func TestLimitOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, g := limited(t, pmcdconf.Limits{Requests: 4})
		other := connectFar(t, s)
		time.Sleep(time.Hour) // the PDUs of the handshake count too
		if n := allowed(g, 100); n != 4 {
			t.Errorf("%d requests at once, want 4", n)
		}
		if n := allowed(other, 4); n != 4 {
			t.Errorf("%d requests of another client, want 4", n)
		}
		time.Sleep(500 * time.Millisecond)
		if n := allowed(g, 100); n != 2 {
			t.Errorf("%d requests after half a second, want 2", n)
		}
		g.Send(pdu.SetProfile{})
		time.Sleep(time.Hour)
		if n := allowed(g, 100); n != 4 {
			t.Errorf("%d requests after an hour, want 4", n)
		}
		s.SetLimits(pmcdconf.Limits{})
		if n := allowed(g, 100); n != 100 {
			t.Errorf("%d requests without a limit, want 100", n)
		}
		const want = `msg="client has reached a limit" addr=pipe client=0 limit=requests`
		if got := log.String(); strings.Count(got, want) != 1 || strings.Count(got, "reached") != 1 {
			t.Errorf("log:\n%s", got)
		}
	})
}

// TestLimitOfBytes checks that bytes count in both directions: after a long reply, requests are
// refused for some time.
func TestLimitOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, g := limited(t, pmcdconf.Limits{Bytes: 100})
		g.Request(pdu.TraverseReq{Name: "pmcd"}) // a reply of more than a thousand bytes
		if code := g.Code(pdu.DescReq{PMID: pdu.MakePMID(9, 0, 1)}); code != pdu.ErrAgain {
			t.Errorf("after a long reply: %v, want %v", code, pdu.ErrAgain)
		}
		time.Sleep(5 * time.Second)
		if n := allowed(g, 1); n != 0 {
			t.Error("too early after a long reply a request is not refused")
		}
		time.Sleep(time.Hour)
		if n := allowed(g, 1); n != 1 {
			t.Error("a long time after a long reply a request is refused")
		}
		if got := log.String(); strings.Count(got, "limit=bytes") != 1 {
			t.Errorf("log:\n%s", got)
		}
		// A client in this process has no limits.
		if n := allowed(collectortest.Connect(t, s), 100); n != 100 {
			t.Errorf("%d requests of a client in this process, want 100", n)
		}
	})
}

// TestLimitOfContexts checks the limit of contexts, also from a configuration.
func TestLimitOfContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log, g := limited(t, pmcdconf.Limits{})
		if err := s.Configure(&pmcdconf.Config{Limits: pmcdconf.Limits{Contexts: 2}}); err != nil {
			t.Fatal(err)
		}
		for id := range int32(2) {
			g.Send(pdu.SetProfile{Context: id})
		}
		g.Send(pdu.SetProfile{Context: 0}) // again
		if code := g.Code(pdu.SetProfile{Context: 2}); code != errTryAgain {
			t.Errorf("a context too many: %v, want %v", code, errTryAgain)
		}
		if got := log.String(); strings.Count(got, "limit=contexts") != 1 {
			t.Errorf("log:\n%s", got)
		}
	})
}
