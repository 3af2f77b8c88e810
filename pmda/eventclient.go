package pmda

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// An eventClient is the state of a client in a queue.
type eventClient struct {
	reads  bool     // has fetched events
	pos    eventPos // of the first record that it does not have
	missed uint64   // missed events to report, besides those that the ring has dropped since pos
	access eventAccess
	keep   func(pdu.EventRecord) bool // nil means all
}

// An eventAccess says whether a client gets events.
type eventAccess uint8

const (
	eventDefault eventAccess = iota // as EventQueue.Restricted says
	eventAllowed
	eventDenied
)

// mayRead reports whether a client may have events.
func (q *EventQueue) mayRead(c *eventClient) bool {
	switch c.access {
	case eventAllowed:
		return true
	case eventDenied:
		return false
	}
	return !q.Restricted || c.keep != nil
}

// SetAccess allows or denies a client the events of the queue. A denied client gets no events, even
// with a filter. For other clients Restricted decides. Call SetAccess from a Store function or from
// a wrapper's SetClient. SetAccess is the counterpart of pmdaEventSetAccess(3).
func (q *EventQueue) SetAccess(c *Client, allow bool) {
	q.set(c, func(e *eventClient) {
		if e.access = eventDenied; allow {
			e.access = eventAllowed
		}
	})
}

// SetFilter sets the filter of a client: the client gets only the events that keep accepts. A nil
// keep removes the filter. Usually a client stores the filter as a text into a control metric:
//
//	Store: func(ctx context.Context, r *pmda.Request, _ pdu.Instance, text string) error {
//		re, err := regexp.Compile(text)
//		if err != nil {
//			return pdu.ErrBadStore
//		}
//		q.SetFilter(r.Client, func(e pdu.EventRecord) bool { return matches(re, e) })
//		return nil
//	}
//
// The event metric itself may have such a Store, for a []byte, because pmevent -x stores into it. A
// store with pmstore(1) does not filter the events of other clients.
//
// The queue calls the filter when the client fetches, even for events that are older than the
// filter. The filter must not use the record after it returns. Records of missed events always
// pass, and count all missed events, even those that the filter would have rejected. SetFilter is
// the counterpart of pmdaEventSetFilter(3).
func (q *EventQueue) SetFilter(c *Client, keep func(pdu.EventRecord) bool) {
	q.set(c, func(e *eventClient) { e.keep = keep })
}

// set changes the state of a client.
func (q *EventQueue) set(c *Client, change func(*eventClient)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, err := q.client(context.Background(), c)
	if err != nil {
		return
	}
	change(e)
	if e.reads && !q.mayRead(e) {
		q.stopReading(e)
	}
}

// client returns the state of a client. It creates the state at first, and registers the queue to
// be told when the client disconnects. It returns NoValue if the queue is closed or the request was
// abandoned, because then the client may already be gone.
func (q *EventQueue) client(ctx context.Context, c *Client) (*eventClient, error) {
	if e := q.clients[c.Seq]; e != nil {
		return e, nil
	}
	if q.closed {
		return nil, NoValue
	}
	if err := q.agent.eventQueues.add(ctx, c.Seq, q); err != nil {
		return nil, err
	}
	if q.clients == nil {
		q.clients = map[uint64]*eventClient{}
	}
	e := &eventClient{}
	q.clients[c.Seq] = e
	return e, nil
}

// Values puts the events that are new to the client into a singular metric. Use it as the field
// Values of a Metric. Without new events the metric has no value. Values is the counterpart of
// pmdaEventQueueRecords(3).
func (q *EventQueue) Values(ctx context.Context, r *Request, s *Values[[]byte]) error {
	if s.set.indom {
		return fmt.Errorf("EventQueue.Values is for singular metrics, Put for one with an InDom: %w", pdu.ErrArg)
	}
	return q.Put(ctx, r, s, pdu.NoInst)
}

// Put is like Values for one instance of a metric whose instances have separate queues:
//
//	Values: func(ctx context.Context, r *pmda.Request, s *pmda.Values[[]byte]) error {
//		for i := range s.Instances() {
//			if err := queues[i.ID].Put(ctx, r, s, i.ID); err != nil {
//				return err
//			}
//		}
//		return nil
//	}
func (q *EventQueue) Put(ctx context.Context, r *Request, s *Values[[]byte], id pdu.InstID) error {
	if highRes := s.set.typ == pdu.TypeHighResEvent; highRes != q.HighRes || !highRes && s.set.typ != pdu.TypeEvent {
		return errEventType
	}
	if !s.Wants(id) {
		return nil
	}
	b := eventBatches.Get().(*eventBatch)
	defer eventBatches.Put(b)
	if err := q.next(ctx, r.Client, b); err != nil || b.records == 0 {
		return err
	}
	delivered := false
	defer func() {
		if !delivered { // the filter has panicked, or the reply is too long
			q.giveUp(r.Client, b.events)
		}
	}()
	if b.keep != nil {
		if err := b.filter(q.head(), s.set.typ); err != nil || b.records == 0 {
			delivered = err == nil
			return err
		}
	}
	be.PutUint32(b.buf, uint32(b.records))
	s.Put(id, b.buf)
	delivered = s.set.w.Err() == nil
	return nil
}

// An eventBatch is the events of one client's fetch.
type eventBatch struct {
	buf     []byte // an event array, with room for the number of records
	records int
	events  uint64 // that the records stand for
	keep    func(pdu.EventRecord) bool
}

var eventBatches = sync.Pool{New: func() any { return new(eventBatch) }}

// next copies the records that are new to a client.
func (q *EventQueue) next(ctx context.Context, c *Client, b *eventBatch) error {
	*b = eventBatch{buf: append(b.buf[:0], 0, 0, 0, 0)}
	q.mu.Lock()
	defer q.mu.Unlock()
	e, err := q.client(ctx, c)
	if err != nil {
		return err
	}
	if !q.mayRead(e) {
		return nil
	}
	if !e.reads {
		e.reads, e.pos = true, q.ring.first
		if !q.KeepAll {
			e.pos = q.ring.end
		}
		q.readers.Add(1)
	}
	b.keep = e.keep
	if e.pos.bytes < q.ring.first.bytes {
		e.missed += q.ring.first.events - e.pos.events
		e.pos = q.ring.first
	}
	if e.missed > 0 {
		n := min(e.missed, math.MaxInt32) // the rest comes with the next fetch
		e.missed -= n
		b.buf = appendEventHead(b.buf, q.HighRes, q.lost, pdu.EventMissed, int(n))
		b.records, b.events = 1, n
	}
	before := e.pos
	b.buf = q.ring.appendSince(b.buf, before)
	b.records += int(q.ring.end.records - before.records)
	b.events += q.ring.end.events - before.events
	e.pos = q.ring.end
	q.release(before)
	return nil
}

// release removes the records that all clients have. It is called after a client has moved on from
// the position before.
func (q *EventQueue) release(before eventPos) {
	if q.KeepAll || before.bytes > q.ring.first.bytes {
		return
	}
	oldest := q.ring.end
	for _, e := range q.clients {
		if e.reads && e.pos.bytes < oldest.bytes {
			if oldest = e.pos; oldest.bytes <= q.ring.first.bytes {
				return
			}
		}
	}
	q.ring.dropTo(oldest)
}

// stopReading removes a client from the readers of the queue.
func (q *EventQueue) stopReading(e *eventClient) {
	e.reads, e.missed = false, 0
	if q.readers.Add(-1) == 0 && !q.KeepAll {
		q.ring = eventRing{first: q.ring.end, end: q.ring.end}
		q.rec = nil
		return
	}
	q.release(e.pos)
}

// end forgets a client.
func (q *EventQueue) end(seq uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.clients[seq]
	delete(q.clients, seq)
	if len(q.clients) == 0 {
		q.clients = nil // a map keeps its memory
	}
	if e != nil && e.reads {
		q.stopReading(e)
	}
}

// missed counts events that no client can get.
func (q *EventQueue) missed(n int, t time.Time) {
	q.lost = t
	for _, e := range q.clients {
		if e.reads {
			e.missed += uint64(n)
		}
	}
}

// giveUp counts n events as missed because they could not be delivered to a client.
func (q *EventQueue) giveUp(c *Client, n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.clients[c.Seq]; e != nil && e.reads {
		q.lost = time.Now()
		e.missed += n
	}
}

// filter removes the records that the client does not want.
func (b *eventBatch) filter(head int, t pdu.Type) error {
	all := b.buf[4:]
	kept, n := b.buf[:4], 0
	be.PutUint32(b.buf, uint32(b.records))
	events, err := pdu.ParseEvents(t, b.buf)
	if err != nil {
		return err
	}
	for r := range events.All() {
		size, _ := eventSize(head, func(off int) uint32 { return be.Uint32(all[off:]) })
		if r.Flags == pdu.EventMissed || b.keep(r) {
			kept = append(kept, all[:size]...) // towards the beginning of the same array
			n++
		}
		all = all[size:]
	}
	b.buf, b.records = kept, n
	return nil
}

// eventQueues has the queues of an Agent that know a client, by the Seq of the client.
type eventQueues struct {
	mu   sync.Mutex
	seqs map[uint64]map[*EventQueue]struct{}
}

// add registers a queue to be told when a client disconnects. It fails if ctx has ended, because
// the client may already be gone: collectors end the ctx first, and then call EndClient.
func (l *eventQueues) add(ctx context.Context, seq uint64, q *EventQueue) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return NoValue
	}
	if l.seqs == nil {
		l.seqs = map[uint64]map[*EventQueue]struct{}{}
	}
	if l.seqs[seq] == nil {
		l.seqs[seq] = map[*EventQueue]struct{}{}
	}
	l.seqs[seq][q] = struct{}{}
	return nil
}

// remove undoes add.
func (l *eventQueues) remove(seq uint64, q *EventQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seqs[seq], q)
	if len(l.seqs[seq]) == 0 {
		delete(l.seqs, seq)
	}
}

// end tells the queues that a client has gone.
func (l *eventQueues) end(c *Client) {
	l.mu.Lock()
	queues := l.seqs[c.Seq]
	if delete(l.seqs, c.Seq); len(l.seqs) == 0 {
		l.seqs = nil // a map keeps its memory
	}
	l.mu.Unlock()
	for q := range queues {
		q.end(c.Seq)
	}
}
