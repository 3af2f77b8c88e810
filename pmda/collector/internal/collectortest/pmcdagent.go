package collectortest

import (
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A PMCDAgent sends requests to the agent of domain 2, whose metrics are pmcd.*.
type PMCDAgent struct {
	Agent *pmda.Agent
	Me    *pmda.Client // the client that sends: root, unless a test says otherwise
	t     testing.TB
}

// NewPMCDAgent is a PMCDAgent for an agent. An error of a request fails the test.
func NewPMCDAgent(t testing.TB, a *pmda.Agent) *PMCDAgent {
	me := pmda.NewClient(99, 99)
	me.UID, me.GID = 0, 0
	return &PMCDAgent{Agent: a, Me: me, t: t}
}

// Request is a request of Me.
func (a *PMCDAgent) Request() *pmda.Request { return &pmda.Request{Client: a.Me} }

// PMID is the metric of a name below pmcd.
func (a *PMCDAgent) PMID(name string) pdu.PMID {
	a.t.Helper()
	id, err := a.Agent.Namespace().Lookup("pmcd." + name)
	if err != nil {
		a.t.Fatal(err)
	}
	return id
}

// Instances are those of a metric's domain, by ID.
func (a *PMCDAgent) Instances(d pdu.InDom) map[pdu.InstID]string {
	a.t.Helper()
	names := map[pdu.InstID]string{}
	if d == pdu.NoInDom {
		return names
	}
	list, err := a.Agent.Instances(a.t.Context(), a.Request(), d, pdu.NoInst, "")
	if err != nil {
		a.t.Fatal(err)
	}
	for _, i := range list {
		names[i.ID] = i.Name
	}
	return names
}

// Fetch gives the values of a metric: "value" of a singular one, else
// "instance value", in the order of the result.
func (a *PMCDAgent) Fetch(name string) []string {
	a.t.Helper()
	id := a.PMID(name)
	var w pdu.ResultWriter
	if err := a.Agent.Fetch(a.t.Context(), a.Request(), []pdu.PMID{id}, &w); err != nil {
		a.t.Fatal(err)
	}
	res, err := w.Result()
	if err != nil {
		a.t.Fatal(err)
	}
	d, err := a.Agent.Desc(a.t.Context(), a.Request(), id)
	if err != nil {
		a.t.Fatal(err)
	}
	s := res.At(0)
	if err := s.Err(); err != nil {
		return []string{"error " + err.Error()}
	}
	names := a.Instances(d.InDom)
	values := []string{}
	for inst, atom := range s.All(d.Type) {
		v := strings.Trim(atom.String(), `"`)
		if inst != pdu.NoInst {
			v = names[inst] + " " + v
		}
		values = append(values, v)
	}
	return values
}

// Want compares the values of a metric.
func (a *PMCDAgent) Want(name string, want ...string) {
	a.t.Helper()
	if got := a.Fetch(name); !slices.Equal(got, want) {
		a.t.Errorf("pmcd.%s is %q, want %q", name, got, want)
	}
}

// An assignment is a value for an instance.
type assignment struct {
	inst  pdu.InstID
	value any
}

// Assign is an argument of Store: an int or a string for an instance.
func Assign(inst pdu.InstID, value any) any { return assignment{inst, value} }

// Store stores values of a metric; a bare value goes to no instance.
func (a *PMCDAgent) Store(name string, values ...any) error {
	a.t.Helper()
	var w pdu.ResultWriter
	w.Begin(a.PMID(name))
	for _, v := range values {
		to, ok := v.(assignment)
		if !ok {
			to = assignment{pdu.NoInst, v}
		}
		switch v := to.value.(type) {
		case int:
			w.Int32(to.inst, int32(v))
		case string:
			w.String(to.inst, v)
		}
	}
	res, err := w.Result()
	if err != nil {
		a.t.Fatal(err)
	}
	return a.Agent.Store(a.t.Context(), a.Request(), res)
}
