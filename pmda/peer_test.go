package pmda_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// A peer is a collector, played by the test, of an agent that Serve serves.
type peer struct {
	*pdutest.Peer
	t        *testing.T
	served   chan error   // what Serve returned
	features pdu.Features // what the agent has asked for
}

// serve lets h serve a peer, and returns the peer after the version exchange.
func serve(ctx context.Context, t *testing.T, h pmda.Handler) *peer {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- pmda.Serve(ctx, h, far) }()
	t.Cleanup(func() { near.Close() })
	p := newPeer(t, &pdutest.Peer{Conn: pdu.NewConn(near), Stream: near})
	p.served = served
	return p
}

// newPeer exchanges versions with an agent.
func newPeer(t *testing.T, conn *pdutest.Peer) *peer {
	t.Helper()
	p := &peer{Peer: conn, t: t}
	var err error
	if p.features, err = pdu.AcceptAgent(p.Conn, 4711); err != nil {
		t.Fatal(err)
	}
	return p
}

// do runs steps.
func (p *peer) do(steps ...pdutest.Step) {
	p.t.Helper()
	for i, step := range steps {
		if err := step(p.Peer); err != nil {
			p.t.Fatalf("the collector's step %d of %d: %v", i+1, len(steps), err)
		}
	}
}

// send sends a PDU of a client.
func (p *peer) send(client int32, m pdu.PDU) {
	p.t.Helper()
	p.do(pdutest.SendFrom(client, m))
}

// request sends a request of a client and returns the reply.
func (p *peer) request(client int32, m pdu.PDU) pdu.PDU {
	p.t.Helper()
	p.send(client, m)
	h, reply, err := p.Receive()
	if err != nil {
		p.t.Fatal(err)
	}
	if h.From != 0 {
		p.t.Errorf("the reply to %v is from %d", m.Kind(), h.From)
	}
	return reply
}

// end closes the connection and checks that Serve has returned no error.
func (p *peer) end() {
	p.t.Helper()
	p.Stream.Close()
	if err := <-p.served; err != nil {
		p.t.Errorf("Serve returned %v at the end of the connection", err)
	}
}

// encode returns a PDU as bytes, with its header.
func encode(t testing.TB, m pdu.PDU) []byte {
	var b bytes.Buffer
	if err := pdu.NewConn(&b).Write(0, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// result builds a Result in the format that agents know.
func result(t *testing.T, build func(*pdu.ResultWriter)) *pdu.Result {
	t.Helper()
	var w pdu.ResultWriter
	build(&w)
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	if err != nil {
		t.Fatal(err)
	}
	r := new(pdu.Result)
	if err := r.Decode(b[pdu.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	return r
}

// encoded returns a PDU for comparisons and messages.
func encoded(t *testing.T, p pdu.PDU) string {
	t.Helper()
	if s, ok := p.(*pdu.Status); ok {
		return s.Code.Error()
	}
	b, err := p.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v %x", p.Kind(), b[pdu.HeaderLen:])
}

// none is a Handler without metrics, for others to embed.
var none = pmda.Unimplemented(pmda.Info{})

// A recorder is a Handler that returns preset results and records its calls.
type recorder struct {
	pmda.Handler
	err       error // for all methods
	instances []pdu.Instance
	names     pdu.NameList
	sets      []pdu.LabelSet

	mu    sync.Mutex
	calls []string
	reqs  []*pmda.Request
}

func (h *recorder) record(r *pmda.Request, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, fmt.Sprintf(format, args...))
	if r != nil {
		h.reqs = append(h.reqs, r)
	}
}

func (h *recorder) takeCalls() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.calls
	h.calls = nil
	return calls
}

func (h *recorder) Fetch(_ context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	h.record(r, "fetch %v", ids)
	for i, id := range ids {
		w.Begin(id)
		w.Int32(pdu.NoInst, int32(i+1))
	}
	return h.err
}

func (h *recorder) Desc(_ context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	h.record(r, "desc %v", id)
	return pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}, h.err
}

func (h *recorder) Instances(_ context.Context, r *pmda.Request, d pdu.InDom, i pdu.InstID, name string) ([]pdu.Instance, error) {
	h.record(r, "instances %v %d %q", d, i, name)
	return h.instances, h.err
}

func (h *recorder) Text(_ context.Context, r *pmda.Request, of pdu.TextTarget, k pdu.TextKind) (string, error) {
	req := of.Request(k)
	h.record(r, "text %x %v", req.Ident, req.Text)
	return "the text", h.err
}

func (h *recorder) Store(_ context.Context, r *pmda.Request, v *pdu.Result) error {
	for _, s := range v.All() {
		for i, a := range s.All(pdu.Type32) {
			h.record(r, "store %v[%d] %v", s.PMID, i, a)
		}
	}
	return h.err
}

func (h *recorder) PMID(_ context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	h.record(r, "pmid %s", name)
	return pdu.MakePMID(1, 2, 3), h.err
}

func (h *recorder) Names(_ context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	h.record(r, "names %v", id)
	return h.names.Names, h.err
}

func (h *recorder) Children(_ context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	h.record(r, "children %q", name)
	var children []pmns.Child
	for i, n := range h.names.Names {
		children = append(children, pmns.Child{Name: n, Leaf: h.names.Statuses == nil || h.names.Statuses[i] == pdu.Leaf})
	}
	return children, h.err
}

func (h *recorder) Traverse(_ context.Context, r *pmda.Request, name string) ([]string, error) {
	h.record(r, "traverse %q", name)
	return h.names.Names, h.err
}

func (h *recorder) Labels(_ context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	h.record(r, "labels %x %d", of.Request().Ident, of.Class)
	return h.sets, h.err
}

func (h *recorder) EndClient(c *pmda.Client) { h.record(nil, "end %d seq %d", c.ID, c.Seq) }

// An attributeRecorder is a recorder that needs the attributes of clients.
type attributeRecorder struct{ recorder }

func (h *attributeRecorder) Info() pmda.Info { return pmda.Info{ClientAttributes: true} }

func (h *attributeRecorder) SetClient(c *pmda.Client) {
	h.record(nil, "client %d seq %d pid %d uid %d gid %d user %q container %q", c.ID, c.Seq, c.PID, c.UID, c.GID, c.User, c.Container)
}

// captureLog makes slog's default logger write to the returned buffer during the test.
func captureLog(t *testing.T) *pcptest.LogBuffer {
	b := new(pcptest.LogBuffer)
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(b, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
	return b
}
