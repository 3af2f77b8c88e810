package collector

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// A testAgent is an agent whose methods return something simple, or what failing
// returns.
type testAgent struct {
	name    string
	domain  pdu.Domain
	failing func() error // an error, nil to succeed; may panic
	fetched func(r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error
	names   *pmns.Tree

	mu     sync.Mutex
	called []string // methods
	stored []string
	ended  []uint64 // clients
}

func (f *testAgent) fail(what string) error {
	f.mu.Lock()
	f.called = append(f.called, what)
	f.mu.Unlock()
	if f.failing != nil {
		return f.failing()
	}
	return nil
}

func (f *testAgent) Info() pmda.Info { return pmda.Info{Name: f.name, Domain: f.domain} }

func (f *testAgent) Err() error { return nil }

func (f *testAgent) SetClient(*pmda.Client) {}

func (f *testAgent) Namespace() *pmns.Tree { return f.names }

// Fetch gives every metric its item as value.
func (f *testAgent) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := f.fail("fetch"); err != nil {
		return err
	}
	if f.fetched != nil {
		return f.fetched(r, ids, w)
	}
	for _, id := range ids {
		w.Begin(id)
		w.Uint32(pdu.NoInst, uint32(id.Item()))
	}
	return nil
}

func (f *testAgent) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	return pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, f.fail("desc")
}

func (f *testAgent) Instances(_ context.Context, _ *pmda.Request, _ pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	all := []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}
	switch {
	case inst == 9:
		all = nil
	case inst != pdu.NoInst || name != "":
		all = all[:1]
	}
	return all, f.fail("instances")
}

func (f *testAgent) Text(_ context.Context, _ *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	return fmt.Sprintf("text %d", of.Request(kind).Text), f.fail("text")
}

func (f *testAgent) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	if err := f.fail("store"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored = append(f.stored, describe(values))
	return nil
}

func (f *testAgent) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	return pdu.MakePMID(f.domain, 1, len(name)), f.fail("pmid")
}

func (f *testAgent) Names(context.Context, *pmda.Request, pdu.PMID) ([]string, error) {
	return []string{f.name + ".dynamic.reverse"}, f.fail("names")
}

func (f *testAgent) Children(context.Context, *pmda.Request, string) ([]pmns.Child, error) {
	return []pmns.Child{{Name: "a", Leaf: true}, {Name: "b"}}, f.fail("children")
}

func (f *testAgent) Traverse(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
	return []string{name + ".a", name + ".b"}, f.fail("traverse")
}

func (f *testAgent) Labels(_ context.Context, _ *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	set, err := pdu.ParseLabels(of.Class, fmt.Sprintf(`{"class":%d}`, of.Class), false)
	if err != nil {
		return nil, err
	}
	one, two := set, set
	one.Inst, two.Inst = 1, 2
	return []pdu.LabelSet{one, two}, f.fail("labels")
}

func (f *testAgent) EndClient(c *pmda.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended, c.Seq)
}

// storing is a store of values into metrics.
func storing(ids ...pdu.PMID) pdu.PDU {
	var w pdu.ResultWriter
	for _, id := range ids {
		w.Begin(id)
		w.Uint32(pdu.NoInst, 7)
	}
	return w.PDU(pdu.FormatLowRes)
}

// serveTCP runs a Server with a listener on the loopback interface until the test
// ends.
func serveTCP(t testing.TB, s *Server) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// closeAtEnd closes a Server at the end of a test.
func closeAtEnd(t testing.TB, s *Server) *Server {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// add adds agents.
func add(t testing.TB, s *Server, agents ...pmda.Handler) {
	t.Helper()
	for _, a := range agents {
		if err := s.Add(a); err != nil {
			t.Fatal(err)
		}
	}
}
