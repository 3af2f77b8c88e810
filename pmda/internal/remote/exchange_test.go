package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// TestRequestsWaitForTheirTurn: requests wait for their turn, first come first served. The agent
// never sees one that has expired or was cancelled meanwhile.
func TestRequestsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{})
		begin := time.Now()
		request := func(id uint32, deadline time.Duration) *pmda.Request {
			return &pmda.Request{Client: pmda.NewClient(id, uint64(id)), Deadline: begin.Add(deadline)}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		first := startDesc(t, t.Context(), agent, request(1, time.Hour))
		expiring := startDesc(t, t.Context(), agent, request(2, time.Second))
		canceled := startDesc(t, ctx, agent, request(3, time.Hour))
		waiting := startDesc(t, t.Context(), agent, request(4, time.Hour))
		last := startDesc(t, t.Context(), agent, request(5, time.Hour))
		far.expect(descFrom(1))
		if !agent.Busy() {
			t.Error("not busy during a request")
		}

		expiring.ends(pdu.ErrTimeout)
		checkTook(t, begin, time.Second)
		cancel(gone)
		canceled.ends(gone)
		first.runs()
		waiting.runs()
		time.Sleep(timeout - 2*time.Second)
		far.send(testDesc)
		first.ends(nil)
		far.expect(descFrom(4))
		last.ends(pdu.ErrTimeout)
		checkTook(t, begin, timeout) // which limits the wait, too
		time.Sleep(timeout / 2)      // the time-out counts from the turn on
		far.send(testDesc)
		waiting.ends(nil)
		far.expect()
		if agent.Busy() {
			t.Error("busy after the last request")
		}
		checkServes(t, agent, far)
	})
}

// TestRequestExpiresAtItsTurn: a deadline passes at the very moment of the turn.
func TestRequestExpiresAtItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{})
		for range 50 {
			first := startDesc(t, t.Context(), agent, request7())
			far.expect(desc7)
			r := &pmda.Request{Client: pmda.NewClient(8, 8), Deadline: time.Now().Add(time.Second)}
			second := startDesc(t, t.Context(), agent, r)
			time.AfterFunc(time.Second, func() { far.send(testDesc) })
			first.ends(nil)
			second.ends(pdu.ErrTimeout)
			far.expect()
			if _, err := agent.Desc(t.Context(), r, testID); err != pdu.ErrTimeout {
				t.Errorf("a request that has expired before: %v", err)
			}
		}
		checkServes(t, agent, far)
	})
}

// TestNoTimeout: without a timeout a request waits indefinitely.
func TestNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{Timeout: -1})
		first := startDesc(t, t.Context(), agent, request7())
		second := startDesc(t, t.Context(), agent, request7())
		time.Sleep(100 * time.Hour)
		far.expect(desc7)
		far.send(testDesc)
		first.ends(nil)
		second.runs()
		far.send(testDesc)
		second.ends(nil)

		// So does the Agent for a late reply.
		r := request7()
		r.Deadline = time.Now().Add(time.Second)
		startDesc(t, t.Context(), agent, r).ends(pdu.ErrTimeout)
		time.Sleep(100 * time.Hour)
		far.send(testDesc)
		far.expect(desc7, desc7)
		checkServes(t, agent, far)
	})
}

// TestRequestIsNotRead: an agent that does not read a whole request within the timeout loses its
// connection, but not sooner, even if the request expires sooner.
func TestRequestIsNotRead(t *testing.T) {
	tests := []struct {
		name     string
		cfg      remote.Config
		deadline time.Duration
		took     time.Duration
	}{
		{"time-out", remote.Config{}, 0, timeout},
		{"expires sooner", remote.Config{}, time.Second, timeout},
		{"no time-out", remote.Config{Timeout: -1}, time.Second, time.Second},
	}
	for _, tt := range tests {
		for _, n := range []int{0, 1, 15} {
			t.Run(fmt.Sprintf("%s/%d bytes read", tt.name, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					agent, far := connectUnbuffered(t, 0, tt.cfg)
					begin, r := time.Now(), request7()
					if tt.deadline != 0 {
						r.Deadline = begin.Add(tt.deadline)
					}
					c := startDesc(t, t.Context(), agent, r)
					waiting := startDesc(t, t.Context(), agent, request7())
					io.ReadFull(far.Stream, make([]byte, n))
					c.ends(pdu.ErrTimeout)
					checkTook(t, begin, tt.took)
					checkEnded(t, agent, nil)
					if <-waiting.done; waiting.err != pdu.ErrNoAgent && waiting.err != pdu.ErrTimeout {
						t.Errorf("the waiting request gets %v", waiting.err)
					}
				})
			})
		}
	}
	t.Run("read after its deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			agent, far := connectUnbuffered(t, 0, remote.Config{})
			begin, r := time.Now(), request7()
			r.Deadline = begin.Add(time.Second)
			c := startDesc(t, t.Context(), agent, r)
			time.Sleep(timeout / 2)
			far.do(desc7)
			c.ends(pdu.ErrTimeout)
			checkTook(t, begin, timeout/2)
			far.send(testDesc)
			synctest.Wait()
			c = startDesc(t, t.Context(), agent, request7())
			far.do(desc7)
			far.send(testDesc)
			c.ends(nil)
		})
	})
	t.Run("close", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			agent, _ := connectUnbuffered(t, 0, remote.Config{})
			c := startDesc(t, t.Context(), agent, request7())
			agent.Close()
			c.ends(pdu.ErrNoAgent)
		})
	})
	t.Run("end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			agent, far := connectUnbuffered(t, 0, remote.Config{})
			far.Stream.Close()
			startDesc(t, t.Context(), agent, request7()).ends(io.ErrClosedPipe)
			checkEnded(t, agent, io.ErrClosedPipe)
		})
	})
}

// TestContextEndsAfterExchange: the context of a request has no effect after its exchange.
func TestContextEndsAfterExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		startDesc(t, ctx, agent, request7()).ends(pdu.ErrTimeout)
		cancel() // while the reply is late
		synctest.Wait()
		far.send(testDesc)
		far.expect(desc7)
		checkServes(t, agent, far)

		ctx, cancel = context.WithCancel(t.Context())
		c := startDesc(t, ctx, agent, request7())
		far.send(pdu.Status{Code: pdu.ErrPMDANotReady})
		c.ends(pdu.ErrAgain)
		cancel()
		synctest.Wait()
		far.send(pdu.Status{Code: pdu.ErrPMDAReady})
		far.expect(desc7)
		checkServes(t, agent, far)

		ctx, cancel = context.WithCancel(t.Context())
		c = startDesc(t, ctx, agent, request7())
		far.send(testDesc)
		c.ends(nil)
		c = startDesc(t, t.Context(), agent, request7())
		cancel() // the earlier request's
		c.runs()
		far.send(testDesc)
		c.ends(nil)
	})
}

// TestContextEndsDuringWrite: a context that ends while the request is being written ends the
// exchange then.
func TestContextEndsDuringWrite(t *testing.T) {
	for _, before := range []bool{false, true} { // whether another request had the context before
		synctest.Test(t, func(t *testing.T) {
			agent, far := connectUnbuffered(t, 0, remote.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			if before {
				c := startDesc(t, ctx, agent, request7())
				far.do(desc7)
				far.send(testDesc)
				c.ends(nil)
			}
			begin := time.Now()
			c := startDesc(t, ctx, agent, request7())
			cancel()
			c.runs()
			far.do(desc7)
			c.ends(context.Canceled)
			checkTook(t, begin, 0)
			far.send(testDesc)
		})
	}
}

// A countingContext counts the goroutines that watch it.
type countingContext struct {
	context.Context
	end      chan struct{}
	watchers int
}

func (c *countingContext) Done() <-chan struct{} { return c.end }

func (c *countingContext) AfterFunc(func()) func() bool {
	c.watchers++
	return func() bool { c.watchers--; return true }
}

// TestWatchesOneContext: an Agent watches only the context of the latest request, and no context
// in the end.
func TestWatchesOneContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{})
		a := &countingContext{Context: t.Context(), end: make(chan struct{})}
		b := &countingContext{Context: t.Context(), end: make(chan struct{})}
		for i, ctx := range []*countingContext{a, a, b, b, a, b} {
			c := startDesc(t, ctx, agent, request7())
			far.send(testDesc)
			c.ends(nil)
			if a.watchers+b.watchers != 1 || ctx.watchers != 1 {
				t.Errorf("request %d: %d and %d watchers", i, a.watchers, b.watchers)
			}
		}
		agent.Close()
		if a.watchers+b.watchers != 0 {
			t.Errorf("after Close: %d and %d watchers", a.watchers, b.watchers)
		}
	})
}
