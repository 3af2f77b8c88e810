package pmdaproc_test

import (
	"os"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// nobodyID is the ID of a user and group without processes and rights.
const nobodyID = 65534

// newAgent makes an agent for direct requests.
func newAgent(t testing.TB, o *pmdaproc.Options) directAgent {
	t.Helper()
	a, err := pmdaproc.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return directAgent{a, t}
}

// A directAgent is an agent that tests call without a collector.
type directAgent struct {
	*pmda.Agent
	t testing.TB
}

// as returns a request of a user and group, which are -1 if unknown.
func as(uid, gid int) *pmda.Request {
	c := pmda.NewClient(1, uint64(uid+2)<<32|uint64(uint32(gid)))
	c.UID, c.GID = uid, gid
	return &pmda.Request{Client: c}
}

// self returns a request of the user who runs the test.
func self() *pmda.Request { return as(os.Geteuid(), os.Getegid()) }

// id returns the PMID of a metric.
func (a directAgent) id(name string) pdu.PMID {
	a.t.Helper()
	if id, err := a.Namespace().Lookup(name); err == nil && !isRoot(id) {
		return id
	}
	id, err := a.PMID(a.t.Context(), self(), name)
	if err != nil {
		a.t.Fatal(name, err)
	}
	return id
}

func isRoot(id pdu.PMID) bool {
	_, is := id.IsDynamicRoot()
	return is
}

// fetch returns the values of a metric by instance, and its error.
func (a directAgent) fetch(r *pmda.Request, name string) (map[pdu.InstID]pdu.Atom, error) {
	a.t.Helper()
	var w pdu.ResultWriter
	if err := a.Fetch(a.t.Context(), r, []pdu.PMID{a.id(name)}, &w); err != nil {
		return nil, err
	}
	result, err := w.Result()
	if err != nil {
		a.t.Fatal(err)
	}
	desc, err := a.Desc(a.t.Context(), r, a.id(name))
	if err != nil {
		a.t.Fatal(err)
	}
	values := map[pdu.InstID]pdu.Atom{}
	for _, set := range result.All() {
		for id, v := range set.All(desc.Type) {
			values[id] = v
		}
		err = set.Err()
	}
	return values, err
}

// text returns the string in v.
func text(t testing.TB, v pdu.Atom) string {
	t.Helper()
	s, err := pdu.As[string](v)
	if err != nil {
		t.Fatal(v, err)
	}
	return s
}

func hasKey(v map[pdu.InstID]pdu.Atom, id pdu.InstID) bool {
	_, ok := v[id]
	return ok
}
