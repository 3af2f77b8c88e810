package collector_test

import (
	"net"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestClientMemory pins the memory of an idle client that has fetched 1,000 values: its share of
// the heap and of stacks, which grow in a call and shrink only in a garbage collection.
func TestClientMemory(t *testing.T) {
	if collectortest.RaceFactor > 1 {
		t.Skip("the race detector needs memory of its own")
	}
	const clients, most = 200, 8 << 10
	s := &collector.Server{}
	collectortest.Add(t, s, benchAgent(t, 10, 1000))
	addr := collectortest.ServeTCP(t, s)
	fetch := func() net.Conn {
		n, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conn := pdu.NewConn(n)
		if _, err := pdu.ClientHello(conn, 1, 0); err != nil {
			t.Fatal(err)
		}
		conn.Queue(1, pdu.SetProfile{})
		if err := conn.Write(1, pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(10, 0, 1)}}); err != nil {
			t.Fatal(err)
		}
		if h, _, err := conn.Read(); err != nil || h.Kind != pdu.KindResult {
			t.Fatalf("%v, %v", h, err)
		}
		return n
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // each processor has its own stacks and pools
	fetch().Close()                                 // allocates what all clients share
	runtime.GC()
	runtime.GC() // the first one does not empty a sync.Pool
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, busy, idle runtime.MemStats
	runtime.ReadMemStats(&before)
	for range clients {
		defer fetch().Close()
	}
	runtime.ReadMemStats(&busy)
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&idle)
	stack := (busy.StackInuse - before.StackInuse) / clients
	heap := (max(idle.HeapAlloc, before.HeapAlloc) - before.HeapAlloc) / clients
	t.Logf("%d bytes of stack and %d of heap for each client", stack, heap)
	if stack+heap > most {
		t.Errorf("%d bytes of stack and %d of heap for each client, want at most %d in all", stack, heap, most)
	}
}

// TestFetchAllocs pins that a fetch from agents in this process allocates nothing.
func TestFetchAllocs(t *testing.T) {
	if collectortest.RaceFactor > 1 {
		t.Skip("the race detector needs memory of its own")
	}
	s := collectortest.CloseAtEnd(t, &collector.Server{})
	collectortest.Add(t, s, benchAgent(t, 10, 100), benchAgent(t, 11, 1))
	g := collectortest.Connect(t, s)
	fetch := &pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(10, 0, 0), pdu.MakePMID(11, 0, 0), pdu.MakePMID(10, 0, 1)}, HighRes: true}
	n := testing.AllocsPerRun(1000, func() { fetchOnce(t, g.Conn, fetch) })
	if n != 0 {
		t.Errorf("%v allocations for a fetch", n)
	}
}
