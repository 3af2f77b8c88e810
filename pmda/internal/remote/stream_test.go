package remote_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// twoPipes is a connection over two pipes, as to a child process.
type twoPipes struct{ r, w *os.File }

func (p twoPipes) Read(b []byte) (int, error)         { return p.r.Read(b) }
func (p twoPipes) Write(b []byte) (int, error)        { return p.w.Write(b) }
func (p twoPipes) SetReadDeadline(t time.Time) error  { return p.r.SetReadDeadline(t) }
func (p twoPipes) SetWriteDeadline(t time.Time) error { return p.w.SetWriteDeadline(t) }
func (p twoPipes) Close() error                       { return errors.Join(p.w.Close(), p.r.Close()) }

// streams are the ways to connect an Agent and Serve.
var streams = map[string]func(testing.TB) (near, far remote.Stream){
	"memory": func(testing.TB) (near, far remote.Stream) { return net.Pipe() },
	"pipe": func(t testing.TB) (near, far remote.Stream) {
		r1, w1, err1 := os.Pipe()
		r2, w2, err2 := os.Pipe()
		if err := errors.Join(err1, err2); err != nil {
			t.Skipf("no pipes: %v", err)
		}
		return twoPipes{r1, w2}, twoPipes{r2, w1}
	},
}

// behind returns an Agent that sends its requests to h, which Serve serves at the other end.
func behind(t testing.TB, h pmda.Handler, near, far remote.Stream) *remote.Agent {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- pmda.Serve(context.Background(), h, far) }()
	agent, err := remote.New(t.Context(), h.Info(), near, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		agent.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		far.Close()
	})
	return agent
}

func BenchmarkFetch(b *testing.B) {
	for name, open := range streams {
		b.Run("stream="+name, func(b *testing.B) {
			near, far := open(b)
			agent := behind(b, fixed{pmda.Unimplemented(pmda.Info{})}, near, far)
			ctx, r, ids := b.Context(), request7(), []pdu.PMID{testID}
			var w pdu.ResultWriter
			b.ReportAllocs()
			for b.Loop() {
				w.Reset()
				if err := agent.Fetch(ctx, r, ids, &w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestFetchAllocatesNothing: a fetch over pipes does not allocate, on either side.
func TestFetchAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	near, far := streams["pipe"](t)
	agent := behind(t, fixed{pmda.Unimplemented(pmda.Info{})}, near, far)
	ctx, r, ids := t.Context(), request7(), make([]pdu.PMID, 200)
	var w pdu.ResultWriter
	n := testing.AllocsPerRun(200, func() {
		w.Reset()
		if err := agent.Fetch(ctx, r, ids, &w); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations per fetch, want 0", n)
	}
	if w.Len() != len(ids) {
		t.Errorf("%d sets, want %d", w.Len(), len(ids))
	}
}
