package pmda_test

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
)

var (
	notReady = &pdu.Status{Code: pdu.ErrPMDANotReady}
	nowReady = &pdu.Status{Code: pdu.ErrPMDAReady}
)

// TestNotReady checks that an agent in this process fails every request while it is not ready.
func TestNotReady(t *testing.T) {
	a := jobs(t)
	a.SetReady(true)
	a.SetReady(false)
	a.SetReady(false)
	ready := a.WhenReady()
	kinds, errs := allRequests(t.Context(), t, a, request())
	for i, err := range errs {
		if err != pdu.ErrPMDANotReady {
			t.Errorf("%v: %v", kinds[i], err)
		}
	}
	select {
	case <-ready:
		t.Error("it is ready")
	default:
	}
	must(t, a.Err())
	a.SetReady(true)
	a.SetReady(true)
	<-ready
	<-a.WhenReady()
	if got := fetched(t, a, request(), pdu.MakePMID(251, 0, 0)); got != "251.0.0: -1=2\n" {
		t.Errorf("Fetch: %s", got)
	}
}

// TestServeNotReady checks that a collector gets ErrPMDANotReady as a reply, and later ErrPMDAReady
// without a request.
func TestServeNotReady(t *testing.T) {
	a := jobs(t)
	p := serve(t.Context(), t, a)
	desc := pdu.DescReq{PMID: pdu.MakePMID(251, 0, 0)}
	for range 3 {
		a.SetReady(false)
		p.send(1, desc)
		p.do(pdutest.ExpectFrom(0, notReady))
		a.SetReady(true)
		p.do(pdutest.ExpectFrom(0, nowReady))
		if reply := p.request(1, desc); reply.Kind() != pdu.KindDesc {
			t.Errorf("reply %v", encoded(t, reply))
		}
	}
	// The collector gets no notice if the agent was not ready only between two requests.
	a.SetReady(false)
	a.SetReady(true)
	if reply := p.request(1, desc); reply.Kind() != pdu.KindDesc {
		t.Errorf("reply %v", encoded(t, reply))
	}
	// A request that arrives before the notice waits.
	a.SetReady(false)
	p.send(1, desc)
	p.do(pdutest.ExpectFrom(0, notReady))
	p.send(1, pdu.Status{Code: pdu.ErrNotConn})
	p.send(1, desc)
	a.SetReady(true)
	p.do(pdutest.ExpectFrom(0, nowReady), pdutest.ExpectKind(pdu.KindDesc))
	p.end()
}

// servePipe is like serve, but on a connection that is not a socket.
func servePipe(ctx context.Context, t *testing.T, h pmda.Handler) *peer {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- pmda.Serve(ctx, h, struct{ io.ReadWriteCloser }{far}) }()
	t.Cleanup(func() { near.Close() })
	p := newPeer(t, &pdutest.Peer{Conn: pdu.NewConn(near), Stream: near})
	p.served = served
	return p
}

// TestStartsNotReady checks that an agent that starts not ready sends a notice when it is ready:
// always on a pipe, and on a socket after a request has failed.
func TestStartsNotReady(t *testing.T) {
	desc := pdu.DescReq{PMID: pdu.MakePMID(251, 0, 0)}
	for _, c := range []struct {
		name                string
		socket, early, asks bool
	}{
		{name: "while the collector waits"},
		{name: "when asked", asks: true},
		{name: "before it is connected", early: true},
		{name: "when asked on a socket", socket: true, asks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := jobs(t)
			a.StartsNotReady = true
			if c.early {
				a.SetReady(true)
			}
			do := servePipe
			if c.socket {
				do = serve
			}
			p := do(t.Context(), t, a)
			if c.asks {
				p.send(1, desc)
				p.do(pdutest.ExpectFrom(0, notReady))
			}
			a.SetReady(true)
			p.do(pdutest.ExpectFrom(0, nowReady))
			if reply := p.request(1, desc); reply.Kind() != pdu.KindDesc {
				t.Errorf("reply %v", encoded(t, reply))
			}
			p.end()
		})
	}
	a := jobs(t)
	a.StartsNotReady = true
	p := serve(t.Context(), t, a)
	a.SetReady(true)
	if reply := p.request(1, desc); reply.Kind() != pdu.KindDesc {
		t.Errorf("reply %v on a socket", encoded(t, reply))
	}
	p.end()
}

// TestEndNotReady checks that serving an agent that never gets ready ends with its connection or
// context.
func TestEndNotReady(t *testing.T) {
	a := jobs(t)
	a.StartsNotReady = true
	servePipe(t.Context(), t, a).end()
	p := serve(t.Context(), t, a)
	p.send(1, pdu.DescReq{})
	p.do(pdutest.ExpectFrom(0, notReady))
	p.end()
	ctx, cancel := context.WithCancel(t.Context())
	p = serve(ctx, t, a)
	p.send(1, pdu.DescReq{})
	p.do(pdutest.ExpectFrom(0, notReady))
	p.send(1, pdu.DescReq{})
	cancel()
	if err := <-p.served; err != context.Canceled {
		t.Errorf("Serve: %v", err)
	}
}

// TestNotReadyOnRequest checks that a function of OnRequest may set the agent to not ready.
func TestNotReadyOnRequest(t *testing.T) {
	a := jobs(t)
	once := true
	a.OnRequest(func(context.Context, pdu.Kind, *pmda.Request) error {
		if once {
			once = false
			a.SetReady(false)
		}
		return nil
	})
	p := serve(t.Context(), t, pmda.Serial(a))
	desc := pdu.DescReq{PMID: pdu.MakePMID(251, 0, 0)}
	p.send(1, desc)
	p.do(pdutest.ExpectFrom(0, notReady))
	a.SetReady(true)
	p.do(pdutest.ExpectFrom(0, nowReady))
	if reply := p.request(1, desc); reply.Kind() != pdu.KindDesc {
		t.Errorf("reply %v", encoded(t, reply))
	}
	p.end()
}

// TestInstallNotReady checks that the line of pmcd.conf has notready if the agent starts not ready.
func TestInstallNotReady(t *testing.T) {
	a := jobs(t)
	for _, ready := range []bool{true, false} {
		a.StartsNotReady = !ready
		files, err := pmda.InstallFilesOf(a)
		must(t, err)
		i := slices.IndexFunc(files, func(f pmda.InstallFile) bool { return f.Name == "Install" })
		if got := strings.Contains(string(files[i].Data), "ipc_prot=\"binary notready\"\n"); got == ready {
			t.Errorf("ready %v: Install is\n%s", ready, files[i].Data)
		}
	}
}
