package logger_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestLostWhileWaiting ends and restarts the collector of a logger that has nothing to record for
// an hour. As with PCP's pmlogger, the loss is reported at once.
func TestLostWhileWaiting(t *testing.T) {
	t.Parallel()
	addr, stop := serveCounter(t, "127.0.0.1:0")
	c, err := (&pmapi.Dialer{Backoff: []time.Duration{time.Millisecond}}).Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	events := make(chan logger.Event, 100)
	o := logger.Options{Config: "log mandatory on 1 hour { shop.orders }", Base: filepath.Join(t.TempDir(), "a"),
		Report: func(e logger.Event) { events <- e }}
	l, err := o.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	awaitEvent[logger.Recorded](t, events)
	if c.Disconnected() {
		t.Error("disconnected while the collector runs")
	}
	stop()
	if !c.Disconnected() {
		t.Error("not disconnected after the collector has ended")
	}
	awaitEvent[logger.Lost](t, events)
	_, stop = serveCounter(t, addr)
	defer stop()
	awaitEvent[logger.Restored](t, events)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// awaitEvent waits for an event of a kind.
func awaitEvent[E logger.Event](t *testing.T, events <-chan logger.Event) {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case e := <-events:
			if _, ok := e.(E); ok {
				return
			}
		case <-timeout:
			t.Fatalf("no event %T", *new(E))
		}
	}
}

// serveCounter serves the metric shop.orders at a TCP address until stop is called.
func serveCounter(t *testing.T, listen string) (addr string, stop func()) {
	t.Helper()
	a := &pmda.Agent{Name: "shop", Domain: 400}
	pmda.Register(a, pmda.Metric[uint64]{Name: "shop.orders", Sem: pdu.SemCounter,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 1, nil }})
	srv := &collector.Server{Logger: slog.New(slog.DiscardHandler)}
	if err := srv.Add(a); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	return l.Addr().String(), func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
