package collector_test

import (
	"crypto/tls"
	"flag"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

var handshakes = flag.Int("handshakes", 400, "how many handshakes TestSecureLeak does")

// TestSecureLeak checks that successful, interrupted and refused TLS connections leave nothing
// behind: no goroutine, no client, and no memory, counted or not.
func TestSecureLeak(t *testing.T) {
	s := newSecured(t, nil)
	good, old := s.client(), s.client()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	one := func(t *testing.T, i int) {
		g := collectortest.DialTCP(t, s.addr)
		defer g.Net.Close()
		switch i % 8 {
		case 0: // the client disconnects during the handshake
			g.Receive()
			g.Send(pdu.Creds{Version: pdu.ProtocolVersion, Features: secureAck})
			g.Receive()
			g.SendBytes([]byte{22, 3, 1, 1, 0, 1})
			g.Net.(*net.TCPConn).SetLinger(0)
		case 1:
			upgrade(g, secureAck, old)
		default:
			c, _, err := upgrade(g, secureAck, good)
			if err != nil {
				t.Error(err)
				return
			}
			if got := c.Request(aDesc); got != aDescribed {
				t.Error(got)
			}
			if i%2 == 0 {
				c.Net.Close() // with its last message
			}
		}
	}
	many := func(n int) {
		t.Run("some", func(t *testing.T) { // whose end lets go of the clients
			var clients sync.WaitGroup
			for k := range 4 {
				clients.Go(func() {
					for i := k; i < n; i += 4 {
						one(t, i)
					}
				})
			}
			clients.Wait()
		})
		collectortest.Eventually(t, "no client", func() bool { return s.NumClients() == 0 && s.NumHeld() == 0 })
	}
	many(64) // allocates what all connections share
	before := heap()
	goroutines := runtime.NumGoroutine()
	many(*handshakes)
	collectortest.Eventually(t, "no goroutine more", func() bool { return runtime.NumGoroutine() <= goroutines })
	const most = 2 << 20
	if after := heap(); after > before+most {
		t.Errorf("%d bytes before, %d after", before, after)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSecure measures a handshake, and fetches of one value and of 1,000, with and without
// TLS.
func BenchmarkSecure(b *testing.B) {
	s := newSecured(b, func(s *collector.Server) { collectortest.Add(b, s, benchAgent(b, 11, 1000)) })
	config := s.client()
	config.CurvePreferences = []tls.CurveID{tls.X25519} // as OpenSSL's clients
	connect := func(b *testing.B) (net.Conn, *pdu.Conn) {
		n, err := net.Dial("tcp", s.addr)
		if err != nil {
			b.Fatal(err)
		}
		conn := pdu.NewConn(n)
		if _, err := pdu.ClientHello(conn, 1, secureAck); err != nil {
			b.Fatal(err)
		}
		if _, _, err := conn.Read(); err != nil {
			b.Fatal(err)
		}
		c := tls.Client(n, config)
		if err := c.Handshake(); err != nil {
			b.Fatal(err)
		}
		return c, pdu.NewConn(c)
	}
	b.Run("handshake", func(b *testing.B) {
		for b.Loop() {
			n, conn := connect(b)
			conn.Queue(0, pdu.SetProfile{})
			fetchOnce(b, conn, &pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(11, 0, 0)}, HighRes: true})
			n.Close()
		}
	})
	for name, item := range map[string]int{"values=1": 0, "values=1000": 1} {
		b.Run(name, func(b *testing.B) {
			n, conn := connect(b)
			defer n.Close()
			conn.Queue(0, pdu.SetProfile{})
			ask := &pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(11, 0, item)}, HighRes: true}
			b.ReportAllocs()
			for b.Loop() {
				fetchOnce(b, conn, ask)
			}
		})
	}
}
