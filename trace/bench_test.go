package trace_test

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/pcp-go/pcp/trace"
)

// BenchmarkPoint measures the cost to the caller of a datum that is dropped. BenchmarkPut measures
// that of a queued datum.
func BenchmarkPoint(b *testing.B) {
	c := trace.Client{Config: trace.Config{
		Logger: slog.New(slog.DiscardHandler),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}}
	for range trace.DefaultQueue {
		c.Point("bench_point")
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Point("bench_point")
	}
}

// BenchmarkSpan measures the cost to the caller of a transaction, from several goroutines.
func BenchmarkSpan(b *testing.B) {
	c := newClient(b, &agent{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			sp := c.Begin("bench_transaction")
			sp.End()
		}
	})
}

// BenchmarkDelivery compares how many points per second the C agent receives from a Client and from
// pmtracepoint in its default, synchronous mode, in alternating rounds.
func BenchmarkDelivery(b *testing.B) {
	a := startCAgent(b, "")
	sync := cCaller(b, buildCalls(b), callLimit)(a.config.Port)
	c := &trace.Client{Config: a.config, Queue: 1 << 14}
	defer c.Close(context.Background())
	const syncPoints, asyncPoints = 10_000, 200_000
	var inC, inGo time.Duration
	for b.Loop() {
		ns, err := strconv.ParseInt(sync("points bench_point "+strconv.Itoa(syncPoints)), 10, 64)
		if err != nil || ns < 0 {
			b.Fatalf("C: %d, %v", ns, err)
		}
		inC += time.Duration(ns)
		start := time.Now()
		for n := range asyncPoints {
			if n%4096 == 0 {
				for c.Stats().Queued > 1<<13 {
					time.Sleep(50 * time.Microsecond)
				}
			}
			c.Point("bench_point")
		}
		if err := c.Flush(context.Background()); err != nil {
			b.Fatal(err)
		}
		inGo += time.Since(start)
	}
	if s := c.Stats(); s.Dropped+s.Lost > 0 {
		b.Errorf("%+v", s)
	}
	rateC := float64(syncPoints*b.N) / inC.Seconds()
	rateGo := float64(asyncPoints*b.N) / inGo.Seconds()
	b.ReportMetric(rateC, "C-points/s")
	b.ReportMetric(rateGo, "Go-points/s")
	b.ReportMetric(rateGo/rateC, "ratio")
}
