package pmdatrace

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
)

// A replay is a connection that yields the same bytes over and over.
type replay struct {
	net.Conn
	b    []byte
	rest []byte
}

func (r *replay) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		r.rest = r.b
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *replay) Write(p []byte) (int, error)      { return len(p), nil }
func (r *replay) SetWriteDeadline(time.Time) error { return nil }
func (r *replay) RemoteAddr() net.Addr             { return &net.UnixAddr{Net: "unix"} }
func (r *replay) Close() error                     { return nil }

// replaying returns a client that sends n values of known tags again and again.
func replaying(t testing.TB, a *Agent, n int, sync bool) *client {
	t.Helper()
	var all bytes.Buffer
	for i := range n {
		all.Write(data(t, tracewire.Kind(1+i%4), fmt.Sprintf("tag_%d", i), 0.25, sync))
	}
	c := a.admit(&replay{b: all.Bytes()})
	if c == nil {
		t.Fatal("refused")
	}
	return c
}

// TestValueAllocs checks that a value of a known tag allocates nothing, with and without an
// acknowledgement.
func TestValueAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	a := New(Options{Period: time.Second, Buckets: 1000})
	for _, sync := range []bool{false, true} {
		c := replaying(t, a, 50, sync)
		receive := func() {
			if err := c.receive(); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			receive() // all tags
		}
		if n := testing.AllocsPerRun(1000, receive); n != 0 {
			t.Errorf("sync %v: %v allocations", sync, n)
		}
	}
}

// everything returns the PMIDs of all metrics.
func everything(a *Agent) (ids []pdu.PMID) {
	for _, id := range a.PMDA.Namespace().All() {
		ids = append(ids, id)
	}
	return ids
}

// TestFetchAllocs checks that a fetch allocates nothing, even after the period has moved on.
func TestFetchAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop values")
	}
	a := New(Options{Period: time.Second, Buckets: 1000})
	c := replaying(t, a, 50, false)
	ids, r := everything(a), request()
	var w pdu.ResultWriter
	if n := testing.AllocsPerRun(1000, func() {
		w.Reset()
		if err := errorOf(c.receive(), a.PMDA.Fetch(t.Context(), r, ids, &w)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func BenchmarkValue(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			c := replaying(b, New(Options{}), 100, sync)
			b.ReportAllocs()
			for n := 0; n < b.N; n += 100 {
				if err := c.receive(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	for _, tags := range []int{10, 1000} {
		b.Run(fmt.Sprintf("tags=%d", tags), func(b *testing.B) {
			a := New(Options{Period: time.Second, Logger: logTo(io.Discard)})
			c := replaying(b, a, tags, false)
			for range tags {
				if err := c.receive(); err != nil {
					b.Fatal(err)
				}
			}
			ids, r := everything(a), request()
			var w pdu.ResultWriter
			b.ReportAllocs()
			for b.Loop() {
				w.Reset()
				if err := a.PMDA.Fetch(b.Context(), r, ids, &w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMemoryIsCounted checks that tags take no more memory than the agent counts, before and after
// a reset.
func TestMemoryIsCounted(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory")
	}
	o := Options{}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	before := heap()
	tab := newTable(&o)
	for i := range 50000 {
		if _, err := tab.add(&tracewire.Data{Kind: tracewire.KindPoint, Tag: fmt.Appendf(nil, "tag %d", i)}, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := heap() - before; got > tab.memory {
		t.Errorf("50000 tags take %d bytes, and count for %d", got, tab.memory)
	}
	tab.reset(time.Now())
	if got := heap() - before; got > tab.memory {
		t.Errorf("50000 remembered tags take %d bytes, and count for %d", got, tab.memory)
	}
}

// heap returns the memory in use, in bytes.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
