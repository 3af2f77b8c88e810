package pmapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// With AutoReconnect, a context may be opened before there is a collector: its requests fail until
// there is, and then have values, without a gap.
func TestFirstConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := openShop()
		defer srv.Close()
		h := &host{t: t}
		var log bytes.Buffer
		d := pmapi.Dialer{AutoReconnect: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		c, err := d.Local(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := callNamed("Desc").do(t.Context(), c, 7); !errors.Is(err, pdu.ErrIPC) || !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "next try in 1s") {
			t.Error(err)
		}
		g := c.Group()
		sold := pmapi.AddSet[uint64](g, "shop.sold", pmapi.Scale("instant"))
		var got []string
		for _, err := range g.Every(t.Context(), time.Second) {
			if err != nil {
				got = append(got, fmt.Sprint(errors.Is(err, pdu.ErrIPC) && errors.Is(err, syscall.ECONNREFUSED)))
			} else {
				v, err := sold.Get("south")
				got = append(got, fmt.Sprint(v, err))
			}
			if len(got) == 3 {
				h.serve(srv.DialContext)
			}
			if len(got) == 6 {
				break
			}
		}
		if diff := cmp.Diff([]string{"true", "true", "true", "101 <nil>", "101 <nil>", "101 <nil>"}, got); diff != "" {
			t.Errorf("rounds (-want +got):\n%s", diff)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], `level=WARN msg="no connection yet" host=local err=`) || !strings.Contains(lines[1], "level=INFO msg=connected host=local") {
			t.Errorf("log:\n%s", &log)
		}

		// A connection that is lost later has a gap.
		h.replace(srv.DialContext)
		var gap *pmapi.Gap
		_, err = g.Fetch(t.Context())
		if _, again := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrIPC) || !errors.As(again, &gap) {
			t.Error(err, again)
		}
	})
}

// A context without a first connection supports other methods too.
func TestFirstConnectionCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := openShop()
		defer srv.Close()
		h := &host{t: t}
		d := pmapi.Dialer{AutoReconnect: true}
		if _, err := new(pmapi.Dialer).Local(t.Context(), h); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("without AutoReconnect: %v", err)
		}
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errTired)
		if _, err := d.Local(ended, h); !errors.Is(err, errTired) {
			t.Errorf("a ctx that has ended: %v", err)
		}
		if _, err := d.Dial(t.Context(), "web1?compress"); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("what is not supported: %v", err)
		}
		open := func() *pmapi.Context {
			c, err := d.Local(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		works := func(c *pmapi.Context) {
			t.Helper()
			if _, err := c.Lookup(t.Context(), []string{"shop.sold"}); err != nil {
				t.Error(err)
			}
			var r pdu.Result
			if err := c.Fetch(t.Context(), []pdu.PMID{pdu.MakePMID(410, 0, 0)}, &r); err != nil || r.At(0).Len() != 2 {
				t.Error(err)
			}
		}

		closed := open()
		closed.Close()
		if err := callNamed("Desc").do(t.Context(), closed, 7); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}

		c := open()
		twin, err := c.Dup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Reconnect(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
		h.serve(srv.DialContext)
		time.Sleep(time.Minute)
		if err := c.Reconnect(t.Context()); err != nil {
			t.Error(err)
		}
		works(c)
		works(twin)

		// A context that has known metadata before does report a gap.
		h.serve(nil)
		late, err := c.Dup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h.serve(srv.DialContext)
		time.Sleep(time.Minute)
		var gap *pmapi.Gap
		if err := late.Fetch(t.Context(), []pdu.PMID{pdu.MakePMID(410, 0, 0)}, new(pdu.Result)); !errors.As(err, &gap) || gap.Changed() || gap.Restored.Sub(gap.Lost) != time.Minute {
			t.Error(err)
		}
		works(late)
		for _, c := range []*pmapi.Context{c, twin, late} {
			c.Close()
		}
	})
}

// A monitor is started before its collector, on a real network.
func TestMonitorBeforeCollector(t *testing.T) {
	addr := fmt.Sprintf("127.0.0.1:%d", pcptest.FreePort(t))
	d := pmapi.Dialer{AutoReconnect: true, Backoff: []time.Duration{10 * time.Millisecond}}
	c, err := d.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := c.Group()
	motto := pmapi.Add[string](g, "shop.motto")
	failed := 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, err := range g.Every(ctx, 20*time.Millisecond) {
		if err != nil {
			if failed++; !strings.Contains(err.Error(), addr) {
				t.Fatalf("%v does not name %s", err, addr)
			}
			if failed == 3 {
				srv := openShop()
				ln, err := net.Listen("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				serving, stop := context.WithCancel(context.Background())
				served := make(chan error, 1)
				go func() { served <- srv.Serve(serving, ln) }()
				defer func() {
					stop()
					if err := <-served; err != nil {
						t.Error(err)
					}
				}()
			}
			continue
		}
		if v, err := motto.Value(); v != "Open late" || err != nil || failed < 3 {
			t.Errorf("%q %v after %d failures", v, err, failed)
		}
		return
	}
	t.Error("the monitor has seen no collector")
}
