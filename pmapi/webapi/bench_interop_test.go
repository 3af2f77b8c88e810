package webapi_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

const (
	benchConnections = 8
	benchNames       = "sample.long.one,sample.long.ten,sample.long.hundred,sample.long.million,sample.colour,sample.control," +
		"sample.ulonglong.million,sample.string.hullo,sample.milliseconds,sample.seconds"
)

// BenchmarkInteropFetch fetches ten metrics over eight connections, from pmproxy and from a Gateway in turn, beside the same collector:
// with one context for all connections or with one for each. The metrics are requests in a second, and how many times faster the
// Gateway is. pmproxy sometimes dies of requests that come at the same time; then there is no result.
func BenchmarkInteropFetch(b *testing.B) {
	for _, contexts := range []int{1, benchConnections} {
		b.Run(fmt.Sprintf("contexts=%d", contexts), func(b *testing.B) { benchmarkFetch(b, contexts) })
	}
}

func benchmarkFetch(b *testing.B, contexts int) {
	const requests = 50
	pmcd := pcptest.StartPMCD(b, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	servers := []server{startPMProxy(b), serve(b, &webapi.Gateway{Allow: []string{"localhost:*"}})}
	var clients [2][]*rawClient
	for i := range servers {
		servers[i].host = pmcd.Host()
		var ids []string
		for range contexts {
			ids = append(ids, servers[i].open(b, servers[i].hostspec()+"&polltimeout=3000"))
		}
		for n := range benchConnections {
			clients[i] = append(clients[i], newRawClient(b, servers[i], ids[n%contexts]))
		}
	}
	var took [2]time.Duration
	b.ResetTimer()
	for range b.N {
		for i := range servers {
			d, err := fetchAll(clients[i], requests)
			if err != nil && i == 0 {
				b.Skipf("pmproxy has died: %v", err)
			} else if err != nil {
				b.Fatal(err)
			}
			took[i] += d
		}
	}
	n := float64(b.N * benchConnections * requests)
	b.ReportMetric(n/took[0].Seconds(), "pmproxy/s")
	b.ReportMetric(n/took[1].Seconds(), "gateway/s")
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "ratio")
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

// A rawClient is a connection that makes one request again and again, at little cost.
type rawClient struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
}

func newRawClient(b *testing.B, s server, id string) *rawClient {
	b.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &rawClient{conn, bufio.NewReader(conn), []byte("GET /pmapi/" + id + "/fetch?names=" + benchNames + " HTTP/1.1\r\nHost: localhost\r\n\r\n")}
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
