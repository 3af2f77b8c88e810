package trace_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/trace"
)

func newSession(t testing.TB, a *agent) *trace.Session {
	s := &trace.Session{Config: trace.Config{DialContext: a.dial, Logger: slog.New(slog.DiscardHandler)}}
	t.Cleanup(func() {
		s.Close()
		a.stop()
	})
	return s
}

// wantErrors compares errors with the codes that they wrap.
func wantErrors(t *testing.T, got []error, want ...error) {
	t.Helper()
	for i := range want {
		if !errors.Is(got[i], want[i]) || (want[i] == nil) != (got[i] == nil) {
			t.Errorf("call %d: %v, want %v", i, got[i], want[i])
		}
	}
}

func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{}
		s, ctx := newSession(t, a), t.Context()
		got := []error{s.Begin(ctx, "tx"), s.Begin(ctx, "tx"), s.Begin(ctx, "other")}
		time.Sleep(time.Second)
		got = append(got, s.End(ctx, "tx"), s.End(ctx, "tx"), s.End(ctx, "none"), s.Abort("other"), s.Abort("other"),
			s.Point(ctx, "pt"), s.Observe(ctx, "pt", 42.5), s.Counter(ctx, "pt", 7),
			s.Point(ctx, ""), s.Point(ctx, strings.Repeat("x", trace.MaxTag+1)))
		wantErrors(t, got, nil, trace.ErrInProgress, nil,
			nil, trace.ErrNoProgress, trace.ErrNoSuchTag, nil, trace.ErrNoProgress,
			nil, nil, nil,
			trace.ErrTagName, trace.ErrTagLength)
		want := map[string]float64{"transaction tx": 1, "point pt": -1, "observation pt": 42.5, "counter pt": 7}
		if diff := cmp.Diff(want, a.sum); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if text := got[5].Error(); text != `trace: end "none": Transaction tag was not successfully initialised` {
			t.Error(text)
		}
	})
}

// TestSessionTells: a Session returns an error for each lost datum.
func TestSessionTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{}
		s, ctx := newSession(t, a), t.Context()
		got := []error{s.Point(ctx, "a")}
		a.stop()
		got = append(got, s.Point(ctx, "a"), s.Point(ctx, "a"))
		a.set(func() { a.dead = syscall.ECONNREFUSED })
		a.stop()
		got = append(got, s.Point(ctx, "a"), s.Point(ctx, "a"))
		a.set(func() { a.dead = nil })
		got = append(got, s.Begin(ctx, "a"), s.Point(ctx, "a"))
		time.Sleep(5 * time.Second)
		got = append(got, s.Point(ctx, "a"))
		refused := trace.Error(-111)
		wantErrors(t, got, nil, trace.ErrIPC, nil, trace.ErrIPC, refused, refused, refused, nil)
		if !errors.Is(got[4], syscall.ECONNREFUSED) || !strings.Contains(got[5].Error(), "next attempt in 5s") {
			t.Errorf("%v, %v", got[4], got[5])
		}
		if a.attempts() != 4 || a.received() != 3 {
			t.Errorf("%d attempts, %d data", a.attempts(), a.received())
		}
	})
}

// TestSessionLateAck: a late Ack does not count for a later call.
func TestSessionLateAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{slow: 15 * time.Second}
		s, ctx := newSession(t, a), t.Context()
		err := s.Point(ctx, "a") // its Ack arrives after 15 s
		a.set(func() { a.slow = 0 })
		wantErrors(t, []error{err, s.Observe(ctx, "a", 1)}, trace.ErrTimeout, nil)
		if a.received() != 2 || a.attempts() != 1 {
			t.Errorf("%d data, %d attempts", a.received(), a.attempts())
		}
	})
}

func TestSessionContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{mute: true}
		s := newSession(t, a)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErrors(t, []error{s.Point(ctx, "a"), s.Point(ctx, "a")}, context.DeadlineExceeded, context.DeadlineExceeded)
		a.set(func() { a.dead, a.hang = nil, true })
		s.Close()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		wantErrors(t, []error{s.Point(ctx, "a")}, context.DeadlineExceeded)
		wantErrors(t, []error{s.Point(t.Context(), "a")}, trace.Error(-110))
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// A lateConn takes a second to set a deadline in the past.
type lateConn struct{ net.Conn }

func (c lateConn) SetDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		time.Sleep(time.Second)
	}
	return c.Conn.SetDeadline(t)
}

// TestSessionContextLate: a context that ends while the Ack arrives does not end a later call.
func TestSessionContextLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{slow: 500 * time.Millisecond}
		s := newSession(t, a)
		s.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := a.dial(ctx, network, addr)
			return lateConn{conn}, err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		err := s.Point(ctx, "a") // sets the deadline from 0.25 s to 1.25 s, the Ack comes at 0.5 s
		a.set(func() { a.slow = 5 * time.Second })
		wantErrors(t, []error{err, s.Point(t.Context(), "a")}, nil, nil)
	})
}

// TestSessionContextGreeting: a context that has ended when the connection is made ends the wait
// for the agent.
func TestSessionContextGreeting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, &agent{})
		ctx, cancel := context.WithCancel(t.Context())
		s.DialContext = func(context.Context, string, string) (net.Conn, error) {
			cancel()
			client, server := net.Pipe() // the server sends nothing
			t.Cleanup(func() { server.Close() })
			return yieldConn{client}, nil
		}
		start := time.Now()
		wantErrors(t, []error{s.Point(ctx, "a")}, context.Canceled)
		if d := time.Since(start); d > time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// A yieldConn lets other goroutines run before it sets a read deadline.
type yieldConn struct{ net.Conn }

func (c yieldConn) SetReadDeadline(t time.Time) error {
	time.Sleep(time.Millisecond)
	return c.Conn.SetReadDeadline(t)
}

// TestSessionBackOffEnds: the back-off ends with a connection. If that is lost, End tries to
// connect again.
func TestSessionBackOffEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{}
		s, ctx := newSession(t, a), t.Context()
		s.Compatible = true
		got := []error{s.Begin(ctx, "a")}
		a.stop()
		a.set(func() { a.dead = syscall.ECONNREFUSED })
		got = append(got, s.Point(ctx, "lost"), s.Point(ctx, "refused"))
		a.set(func() { a.dead = nil })
		got = append(got, s.Point(ctx, "back"))
		a.stop()
		got = append(got, s.Point(ctx, "lost"), s.End(ctx, "a"))
		wantErrors(t, got, nil, nil, nil, nil, nil, nil)
		if a.received() != 2 {
			t.Errorf("%d data, want those of back and End", a.received())
		}
	})
}

func TestSessionRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{refuse: trace.ErrConnLimit}
		s, ctx := newSession(t, a), t.Context()
		wantErrors(t, []error{s.Point(ctx, "a"), s.Begin(ctx, "a"), s.End(ctx, "a")},
			trace.ErrConnLimit, trace.ErrConnLimit, trace.ErrNoSuchTag)
	})
}

func TestSessionAsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agent{mute: true}
		s, ctx := newSession(t, a), t.Context()
		if old, err := s.SetState(trace.StateAsync); old != 0 || err != nil {
			t.Error(old, err)
		}
		wantErrors(t, []error{s.Point(ctx, "a"), s.Point(ctx, "a")}, nil, nil)
		synctest.Wait()
		a.stop()
		wantErrors(t, []error{s.Point(ctx, "a"), s.Point(ctx, "a")}, trace.ErrIPC, nil)
		synctest.Wait()
		if a.received() != 3 || a.attempts() != 2 {
			t.Errorf("%d data, %d attempts", a.received(), a.attempts())
		}
	})
}

func TestSessionStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := &agent{}
		s, ctx := newSession(t, a), t.Context()
		s.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s.SetState(trace.StateNoAgent | trace.StateAPI)
		s.Begin(ctx, "a")
		s.End(ctx, "a")
		s.SetState(trace.StateComms | trace.StatePDU | trace.StatePDUBuf)
		s.Point(ctx, "a")
		old, err := s.SetState(trace.StateAsync)
		if want := trace.StateComms | trace.StatePDU | trace.StatePDUBuf; old != want || !errors.Is(err, syscall.EINVAL) {
			t.Error(old, err)
		}
		s.Close()
		for _, want := range []string{
			`msg="trace: begin" tag=a`, "no communication", `msg="trace: end" tag=a`,
			"trace: connected", "trace: sent", "bytes=0000001c00007051", "trace: received", "trace: disconnected",
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s is not in the log:\n%s", want, &log)
			}
		}
		if a.received() != 1 {
			t.Errorf("%d data", a.received())
		}
	})
}

func TestSessionConcurrent(t *testing.T) {
	a := &agent{}
	s := newSession(t, a)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			tag := string('a' + rune(i))
			for range 200 {
				if err := errors.Join(s.Begin(t.Context(), tag), s.Point(t.Context(), tag), s.End(t.Context(), tag)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if a.received() != 3200 {
		t.Errorf("%d data", a.received())
	}
}
