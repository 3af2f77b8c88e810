package otlp

import "sync"

// A message is one that waits to be sent, or is being sent.
type message struct {
	body   []byte // compressed, if it is to be
	points int
}

// A queue holds messages in order, up to a number of bytes. The oldest make room for new ones.
type queue struct {
	mu     sync.Mutex
	limit  int
	list   []message
	bytes  int
	stats  Stats
	wake   chan struct{} // has a token when there may be something in the list, or it is closed
	closed bool
}

// put adds a message, which belongs to the queue from then on.
func (q *queue) put(m message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Read.add(m)
	q.list = append(q.list, m)
	q.bytes += len(m.body)
	for q.bytes > q.limit && len(q.list) > 1 {
		q.stats.Dropped.add(q.take())
	}
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take takes the oldest message.
func (q *queue) take() message {
	m := q.list[0]
	q.list[0] = message{}
	q.list = q.list[1:]
	q.bytes -= len(m.body)
	return m
}

// next takes the oldest message to be sent. Without one, ended is whether there will be none.
func (q *queue) next() (m message, ok, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return message{}, false, q.closed
	}
	q.stats.sending.add(q.list[0])
	return q.take(), true, false
}

// done counts what became of the message that next has returned.
func (q *queue) done(update func(*Stats)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.sending = Count{}
	update(&q.stats)
}

// update changes counters of what is no message.
func (q *queue) update(change func(*Stats)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change(&q.stats)
}

// close says that no message is to come.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// abandon drops all that is left.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) > 0 {
		q.stats.Dropped.add(q.take())
	}
}

func (q *queue) snapshot() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Queued = s.sending
	s.sending = Count{}
	for _, m := range q.list {
		s.Queued.add(m)
	}
	return s
}
