// Bench is a collector for benchmarks: it has an agent in its process with the
// metrics that a benchmark of collectors fetches, and beside it the agents of a
// configuration. servers.sh starts it and a C pmcd with the same agents.
//
//	bench -p PORT -s SOCKET -n PMNS -c CONF [-cpuprofile FILE]
//
// Domain 250 has bench.one (0:0), bench.slow (0:1), bench.wide.m000 to m099
// (1:0 to 1:99) and bench.inst.n10, n100, n1000 and n10000 (2:0 to 2:3), each a
// 64-bit counter. The value of slow comes after BENCH_DELAY_MS milliseconds, or a second.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmns"
)

func main() {
	port := flag.String("p", "44321", "TCP port on the loopback interface")
	socket := flag.String("s", "", "unix socket")
	names := flag.String("n", "", "name space")
	conf := flag.String("c", "", "configuration with agents, of which dso lines are ignored, and access rules")
	timeout := flag.Duration("t", 0, "time that an agent has for a request")
	profile := flag.String("pprof", "", "address of a profiler")
	flag.Parse()
	if *profile != "" {
		go http.ListenAndServe(*profile, nil)
	}
	if err := run(*port, *socket, *names, *conf, *timeout); err != nil {
		log.Fatal(err)
	}
}

func run(port, socket, names, conf string, timeout time.Duration) error {
	srv := &collector.Server{Logger: pmlog.New(os.Stderr, "bench", slog.LevelInfo), Timeout: timeout}
	var err error
	if names != "" {
		if srv.Names, err = pmns.Load(names); err != nil {
			return err
		}
	}
	cfg := &pmcdconf.Config{}
	if conf != "" {
		if cfg, err = pmcdconf.Load(conf); err != nil {
			return err
		}
		srv.Access = cfg.Access
	}
	if err := srv.Add(agent(250)); err != nil {
		return err
	}
	for _, a := range cfg.Agents {
		if a.Kind != "dso" {
			if err := srv.StartAgent(a); err != nil {
				return err
			}
		}
	}
	var listeners []net.Listener
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	listeners = append(listeners, ln)
	if socket != "" {
		if ln, err = net.Listen("unix", socket); err != nil {
			return err
		}
		listeners = append(listeners, ln)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return srv.Serve(ctx, listeners...)
}

// agent has the shapes of values.
func agent(domain pdu.Domain) *pmda.Agent {
	a := &pmda.Agent{Name: "bench", Domain: domain}
	var calls atomic.Uint64
	metric := func(name string, id pmda.ItemID, d *pmda.InDom) pmda.Metric[uint64] {
		return pmda.Metric[uint64]{
			Name: name, ID: id, Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: d,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
				return calls.Load() + uint64(i.ID+1), nil
			},
		}
	}
	pmda.Register(a, metric("bench.one", pmda.Item(0, 0), nil))
	slow := metric("bench.slow", pmda.Item(0, 1), nil)
	slow.Value = func(ctx context.Context, _ *pmda.Request, _ pdu.Instance) (uint64, error) {
		time.Sleep(delay())
		return calls.Add(1), nil
	}
	pmda.Register(a, slow)
	for i := range 100 {
		pmda.Register(a, metric(fmt.Sprintf("bench.wide.m%03d", i), pmda.Item(1, i), nil))
	}
	for i, n := range []int{10, 100, 1000, 10000} {
		instances := make([]string, n)
		for j := range instances {
			instances[j] = fmt.Sprintf("i%05d", j)
		}
		pmda.Register(a, metric(fmt.Sprintf("bench.inst.n%d", n), pmda.Item(2, i), a.AddInDom(fmt.Sprintf("n%d", n), instances...)))
	}
	return a
}

func delay() time.Duration {
	if ms, err := strconv.Atoi(os.Getenv("BENCH_DELAY_MS")); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return time.Second
}
