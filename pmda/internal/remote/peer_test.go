package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// A peer is the process of an agent, which the test plays step by step.
type peer struct {
	*pdutest.Peer
	t *testing.T
}

// connect returns an Agent and its peer, which has asked for features in its hello.
// What the Agent writes is kept until a step of the peer reads it, as in the buffer
// of a socket. The test runs in a bubble of synctest. The Agent is closed when the
// test ends.
func connect(t *testing.T, features pdu.Features, cfg remote.Config) (*remote.Agent, *peer) {
	t.Helper()
	agent, far := connectUnbuffered(t, features, cfg)
	in := new(inbox)
	stream := far.Stream
	go in.fill(stream)
	far.Conn = pdu.NewConn(struct {
		io.Reader
		io.Writer
	}{in, stream})
	return agent, far
}

// connectUnbuffered is connect without the buffer: the Agent's writes last until a
// step of the peer has read them.
func connectUnbuffered(t *testing.T, features pdu.Features, cfg remote.Config) (*remote.Agent, *peer) {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet().Logger
	}
	near, stream := net.Pipe()
	far := &peer{&pdutest.Peer{Conn: pdu.NewConn(stream), Stream: stream}, t}
	hello := make(chan error)
	go func() { hello <- pdutest.AgentHello(features)(far.Peer) }()
	agent, err := remote.New(t.Context(), pmda.Info{Name: "far", Domain: 251}, near, cfg)
	if err := errors.Join(err, <-hello); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		agent.Close()
		stream.Close()
	})
	return agent, far
}

// do runs steps.
func (p *peer) do(steps ...pdutest.Step) {
	p.t.Helper()
	for i, step := range steps {
		if err := step(p.Peer); err != nil {
			p.t.Fatalf("the agent's step %d of %d: %v", i+1, len(steps), err)
		}
	}
}

// send sends PDUs.
func (p *peer) send(pdus ...pdu.PDU) {
	p.t.Helper()
	p.do(pdutest.Send(pdus...))
}

// expect runs steps that read what has been sent. Nothing more may have been sent.
func (p *peer) expect(steps ...pdutest.Step) {
	p.t.Helper()
	synctest.Wait()
	p.do(steps...)
	if h, got, err := p.Receive(); err == nil {
		p.t.Errorf("the agent was sent %v from %d: %+v; want no more", h.Kind, h.From, got)
	}
}

// discard drops everything that the Agent has sent.
func (p *peer) discard() {
	synctest.Wait()
	for {
		if _, _, err := p.Receive(); err != nil {
			return
		}
	}
}

// An inbox keeps what arrives until it is read. A Read never waits.
type inbox struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// errNothing is the error of reading an empty inbox: like a deadline that has
// passed, it leaves a pdu.Conn in order.
var errNothing = fmt.Errorf("nothing has been sent: %w", os.ErrDeadlineExceeded)

func (b *inbox) fill(c net.Conn) {
	chunk := make([]byte, 1<<16)
	for {
		n, err := c.Read(chunk)
		if err != nil {
			return
		}
		b.mu.Lock()
		b.buf.Write(chunk[:n])
		b.mu.Unlock()
	}
}

func (b *inbox) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() == 0 {
		return 0, errNothing
	}
	return b.buf.Read(p)
}

// A call is a method of an Agent that runs in a goroutine.
type call[T any] struct {
	t    *testing.T
	done chan struct{}
	v    T
	err  error
}

// start calls f in a goroutine and waits until that waits for something.
func start[T any](t *testing.T, f func() (T, error)) *call[T] {
	c := &call[T]{t: t, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.v, c.err = f()
	}()
	synctest.Wait()
	return c
}

// ends waits for the end of the call and checks its error.
func (c *call[T]) ends(err error) T {
	c.t.Helper()
	<-c.done
	if !errors.Is(c.err, err) || err == nil && c.err != nil {
		c.t.Errorf("the request ended with %v, want %v", c.err, err)
	}
	return c.v
}

// runs checks that the call has not ended.
func (c *call[T]) runs() {
	c.t.Helper()
	synctest.Wait()
	select {
	case <-c.done:
		c.t.Errorf("the request has ended, with %v", c.err)
	default:
	}
}

var (
	testID    = pdu.MakePMID(251, 1, 2)
	testInDom = pdu.MakeInDom(251, 3)
	testDesc  = pdu.DescReply{Desc: pdu.Desc{PMID: testID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}}
)

// request7 is a request of client 7.
func request7() *pmda.Request { return &pmda.Request{Client: pmda.NewClient(7, 1)} }

// What the agent is sent of request7.
var (
	profile7 = pdutest.ExpectFrom(7, pdu.SetProfile{})
	fetch7   = pdutest.ExpectFrom(7, pdu.Fetch{PMIDs: []pdu.PMID{testID}})
	desc7    = descFrom(7)
)

// descFrom expects a request for the descriptor of testID from a client.
func descFrom(client int32) pdutest.Step {
	return pdutest.ExpectFrom(client, pdu.DescReq{PMID: testID})
}

// ended expects the end of a client.
func ended(client int32) pdutest.Step {
	return pdutest.ExpectFrom(client, pdu.Status{Code: pdu.ErrNotConn})
}

// attribute expects an attribute of a client.
func attribute(client int32, a pdu.Attribute, value string) pdutest.Step {
	return pdutest.ExpectFrom(client, pdu.Attr{Key: a, Value: []byte(value + "\x00")})
}

// startDesc starts a request for the descriptor of testID.
func startDesc(t *testing.T, ctx context.Context, agent *remote.Agent, r *pmda.Request) *call[pdu.Desc] {
	return start(t, func() (pdu.Desc, error) { return agent.Desc(ctx, r, testID) })
}

// startFetch starts a fetch of testID.
func startFetch(t *testing.T, ctx context.Context, agent *remote.Agent, r *pmda.Request) *call[string] {
	return start(t, func() (string, error) { return fetchText(ctx, agent, r, testID) })
}

// fetchText fetches metrics and shows the result.
func fetchText(ctx context.Context, h pmda.Handler, r *pmda.Request, ids ...pdu.PMID) (string, error) {
	var w pdu.ResultWriter
	err := h.Fetch(ctx, r, ids, &w)
	v, e := w.Result()
	if e != nil {
		return "", e
	}
	s := fmt.Sprintf("%v:", w.Changed)
	for _, set := range v.All() {
		s += fmt.Sprintf(" %v", set.PMID)
		if set.Err() != nil {
			s += " " + set.Err().Error()
		}
		for i, a := range set.All(pdu.TypeU32) {
			s += fmt.Sprintf("[%d] %v", i, a)
		}
	}
	return s, err
}

// fetchReply is a result with a value for each metric.
func fetchReply(t *testing.T, v uint32, ids ...pdu.PMID) pdu.PDU {
	return result(t, func(w *pdu.ResultWriter) {
		for _, id := range ids {
			w.Begin(id)
			w.Uint32(pdu.NoInst, v)
		}
	})
}

// checkServes checks that a request is sent to the agent and its reply returned.
func checkServes(t *testing.T, agent *remote.Agent, far *peer) {
	t.Helper()
	if !agent.Ready() {
		t.Error("not ready")
	}
	c := startDesc(t, t.Context(), agent, request7())
	far.expect(desc7)
	far.send(testDesc)
	if diff := cmp.Diff(testDesc.Desc, c.ends(nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// checkEnded checks that the connection has ended, because of why, if that is not
// nil.
func checkEnded(t *testing.T, agent *remote.Agent, why error) {
	t.Helper()
	select {
	case <-agent.Done():
	default:
		t.Error("the connection has not ended")
	}
	if err := agent.Err(); err == nil || why != nil && !errors.Is(err, why) {
		t.Errorf("the connection ended with %v, want %v", err, why)
	}
	if agent.Ready() {
		t.Error("ready though the connection has ended")
	}
	if _, err := agent.Desc(t.Context(), request7(), testID); err != pdu.ErrNoAgent {
		t.Errorf("then a request gets %v, want %v", err, pdu.ErrNoAgent)
	}
	agent.EndClient(pmda.NewClient(7, 1))
	agent.SetClient(&pmda.Client{ID: 7, Seq: 2})
}

const timeout = remote.DefaultTimeout

// checkTook checks how much of synthetic time has passed since begin.
func checkTook(t *testing.T, begin time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(begin); got != want {
		t.Errorf("it took %v, want %v", got, want)
	}
}

// cancelable returns a context that ends with the test at the latest.
func cancelable(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

// errSome stands for any error.
var errSome = errors.New("some error")
