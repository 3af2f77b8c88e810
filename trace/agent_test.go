package trace_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/trace"
)

// An agent is a trace agent in memory. Its dial connects to it.
type agent struct {
	refuse trace.Error   // code of its greeting, if not 0
	dead   error         // error of dial, or nil
	mute   bool          // it reads and counts, but does not reply
	deaf   bool          // it does not read
	hang   bool          // dial never returns
	slow   time.Duration // wait before each Ack
	cut    int           // number of data after which it closes a connection; 0 means never
	check  func(batch []byte)

	mu    sync.Mutex
	got   map[string]int // number of data by kind and tag
	sum   map[string]float64
	total uint64
	conns []net.Conn
	dials int
	wg    sync.WaitGroup
}

func (a *agent) set(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

func (a *agent) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dials++
	if a.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if a.dead != nil {
		return nil, a.dead
	}
	client, server := net.Pipe()
	a.conns = append(a.conns, server)
	a.wg.Go(func() { a.serve(server) })
	return client, nil
}

// stop ends all connections and waits for their goroutines.
func (a *agent) stop() {
	a.set(func() {
		for _, c := range a.conns {
			c.Close()
		}
		a.conns = nil
	})
	a.wg.Wait()
}

func (a *agent) serve(conn net.Conn) {
	if a.deaf {
		conn.Write(tracewire.Ack{Code: tracewire.Version}.Append(nil))
		return
	}
	defer conn.Close()
	var code int32 = tracewire.Version
	a.set(func() {
		if a.refuse != 0 {
			code = int32(a.refuse)
		}
	})
	if _, err := conn.Write(tracewire.Ack{Code: code}.Append(nil)); err != nil || code < 0 {
		return
	}
	acks := make(chan tracewire.Ack, 1000) // a pipe has no buffer, so write Acks while reading
	defer close(acks)
	a.wg.Go(func() {
		for ack := range acks {
			time.Sleep(a.pause())
			conn.Write(ack.Append(nil))
		}
	})
	d := tracewire.NewDecoder(batchReader{a, conn})
	for n := 1; ; n++ {
		data, err := d.Data()
		if err != nil {
			return
		}
		a.count(data)
		if a.cut == n {
			return
		}
		if data.Sync && !a.mute {
			acks <- tracewire.Ack{Code: int32(data.Kind)}
		}
	}
}

func (a *agent) count(d tracewire.Data) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.got == nil {
		a.got, a.sum = map[string]int{}, map[string]float64{}
	}
	key := d.Kind.String() + " " + string(d.Tag)
	a.got[key]++
	a.sum[key] += d.Value
	a.total++
}

func (a *agent) received() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total
}

func (a *agent) pause() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.slow
}

func (a *agent) attempts() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dials
}

// A batchReader records what each read returns.
type batchReader struct {
	a *agent
	r io.Reader
}

func (r batchReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if n > 0 && r.a.check != nil {
		r.a.check(p[:n])
	}
	return n, err
}

// newClient returns a Client of the agent, which logs nothing and is closed after the test.
func newClient(t testing.TB, a *agent) *trace.Client {
	c := &trace.Client{Config: trace.Config{DialContext: a.dial, Logger: slog.New(slog.DiscardHandler)}}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c.Close(ctx)
		a.stop()
	})
	return c
}

// checkStats compares the counts that do not depend on time.
func checkStats(t testing.TB, c *trace.Client, want trace.Stats) {
	t.Helper()
	got := c.Stats()
	if got.Accepted != got.Acknowledged+got.Lost+got.Unsent+got.Queued {
		t.Errorf("Stats do not add up: %+v", got)
	}
	if got != want {
		t.Errorf("Stats %+v, want %+v", got, want)
	}
}

// soon lets the sender run.
func soon() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}
