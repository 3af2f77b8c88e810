package collector

import (
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
)

// A Fixture is a Server and ways to send requests to its own agent.
type Fixture struct {
	*Server
	*collectortest.PMCDAgent
	t   *testing.T
	Log *collectortest.Messages
}

// NewFixture returns a fixture of a Server, which it closes at the end of the test.
func NewFixture(t *testing.T, s *Server) *Fixture {
	t.Helper()
	log := collectortest.NewMessages()
	s.Logger = slog.New(log)
	s.AgentHelloTimeout = time.Minute // a busy machine starts processes slowly
	s.init()
	t.Cleanup(func() { s.Close() })
	a := s.agents.Load().get(pmcdagent.Domain).local.(*pmda.Agent)
	return &Fixture{Server: s, PMCDAgent: collectortest.NewPMCDAgent(t, a), t: t, Log: log}
}

// join connects a client in this process that sends nothing.
func (b *Fixture) join() *client {
	b.t.Helper()
	before := b.clientList()
	conn, err := b.DialContext(b.t.Context(), "", "")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	if _, err := io.ReadFull(conn, make([]byte, 20)); err != nil { // the challenge
		b.t.Fatal(err)
	}
	go io.Copy(io.Discard, conn)
	for _, c := range b.clientList() {
		if !slices.Contains(before, c) {
			return c
		}
	}
	b.t.Fatal("the client is not in the table")
	return nil
}

// Dumped returns the lines of a dump of the trace, without times.
func (b *Fixture) Dumped() []string {
	b.t.Helper()
	b.Log.Take()
	if err := b.Store("control.dumptrace", 1); err != nil {
		b.t.Fatal(err)
	}
	return strings.Split(Untimed(strings.Join(b.Log.Take(), "\n")), "\n")
}

var times = regexp.MustCompile(`\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}|\d\d:\d\d:\d\d `)

// Untimed returns a dump of the trace without times.
func Untimed(s string) string {
	return times.ReplaceAllStringFunc(s, func(t string) string {
		if len(t) == 9 {
			return strings.Repeat(" ", 9)
		}
		return "TIME"
	})
}
