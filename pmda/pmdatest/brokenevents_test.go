package pmdatest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// A queue keeps the latest limit events, and the position of each client.
type queue struct {
	mu      sync.Mutex
	limit   int
	next    int             // number of the next event
	enabled map[uint64]bool // clients that have stored a filter; nil means all
	pos     map[uint64]int  // of each client, the next event that it gets

	// Mistakes to make.
	shared, again, miscounted, lost bool
}

func (q *queue) emit(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next += n
}

// value returns the events that a client has not received.
func (q *queue) value(_ context.Context, r *pmda.Request, _ pdu.Instance) ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.enabled != nil && !q.enabled[r.Client.Seq] {
		return nil, pmda.NoValue
	}
	who := r.Client.Seq
	if q.shared {
		who = 0
	}
	from, known := q.pos[who]
	if !known {
		from = q.next
	}
	missed := max(0, q.next-q.limit-from)
	from += missed
	var b pdu.EventBuilder
	for n := from; n < q.next; n++ {
		b.Begin(time.Unix(int64(1000+n), 0), pdu.EventPoint)
		b.Param(hits, pdu.Int32(int32(n)))
	}
	if missed > 0 && !q.lost {
		if q.miscounted {
			missed++
		}
		b.Missed(time.Unix(int64(1000+q.next), 0), missed)
	}
	q.pos[who] = q.next
	if q.again && q.next > 0 {
		q.pos[who]--
	}
	a, err := b.Atom()
	if err == nil && b.Len() == 0 {
		return nil, pmda.NoValue
	}
	return a.Bytes(), err
}

func (q *queue) enable(_ context.Context, r *pmda.Request, _ pdu.Instance, _ int32) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enabled[r.Client.Seq] = true
	return nil
}

// queueAgent returns an agent with the events of a queue.
func queueAgent(t *testing.T, q *queue) *pmda.Agent {
	t.Helper()
	q.limit, q.pos = 1000, map[uint64]int{}
	a := oneMetric(t, func(a *pmda.Agent) error {
		return pmda.Register(a, pmda.Metric[[]byte]{Name: "cache.log", Type: pdu.TypeEvent, Value: q.value})
	}, func(a *pmda.Agent) error {
		if q.enabled == nil {
			return nil
		}
		return pmda.Register(a, pmda.Metric[int32]{Name: "cache.filter", Value: always[int32](0), Store: q.enable})
	})
	a.OnEndClient(func(c *pmda.Client) {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.pos, c.Seq)
		delete(q.enabled, c.Seq)
	})
	return a
}

func TestEvents(t *testing.T) {
	var q queue
	pmdatest.Run(t, queueAgent(t, &q), pmdatest.Events("cache.log", q.emit))
	filtered := queue{enabled: map[uint64]bool{}}
	a := queueAgent(t, &filtered)
	pmdatest.Run(t, a, pmdatest.Events("cache.log", filtered.emit, pmdatest.Store{Metric: "cache.filter", Value: "1"}))
}

// badQueue returns an agent with a queue that makes a mistake.
func badQueue(spoil func(q *queue)) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		var q queue
		spoil(&q)
		return queueAgent(t, &q), []pmdatest.Option{pmdatest.Events("cache.log", q.emit)}
	}
}

// badEvents returns an agent with the events that add adds.
func badEvents(add func(b *pdu.EventBuilder, now time.Time)) func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
	return func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
		a := oneMetric(t, func(a *pmda.Agent) error {
			return pmda.Register(a, pmda.Metric[uint64]{Name: "cache.per_shard", ID: pmda.Item(1, 1), InDom: a.AddInDom("shard", "red", "blue"), Value: always[uint64](1)})
		}, func(a *pmda.Agent) error {
			return pmda.Register(a, pmda.Metric[[]byte]{Name: "cache.log", Type: pdu.TypeEvent,
				Value: func(context.Context, *pmda.Request, pdu.Instance) ([]byte, error) {
					var b pdu.EventBuilder
					add(&b, time.Unix(eventClock.Add(10), 0))
					array, err := b.Atom()
					return array.Bytes(), err
				}})
		})
		return a, nil
	}
}

func TestBrokenEvents(t *testing.T) {
	wantFaults(t, []broken{
		{"a parameter that is not registered", badEvents(func(b *pdu.EventBuilder, now time.Time) {
			b.Begin(now, pdu.EventPoint)
			b.Param(pdu.MakePMID(domain, 3, 3), pdu.Int32(1))
		}), "events: cache.log: Fetch: an event of instance -1: parameter 251.3.3 has no descriptor: Desc: error -12358"},
		{"a parameter without a domain", badEvents(func(b *pdu.EventBuilder, now time.Time) {
			b.Begin(now, pdu.EventPoint)
			b.Param(pdu.MakePMID(0, 0, 0), pdu.Int32(1))
		}), "parameter 0.0.0 is not of the agent's domain 251"},
		{"a parameter of another type", badEvents(func(b *pdu.EventBuilder, now time.Time) {
			b.Begin(now, pdu.EventPoint)
			b.Param(hits, pdu.String("1"))
		}), "parameter cache.x has type STRING, its descriptor 32"},
		{"a parameter with instances", badEvents(func(b *pdu.EventBuilder, now time.Time) {
			b.Begin(now, pdu.EventPoint)
			b.Param(pdu.MakePMID(domain, 1, 1), pdu.Uint64(1))
		}), "parameter cache.per_shard: its descriptor has an instance domain: parameters are singular"},
		{"a parameter without a name", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			nameless := pdu.MakePMID(domain, 3, 3)
			h, opts := badEvents(func(b *pdu.EventBuilder, now time.Time) {
				b.Begin(now, pdu.EventPoint)
				b.Param(nameless, pdu.Int32(1))
			})(t)
			o := override.In(h.(*pmda.Agent))
			o.Desc = func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
				if id == nameless {
					return pdu.Desc{PMID: id, Type: pdu.Type32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, nil
				}
				return o.Next.Desc(ctx, r, id)
			}
			return h, opts
		}, "parameter 251.3.3 has no name, by which tools show it"},
		{"newest first", badEvents(func(b *pdu.EventBuilder, now time.Time) {
			b.Begin(now.Add(time.Second), pdu.EventPoint)
			b.Begin(now, pdu.EventPoint)
		}), "cache.log: Fetch: events of instance -1 out of order: "},
		{"no events missed", badEvents(func(b *pdu.EventBuilder, now time.Time) { b.Missed(now, 0) }),
			"a record of 0 missed events: leave it out"},
		{"an identifier that is missing", badEvents(func(b *pdu.EventBuilder, now time.Time) { b.Begin(now, pdu.EventStart|pdu.EventID) }),
			"flags start,id with 0 parameters, want 1 that identify it"},
		{"a parent that is missing", badEvents(func(b *pdu.EventBuilder, now time.Time) {
			b.Begin(now, pdu.EventStart|pdu.EventID|pdu.EventParent)
			b.Param(hits, pdu.Int32(1))
		}), "flags start,id,parent with 1 parameters, want 2"},
		{"flags of C's future", badEvents(func(b *pdu.EventBuilder, now time.Time) { b.Begin(now, 0x100) }),
			"no flag has the bits 0x100"},
		{"all events again", badEvents(func(b *pdu.EventBuilder, _ time.Time) {
			for n := range int64(3) {
				b.Begin(time.Unix(1000+n, 0), pdu.EventPoint)
			}
		}), "the second fetch of a client has the 3 events of the first again: each is delivered once"},
		{"the last event twice", badQueue(func(q *queue) { q.again = true }),
			"events: cache.log: Fetch: of 3 events a client gets "},
		{"one queue for all clients", badQueue(func(q *queue) { q.shared = true }),
			"cache.log: Fetch: of 3 events another client gets 0, and a count of 0 missed: some are neither delivered nor counted"},
		{"one missed too many", badQueue(func(q *queue) { q.miscounted = true }),
			"cache.log: Fetch: of 20000 events a client gets 1000, and a count of 19001 missed: some are delivered or counted twice"},
		{"missed events not counted", badQueue(func(q *queue) { q.lost = true }),
			"cache.log: Fetch: of 20000 events a client gets 1000, and a count of 0 missed: some are neither delivered nor counted"},
		{"a queue for two events", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			var q queue
			a := queueAgent(t, &q)
			q.limit = 2
			return a, []pmdatest.Option{pmdatest.Events("cache.log", q.emit)}
		}, "has missed 1: a queue has room for so few"},
		{"a filter that is refused", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			var q queue
			return queueAgent(t, &q), []pmdatest.Option{pmdatest.Events("cache.log", q.emit, pmdatest.Store{Metric: "cache.x", Value: "1"})}
		}, `cache.x: Store("1") of a client that wants events: error -12387`},
		{"events of no metric", func(t *testing.T) (pmda.Handler, []pmdatest.Option) {
			return oneMetric(t), []pmdatest.Option{pmdatest.Events("cache.x", func(int) {})}
		}, "cache.x: no metric of a type of events has that name, which Events gives"},
	})
}
