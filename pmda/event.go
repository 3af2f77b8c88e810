package pmda

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/pdu"
)

// An EventQueue keeps the records of events until the clients have fetched them. Each client gets
// each event once, from its first fetch on. All clients share one copy of a record. If no client
// fetches the events, Append only counts them.
//
//	requests := a.NewEventQueue()
//	pmda.Register(a, pmda.Metric[[]byte]{
//		Name:   "web.requests",
//		Type:   pdu.TypeEvent,
//		Values: requests.Values,
//	})
//	path := pmda.RegisterParam(a, pmda.Metric[string]{Name: "web.request.path"})
//	...
//	requests.Append(time.Now(), pdu.EventPoint, path.Of("/index.html"))
//
// A record is removed when all clients have it, or to make room for new ones. A client that is too
// slow misses the oldest records. The events of its next fetch begin with a record with the flag
// pdu.EventMissed, which has the number of missed events and the time of the last one.
//
// A queue serves one metric, or one instance of a metric, because it gives a client each event only
// once. It tells clients apart by their Seq, so only one collector at a time may serve an Agent
// with queues. Set the exported fields before the queue is used. All methods may be called by
// several goroutines at once. An EventQueue is the counterpart of the queue of
// pmdaEventNewQueue(3).
type EventQueue struct {
	// MaxBytes limits the total length of the kept records, in bytes, as they are in event arrays.
	// A record has 16 bytes, or 24 with HighRes, and for each parameter 8 bytes and its value,
	// padded to a multiple of 4. Zero means 1 MiB. The highest limit is 64 bytes less than 16 MiB,
	// because a value has at most 16 MiB. An event that is longer counts as missed.
	MaxBytes int
	// HighRes keeps times with nanoseconds and 64-bit seconds, instead of microseconds and 32-bit
	// seconds. The Type of the metric must then be pdu.TypeHighResEvent.
	HighRes bool
	// KeepAll keeps the latest records even after all clients have fetched them, and even without
	// clients. The first fetch of a client returns all records that are kept. KeepAll is the
	// counterpart of pmdaEventNewActiveQueue(3).
	KeepAll bool
	// Restricted denies a client all events until SetAccess allows them or SetFilter sets a filter.
	Restricted bool

	agent *Agent

	events, bytes atomic.Uint64 // see EventStats
	readers       atomic.Int32  // clients that fetch the events

	mu      sync.Mutex // guards what follows
	ring    eventRing
	rec     []byte    // scratch of Append
	lost    time.Time // of the last event that was missed by some client
	clients map[uint64]*eventClient
	closed  bool
}

// defaultEventBytes is the limit of a queue whose MaxBytes is 0, mostEventBytes the highest limit.
// With its head and a record of missed events, a value must be shorter than 16 MiB.
const (
	defaultEventBytes = 1 << 20
	mostEventBytes    = 1<<24 - 64
)

// NewEventQueue returns a queue for events of the Agent. The Agent tells the queue when clients
// disconnect.
func (a *Agent) NewEventQueue() *EventQueue { return &EventQueue{agent: a} }

// Append adds an event. The zero time means now. Flags may say that the first parameter identifies
// the event (pdu.EventID) and the second its parent (pdu.EventParent). Values are copied.
//
// Errors: pdu.ErrConv for the flag pdu.EventMissed, pdu.ErrArg for a value of a parameter whose
// registration has failed, pdu.ErrTooBig for a time beyond 32-bit seconds, unless HighRes is set.
// An event with one of these errors is not added. An event longer than MaxBytes is pdu.ErrTooBig
// too, but counts as missed for the clients. The length is not checked while the queue drops all
// events because no client fetches them. Append is the counterpart of pmdaEventQueueAppend(3).
func (q *EventQueue) Append(t time.Time, f pdu.EventFlags, params ...EventValue) error {
	if f&pdu.EventMissed != 0 {
		return fmt.Errorf("pmda: event: flags %v: %w", f, pdu.ErrConv)
	}
	n := q.head()
	for i := range params {
		if params[i].p == nil {
			return fmt.Errorf("pmda: event: parameter %d has not been registered: %w", i, pdu.ErrArg)
		}
		n += paramHead + wire.Pad4(params[i].size())
	}
	if err := q.checkTime(t); err != nil {
		return err
	}
	q.events.Add(1)
	q.bytes.Add(uint64(n))
	if q.isIdle() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.IsZero() {
		t = time.Now()
	}
	if n > q.limit() {
		q.missed(1, t)
		return fmt.Errorf("pmda: event: %d bytes, limit %d: %w", n, q.limit(), pdu.ErrTooBig)
	}
	q.rec = appendEventHead(q.rec[:0], q.HighRes, t, f, len(params))
	for i := range params {
		q.rec = params[i].appendTo(q.rec)
	}
	q.add(1)
	return nil
}

// AppendMissed adds a record that reports n events as lost before they reached the queue. The zero
// time means now. Errors: pdu.ErrArg for an n below 1 or above 1<<31 - 1, pdu.ErrTooBig for a time
// beyond 32-bit seconds, unless HighRes is set.
func (q *EventQueue) AppendMissed(t time.Time, n int) error {
	if n < 1 || n > math.MaxInt32 {
		return fmt.Errorf("pmda: event: %d missed events: %w", n, pdu.ErrArg)
	}
	if err := q.checkTime(t); err != nil || q.isIdle() {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.IsZero() {
		t = time.Now()
	}
	if q.head() > q.limit() {
		q.missed(n, t)
		return nil
	}
	q.rec = appendEventHead(q.rec[:0], q.HighRes, t, pdu.EventMissed, n)
	q.add(n)
	return nil
}

// isIdle reports whether the queue need not keep a new event: no client reads, and KeepAll is not
// set.
func (q *EventQueue) isIdle() bool { return q.readers.Load() == 0 && !q.KeepAll }

// checkTime returns an error for a time that a record cannot have.
func (q *EventQueue) checkTime(t time.Time) error {
	if !q.HighRes && !t.IsZero() && t.Unix() != int64(int32(t.Unix())) {
		return fmt.Errorf("pmda: event: time beyond 32-bit seconds: %w", pdu.ErrTooBig)
	}
	return nil
}

// head returns the length of a record without parameters.
func (q *EventQueue) head() int {
	if q.HighRes {
		return eventHeadHighRes
	}
	return eventHead
}

// limit returns the maximum total length of the records in bytes.
func (q *EventQueue) limit() int {
	if q.MaxBytes <= 0 {
		return defaultEventBytes
	}
	return min(q.MaxBytes, mostEventBytes) &^ 3
}

// add adds the record in q.rec, which stands for the given number of events. It drops the oldest
// records to make room.
func (q *EventQueue) add(events int) {
	if q.closed || q.isIdle() { // the last client may have gone meanwhile
		return
	}
	for q.ring.used()+len(q.rec) > q.limit() {
		q.lost = q.ring.firstTime(q.HighRes)
		q.ring.dropFirst(q.head())
	}
	q.ring.makeRoom(q.ring.used()+len(q.rec), q.limit())
	q.ring.add(q.rec, events)
}

// appendEventHead appends the head of a record.
func appendEventHead(b []byte, highRes bool, t time.Time, f pdu.EventFlags, n int) []byte {
	if highRes {
		b = be.AppendUint64(b, uint64(t.Unix()))
		b = be.AppendUint64(b, uint64(t.Nanosecond()))
	} else {
		b = be.AppendUint32(b, uint32(t.Unix()))
		b = be.AppendUint32(b, uint32(t.Nanosecond()/1000))
	}
	b = be.AppendUint32(b, uint32(f))
	return be.AppendUint32(b, uint32(n))
}

// firstTime returns the time of the oldest record.
func (q *eventRing) firstTime(highRes bool) time.Time {
	at := q.start
	if highRes {
		return time.Unix(int64(q.word(at))<<32|int64(q.word(at+4)), int64(q.word(at+12)))
	}
	return time.Unix(int64(int32(q.word(at))), int64(q.word(at+4))*1000)
}

// EventStats are the counts of an EventQueue.
type EventStats struct {
	Events  uint64 // appended so far; pmdaEventQueueCounter of the C library
	Bytes   uint64 // total length of their records; pmdaEventQueueBytes
	Clients int    // connected clients that have fetched events; pmdaEventQueueClients
	Memory  int    // bytes of the records that are kept now; pmdaEventQueueMemory
}

// Stats returns the counts of the queue, for metrics that export them.
func (q *EventQueue) Stats() EventStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return EventStats{
		Events: q.events.Load(), Bytes: q.bytes.Load(),
		Clients: int(q.readers.Load()), Memory: q.ring.used(),
	}
}

// Close drops all records and forgets all clients. No client gets more events. Call it when a queue
// is no longer needed, for example because its instance is gone. Close is the counterpart of
// pmdaEventQueueShutdown(3).
func (q *EventQueue) Close() {
	q.mu.Lock()
	var seqs []uint64
	for seq := range q.clients {
		seqs = append(seqs, seq)
	}
	q.closed, q.clients, q.ring, q.rec = true, nil, eventRing{}, nil
	q.readers.Store(0)
	q.mu.Unlock()
	for _, seq := range seqs {
		q.agent.eventQueues.remove(seq, q)
	}
}

var errEventType = errors.New("the Type of the metric is not that of its EventQueue: pdu.TypeEvent, or pdu.TypeHighResEvent with HighRes")
