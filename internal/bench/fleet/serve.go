//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// serve runs collectors, and prints where they listen, until the standard input ends.
func serve(ctx context.Context, n int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	for i := range n {
		srv := &collector.Server{Logger: slog.New(slog.DiscardHandler)}
		if err := srv.Add(hostAgent(i)); err != nil {
			return err
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(ln.Addr())
		running.Go(func() { srv.Serve(ctx, ln) })
	}
	io.Copy(io.Discard, os.Stdin)
	stop()
	running.Wait()
	return nil
}

// hostAgent has the metrics of a host: its load, CPUs and memory.
func hostAgent(n int) *pmda.Agent {
	a := &pmda.Agent{Name: "linux", Domain: 60}
	began := time.Now()
	pmda.Register(a, pmda.Metric[float64]{Name: "kernel.all.load", InDom: a.AddInDom("load", "1 minute", "5 minute", "15 minute"),
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (float64, error) {
			return float64(n%32) / float64(i.ID+1), nil
		}})
	value := func(name string, sem pdu.Sem, units pdu.Units, f func() uint64) {
		pmda.Register(a, pmda.Metric[uint64]{Name: name, Sem: sem, Units: units,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return f(), nil }})
	}
	value("kernel.all.cpu.idle", pdu.SemCounter, pdu.TimeMSec, func() uint64 { return uint64(3 * time.Since(began).Milliseconds()) })
	value("hinv.ncpu", pdu.SemDiscrete, pdu.NoUnits, func() uint64 { return 4 })
	value("mem.util.available", pdu.SemInstant, pdu.SpaceKByte, func() uint64 { return uint64(8<<20 + n<<10) })
	value("mem.physmem", pdu.SemDiscrete, pdu.SpaceKByte, func() uint64 { return 16 << 20 })
	return a
}
