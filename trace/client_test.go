package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/trace"
)

func TestClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{}
		c := newClient(t, a)
		checkStats(t, c, trace.Stats{})
		sp := c.Begin("tx")
		time.Sleep(250 * time.Millisecond)
		sp.End()
		sp.End()
		aborted := c.Begin("tx")
		aborted.Abort()
		aborted.End()
		new(trace.Span).End()
		c.Point("pt")
		c.Point("pt")
		c.Observe("pt", 42.5)
		c.Counter("ctr", 1000)
		c.Transaction("tx", time.Second)
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"transaction tx": 1.25, "point pt": -2, "observation pt": 42.5, "counter ctr": 1000}
		if diff := cmp.Diff(want, a.sum); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		checkStats(t, c, trace.Stats{Accepted: 6, Acknowledged: 6, Connects: 1})
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		c.Point("late")
		checkStats(t, c, trace.Stats{Accepted: 6, Acknowledged: 6, Dropped: 1, Connects: 1})
		if err := c.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "1 data dropped: the queue was full, or the client closed") {
			t.Error(err)
		}
	})
}

// TestClientUnused: an unused Client starts nothing.
func TestClientUnused(t *testing.T) {
	var c trace.Client
	if err := errors.Join(c.Flush(t.Context()), c.Err(), c.Close(t.Context())); err != nil {
		t.Error(err)
	}
	c.Point("late")
	checkStats(t, &c, trace.Stats{Dropped: 1})

	no := trace.Client{Config: trace.Config{NoAgent: true}}
	no.Point("pt")
	no.Observe("size", 2)
	no.Point("")
	if got, want := no.Stats(), (trace.Stats{Accepted: 2, Invalid: 1}); got != want {
		t.Errorf("Stats %+v, want %+v", got, want)
	}
	no = trace.Client{Config: trace.Config{NoAgent: true}}
	no.Point("pt")
	if err := errors.Join(no.Flush(t.Context()), no.Err(), no.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestClientTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{}
		c := newClient(t, a)
		long := strings.Repeat("x", trace.MaxTag+1)
		c.Point(long)
		c.Point("")
		c.Point(long[1:])
		err := c.Close(t.Context())
		if !errors.Is(err, trace.ErrTagLength) ||
			!strings.Contains(err.Error(), "2 data refused, the first of them: tag \"xxxxxxxxxxxxxxxxxxxx\"... of 125 bytes is longer than 124") {
			t.Error(err)
		}
		checkStats(t, c, trace.Stats{Accepted: 1, Acknowledged: 1, Invalid: 2, Connects: 1})
		if a.got["point "+long[1:]] != 1 {
			t.Errorf("got %v", a.got)
		}
	})
}

// TestClientTagFaults: the Client refuses tags that an agent would refuse, and says why.
func TestClientTagFaults(t *testing.T) {
	for tag, want := range map[string]string{
		"":                "1 data refused: the tag is empty",
		" pt":             `1 data refused: tag " pt" begins with a space`,
		"a\nb":            `1 data refused: tag "a\nb" has a control character`,
		"\x7f":            "has a control character",
		"caf\u00e9\u0085": "has a control character",
		"pt ":             "",
		"GET /caf\u00e9":  "",
		"\xff\x85":        "", // not UTF-8
	} {
		c := trace.Client{Config: trace.Config{NoAgent: true}}
		c.Point(tag)
		err := c.Close(t.Context())
		if valid := pmda.ValidInstanceName(tag); valid != (err == nil) || valid != (want == "") {
			t.Errorf("%q: %v, agents take it: %v", tag, err, valid)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, trace.ErrTagName) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "NULL") {
			t.Errorf("%q: %v, want %s", tag, err, want)
		}
	}
}

// TestClientBatches: each read returns whole PDUs of at most 1024 bytes in total. Only the last
// requests an Ack.
func TestClientBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batches := 0
		a := &agent{check: func(b []byte) {
			batches++
			if len(b) > 1024 || len(b) < 800 && batches < 70 {
				t.Errorf("a batch of %d bytes", len(b))
			}
			for len(b) > 0 {
				n := min(int(binary.BigEndian.Uint32(b)), len(b))
				if n%16 != 0 {
					t.Errorf("PDU of %d bytes", n)
				}
				if last := n == len(b); last != (b[15] == 0x80) {
					t.Fatalf("PDU of %d bytes, %d left, with %#x", n, len(b), b[15])
				}
				b = b[n:]
			}
		}}
		c := newClient(t, a)
		for i := range 1000 {
			c.Point(strings.Repeat("t", 1+i%trace.MaxTag))
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.received() != 1000 || batches > 120 {
			t.Errorf("%d data in %d batches", a.received(), batches)
		}
		checkStats(t, c, trace.Stats{Accepted: 1000, Acknowledged: 1000, Connects: 1})
	})
}

// TestClientWaitsForMore: data of a slow application are sent together after a delay.
func TestClientWaitsForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batches := 0
		a := &agent{check: func(b []byte) { batches++ }}
		c := newClient(t, a)
		for range 1000 {
			c.Point("pt")
			time.Sleep(time.Millisecond)
		}
		soon()
		if a.received() != 1000 || batches > 100 {
			t.Errorf("%d data in %d batches", a.received(), batches)
		}
	})
}

func TestClientDropsWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{dead: syscall.ECONNREFUSED}
		c := newClient(t, a)
		c.Queue = 100
		for i := range 1000 {
			c.Counter("i", float64(i))
		}
		checkStats(t, c, trace.Stats{Accepted: 128, Dropped: 872, Queued: 128})
		if err := c.Flush(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
		if err := c.Err(); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "agent at localhost:4323: ") {
			t.Error(err)
		}
		a.set(func() { a.dead = nil })
		time.Sleep(6 * time.Second)
		checkStats(t, c, trace.Stats{Accepted: 128, Dropped: 872, Acknowledged: 128, Connects: 1})
		if err := errors.Join(c.Err(), c.Flush(t.Context())); err != nil {
			t.Error(err)
		}
		if want := float64(127 * 128 / 2); a.sum["counter i"] != want {
			t.Errorf("sum %v, want %v: the first 128", a.sum["counter i"], want)
		}
	})
}

func TestClientBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := &agent{dead: syscall.ECONNREFUSED}
		c := newClient(t, a)
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Reconnect = []time.Duration{time.Second, 3 * time.Second}
		c.Point("pt")
		time.Sleep(500 * time.Millisecond)
		for i, want := range []int{1, 2, 2, 2, 3, 3, 3, 4} { // at 0, 1, 4, 7 s
			if n := a.attempts(); n != want {
				t.Errorf("after %d s: %d attempts, want %d", i, n, want)
			}
			time.Sleep(time.Second)
		}
		a.set(func() { a.dead = nil })
		time.Sleep(3 * time.Second)
		synctest.Wait()
		want := []string{"level=WARN", "connection refused", "after=1s", "level=INFO", "connected to the agent again"}
		for _, w := range want {
			if strings.Count(log.String(), w) != 1 {
				t.Errorf("log without %q, or with many:\n%s", w, &log)
			}
		}
	})
}

// TestClientLeastBackOff: retries are limited even if Reconnect is zero.
func TestClientLeastBackOff(t *testing.T) {
	a := &agent{dead: syscall.ECONNREFUSED}
	c := newClient(t, a)
	c.Reconnect = []time.Duration{0}
	start := time.Now()
	c.Point("pt")
	time.Sleep(50 * time.Millisecond)
	tried := waitFor(func() bool { return a.attempts() >= 3 })
	if n, most := a.attempts(), int(time.Since(start)/time.Millisecond)+1; !tried || n > most {
		t.Errorf("%d attempts, want 3 to %d", n, most)
	}
}

// TestClientReconnects: no datum is lost if the agent restarts while nothing is sent.
func TestClientReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{}
		c := newClient(t, a)
		for i := range 10 {
			c.Point("pt")
			soon()
			a.stop()
			if got := a.received(); got != uint64(i+1) {
				t.Fatalf("%d data after %d", got, i+1)
			}
		}
		checkStats(t, c, trace.Stats{Accepted: 10, Acknowledged: 10, Connects: 10})
	})
}

// TestClientCut: only data that were sent and not acknowledged are lost, and no datum is sent
// twice.
func TestClientCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{cut: 100}
		c := newClient(t, a)
		for range 1000 {
			c.Point("pt") // 32 in a batch
		}
		err := c.Flush(t.Context())
		if !errors.Is(err, trace.ErrIPC) || !strings.Contains(err.Error(), "with 232 data unacknowledged") {
			t.Error(err)
		}
		checkStats(t, c, trace.Stats{Accepted: 1000, Acknowledged: 768, Lost: 232, Connects: 8})
		if got := a.received(); got != 800 {
			t.Errorf("%d data received", got)
		}
		if err := c.Close(t.Context()); !errors.Is(err, trace.ErrIPC) ||
			!strings.Contains(err.Error(), "232 data sent without an answer: the agent closed the connection: IPC protocol failure") {
			t.Error(err)
		}
	})
}

// TestClientUselessAgent: an agent that closes each accepted connection counts as unreachable.
func TestClientUselessAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{cut: 1}
		c := newClient(t, a)
		for range 4000 {
			c.Point("pt")
		}
		time.Sleep(time.Minute) // attempts at 0, 5, 15, 35 s
		checkStats(t, c, trace.Stats{Accepted: 4000, Lost: 4 * 32, Queued: 4000 - 4*32, Connects: 4})
		if err := c.Err(); err == nil {
			t.Error("no error")
		}
	})
}

func TestClientRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{refuse: trace.ErrPermission}
		c := newClient(t, a)
		c.Point("pt")
		if err := c.Flush(t.Context()); !errors.Is(err, trace.ErrPermission) {
			t.Error(err)
		}
		if err := c.Close(t.Context()); !errors.Is(err, trace.ErrPermission) || !strings.Contains(err.Error(), "1 data not sent: agent at") {
			t.Error(err)
		}
		checkStats(t, c, trace.Stats{Accepted: 1, Unsent: 1})
	})
}

// TestClientStuckAgent: the sender gives up after RequestTimeout if the agent does not reply.
func TestClientStuckAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{mute: true}
		c := newClient(t, a)
		c.Point("pt")
		soon()
		checkStats(t, c, trace.Stats{Accepted: 1, Queued: 1, Connects: 1})
		c.Point("pt")
		time.Sleep(10 * time.Second)
		checkStats(t, c, trace.Stats{Accepted: 2, Lost: 1, Queued: 1, Connects: 1})
		if err := c.Err(); !errors.Is(err, trace.ErrTimeout) {
			t.Error(err)
		}
	})
}

// TestClientDeafAgent: if the agent does not read, nothing of the batch is written, so the batch
// waits for the next connection.
func TestClientDeafAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{deaf: true}
		c := newClient(t, a)
		c.Point("pt")
		time.Sleep(11 * time.Second)
		checkStats(t, c, trace.Stats{Accepted: 1, Queued: 1, Connects: 1})
		a.set(func() { a.deaf = false })
		time.Sleep(5 * time.Second)
		checkStats(t, c, trace.Stats{Accepted: 1, Acknowledged: 1, Connects: 2})
	})
}

// TestClientCloseGivesUp: Close gives up when its context ends.
func TestClientCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{mute: true}
		c := newClient(t, a)
		for range 50 {
			c.Point("pt")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := c.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := c.Close(ctx); !errors.Is(err, trace.ErrIPC) {
			t.Error(err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("took %v", d)
		}
		checkStats(t, c, trace.Stats{Accepted: 50, Lost: 32, Unsent: 18, Connects: 1})
	})
}

// TestClientConcurrent: each datum is counted once while many goroutines report, flush and close.
func TestClientConcurrent(t *testing.T) {
	a := &agent{}
	c := newClient(t, a)
	c.Queue = 64
	const goroutines, each = 8, 20_000
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for n := range each {
				sp := c.Begin("nested")
				c.Point("pt")
				sp.End()
				if n%1000 == i {
					c.Stats()
				}
			}
		})
	}
	time.Sleep(10 * time.Millisecond)
	if err := c.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	time.Sleep(10 * time.Millisecond)
	c.Close(t.Context())
	wg.Wait()
	s := c.Stats()
	if s.Accepted+s.Dropped != 2*goroutines*each || s.Acknowledged != s.Accepted || a.received() != s.Accepted || s.Queued != 0 {
		t.Errorf("%+v, the agent has %d", s, a.received())
	}
}

// TestClientAllocates: neither queued nor dropped data allocate memory.
func TestClientAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	a := &agent{dead: syscall.ECONNREFUSED}
	c := newClient(t, a)
	c.Reconnect = []time.Duration{time.Hour}
	c.Point("pt")
	c.Flush(t.Context())
	tag, ctx := strings.Repeat("x", 100), trace.NewContext(t.Context(), c)
	if n := testing.AllocsPerRun(2*trace.DefaultQueue, func() {
		c.Point(tag)
		sp := trace.FromContext(ctx).Begin(tag)
		c.Observe(tag, 1)
		sp.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if s := c.Stats(); s.Accepted != trace.DefaultQueue || s.Dropped == 0 {
		t.Errorf("%+v", s)
	}
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{}
		c := newClient(t, a)
		for _, ctx := range []context.Context{t.Context(), trace.NewContext(t.Context(), nil)} {
			if !trace.FromContext(ctx).NoAgent {
				t.Error("the client of a context without one has an agent")
			}
		}
		ctx := trace.NewContext(t.Context(), c)
		fromContext := trace.FromContext(ctx)
		sp := fromContext.Begin("tag")
		fromContext.Point("tag")
		fromContext.Observe("tag", 3)
		fromContext.Counter("tag", 4)
		sp.End()
		if err := c.Flush(ctx); err != nil {
			t.Error(err)
		}
		want := map[string]float64{"transaction tag": 0, "point tag": -1, "observation tag": 3, "counter tag": 4}
		if diff := cmp.Diff(want, a.sum); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestClientCloseDropsLater: data reported while Close waits for the agent are dropped, however
// many.
func TestClientCloseDropsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{slow: time.Second}
		c := newClient(t, a)
		c.Point("pt")
		soon()
		closed := make(chan error)
		go func() { closed <- c.Close(t.Context()) }()
		synctest.Wait()
		c.Point("late")
		if err := <-closed; err == nil || !strings.Contains(err.Error(), "1 data dropped") {
			t.Error(err)
		}
		checkStats(t, c, trace.Stats{Accepted: 1, Acknowledged: 1, Dropped: 1, Connects: 1})
	})
}

// TestClientFlushAfterClose: Flush reports data that Close could not send.
func TestClientFlushAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, &agent{dead: syscall.ECONNREFUSED})
		c.Point("pt")
		if err := c.Close(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
		if err := c.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "closed before all data were sent") {
			t.Error(err)
		}
	})
}

// TestClientFlushRace: a Flush that starts when the Ack arrives does not wait for it.
func TestClientFlushRace(t *testing.T) {
	c := newClient(t, &agent{})
	c.Queue = 64
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i := range 20_000 {
		for range c.Queue / 2 { // half of the ring is sent without delay
			c.Point("pt")
		}
		for until := time.Now().Add(time.Duration(i%100) * time.Microsecond / 2); time.Now().Before(until); {
			runtime.Gosched()
		}
		if err := c.Flush(ctx); err != nil {
			t.Fatal(i, err)
		}
	}
}
