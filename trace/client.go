package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/tracewire"
)

// A Client sends data to a trace agent in the background. Calls that report data never wait: they
// put the datum into a queue of fixed size, without a lock or an allocation. If the queue is full,
// the datum is dropped and counted.
//
// A goroutine sends the queue, many data with one write, and the agent acknowledges each write. It
// connects when there is something to send, and again after a connection is lost. No datum is sent
// twice.
//
// The zero Client sends to the agent of this host. The fields may be changed until the first call
// of a method. After that a Client must not be copied. It is safe for concurrent use.
type Client struct {
	Config

	// Queue is the number of data that may wait to be sent, rounded up to a power of two, at least
	// 64. 0 means 4096. Each takes 144 bytes of memory.
	Queue int

	q       atomic.Pointer[queue] // nil until the first datum
	unheard atomic.Uint64         // data accepted with NoAgent
	invalid atomic.Uint64
	badTag  atomic.Pointer[error] // the first invalid tag
	acked   atomic.Uint64
	lost    atomic.Uint64
	unsent  atomic.Uint64
	dials   atomic.Uint64

	mu         sync.Mutex
	closed     bool
	cancel     context.CancelFunc // ends the waits of the sender
	closing    chan struct{}      // closed by Close
	done       chan struct{}      // closed when the sender has ended
	waiters    []*waiter          // one for each call of Flush
	down       error              // why the agent cannot be reached; nil if it can, or before the first attempt
	lostBy     error              // why data were last lost
	nowWaiting atomic.Int32       // len(waiters), or more while one is added
}

// defaultQueue is the default of Client.Queue.
const defaultQueue = 4096

// minQueue is the least value of Client.Queue; smaller ones mean this.
const minQueue = 64

// Stats counts the data reported to a Client by outcome. Each datum is counted once:
//
//	reported = Accepted + Dropped + Invalid
//	Accepted = Acknowledged + Lost + Unsent + Queued
//
// With NoAgent all data with a valid tag are counted as Accepted and then discarded, so that a test
// can count what a program reports.
type Stats struct {
	Accepted uint64 // put into the queue, or discarded with NoAgent
	Dropped  uint64 // not put there, because the queue was full or the Client closed
	Invalid  uint64 // not put there, because the tag is invalid; see Point

	Acknowledged uint64 // received by the agent
	Lost         uint64 // sent, but the connection broke before the acknowledgement
	Unsent       uint64 // still in the queue when Close gave up
	Queued       uint64 // in the queue, or sent and not yet acknowledged

	Connects uint64 // connections made
}

// Stats returns the current counts. They are not consistent with each other while data are reported
// and sent.
func (c *Client) Stats() Stats {
	s := Stats{Accepted: c.unheard.Load(), Invalid: c.invalid.Load(), Connects: c.dials.Load(),
		Acknowledged: c.acked.Load(), Lost: c.lost.Load(), Unsent: c.unsent.Load()}
	if q := c.q.Load(); q != nil {
		s.Accepted, s.Dropped = q.accepted(), q.dropped.Load() // later than the counts in them
		s.Queued = s.Accepted - s.Acknowledged - s.Lost - s.Unsent
	}
	return s
}

// Point reports that the program has passed the point that tag names. It is the counterpart of
// pmtracepoint(3).
//
// A tag has 1 to MaxTag bytes, does not begin with a space and has no control characters. Data
// with other tags are counted as invalid, and Close reports the first of them.
func (c *Client) Point(tag string) { c.put(tracewire.KindPoint, -1, tag) }

// Observe reports a value, such as a length or a temperature. The counterpart of pmtraceobs(3).
func (c *Client) Observe(tag string, value float64) { c.put(tracewire.KindObservation, value, tag) }

// Counter reports the value of a counter, which never goes down. The counterpart of
// pmtracecounter(3).
func (c *Client) Counter(tag string, value float64) { c.put(tracewire.KindCounter, value, tag) }

// Transaction reports a transaction that took d. Begin measures it.
func (c *Client) Transaction(tag string, d time.Duration) {
	c.put(tracewire.KindTransaction, d.Seconds(), tag)
}

func (c *Client) put(kind tracewire.Kind, value float64, tag string) {
	if !validTag(tag) {
		c.refuse(tag)
		return
	}
	q := c.q.Load()
	if q == nil {
		if q = c.start(); q == nil {
			return
		}
	}
	q.put(kind, value, tag)
}

// refuse counts an invalid tag.
func (c *Client) refuse(tag string) {
	if c.badTag.Load() == nil {
		err := tagFault(tag)
		c.badTag.CompareAndSwap(nil, &err)
	}
	c.invalid.Add(1)
}

// start makes the queue and starts the sender. With NoAgent it counts the datum and returns nil.
func (c *Client) start() *queue {
	if c.NoAgent {
		c.unheard.Add(1)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.q.Load(); q != nil {
		return q
	}
	if c.closed {
		q := newQueue(minQueue) // it only counts dropped data
		q.close()
		c.q.Store(q)
		return q
	}
	q := newQueue(cmp.Or(c.Queue, defaultQueue))
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel, c.closing, c.done = cancel, make(chan struct{}), make(chan struct{})
	s := &sender{c: c, q: q, ctx: ctx, closing: c.closing}
	go func() {
		defer close(c.done)
		s.run()
	}()
	c.q.Store(q)
	return q
}

// Err returns why the agent cannot be reached. It returns nil if it can be reached, or before the
// first attempt.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

// A waiter is a call of Flush.
type waiter struct {
	until uint64     // number of data that must be delivered or lost
	lost  uint64     // Stats.Lost at the call
	done  chan error // buffered
}

// Flush sends the data reported so far, and waits until the agent has acknowledged them. If the
// agent cannot be reached, Flush fails and the data stay in the queue; between two attempts to
// connect it fails at once. It also fails when data are lost meanwhile, when Close gives up, and
// when ctx ends.
func (c *Client) Flush(ctx context.Context) error {
	q := c.q.Load()
	if q == nil {
		return nil
	}
	w := &waiter{until: q.accepted(), lost: c.lost.Load(), done: make(chan error, 1)}
	if settled, err := c.enlist(w); settled {
		return err
	}
	q.wakeUp()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		c.forget(w)
		return fmt.Errorf("trace: flush: %w", ctx.Err())
	}
}

// enlist adds a waiter. It returns settled true if there is no need to wait: the data are settled,
// or err says why they cannot be sent soon.
func (c *Client) enlist(w *waiter) (settled bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nowWaiting.Add(1) // first, so that the sender sees it if it settles data later
	switch {
	case c.unsent.Load() > 0:
		err = errClosed
	case c.settled() >= w.until:
	case c.down != nil:
		err = fmt.Errorf("trace: flush: %w", c.down)
	default:
		c.waiters = append(c.waiters, w)
		return false, nil
	}
	c.nowWaiting.Add(-1)
	return true, err
}

func (c *Client) settled() uint64 { return c.acked.Load() + c.lost.Load() + c.unsent.Load() }

// forget removes a waiter.
func (c *Client) forget(w *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.waiters {
		if c.waiters[i] == w {
			c.waiters = append(c.waiters[:i], c.waiters[i+1:]...)
			c.nowWaiting.Add(-1)
			return
		}
	}
}

// tellWaiters ends the calls of Flush whose data are settled. If the agent cannot be reached, it
// ends all of them.
func (c *Client) tellWaiters(down error) {
	if c.nowWaiting.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	settled, rest := c.settled(), c.waiters[:0]
	for _, w := range c.waiters {
		switch lost := c.lost.Load() - w.lost; {
		case down != nil:
			w.done <- fmt.Errorf("trace: flush: %w", down)
		case settled < w.until:
			rest = append(rest, w)
			continue
		case lost > 0:
			w.done <- fmt.Errorf("trace: flush: connection lost with %d data unacknowledged: %w", lost, ErrIPC)
		default:
			w.done <- nil
		}
		c.nowWaiting.Add(-1)
	}
	clear(c.waiters[len(rest):])
	c.waiters = rest
}

// Close sends the data reported so far and releases all resources. It gives up when the agent
// cannot be reached and when ctx ends. The error reports all data that this Client has not sent,
// has lost or has dropped. Data reported after the call of Close are dropped, and a later Close
// reports these too.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	closing, done, cancel := c.closing, c.done, c.cancel
	c.mu.Unlock()
	if done == nil {
		return c.summary()
	}
	if first {
		c.q.Load().close()
		close(closing)
	}
	select {
	case <-done:
	case <-ctx.Done():
		cancel()
		<-done
	}
	return c.summary()
}

// summary returns the error of Close.
func (c *Client) summary() error {
	s := c.Stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	add := func(n uint64, what string, err error) {
		if n > 0 {
			errs = append(errs, fmt.Errorf("trace: %d data %s: %w", n, what, err))
		}
	}
	why := c.down
	if why == nil {
		why = ErrIPC
	}
	add(s.Unsent, "not sent", why)
	add(s.Lost, "sent without an answer", c.lostBy)
	add(s.Dropped, "dropped", errFull)
	if s.Invalid > 0 {
		what := "refused"
		if s.Invalid > 1 {
			what = "refused, the first of them" // others may be invalid for other reasons
		}
		add(s.Invalid, what, *c.badTag.Load())
	}
	return errors.Join(errs...)
}

var (
	errFull   = errors.New("the queue was full, or the client closed")
	errClosed = errors.New("trace: flush: the client was closed before all data were sent")
)
