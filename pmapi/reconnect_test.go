package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
)

// A host is a place where a collector may run.
type host struct {
	t testing.TB

	mu    sync.Mutex
	up    dialFunc // nil: connections are refused
	dials []time.Time
	conns []net.Conn
}

// newHost returns a host with a collector that runs f.
func newHost(t testing.TB, f func(p *pdutest.Peer)) *host {
	h := &host{t: t}
	h.start(f)
	return h
}

func (h *host) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dials = append(h.dials, time.Now())
	if h.up == nil {
		return nil, syscall.ECONNREFUSED
	}
	conn, err := h.up(ctx, network, addr)
	if err == nil {
		h.conns = append(h.conns, conn)
	}
	return conn, err
}

// start lets connections succeed.
func (h *host) start(f func(p *pdutest.Peer)) { h.serve(serve(h.t, f)) }

func (h *host) serve(up dialFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up = up
}

// kill breaks all connections, and refuses new ones.
func (h *host) kill() { h.replace(nil) }

// restart breaks all connections, and accepts new ones.
func (h *host) restart(f func(p *pdutest.Peer)) { h.replace(serve(h.t, f)) }

func (h *host) replace(up dialFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up = up
	for _, c := range h.conns {
		c.Close()
	}
	h.conns = nil
}

// tried returns the number of attempts to connect since the last call.
func (h *host) tried() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.dials)
	h.dials = nil
	return n
}

// After the loss of the connection, all requests fail with ErrIPC and the reason, until Reconnect
// succeeds.
func TestLoss(t *testing.T) {
	ctx := t.Context()
	for _, q := range apiCalls {
		h := newHost(t, replying(allFeatures, echo))
		c, err := pmapi.Local(ctx, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.AddProfile(4, 5), q.do(ctx, c, 7)); err != nil {
			t.Fatal(q.name, err)
		}
		h.kill()
		for _, other := range apiCalls {
			err := other.do(ctx, c, 7)
			if other.name == "HostName" && err != nil || other.name != "HostName" && !errors.Is(err, pdu.ErrIPC) {
				t.Errorf("%s after %s: %v", other.name, q.name, err)
			}
			if other.name != "HostName" && !strings.Contains(err.Error(), "closed") {
				t.Errorf("%s does not say why: %v", other.name, err)
			}
		}
		if err := c.Reconnect(ctx); !errors.Is(err, pdu.Error(-110)) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
		c.Close()
	}
}

// Reconnect has the back-off of pmReconnectContext.
func TestReconnectBackoff(t *testing.T) {
	s := time.Second
	for name, tt := range map[string]struct {
		backoff []time.Duration
		want    []time.Duration // between the attempts if Reconnect is called all the time
	}{
		"as C":    {nil, []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 80 * s, 80 * s}},
		"one":     {[]time.Duration{3 * s}, []time.Duration{3 * s, 3 * s, 3 * s}},
		"falling": {[]time.Duration{9 * s, s}, []time.Duration{9 * s, s, s, s}},
		"none":    {[]time.Duration{}, []time.Duration{s / 4, s / 4, s / 4}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, replying(allFeatures, echo))
				d := pmapi.Dialer{Backoff: tt.backoff}
				c, err := d.Local(t.Context(), h)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				announced := false // when the next try will be
				for range 2 {      // a success begins anew
					h.kill()
					h.tried()
					for len(h.dials) <= len(tt.want) {
						err := c.Reconnect(t.Context())
						if !errors.Is(err, syscall.ETIMEDOUT) || !errors.Is(err, syscall.ECONNREFUSED) || pdu.FromError(err) != -110 {
							t.Fatal(err)
						}
						announced = announced || strings.HasSuffix(err.Error(), "s)") && strings.Contains(err.Error(), "(next try in ")
						time.Sleep(s / 4)
					}
					var got []time.Duration
					for i, at := range h.dials[1:] {
						got = append(got, at.Sub(h.dials[i]))
					}
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
					h.start(replying(allFeatures, echo))
					time.Sleep(100 * s)
					if err := c.Reconnect(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := callNamed("Fetch").do(t.Context(), c, 7); err != nil {
						t.Fatal(err)
					}
				}
				if waits := len(tt.want) > 0 && slices.Max(tt.want) >= s; announced != waits {
					t.Errorf("announced when the next try will be: %v, want %v", announced, waits)
				}
			})
		})
	}
}

// An attempt that its caller ends does not count, and a failed Reconnect keeps the connection.
func TestReconnectKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, replying(allFeatures, echo))
		c, err := pmapi.Local(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		good := h.up
		h.serve(func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for range 3 {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errTired)
			if err := c.Reconnect(ctx); !errors.Is(err, errTired) || errors.Is(err, syscall.ETIMEDOUT) {
				t.Error(err)
			}
			cancel()
		}
		start := time.Now()
		if err := c.Reconnect(t.Context()); !errors.Is(err, syscall.ETIMEDOUT) || !errors.Is(err, pdu.ErrTimeout) || time.Since(start) != pmapi.DefaultConnectTimeout {
			t.Error(err, time.Since(start))
		}
		if n := h.tried(); n != 5 {
			t.Errorf("%d connections tried", n)
		}
		if err := callNamed("Desc").do(t.Context(), c, 7); err != nil {
			t.Errorf("the connection there was is gone: %v", err)
		}
		h.serve(good)
		time.Sleep(5 * time.Second)
		if err := errors.Join(c.Reconnect(t.Context()), callNamed("Desc").do(t.Context(), c, 7)); err != nil {
			t.Error(err)
		}
		if n := h.tried(); n != 1 {
			t.Errorf("%d connections tried", n)
		}
	})
}

// Close ends a call in progress at any stage.
func TestCloseEnds(t *testing.T) {
	ctx := context.Background()
	never := func(testing.TB) dialFunc {
		return func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	}
	silent := func(t testing.TB) dialFunc { return serve(t, func(p *pdutest.Peer) { _, _, _ = p.Conn.Read() }) }
	forever := pmapi.Dialer{ConnectTimeout: -1, RequestTimeout: -1}
	reconnecting := forever
	reconnecting.AutoReconnect = true
	for name, tt := range map[string]struct {
		dial pmapi.Dialer
		then func(testing.TB) dialFunc
		do   func(c *pmapi.Context) error
	}{
		"a reply":           {forever, nil, func(c *pmapi.Context) error { return callNamed("Text").do(ctx, c, 7) }},
		"a turn":            {forever, nil, func(c *pmapi.Context) error { return callNamed("Fetch").do(ctx, c, 7) }},
		"a connection":      {forever, never, func(c *pmapi.Context) error { return c.Reconnect(ctx) }},
		"a hello":           {forever, silent, func(c *pmapi.Context) error { return c.Reconnect(ctx) }},
		"to reconnect":      {reconnecting, never, func(c *pmapi.Context) error { return c.Reconnect(ctx) }},
		"to check metadata": {reconnecting, nil, func(c *pmapi.Context) error { return c.Reconnect(ctx) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				h := newHost(t, replying(allFeatures, func(hd pdu.Header, p pdu.PDU) []byte {
					if requests++; requests == 1 {
						return echo(hd, p)
					}
					time.Sleep(time.Hour)
					return nil
				}))
				c, err := tt.dial.Local(t.Context(), h)
				if err != nil {
					t.Fatal(err)
				}
				if err := callNamed("Desc").do(t.Context(), c, 7); err != nil {
					t.Fatal(err)
				}
				if tt.then != nil {
					h.serve(tt.then(t))
				}
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() {
						wantClosed(t, tt.do(c))
					})
				}
				time.Sleep(time.Second)
				start := time.Now()
				if err := errors.Join(c.Close(), c.Close()); err != nil {
					t.Error(err)
				}
				if all.Wait(); time.Since(start) != 0 {
					t.Errorf("took %v", time.Since(start))
				}
				for _, q := range apiCalls {
					if err := q.do(t.Context(), c, 7); q.name != "HostName" {
						wantClosed(t, err)
					}
				}
				_, err = c.Dup(t.Context())
				wantClosed(t, err)
				wantClosed(t, c.Reconnect(t.Context()))
			})
		})
	}
}

// Errors of requests without a connection do not name the requested items. They say whether an
// attempt to connect was made, and when the next one will be.
func TestNextTry(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	const refused, stale = "web1 refuses (next try in ", "web1 refuses (not tried again yet, next try in "
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		d := pmapi.Dialer{AutoReconnect: true, Backoff: []time.Duration{s, 2*s + ms, 500 * ms, 0}, Logger: slog.New(slog.DiscardHandler),
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				tries++
				return nil, errors.New("web1 refuses")
			}}
		c, err := d.Dial(t.Context(), "web1:27001")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, tt := range []struct {
			pause time.Duration
			tries int
			text  string
		}{
			{0, 1, stale + "1s)"},
			{600 * ms, 1, stale + "400ms)"},
			{400 * ms, 2, refused + "3s)"},
			{s, 2, stale + "2s)"},
			{s, 2, stale + "1ms)"},
			{s, 3, refused + "500ms)"},
			{s, 4, "web1 refuses"},
			{0, 5, "web1 refuses"},
		} {
			time.Sleep(tt.pause)
			_, err := c.Lookup(t.Context(), []string{"x"})
			if want := "pmapi: connect to web1:27001: web1:27001: " + tt.text; fmt.Sprint(err) != want || tries != tt.tries {
				t.Errorf("try %d: %v, want try %d and %s", tries, err, tt.tries, want)
			}
			if op, ok := errors.AsType[*pmapi.OpError](err); !ok || op.Op != "connect" || op.Metric != "" || !errors.Is(err, pdu.ErrIPC) {
				t.Errorf("%#v", err)
			}
		}
	})
}
