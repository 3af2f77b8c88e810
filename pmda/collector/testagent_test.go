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

// A fake is an agent whose every method answers with something simple, or does
// what failing says instead.
type fake struct {
	name    string
	domain  pdu.Domain
	failing func() error // an error, nil to succeed; may panic
	fetched func(r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error
	names   *pmns.Tree

	mu     sync.Mutex
	asked  []string // requests, and ends of clients
	stored []string
	ended  []uint64
}

func (f *fake) fail(what string) error {
	f.mu.Lock()
	f.asked = append(f.asked, what)
	f.mu.Unlock()
	if f.failing != nil {
		return f.failing()
	}
	return nil
}

func (f *fake) Info() pmda.Info { return pmda.Info{Name: f.name, Domain: f.domain} }

func (f *fake) Err() error { return nil }

func (f *fake) Attributes(*pmda.Client) {}

func (f *fake) Namespace() *pmns.Tree { return f.names }

// Fetch gives every metric its item as value.
func (f *fake) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
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

func (f *fake) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	return pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, f.fail("desc")
}

func (f *fake) Instances(_ context.Context, _ *pmda.Request, _ pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	all := []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}
	switch {
	case inst == 9:
		all = nil
	case inst != pdu.NoInst || name != "":
		all = all[:1]
	}
	return all, f.fail("instances")
}

func (f *fake) Text(_ context.Context, _ *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	return fmt.Sprintf("text %d", of.Request(kind).Text), f.fail("text")
}

func (f *fake) Store(_ context.Context, _ *pmda.Request, values *pdu.Result) error {
	if err := f.fail("store"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored = append(f.stored, describe(values))
	return nil
}

func (f *fake) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	return pdu.MakePMID(f.domain, 1, len(name)), f.fail("pmid")
}

func (f *fake) Names(context.Context, *pmda.Request, pdu.PMID) ([]string, error) {
	return []string{f.name + ".dynamic.reverse"}, f.fail("names")
}

func (f *fake) Children(context.Context, *pmda.Request, string) ([]pmns.Child, error) {
	return []pmns.Child{{Name: "a", Leaf: true}, {Name: "b"}}, f.fail("children")
}

func (f *fake) Traverse(_ context.Context, _ *pmda.Request, name string) ([]string, error) {
	return []string{name + ".a", name + ".b"}, f.fail("traverse")
}

func (f *fake) Labels(_ context.Context, _ *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	set, err := pdu.ParseLabels(of.Class, fmt.Sprintf(`{"class":%d}`, of.Class), false)
	if err != nil {
		return nil, err
	}
	one, two := set, set
	one.Inst, two.Inst = 1, 2
	return []pdu.LabelSet{one, two}, f.fail("labels")
}

func (f *fake) EndClient(c *pmda.Client) {
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

// serving runs a Server with a listener on the loopback interface until the
// test ends.
func serving(t testing.TB, s *Server) (addr string) {
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

// closed closes a Server at the end of a test.
func closed(t testing.TB, s *Server) *Server {
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
