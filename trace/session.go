package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
)

// A Session makes the calls of libpcp_trace. Each call sends its datum at once, waits until the
// agent has acknowledged it, and returns an error if it was lost, unless Compatible is set. A
// Client is faster and never waits.
//
// Errors wrap an Error where the C library returns its code.
//
// The zero Session sends to the agent of this host. The fields may be changed until the first call
// of a method. A Session is safe for concurrent use. It makes one call at a time, so a call may
// wait RequestTimeout for each call before it.
type Session struct {
	Config

	// Compatible makes calls return what the C library returns, even where that is less helpful.
	// Data of a lost connection are lost without an error. All calls except End connect whenever
	// there is no connection, regardless of Reconnect. An asynchronous Session never reconnects. An
	// Ack that arrives after its call has timed out counts for the next call.
	Compatible bool

	mu    sync.Mutex
	state State
	async bool
	fixed bool // a connection was made, so async can no longer change

	conn     net.Conn // nil without a connection
	acks     *tracewire.Decoder
	owed     int // pending Acks of calls that have timed out
	failures int // in a row
	next     time.Time
	last     error // the last failure
	tried    bool
	begun    bool // Begin has had a connection
	sent     bool // Point, Observe or Counter has had a connection

	open map[string]*transaction
	buf  []byte
}

// A transaction of Begin and End. As in the C library, it is never deleted.
type transaction struct {
	start   time.Time
	ongoing bool
}

// Begin starts the transaction of a tag. It connects if necessary, so that End need not. It fails
// with ErrInProgress if a transaction of that tag is in progress. The counterpart of
// pmtracebegin(3).
func (s *Session) Begin(ctx context.Context, tag string) error {
	return s.call("begin", tag, func() error {
		err := s.connect(ctx, &s.begun)
		if err != nil && (!s.Compatible || !s.begun || s.async) {
			return err
		}
		err = s.hide(err)
		t := s.open[tag]
		switch {
		case t == nil:
			if s.open == nil {
				s.open = map[string]*transaction{}
			}
			t = &transaction{}
			s.open[tag] = t
		case t.ongoing:
			return ErrInProgress
		}
		*t = transaction{start: time.Now(), ongoing: true}
		return err
	})
}

// End ends the transaction and sends its duration. It fails with ErrNoSuchTag if Begin was never
// called for the tag, and with ErrNoProgress if the transaction has ended. The counterpart of
// pmtraceend(3).
func (s *Session) End(ctx context.Context, tag string) error {
	now := time.Now()
	return s.call("end", tag, func() error {
		t, err := s.ongoing(tag)
		if err != nil {
			return err
		}
		t.ongoing = false
		return s.send(ctx, tracewire.KindTransaction, tag, now.Sub(t.start).Seconds(), nil)
	})
}

// Abort ends the transaction and sends nothing. Errors are those of End. The
// counterpart of pmtraceabort(3).
func (s *Session) Abort(tag string) error {
	return s.call("abort", tag, func() error {
		t, err := s.ongoing(tag)
		if err == nil {
			t.ongoing = false
		}
		return err
	})
}

// Point reports that the program has passed the point that tag names. The counterpart of
// pmtracepoint(3).
func (s *Session) Point(ctx context.Context, tag string) error {
	return s.call("point", tag, func() error { return s.send(ctx, tracewire.KindPoint, tag, -1, &s.sent) })
}

// Observe sends a value, such as a length or a temperature. The counterpart of pmtraceobs(3).
func (s *Session) Observe(ctx context.Context, tag string, value float64) error {
	return s.call("obs", tag, func() error { return s.send(ctx, tracewire.KindObservation, tag, value, &s.sent) })
}

// Counter sends the value of a counter, which never goes down. The counterpart of
// pmtracecounter(3).
func (s *Session) Counter(ctx context.Context, tag string, value float64) error {
	return s.call("counter", tag, func() error { return s.send(ctx, tracewire.KindCounter, tag, value, &s.sent) })
}

// Close ends the connection. A later call reconnects.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disconnect()
	return nil
}

// call does what all calls have in common.
func (s *Session) call(name, tag string, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(StateAPI, name, slog.String("tag", tag))
	most := MaxTag
	if s.Compatible {
		most = tracewire.MaxTag - 1
	}
	var err error
	switch {
	case tag == "":
		err = ErrTagName
	case len(tag) > most:
		err = ErrTagLength
	default:
		err = f()
	}
	if err != nil {
		return fmt.Errorf("trace: %s %.40q: %w", name, tag, err)
	}
	return nil
}

func (s *Session) ongoing(tag string) (*transaction, error) {
	t := s.open[tag]
	switch {
	case t == nil:
		return nil, ErrNoSuchTag
	case !t.ongoing:
		return nil, ErrNoProgress
	}
	return t, nil
}

func (s *Session) silent() bool { return s.NoAgent || s.state&StateNoAgent != 0 }

// connect connects if there is no connection. first records whether calls of a kind have ever had
// one; it is nil for End.
func (s *Session) connect(ctx context.Context, first *bool) error {
	if s.silent() {
		s.note(StateNoAgent, "no communication")
	}
	if s.conn != nil || s.silent() {
		if first != nil {
			*first = true
		}
		return nil
	}
	if s.Compatible && s.async && s.tried {
		return ErrIPC
	}
	if (!s.Compatible || first == nil) && time.Now().Before(s.next) {
		return fmt.Errorf("%w, next attempt in %v", s.last, time.Until(s.next).Round(time.Millisecond))
	}
	s.tried = true
	err := s.dialAgent(ctx)
	if err == nil {
		s.note(StateComms, "connected", slog.String("agent", s.address()))
		s.failures, s.next, s.fixed = 0, time.Time{}, true
		if first != nil {
			*first = true
		}
		return nil
	}
	s.note(StateComms, "connect", slog.String("agent", s.address()), slog.Any("error", err))
	err = fmt.Errorf("agent at %s: %w", s.address(), err)
	if ctx.Err() == nil {
		s.failures++
		s.next, s.last = time.Now().Add(s.backOff(s.failures)), err
	}
	return err
}

// dialAgent connects and waits until the agent accepts.
func (s *Session) dialAgent(ctx context.Context) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return s.coded(ctx, err)
	}
	s.conn, s.acks, s.owed = conn, tracewire.NewDecoder(conn), 0
	err = s.coded(ctx, s.greet(ctx, conn, s.acks))
	if err != nil && !s.Compatible {
		s.disconnect()
	}
	return err
}

func (s *Session) disconnect() {
	if s.conn != nil {
		s.note(StateComms, "disconnected", slog.String("agent", s.address()))
		s.conn.Close()
		s.conn = nil
	}
}

// send sends a datum and waits for its Ack.
func (s *Session) send(ctx context.Context, kind tracewire.Kind, tag string, value float64, first *bool) error {
	if err := s.connect(ctx, first); err != nil {
		if first != nil && !*first {
			return err
		}
		return s.hide(err)
	}
	if s.silent() {
		return nil
	}
	return s.hide(s.exchange(ctx, kind, tag, value))
}

func (s *Session) exchange(ctx context.Context, kind tracewire.Kind, tag string, value float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.conn.SetDeadline(time.Now().Add(s.requestTimeout())); err != nil {
		return s.broken(err)
	}
	if ctx.Done() != nil {
		defer watch(ctx, s.conn)()
	}
	s.buf = tracewire.AppendData(s.buf[:0], tracewire.Data{From: int32(os.Getpid()), Kind: kind, Sync: !s.async, Value: value}, tag)
	s.notePDU("sent", int32(kind), s.buf)
	if _, err := s.conn.Write(s.buf); err != nil {
		return s.broken(cmp.Or(ctx.Err(), err))
	}
	if s.async {
		return nil
	}
	return s.await(ctx, kind)
}

// await waits for the Ack of a datum.
func (s *Session) await(ctx context.Context, kind tracewire.Kind) error {
	for {
		ack, err := s.acks.Ack()
		switch {
		case err != nil && ctxwait.TimedOut(err):
			if s.owed++; s.Compatible {
				s.owed = 0
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("no answer from the agent within %v: %w", s.requestTimeout(), ErrTimeout)
		case err != nil:
			return s.broken(err)
		}
		s.notePDU("received", ack.Code, nil)
		switch {
		case s.owed > 0:
			s.owed--
		case ack.Code < 0:
			return Error(ack.Code)
		case ack.Code != int32(kind):
			return s.broken(fmt.Errorf("ack %d, want %d", ack.Code, kind))
		default:
			return nil
		}
	}
}

// broken ends the connection. The datum is lost.
func (s *Session) broken(err error) error {
	s.disconnect()
	s.last = fmt.Errorf("connection lost: %w: %w", ErrIPC, err)
	return s.last
}

// hide returns nil for errors that the C library hides: in a synchronous session a lost connection
// looks like success.
func (s *Session) hide(err error) error {
	if err == nil || !s.Compatible {
		return err
	}
	lost := errors.Is(err, ErrIPC) || errors.Is(err, io.EOF)
	for _, e := range connectionErrnos {
		lost = lost || errors.Is(err, e)
	}
	switch {
	case !lost:
		return err
	case s.async:
		return ErrIPC
	}
	return nil
}

// A codedError is an error with the code of the C library.
type codedError struct {
	code Error
	err  error
}

func (e *codedError) Error() string   { return e.err.Error() }
func (e *codedError) Unwrap() []error { return []error{e.code, e.err} }

// coded adds the code of the C library to an error of an attempt to connect.
func (s *Session) coded(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	if _, ok := errors.AsType[Error](err); ok {
		return err
	}
	c := Error(pdu.FromError(err))
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case unknown:
		c = -113 // EHOSTUNREACH
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		c = ErrIPC
	case ctxwait.TimedOut(err) && s.conn != nil:
		c = ErrTimeout // no Ack
	case ctxwait.TimedOut(err):
		c = -110 // ETIMEDOUT
	case !c.isErrno():
		c = ErrIPC
	}
	return &codedError{c, err}
}
