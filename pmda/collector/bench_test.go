package collector_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// benchAgent returns an agent with a metric without instances and one with n instances.
func benchAgent(b testing.TB, d pdu.Domain, n int) *pmda.Agent {
	b.Helper()
	a := &pmda.Agent{Name: fmt.Sprint("bench", d), Domain: d}
	many := &pmda.InDom{Serial: pmda.InDomSerial(1), Name: "many"}
	insts := make([]pdu.Instance, n)
	for i := range insts {
		insts[i] = pdu.Instance{ID: pdu.InstID(i), Name: fmt.Sprint("inst", i)}
	}
	if err := a.Attach(many); err != nil {
		b.Fatal(err)
	}
	if _, err := many.SetInstances(insts...); err != nil {
		b.Fatal(err)
	}
	var v atomic.Uint64
	value := func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return v.Add(1), nil }
	if err := pmda.Register(a, pmda.Metric[uint64]{Name: a.Name + ".one", ID: pmda.Item(0, 0), Value: value}); err != nil {
		b.Fatal(err)
	}
	if err := pmda.Register(a, pmda.Metric[uint64]{Name: a.Name + ".many", ID: pmda.Item(0, 1), InDom: many, Value: value}); err != nil {
		b.Fatal(err)
	}
	return a
}

// BenchmarkFetch measures a fetch end to end by a minimal client: one value, 1,000 values of one
// metric, and values of two agents.
func BenchmarkFetch(b *testing.B) {
	s := &collector.Server{}
	collectortest.Add(b, s, benchAgent(b, 10, 1000), benchAgent(b, 11, 1))
	addr := collectortest.ServeTCP(b, s)
	connections := []struct {
		name string
		dial func() (net.Conn, error)
	}{
		{"tcp", func() (net.Conn, error) { return net.Dial("tcp", addr) }},
		{"memory", func() (net.Conn, error) { return s.DialContext(b.Context(), "", "") }},
	}
	one, many, other := pdu.MakePMID(10, 0, 0), pdu.MakePMID(10, 0, 1), pdu.MakePMID(11, 0, 0)
	for _, c := range connections {
		for _, load := range []struct {
			name string
			ids  []pdu.PMID
		}{
			{"values=1", []pdu.PMID{one}},
			{"values=1000", []pdu.PMID{many}},
			{"agents=2", []pdu.PMID{one, other}},
		} {
			b.Run(fmt.Sprintf("via=%s/%s", c.name, load.name), func(b *testing.B) {
				n, err := c.dial()
				if err != nil {
					b.Fatal(err)
				}
				defer n.Close()
				conn := introduced(b, n)
				ask := &pdu.Fetch{PMIDs: load.ids, HighRes: true}
				b.ReportAllocs()
				for b.Loop() {
					fetchOnce(b, conn, ask)
				}
			})
		}
	}
}

// introduced returns the connection of a client that may fetch.
func introduced(b *testing.B, n net.Conn) *pdu.Conn {
	b.Helper()
	conn := pdu.NewConn(n)
	if _, err := pdu.ClientHello(conn, 1, 0); err != nil {
		b.Fatal(err)
	}
	if err := conn.Queue(0, pdu.SetProfile{}); err != nil {
		b.Fatal(err)
	}
	return conn
}

func fetchOnce(b testing.TB, conn *pdu.Conn, ask *pdu.Fetch) {
	if err := conn.Write(0, ask); err != nil {
		b.Error(err)
	}
	if h, _, err := conn.Read(); err != nil || h.Kind != pdu.KindHighResResult {
		b.Error(h.Kind, err)
	}
}

// BenchmarkClients measures fetches of one value by many concurrent clients.
func BenchmarkClients(b *testing.B) {
	s := &collector.Server{}
	collectortest.Add(b, s, benchAgent(b, 10, 1))
	addr := collectortest.ServeTCP(b, s)
	for _, clients := range []int{8, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			var left atomic.Int64
			var all sync.WaitGroup
			conns := make([]*pdu.Conn, clients)
			for i := range conns {
				n, err := net.Dial("tcp", addr)
				if err != nil {
					b.Fatal(err)
				}
				defer n.Close()
				conns[i] = introduced(b, n)
			}
			left.Store(int64(b.N))
			b.ResetTimer()
			for _, conn := range conns {
				all.Go(func() {
					ask := &pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(10, 0, 0)}, HighRes: true}
					for left.Add(-1) >= 0 {
						fetchOnce(b, conn, ask)
					}
				})
			}
			all.Wait()
		})
	}
}

// BenchmarkConnect measures a client that connects, fetches one value and disconnects.
func BenchmarkConnect(b *testing.B) {
	s := &collector.Server{}
	collectortest.Add(b, s, benchAgent(b, 10, 1))
	addr := collectortest.ServeTCP(b, s)
	ask := &pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(10, 0, 0)}, HighRes: true}
	b.ReportAllocs()
	for b.Loop() {
		n, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		fetchOnce(b, introduced(b, n), ask)
		n.Close()
	}
}

// BenchmarkDesc measures a request for a descriptor.
func BenchmarkDesc(b *testing.B) {
	s := &collector.Server{}
	collectortest.Add(b, s, benchAgent(b, 10, 1))
	g := collectortest.Connect(b, s)
	defer s.Close()
	ask := pdu.DescReq{PMID: pdu.MakePMID(10, 0, 0)}
	b.ReportAllocs()
	for b.Loop() {
		g.Send(ask)
		if _, _, err := g.Conn.Read(); err != nil {
			b.Fatal(err)
		}
	}
}
