package webapi_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

const (
	benchConnections = 8
	benchNames       = "sample.long.one,sample.long.ten,sample.long.hundred,sample.long.million,sample.colour,sample.control," +
		"sample.ulonglong.million,sample.string.hullo,sample.milliseconds,sample.seconds"
)

// BenchmarkInteropFetch fetches ten metrics over eight connections, from pmproxy and from
// examples/pmproxy in turns. Each turn uses new contexts: one for all connections, or one for each.
// Both servers are processes beside the same collector. The benchmark reports requests per second,
// microseconds of CPU per request of the server and of the collector with its agents, and the
// ratios. The rate depends on how many CPUs the clients leave to the servers. pmproxy sometimes
// crashes on concurrent requests. It is then started again, and its turn repeated.
//
// CPU time has a resolution of 10 ms, so use a -benchtime of 10x or more.
func BenchmarkInteropFetch(b *testing.B) {
	for _, contexts := range []int{1, benchConnections} {
		b.Run(fmt.Sprintf("contexts=%d", contexts), func(b *testing.B) { benchmarkFetch(b, contexts) })
	}
}

func benchmarkFetch(b *testing.B, contexts int) {
	pmcd := pcptest.StartPMCD(b, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	port := fmt.Sprint("PMCD_PORT=", pmcd.Port())
	program := pcptest.Build(b, "./examples/pmproxy")
	both := []*measured{
		{start: func() pcptest.Daemon { return pcptest.PMProxy(b, port) }},
		{start: func() pcptest.Daemon {
			at := strconv.Itoa(pcptest.FreePort(b))
			return pcptest.Daemon{Path: program, Args: []string{"-i", "127.0.0.1", "-p", at}, Addr: "127.0.0.1:" + at, Dir: b.TempDir(), Env: []string{"PCP_TLSCONF_PATH=", port}}
		}},
	}
	for _, m := range both {
		m.run(b)
		m.turn(b, pmcd, contexts) // warm up: look up names and start threads
		m.wall, m.cpu, m.collector, m.requests = 0, 0, 0, 0
	}
	b.ResetTimer()
	for range b.N {
		for _, m := range both {
			m.turn(b, pmcd, contexts)
		}
	}
	c, ours := both[0], both[1]
	if ours.deaths > 0 {
		b.Error("the gateway has died")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(c.rate(), "pmproxy/s")
	b.ReportMetric(ours.rate(), "gateway/s")
	b.ReportMetric(ours.rate()/c.rate(), "rate-ratio")
	b.ReportMetric(c.cost(c.cpu), "pmproxy-µs")
	b.ReportMetric(ours.cost(ours.cpu), "gateway-µs")
	b.ReportMetric(c.cost(c.cpu)/ours.cost(ours.cpu), "cpu-ratio")
	b.ReportMetric(c.cost(c.collector), "pmproxy-pmcd-µs")
	b.ReportMetric(ours.cost(ours.collector), "gateway-pmcd-µs")
	b.ReportMetric(float64(c.deaths), "deaths")
}

// A measured is a server with the measurements of its turns.
type measured struct {
	start   func() pcptest.Daemon
	server  server
	process *pcptest.Process
	deaths  int

	requests             int
	wall, cpu, collector time.Duration // collector is the CPU time of PCP's pmcd and its agents
}

func (m *measured) rate() float64 { return float64(m.requests) / m.wall.Seconds() }

// cost returns a time per request, in microseconds.
func (m *measured) cost(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(m.requests) }

// run starts the server.
func (m *measured) run(b *testing.B) {
	b.Helper()
	d := m.start()
	m.process = pcptest.Start(b, d)
	m.server = server{url: "http://" + d.Addr, addr: d.Addr}
}

// turn makes requests over all connections, in new contexts.
func (m *measured) turn(b *testing.B, pmcd *pcptest.PMCD, contexts int) {
	b.Helper()
	const perConnection, maxDeaths = 500, 50
	for {
		clients, err := m.clients(contexts)
		begun, collector := m.process.CPU(), pmcd.CPU()
		var d time.Duration
		if err == nil {
			d, err = fetchAll(clients, perConnection)
		}
		cpu := m.process.CPU() - begun
		collector = pmcd.CPU() - collector
		for _, c := range clients {
			c.conn.Close()
		}
		if err == nil {
			m.requests += benchConnections * perConnection
			m.wall += d
			m.cpu += cpu
			m.collector += collector
			return
		}
		if m.deaths++; m.deaths > maxDeaths {
			b.Fatalf("it has died %d times: %v", m.deaths, err)
		}
		m.process.Stop()
		m.run(b)
	}
}

// clients connects to the server, with the given number of new contexts.
func (m *measured) clients(contexts int) (all []*rawClient, err error) {
	var ids []string
	for range contexts {
		res, err := http.Get(m.server.url + "/pmapi/_context?polltimeout=30")
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		ids = append(ids, strings.Trim(string(text), "{\"contex:}\r\n"))
	}
	for n := range benchConnections {
		c, err := newRawClient(m.server, ids[n%contexts])
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

// fetchAll has all clients make n requests each.
func fetchAll(clients []*rawClient, n int) (time.Duration, error) {
	start := time.Now()
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			for k := 0; k < n && errs[i] == nil; k++ {
				errs[i] = c.fetch()
			}
		})
	}
	wg.Wait()
	return time.Since(start), errors.Join(errs...)
}

// A rawClient repeats one request on a connection, at little cost.
type rawClient struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
}

func newRawClient(s server, id string) (*rawClient, error) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return &rawClient{conn, bufio.NewReader(conn), []byte("GET /pmapi/" + id + "/fetch?names=" + benchNames + " HTTP/1.1\r\nHost: localhost\r\n\r\n")}, nil
}

func (c *rawClient) fetch() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	length := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(string(n))); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			_, err := io.CopyN(io.Discard, c.in, int64(length))
			return err
		}
	}
}
