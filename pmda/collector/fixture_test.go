package collector

import (
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
)

// A Fixture is a Server and ways to send requests to its own agent.
type Fixture struct {
	*Server
	t     *testing.T
	Agent *pmda.Agent
	Log   *collectortest.Messages
	Me    *pmda.Client // who asks: root, unless a test says otherwise
}

// NewFixture is a fixture of a Server, which it closes at the end of the test.
func NewFixture(t *testing.T, s *Server) *Fixture {
	t.Helper()
	log := collectortest.NewMessages()
	s.Logger = slog.New(log)
	s.AgentHelloTimeout = time.Minute // a busy machine starts processes slowly
	s.init()
	t.Cleanup(func() { s.Close() })
	me := pmda.NewClient(99, 99)
	me.UID, me.GID = 0, 0
	return &Fixture{Server: s, t: t, Log: log, Me: me, Agent: s.agents.Load().get(pmcdagent.Domain).local.(*pmda.Agent)}
}

func (b *Fixture) request() *pmda.Request { return &pmda.Request{Client: b.Me} }

// PMID is the metric of a name below pmcd.
func (b *Fixture) PMID(name string) pdu.PMID {
	b.t.Helper()
	id, err := b.Agent.Namespace().Lookup("pmcd." + name)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// instances are those of a metric's domain, by ID.
func (b *Fixture) instances(d pdu.InDom) map[pdu.InstID]string {
	b.t.Helper()
	names := map[pdu.InstID]string{}
	if d == pdu.NoInDom {
		return names
	}
	list, err := b.Agent.Instances(b.t.Context(), b.request(), d, pdu.NoInst, "")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, i := range list {
		names[i.ID] = i.Name
	}
	return names
}

// Fetch gives the values of a metric: "value" of a singular one, else
// "instance value", in the order of the result.
func (b *Fixture) Fetch(name string) []string {
	b.t.Helper()
	id := b.PMID(name)
	var w pdu.ResultWriter
	if err := b.Agent.Fetch(b.t.Context(), b.request(), []pdu.PMID{id}, &w); err != nil {
		b.t.Fatal(err)
	}
	res, err := w.Result()
	if err != nil {
		b.t.Fatal(err)
	}
	d, err := b.Agent.Desc(b.t.Context(), b.request(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	s := res.At(0)
	if err := s.Err(); err != nil {
		return []string{"error " + err.Error()}
	}
	names := b.instances(d.InDom)
	values := []string{}
	for inst, a := range s.All(d.Type) {
		v := strings.Trim(a.String(), `"`)
		if inst != pdu.NoInst {
			v = names[inst] + " " + v
		}
		values = append(values, v)
	}
	return values
}

// Want compares the values of a metric.
func (b *Fixture) Want(name string, want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), b.Fetch(name)); diff != "" {
		b.t.Errorf("pmcd.%s (-want +got):\n%s", name, diff)
	}
}

// An assignment is a value for an instance.
type assignment struct {
	inst pdu.InstID
	v    any
}

// Store stores values of a metric; a bare value goes to no instance.
func (b *Fixture) Store(name string, values ...any) error {
	b.t.Helper()
	var w pdu.ResultWriter
	w.Begin(b.PMID(name))
	for _, v := range values {
		a, ok := v.(assignment)
		if !ok {
			a = assignment{pdu.NoInst, v}
		}
		switch v := a.v.(type) {
		case int:
			w.Int32(a.inst, int32(v))
		case string:
			w.String(a.inst, v)
		}
	}
	res, err := w.Result()
	if err != nil {
		b.t.Fatal(err)
	}
	return b.Agent.Store(b.t.Context(), b.request(), res)
}

// join connects a client in this process, which does not speak.
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

// Dumped is the lines of a dump of the trace, without its times.
func (b *Fixture) Dumped() []string {
	b.t.Helper()
	b.Log.Take()
	if err := b.Store("control.dumptrace", 1); err != nil {
		b.t.Fatal(err)
	}
	return strings.Split(Untimed(strings.Join(b.Log.Take(), "\n")), "\n")
}

var times = regexp.MustCompile(`\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}|\d\d:\d\d:\d\d `)

// Untimed is a dump of the trace without its times.
func Untimed(s string) string {
	return times.ReplaceAllStringFunc(s, func(t string) string {
		if len(t) == 9 {
			return strings.Repeat(" ", 9)
		}
		return "TIME"
	})
}
