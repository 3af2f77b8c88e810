package pmdatrace

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/trace"
)

// A pipeListener accepts the other ends of the pipes that dial returns.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Net: "pipe"} }

func (l *pipeListener) dial() net.Conn {
	near, far := net.Pipe()
	l.conns <- far
	return near
}

// serveAgent serves applications until the test ends.
func serveAgent(t testing.TB, a *Agent, ln net.Listener) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// listenTCP returns a listener on the loopback interface.
func listenTCP(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// An app is an application that speaks the protocol.
type app struct {
	t    testing.TB
	conn net.Conn
	in   *tracewire.Decoder
}

// connect returns an application that the agent has accepted.
func connect(t testing.TB, conn net.Conn) *app {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	a := &app{t, conn, tracewire.NewDecoder(conn)}
	a.wantAck(tracewire.Version)
	return a
}

// dialTCP connects an application to a listener.
func dialTCP(t testing.TB, ln net.Listener) *app {
	t.Helper()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, conn)
}

func (a *app) wantAck(code int32) {
	a.t.Helper()
	if ack, err := a.in.Ack(); err != nil || ack.Code != code {
		a.t.Fatalf("answer %+v, %v, want code %d", ack, err, code)
	}
}

// wantEnd waits for the agent to disconnect the application without an acknowledgement.
func (a *app) wantEnd() {
	a.t.Helper()
	if ack, err := a.in.Ack(); err == nil {
		a.t.Errorf("answer %+v, want the end of the connection", ack)
	}
}

func (a *app) write(b []byte) {
	a.t.Helper()
	if _, err := a.conn.Write(b); err != nil {
		a.t.Fatal(err)
	}
}

// send sends a value and waits for the acknowledgement.
func (a *app) send(kind tracewire.Kind, tag string, v float64) {
	a.t.Helper()
	a.write(data(a.t, kind, tag, v, true))
	a.wantAck(int32(kind))
}

// sendRefused sends a value and waits for an error.
func (a *app) sendRefused(kind tracewire.Kind, tag string, code trace.Error) {
	a.t.Helper()
	a.write(data(a.t, kind, tag, 1, true))
	a.wantAck(int32(code))
}

// data returns the PDU for a value.
func data(t testing.TB, kind tracewire.Kind, tag string, v float64, sync bool) []byte {
	t.Helper()
	b, err := tracewire.Data{Kind: kind, Tag: []byte(tag), Value: v, Sync: sync}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func request() *pmda.Request { return &pmda.Request{Client: pmda.NewClient(1, 1)} }

// fetch returns the values of a metric by instance name. The name is empty for a singular metric.
func fetch(t testing.TB, a *Agent, name string) map[string]float64 {
	t.Helper()
	return fetchProfile(t, a, name, nil)
}

func fetchProfile(t testing.TB, a *Agent, name string, profile *pdu.Profile) map[string]float64 {
	t.Helper()
	id, err := a.PMDA.Namespace().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	r := request()
	r.Profile = profile
	d, err := a.PMDA.Desc(t.Context(), r, id)
	if err != nil {
		t.Fatal(err)
	}
	var w pdu.ResultWriter
	if err := a.PMDA.Fetch(t.Context(), r, []pdu.PMID{id}, &w); err != nil {
		t.Fatal(err)
	}
	res, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := res.At(0).Err(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	values := map[string]float64{}
	for inst, v := range maps.Collect(res.At(0).All(d.Type)) {
		instance := ""
		if inst != pdu.NoInst {
			list, err := a.PMDA.Instances(t.Context(), r, d.InDom, inst, "")
			if err != nil {
				t.Fatal(err)
			}
			instance = list[0].Name
		}
		f, err := pdu.As[float64](v)
		if err != nil {
			t.Fatal(err)
		}
		values[instance] = f
	}
	return values
}

// store stores a number into a metric.
func store(t testing.TB, a *Agent, name string, v uint32) error {
	t.Helper()
	id, err := a.PMDA.Namespace().Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	var w pdu.ResultWriter
	w.Begin(id)
	w.Uint32(pdu.NoInst, v)
	res, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	return a.PMDA.Store(t.Context(), request(), res)
}

// logTo returns a log that writes text to w.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// lines is a log that is safe for concurrent use.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// port returns the port that the agent listens on.
func (a *app) port() int { return a.conn.RemoteAddr().(*net.TCPAddr).Port }
