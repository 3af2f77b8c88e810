package send

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pmapi/export"
)

// A Message is the body of a request.
type Message struct {
	Body     []byte // the bytes to send; the queue owns them after Put
	Encoding string // the header Content-Encoding; "" for none
	Type     string // the header Content-Type; "" for that of Sender.Demanded or Sender.Header
	Points   int    // the number of data points

	Tag any // for Sender.done; it is not kept in a directory

	file uint64 // the number of its file, which has the body while it waits; 0 for none
	size int    // what it counts for in the queue
}

// errAway is why a queue whose messages have an end is not sent to its end.
var errAway = errors.New("the receiver is away")

// errStopped is why nothing more can be put into a queue.
var errStopped = errors.New("sending has ended")

// A queue holds messages in order, up to a number of bytes. The oldest make room for new ones.
type queue struct {
	mu      sync.Mutex
	limit   int
	list    []Message
	bytes   int
	stats   export.Stats
	sending export.Count  // the message that next returned
	wake    chan struct{} // has a token when there may be something in the list, or it is closed
	room    chan struct{} // has a token when there may be room, or sending has stopped
	closed  bool
	bounded chan struct{} // closed when the messages have an end; see errAway
	limited time.Time     // when bounded was closed
	stopped bool
	dir     *directory          // nil for memory
	warn    func(string, error) // of files that cannot be written or read
}

// put adds a message.
func (q *queue) put(m Message) {
	e := q.keep(m)
	q.mu.Lock()
	defer q.mu.Unlock()
	add(&q.stats.Read, m.Points)
	q.list = append(q.list, e)
	q.bytes += e.size
	q.makeRoom()
	signal(q.wake)
}

// keep writes a message to the directory, if there is one. One that cannot be written stays in
// memory.
func (q *queue) keep(m Message) Message {
	m.size = len(m.Body)
	if q.dir == nil {
		return m
	}
	file, err := q.dir.write(m)
	if err != nil {
		q.warn("message cannot be kept in the directory", err)
		return m
	}
	m.file, m.Body = file, nil
	return m
}

// makeRoom drops the oldest messages of too many; one is always kept.
func (q *queue) makeRoom() {
	for q.bytes > q.limit && len(q.list) > 1 {
		q.drop(q.take())
	}
}

func (q *queue) drop(e Message) {
	add(&q.stats.Dropped, e.Points)
	q.forget(e)
}

// forget removes the file of a message.
func (q *queue) forget(e Message) {
	if e.file == 0 {
		return
	}
	if err := q.dir.remove(e.file); err != nil {
		q.warn("message stays in the directory", err)
	}
}

// putWait is like put, but waits until the queue has room. It returns an error after stop.
func (q *queue) putWait(ctx context.Context, m Message) error {
	q.bound()
	for {
		q.mu.Lock()
		full, stopped := len(q.list) > 0 && q.bytes+len(m.Body) > q.limit, q.stopped
		q.mu.Unlock()
		switch {
		case stopped:
			return errStopped
		case !full:
			q.put(m)
			return nil
		}
		select {
		case <-q.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take takes the oldest message.
func (q *queue) take() Message {
	e := q.list[0]
	q.list[0] = Message{}
	q.list = q.list[1:]
	q.bytes -= e.size
	return e
}

// next removes the oldest message. If the queue is empty, ended reports whether it is closed.
func (q *queue) next() (m Message, ok, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) > 0 {
		e := q.take()
		signal(q.room)
		if e.file != 0 {
			m, err := q.dir.read(e.file)
			if err != nil {
				q.warn("message is lost", err)
				q.drop(e)
				continue
			}
			e.Body, e.Encoding, e.Type = m.Body, m.Encoding, m.Type
		}
		add(&q.sending, e.Points)
		return e, true, false
	}
	return Message{}, false, q.closed
}

// done counts what became of the message that next has returned.
func (q *queue) done(m Message, update func(*export.Stats)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sending = export.Count{}
	update(&q.stats)
	q.forget(m)
}

// giveUp puts the message that next has returned back, if it is in the directory, or drops it.
func (q *queue) giveUp(m Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sending = export.Count{}
	if m.file == 0 {
		add(&q.stats.Dropped, m.Points)
		return
	}
	m.Body = nil
	q.list = append([]Message{m}, q.list...)
	q.bytes += m.size
	q.makeRoom()
}

// update changes counters that do not belong to a message.
func (q *queue) update(change func(*export.Stats)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change(&q.stats)
}

// bound notes that the messages have an end.
func (q *queue) bound() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limited.IsZero() {
		q.limited = time.Now()
		close(q.bounded)
	}
}

// pause waits before the next attempt to send a message. first is the time of the first attempt.
// It returns the error of ctx, or errAway after maxAway if the messages have an end.
func (q *queue) pause(ctx context.Context, first time.Time, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-q.bounded:
	}
	q.mu.Lock()
	if q.limited.After(first) {
		first = q.limited
	}
	q.mu.Unlock()
	late := time.NewTimer(maxAway - time.Since(first))
	defer late.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return errAway
	}
}

// close says that no message is to come.
func (q *queue) close() {
	q.bound()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	signal(q.wake)
}

// stop says that no message will be sent.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	signal(q.room)
}

// abandon waits for the last message, and drops those that are in memory alone.
func (q *queue) abandon() {
	for !q.isClosed() {
		<-q.wake
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var kept []Message
	q.bytes = 0
	for _, e := range q.list {
		if e.file == 0 {
			add(&q.stats.Dropped, e.Points)
			continue
		}
		kept = append(kept, e)
		q.bytes += e.size
	}
	q.list = kept
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// add counts a message.
func add(c *export.Count, points int) {
	c.Messages++
	c.Points += uint64(points)
}

func (q *queue) snapshot() export.Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Queued = q.sending
	for _, e := range q.list {
		add(&s.Queued, e.Points)
	}
	return s
}
