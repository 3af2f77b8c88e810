package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/tracewire"
)

// A batch is written at once, and acknowledged before the next. C agents read up to 1024 bytes, and
// close the connection if the bytes end within the header of a PDU. PDUs are therefore padded to a
// multiple of pduAlign, so that such a read never ends within a header. A batch fits into one TCP
// segment, which arrives as a whole.
const (
	pduAlign   = 16
	maxBatch   = 16384 // even for larger segments
	smallBatch = 1024  // for segments of unknown size
)

// batchDelay is how long the sender waits for more data after the first. It limits how often a put
// has to wake the sender.
const batchDelay = 10 * time.Millisecond

// A sender is the goroutine of a Client that sends to the agent.
type sender struct {
	c       *Client
	q       *queue
	ctx     context.Context // ended by a Close that gives up
	closing <-chan struct{}

	link     *link // nil without a connection
	failures int   // in a row
	buf      []byte
}

// run sends until the Client is closed.
func (s *sender) run() {
	defer s.finish()
	for s.await() {
		for more := true; more; {
			if !s.connect() {
				return
			}
			more = s.send()
		}
	}
}

// await waits for data, and a little longer for more. It returns false when all data are sent and
// the Client is closed.
func (s *sender) await() bool {
	for s.q.peek(0) == nil && !s.closed() {
		s.q.idle.Store(true)
		if s.q.peek(0) == nil {
			select {
			case <-s.q.wake:
			case <-s.closing:
			}
		}
		s.q.idle.Store(false)
	}
	s.delay()
	return !s.closed() || s.q.head < s.q.accepted()
}

// delay waits for more data, unless a Flush is waiting.
func (s *sender) delay() {
	if s.c.nowWaiting.Load() > 0 {
		return
	}
	t := time.NewTimer(batchDelay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.q.wake:
	case <-s.closing:
	}
}

func (s *sender) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// A batch holds some encoded data of the queue. Its last PDU asks for an Ack.
type batch struct {
	bytes []byte
	count uint64         // number of PDUs
	kind  tracewire.Kind // kind of the last PDU
	more  bool           // some data did not fit
}

// fill returns a batch of at most limit bytes. The data stay in the queue.
func (s *sender) fill(limit int) batch {
	b, from, last := batch{bytes: s.buf[:0]}, int32(os.Getpid()), 0
	d := s.q.peek(0)
	for ; d != nil && len(b.bytes)+align(tracewire.DataLen(int(d.len))) <= limit; d = s.q.peek(b.count) {
		last, b.kind = len(b.bytes), d.kind
		b.bytes = tracewire.AppendData(b.bytes, tracewire.Data{From: from, Kind: d.kind, Value: d.value}, d.tag[:d.len])
		size := align(len(b.bytes) - last)
		b.bytes = append(b.bytes, zeroes[:last+size-len(b.bytes)]...)
		binary.BigEndian.PutUint32(b.bytes[last:], uint32(size))
		b.count++
	}
	b.more = d != nil
	if b.count > 0 {
		b.bytes[last+tracewire.SyncOffset] |= tracewire.SyncBit
	}
	s.buf = b.bytes
	return b
}

var zeroes [pduAlign]byte

// align rounds up the length of a PDU.
func align(n int) int { return (n + pduAlign - 1) &^ (pduAlign - 1) }

// connect connects if there is no connection, and retries as long as necessary. It returns false if
// it fails after Close.
func (s *sender) connect() bool {
	for s.link == nil || s.link.broken() {
		s.disconnect(io.ErrUnexpectedEOF)
		if !s.backOff() {
			return false
		}
		l, err := s.c.connect(s.ctx)
		if err != nil {
			closing := s.closed()
			s.failed(err)
			if closing {
				return false
			}
			continue
		}
		s.link = l
		s.c.dials.Add(1)
	}
	return true
}

// backOff waits before the next attempt to connect. It returns false if Close has given up.
func (s *sender) backOff() bool {
	if s.failures > 0 && !s.closed() {
		t := time.NewTimer(s.c.backOff(s.failures))
		defer t.Stop()
		select {
		case <-t.C:
		case <-s.closing:
		}
	}
	return s.ctx.Err() == nil
}

// failed records why there is no connection.
func (s *sender) failed(err error) {
	s.failures++
	err = fmt.Errorf("agent at %s: %w", s.c.address(), err)
	s.c.mu.Lock()
	first := s.c.down == nil
	s.c.down = err
	s.c.mu.Unlock()
	s.c.tellWaiters(err)
	if first && !s.closed() {
		s.c.logger().Warn("trace: no connection to the agent, will try again", slog.Any("error", err),
			slog.Duration("after", s.c.backOff(s.failures)))
	}
}

// send sends a batch and waits for its Ack. If the connection breaks, the batch is lost unless
// nothing of it was written. It reports whether there is more to send.
func (s *sender) send() (more bool) {
	b := s.fill(s.link.limit)
	if b.count == 0 {
		return false
	}
	written, err := s.link.exchange(b.bytes, b.kind, s.c.requestTimeout())
	switch {
	case err == nil:
		s.c.acked.Add(b.count)
		s.recovered()
	case written:
		s.lost(b.count, err)
		s.disconnect(err)
	default:
		s.disconnect(err)
		return true
	}
	s.q.take(b.count)
	s.c.tellWaiters(nil)
	return b.more
}

// lost counts data that were sent when the connection broke.
func (s *sender) lost(count uint64, err error) {
	var why error
	switch {
	case s.ctx.Err() != nil:
		why = fmt.Errorf("Close gave up: %w", ErrIPC)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		why = fmt.Errorf("the agent closed the connection: %w", ErrIPC)
	case errors.Is(err, ErrIPC):
		why = err
	default:
		why = fmt.Errorf("%w: %w", ErrIPC, err)
	}
	s.c.mu.Lock()
	s.c.lostBy = why
	s.c.mu.Unlock()
	s.c.lost.Add(count)
}

// recovered records that the agent can be reached.
func (s *sender) recovered() {
	if s.failures == 0 {
		return
	}
	s.failures = 0
	s.c.mu.Lock()
	s.c.down = nil
	s.c.mu.Unlock()
	s.c.logger().Info("trace: connected to the agent again", slog.String("agent", s.c.address()))
}

// disconnect ends the connection, if there is one. A connection without an Ack counts as a failed
// attempt, so that the back-off also applies to an agent that refuses every batch.
func (s *sender) disconnect(err error) {
	if s.link == nil {
		return
	}
	served := s.link.served
	s.link.close()
	s.link = nil
	if !served {
		s.failed(fmt.Errorf("connection lost: %w", err))
	}
}

// finish counts the unsent data and ends the connection.
func (s *sender) finish() {
	s.c.unsent.Add(s.q.accepted() - s.q.head)
	if s.link != nil {
		s.link.close()
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for _, w := range s.c.waiters {
		w.done <- errClosed
	}
}
