package collectortest

import (
	"context"
	"fmt"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// An Agent is an agent whose methods return something simple, or what Failing
// returns.
type Agent struct {
	Name    string
	Domain  pdu.Domain
	Failing func() error // an error, nil to succeed; may panic
	Fetched func(r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error
	Tree    *pmns.Tree

	Mu     sync.Mutex // guards the fields below
	Called []string   // methods
	Stored []string
	Ended  []uint64 // clients
}

func (f *Agent) fail(what string) error {
	f.Mu.Lock()
	f.Called = append(f.Called, what)
	f.Mu.Unlock()
	if f.Failing != nil {
		return f.Failing()
	}
	return nil
}

func (f *Agent) Info() pmda.Info { return pmda.Info{Name: f.Name, Domain: f.Domain} }

func (f *Agent) Err() error { return nil }

func (f *Agent) SetClient(*pmda.Client) {}

func (f *Agent) Namespace() *pmns.Tree { return f.Tree }

// Fetch gives every metric its item as value.
func (f *Agent) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := f.fail("fetch"); err != nil {
		return err
	}
	if f.Fetched != nil {
		return f.Fetched(r, ids, w)
	}
	for _, id := range ids {
		w.Begin(id)
		w.Uint32(pdu.NoInst, uint32(id.Item()))
	}
	return nil
}

func (f *Agent) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	return pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, f.fail("desc")
}

func (f *Agent) Instances(_ context.Context, _ *pmda.Request, _ pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	all := []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}
	switch {
	case inst == 9:
		all = nil
	case inst != pdu.NoInst || name != "":
		all = all[:1]
	}
	return all, f.fail("instances")
}

func (f *Agent) Text(_ context.Context, _ *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	return fmt.Sprintf("text %d", of.Request(kind).Text), f.fail("text")
}

func (f *Agent) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	if err := f.fail("store"); err != nil {
		return err
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Stored = append(f.Stored, Describe(values))
	return nil
}

func (f *Agent) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	return pdu.MakePMID(f.Domain, 1, len(name)), f.fail("pmid")
}

func (f *Agent) Names(context.Context, *pmda.Request, pdu.PMID) ([]string, error) {
	return []string{f.Name + ".dynamic.reverse"}, f.fail("names")
}

func (f *Agent) Children(context.Context, *pmda.Request, string) ([]pmns.Child, error) {
	return []pmns.Child{{Name: "a", Leaf: true}, {Name: "b"}}, f.fail("children")
}

func (f *Agent) Traverse(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
	return []string{name + ".a", name + ".b"}, f.fail("traverse")
}

func (f *Agent) Labels(_ context.Context, _ *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	set, err := pdu.ParseLabels(of.Class, fmt.Sprintf(`{"class":%d}`, of.Class), false)
	if err != nil {
		return nil, err
	}
	one, two := set, set
	one.Inst, two.Inst = 1, 2
	return []pdu.LabelSet{one, two}, f.fail("labels")
}

func (f *Agent) EndClient(c *pmda.Client) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Ended = append(f.Ended, c.Seq)
}

// Storing is a store of values into metrics.
func Storing(ids ...pdu.PMID) pdu.PDU {
	var w pdu.ResultWriter
	for _, id := range ids {
		w.Begin(id)
		w.Uint32(pdu.NoInst, 7)
	}
	return w.PDU(pdu.FormatLowRes)
}

// EmptyAgent is an agent without metrics.
func EmptyAgent(name string, d pdu.Domain) pmda.Handler {
	return pmda.Unimplemented(pmda.Info{Name: name, Domain: d})
}

// Panicking is an agent that panics in methods that return nothing.
type Panicking struct{ pmda.Handler }

func (Panicking) EndClient(*pmda.Client) { panic("end of client") }
func (Panicking) SetClient(*pmda.Client) { panic("attributes") }
