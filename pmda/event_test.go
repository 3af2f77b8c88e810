package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

var eventsFor = flag.Duration("events", 300*time.Millisecond, "for how long TestEventQueueClients appends and fetches events")

// tb is the common interface of a rapid.T and a testing.T.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// An eventClient fetches the events of an eventAgent.
type eventClient struct {
	e *eventAgent
	r *pmda.Request
	w pdu.ResultWriter
}

func (e *eventAgent) client(seq int) *eventClient {
	return &eventClient{e: e, r: &pmda.Request{Client: pmda.NewClient(uint32(seq), uint64(seq))}}
}

func (c *eventClient) end() { c.e.EndClient(c.r.Client) }

// fetch returns the records that are new to the client.
func (c *eventClient) fetch(t tb) []pdu.EventRecord {
	t.Helper()
	c.w.Reset()
	if err := c.e.Fetch(context.Background(), c.r, c.e.ids, &c.w); err != nil {
		t.Fatalf("fetch: %v", err)
	}
	res, err := c.w.Result()
	if err != nil {
		t.Fatalf("result: %v", err)
	}
	s := res.At(0)
	if err := s.Err(); err != nil {
		t.Fatalf("metric: %v", err)
	}
	if s.Len() == 0 {
		return nil
	}
	typ := pdu.TypeEvent
	if c.e.queue.HighRes {
		typ = pdu.TypeHighResEvent
	}
	events, err := s.Atom(0, typ).Events()
	if err != nil {
		t.Fatalf("event array: %v", err)
	}
	if events.Len() == 0 {
		t.Fatalf("an event array without records")
	}
	return slices.Collect(events.All())
}

// A seen event has its number, or the number of missed events.
type seen struct{ Number, Missed int }

// numbers returns the numbers of the events that are new to the client.
func (c *eventClient) numbers(t tb) []seen {
	t.Helper()
	var all []seen
	for _, r := range c.fetch(t) {
		f := seen{Missed: r.Missed}
		for id, v := range r.Params() {
			if id == c.e.number.PMID() {
				n, err := pdu.As[uint64](v)
				if err != nil {
					t.Fatalf("number: %v", err)
				}
				f.Number = int(n)
			}
		}
		all = append(all, f)
	}
	return all
}

// A modelQueue is a simple model of a queue.
type modelQueue struct {
	limit   int
	keepAll bool
	events  []modelEvent // all since the beginning
	first   int          // of those that are kept
	clients map[int]*modelClient
	stats   pmda.EventStats
}

type modelEvent struct {
	seen
	size int
}

type modelClient struct {
	reads, even bool
	pos         int
	missed      int
	access      *bool
}

func (m *modelQueue) client(seq int) *modelClient {
	if m.clients[seq] == nil {
		m.clients[seq] = &modelClient{}
	}
	return m.clients[seq]
}

func (m *modelQueue) readers() (n int) {
	for _, c := range m.clients {
		if c.reads {
			n++
		}
	}
	return n
}

// trim drops records that all readers have or that exceed the limit. Readers that do not have a
// dropped record miss it.
func (m *modelQueue) trim() {
	oldest := len(m.events)
	if m.keepAll {
		oldest = m.first
	}
	for _, c := range m.clients {
		if c.reads {
			oldest = min(oldest, max(c.pos, m.first))
		}
	}
	m.first = max(m.first, oldest)
	size := func() (n int) {
		for _, e := range m.events[m.first:] {
			n += e.size
		}
		return n
	}
	for size() > m.limit {
		e := m.events[m.first]
		m.first++
		for _, c := range m.clients {
			if c.reads && c.pos < m.first {
				c.pos = m.first
				c.missed += max(e.Missed, 1)
			}
		}
	}
	m.stats.Memory = size()
	m.stats.Clients = m.readers()
}

func (m *modelQueue) add(e modelEvent) {
	if m.readers() == 0 && !m.keepAll {
		return
	}
	if e.size > m.limit {
		for _, c := range m.clients {
			if c.reads {
				c.missed += max(e.Missed, 1)
			}
		}
		return
	}
	m.events = append(m.events, e)
	m.trim()
}

func (m *modelQueue) fetch(seq int, restricted bool) (all []seen) {
	c := m.client(seq)
	may := !restricted || c.even
	if c.access != nil {
		may = *c.access
	}
	if !may {
		return nil
	}
	if !c.reads {
		c.reads, c.pos = true, len(m.events)
		if m.keepAll {
			c.pos = m.first
		}
	}
	if c.missed > 0 {
		all = append(all, seen{Missed: c.missed})
		c.missed = 0
	}
	for _, e := range m.events[c.pos:] {
		if !c.even || e.Number%2 == 0 {
			all = append(all, e.seen)
		}
	}
	c.pos = len(m.events)
	m.trim()
	return all
}

// accessChanged updates a client that may no longer read.
func (m *modelQueue) accessChanged(c *modelClient, restricted bool) {
	may := !restricted || c.even
	if c.access != nil {
		may = *c.access
	}
	if c.reads && !may {
		c.reads, c.missed = false, 0
		m.trim()
	}
}

// TestEventQueueModel checks with random operations that each client gets each event once, and the
// exact number of the events that it has missed.
func TestEventQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{40, 100, 1000, 5000, 20000}).Draw(t, "MaxBytes")
		highRes, keepAll := rapid.Bool().Draw(t, "HighRes"), rapid.Bool().Draw(t, "KeepAll")
		restricted := rapid.Bool().Draw(t, "Restricted")
		e := newEventAgent(noCleanup{}, func(q *pmda.EventQueue) {
			q.MaxBytes, q.HighRes, q.KeepAll, q.Restricted = limit, highRes, keepAll, restricted
		})
		m := &modelQueue{limit: limit &^ 3, keepAll: keepAll, clients: map[int]*modelClient{}}
		clients := map[int]*eventClient{}
		head := 16
		if highRes {
			head = 24
		}
		next := 0
		client := func(t *rapid.T) (int, *eventClient) {
			seq := rapid.IntRange(1, 5).Draw(t, "client")
			if clients[seq] == nil {
				clients[seq] = e.client(seq)
			}
			return seq, clients[seq]
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					next++
					text := strings.Repeat("x", rapid.IntRange(0, 30).Draw(t, "length"))
					size := head + 16 + 8 + (len(text)+3)&^3
					if err := e.queue.Append(time.Unix(int64(next), 0), pdu.EventPoint, e.number.Of(uint64(next)), e.text.Of(text)); (err != nil) !=
						(size > m.limit && (keepAll || m.readers() > 0)) || err != nil && !errors.Is(err, pdu.ErrTooBig) {
						t.Fatalf("append of %d bytes: %v", size, err)
					}
					m.stats.Events++
					m.stats.Bytes += uint64(size)
					m.add(modelEvent{seen{Number: next}, size})
				}
			},
			"append missed": func(t *rapid.T) {
				n := rapid.IntRange(1, 9).Draw(t, "n")
				if err := e.queue.AppendMissed(time.Time{}, n); err != nil {
					t.Fatal(err)
				}
				m.add(modelEvent{seen{Missed: n}, head})
			},
			"fetch": func(t *rapid.T) {
				seq, c := client(t)
				if diff := cmp.Diff(m.fetch(seq, restricted), c.numbers(t)); diff != "" {
					t.Fatalf("client %d (-want +got):\n%s", seq, diff)
				}
			},
			"filter": func(t *rapid.T) {
				seq, c := client(t)
				mc := m.client(seq)
				var keep func(pdu.EventRecord) bool
				if mc.even = rapid.Bool().Draw(t, "even"); mc.even {
					keep = func(r pdu.EventRecord) bool {
						for _, v := range r.Params() {
							n, _ := pdu.As[uint64](v)
							return n%2 == 0
						}
						return false
					}
				}
				e.queue.SetFilter(c.r.Client, keep)
				m.accessChanged(mc, restricted)
			},
			"access": func(t *rapid.T) {
				seq, c := client(t)
				mc := m.client(seq)
				allow := rapid.Bool().Draw(t, "allow")
				mc.access = &allow
				e.queue.SetAccess(c.r.Client, allow)
				m.accessChanged(mc, restricted)
			},
			"end": func(t *rapid.T) {
				seq, c := client(t)
				c.end()
				delete(m.clients, seq)
				m.trim()
			},
			"": func(t *rapid.T) {
				if diff := cmp.Diff(m.stats, e.queue.Stats()); diff != "" {
					t.Fatalf("statistics (-want +got):\n%s", diff)
				}
			},
		})
	})
}

// noCleanup is a testing.TB for newEventAgent in a test of rapid's.
type noCleanup struct{ testing.TB }

func (noCleanup) Helper()        {}
func (noCleanup) Fatal(a ...any) { panic(fmt.Sprint(a...)) }

// TestEventQueueClients checks that clients of different speeds get each event once, or the number
// of missed events, while other clients come and go.
func TestEventQueueClients(t *testing.T) {
	for _, highRes := range []bool{false, true} {
		t.Run(fmt.Sprintf("highRes=%v", highRes), func(t *testing.T) {
			t.Parallel()
			testEventClients(t, newEventAgent(t, func(q *pmda.EventQueue) { q.MaxBytes, q.HighRes = 64<<10, highRes }))
		})
	}
}

func testEventClients(t *testing.T, e *eventAgent) {
	ctx, cancel := context.WithTimeout(t.Context(), *eventsFor)
	defer cancel()
	var readers, others sync.WaitGroup
	done := make(chan struct{}) // all events are there
	for i, pause := range []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond} {
		c := e.client(i + 1)
		if got := c.numbers(t); got != nil {
			t.Fatalf("the first fetch has %v", got)
		}
		readers.Go(func() { readAll(t, c, pause, done) })
	}
	for i := range 2 {
		others.Go(func() {
			for seq := 100 + i; ctx.Err() == nil; seq += 2 {
				c := e.client(seq)
				for range rand.IntN(3) {
					c.fetch(t)
				}
				c.end()
			}
		})
	}
	n := uint64(0)
	for ctx.Err() == nil {
		for range 1 + rand.IntN(2000) {
			n++
			if err := e.queue.Append(time.Time{}, pdu.EventPoint, e.number.Of(n), e.text.Of("0123456789"[:n%10])); err != nil {
				t.Error(err)
				break
			}
		}
		runtime.Gosched()
	}
	others.Wait()
	close(done)
	readers.Wait()
	if got := e.queue.Stats(); got.Clients != 0 || got.Memory != 0 || got.Events != n {
		t.Errorf("after %d events and the end of all clients: %+v", n, got)
	}
	t.Logf("%d events", n)
}

// readAll checks that a client gets all events, except those that are reported as missed.
func readAll(t *testing.T, c *eventClient, pause time.Duration, done <-chan struct{}) {
	defer c.end()
	at, missed, fetches := 0, 0, 0
	for last := false; ; fetches++ {
		select {
		case <-done:
			if last {
				n := int(c.e.queue.Stats().Events)
				if at != n {
					t.Errorf("pause %v: at event %d of %d", pause, at, n)
				}
				t.Logf("pause %v: %d fetches, %d events, %d missed", pause, fetches, n-missed, missed)
				return
			}
			last = true
		case <-time.After(pause):
		}
		for _, f := range c.numbers(t) {
			at += f.Missed
			missed += f.Missed
			if f.Missed == 0 {
				if at++; f.Number != at {
					t.Errorf("pause %v: got event %d, want %d", pause, f.Number, at)
					return
				}
			}
		}
	}
}

// TestEventQueueClientsGone checks that disconnected clients leave no memory behind.
func TestEventQueueClientsGone(t *testing.T) {
	const clients, events = 1000, 100
	e := newEventAgent(t, nil)
	memory := func() uint64 {
		runtime.GC()
		runtime.GC() // what pools have kept
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round := func() {
		var all []*eventClient
		for i := range clients {
			c := e.client(i + 1)
			c.fetch(t)
			e.queue.SetFilter(c.r.Client, func(pdu.EventRecord) bool { return true })
			all = append(all, c)
		}
		for i := range events {
			if err := e.queue.Append(time.Time{}, pdu.EventPoint, e.number.Of(uint64(i))); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.queue.Stats(); got.Clients != clients || got.Memory != 32*events {
			t.Errorf("with all clients: %+v", got)
		}
		for i, c := range all {
			if got := len(c.fetch(t)); i%2 == 0 && got != events {
				t.Errorf("client %d: %d events", i, got)
			}
			c.end()
		}
		if got := e.queue.Stats(); got.Clients != 0 || got.Memory != 0 {
			t.Errorf("after the last client: %+v", got)
		}
	}
	round()
	before := memory()
	for range 3 {
		round()
	}
	if after := memory(); after > before+16<<10 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	runtime.KeepAlive(e)
}

// TestEventRecords checks that records keep their types, times and flags.
func TestEventRecords(t *testing.T) {
	type path string
	at := time.Unix(1800000000, 123456789)
	for _, highRes := range []bool{false, true} {
		e := newEventAgent(t, func(q *pmda.EventQueue) { q.HighRes = highRes })
		i32 := pmda.RegisterParam(e.Agent, pmda.Metric[int32]{Name: "events.param.i32"})
		u32 := pmda.RegisterParam(e.Agent, pmda.Metric[uint32]{Name: "events.param.u32"})
		i64 := pmda.RegisterParam(e.Agent, pmda.Metric[int64]{Name: "events.param.i64"})
		f32 := pmda.RegisterParam(e.Agent, pmda.Metric[float32]{Name: "events.param.f32"})
		f64 := pmda.RegisterParam(e.Agent, pmda.Metric[float64]{Name: "events.param.f64"})
		agg := pmda.RegisterParam(e.Agent, pmda.Metric[[]byte]{Name: "events.param.aggregate"})
		named := pmda.RegisterParam(e.Agent, pmda.Metric[path]{Name: "events.param.path", ID: pmda.Item(7, 8)})
		wait := pmda.RegisterParam(e.Agent, pmda.Metric[time.Duration]{Name: "events.param.wait"})
		c := e.client(1)
		c.fetch(t)
		if err := errors.Join(
			e.queue.Append(at, pdu.EventStart|pdu.EventID, i32.Of(-3), u32.Of(math.MaxUint32), i64.Of(-4), f32.Of(1.5), f64.Of(-2.5)),
			e.queue.Append(at, pdu.EventEnd, agg.Of([]byte{1, 2, 3}), e.text.Of(""), e.text.Of("12345"), named.Of("/x"), wait.Of(time.Second)),
			e.queue.Append(at, 0),
			e.queue.AppendMissed(at, 7),
		); err != nil {
			t.Fatal(err)
		}
		want := at
		if !highRes {
			want = at.Truncate(time.Microsecond)
		}
		var got []string
		for _, r := range c.fetch(t) {
			if !r.Time.Equal(want) {
				t.Errorf("HighRes %v: time %v, want %v", highRes, r.Time, want)
			}
			s := fmt.Sprintf("%v %d:", r.Flags, r.Missed)
			for id, v := range r.Params() {
				s += fmt.Sprintf(" %v=%v", id, v)
			}
			got = append(got, s)
		}
		if diff := cmp.Diff([]string{
			"start,id 0: 400.0.3=-3 400.0.4=4294967295 400.0.5=-4 400.0.6=1.500000e+00 400.0.7=-2.500000e+00",
			`end 0: 400.0.8=[type=AGGREGATE len=3] 010203 400.0.2="" 400.0.2="12345" 400.7.8="/x" 400.0.9=1000000000`,
			" 0:",
			"missed 7:",
		}, got); diff != "" {
			t.Errorf("HighRes %v (-want +got):\n%s", highRes, diff)
		}
	}
}

// TestEventErrors checks that invalid events are refused, with and without a reader.
func TestEventErrors(t *testing.T) {
	e := newEventAgent(t, func(q *pmda.EventQueue) { q.MaxBytes = 100 })
	bad := pmda.RegisterParam(e.Agent, pmda.Metric[int32]{Name: "events.records"}) // the name is in use
	future := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []*eventClient{nil, e.client(1)} {
		if c != nil {
			c.fetch(t)
		}
		tests := []struct {
			name string
			err  error
			want error
		}{
			{"missed", e.queue.Append(time.Time{}, pdu.EventMissed), pdu.ErrConv},
			{"time", e.queue.Append(future, 0), pdu.ErrTooBig},
			{"time of missed events", e.queue.AppendMissed(future, 1), pdu.ErrTooBig},
			{"parameter", e.queue.Append(time.Time{}, 0, bad.Of(1)), pdu.ErrArg},
			{"zero parameter", e.queue.Append(time.Time{}, 0, pmda.EventValue{}), pdu.ErrArg},
			{"none missed", e.queue.AppendMissed(time.Time{}, 0), pdu.ErrArg},
			{"too many missed", e.queue.AppendMissed(time.Time{}, int(int64(math.MaxInt32)+min(1, int64(math.MaxInt)-math.MaxInt32))), maxMissed()},
		}
		for _, tt := range tests {
			if !errors.Is(tt.err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
			}
		}
	}
	if bad.PMID() != pdu.NoPMID {
		t.Errorf("PMID of a parameter that is not registered: %v", bad.PMID())
	}
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "register event parameter") {
		t.Errorf("Err: %v", err)
	}
}

// maxMissed is the expected error for one more missed event than an int32 can hold, if int is
// longer.
func maxMissed() error {
	if math.MaxInt == math.MaxInt32 {
		return nil
	}
	return pdu.ErrArg
}

// TestEventRegistration checks that a parameter cannot have values outside events, and that an
// event metric must have the type of its queue.
func TestEventRegistration(t *testing.T) {
	value := func(context.Context, *pmda.Request, pdu.Instance) ([]byte, error) { return nil, nil }
	for name, m := range map[string]pmda.Metric[[]byte]{
		"value": {Name: "x.y", Value: value},
		"event": {Name: "x.y", Type: pdu.TypeEvent},
		"name":  {Name: "event.x"},
	} {
		a := &pmda.Agent{Name: "x", Domain: 400}
		if p := pmda.RegisterParam(a, m); a.Err() == nil || p.PMID() != pdu.NoPMID {
			t.Errorf("%s: no error, PMID %v", name, p.PMID())
		}
	}
	for _, highRes := range []bool{false, true} {
		a := &pmda.Agent{Name: "x", Domain: 400, Logger: slog.New(slog.DiscardHandler)}
		q := a.NewEventQueue()
		q.HighRes = highRes
		typ := pdu.TypeHighResEvent
		if highRes {
			typ = pdu.TypeEvent
		}
		d := a.AddInDom("d", "one", "two")
		register(t, a, pmda.Metric[[]byte]{Name: "x.wrong", Type: typ, Values: q.Values})
		register(t, a, pmda.Metric[[]byte]{Name: "x.aggregate", Values: q.Values})
		register(t, a, pmda.Metric[[]byte]{Name: "x.indom", Type: pdu.TypeEvent, InDom: d, Values: q.Values})
		res := fetchAll(t, a)
		for _, s := range res.All() {
			if s.Err() == nil {
				t.Errorf("HighRes %v: metric %v has no error", highRes, s.PMID)
			}
		}
	}
}

// TestEventStore checks that a client may store a text, such as a filter, into an event metric.
// Other metrics of bytes refuse texts.
func TestEventStore(t *testing.T) {
	for typ, want := range map[pdu.Type]error{pdu.TypeEvent: nil, pdu.TypeHighResEvent: nil, 0: pdu.ErrConv, pdu.TypeAggregateStatic: pdu.ErrConv} {
		a := &pmda.Agent{Name: "x", Domain: 400, Logger: slog.New(slog.DiscardHandler)}
		q := a.NewEventQueue()
		var got string
		register(t, a, pmda.Metric[[]byte]{Name: "x.events", Type: typ, Values: q.Values,
			Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v []byte) error {
				got = string(v)
				return nil
			}})
		id, err := a.Namespace().Lookup("x.events")
		if err != nil {
			t.Fatal(err)
		}
		var w pdu.ResultWriter
		w.Begin(id)
		w.String(pdu.NoInst, "^/index")
		values, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Store(t.Context(), request(), values); !errors.Is(err, want) {
			t.Errorf("type %v: error %v, want %v", typ, err, want)
		}
		if stored := got == "^/index"; stored != (want == nil) {
			t.Errorf("type %v: stored %q", typ, got)
		}
	}
}

// fetchAll fetches all metrics of an agent.
func fetchAll(t *testing.T, a *pmda.Agent) *pdu.Result {
	t.Helper()
	var ids []pdu.PMID
	for _, id := range a.Namespace().All() {
		ids = append(ids, id)
	}
	var w pdu.ResultWriter
	if err := a.Fetch(t.Context(), request(), ids, &w); err != nil {
		t.Fatal(err)
	}
	res, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestEventInstances checks a metric with one queue per instance. The profile decides which queues
// a fetch empties.
func TestEventInstances(t *testing.T) {
	a := &pmda.Agent{Name: "x", Domain: 400}
	d := a.AddInDom("d", "one", "two")
	queues := []*pmda.EventQueue{a.NewEventQueue(), a.NewEventQueue()}
	register(t, a, pmda.Metric[[]byte]{
		Name: "x.records", Type: pdu.TypeEvent, InDom: d,
		Values: func(ctx context.Context, r *pmda.Request, s *pmda.Values[[]byte]) error {
			for id, q := range queues {
				if err := q.Put(ctx, r, s, pdu.InstID(id)); err != nil {
					return err
				}
			}
			return nil
		},
	})
	id, err := a.Namespace().Lookup("x.records")
	if err != nil {
		t.Fatal(err)
	}
	r := request()
	fetch := func(r *pmda.Request) string {
		var w pdu.ResultWriter
		if err := a.Fetch(t.Context(), r, []pdu.PMID{id}, &w); err != nil {
			t.Fatal(err)
		}
		res, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		s := ""
		for inst, v := range res.At(0).All(pdu.TypeEvent) {
			s += fmt.Sprint(inst, v)
		}
		return s
	}
	steps := ""
	steps += fetch(r) + ";"
	for _, q := range queues {
		if err := q.Append(time.Time{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	only := *r
	only.Profile = &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: pdu.MakeInDom(400, 0), Exclude: true, Insts: []pdu.InstID{1}}}}
	steps += fetch(&only) + ";" + fetch(r) + ";"
	queues[1].Close()
	for _, q := range queues {
		if err := q.Append(time.Time{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	steps += fetch(r)
	if want := ";1 [1 event record];0 [1 event record];0 [1 event record]"; steps != want {
		t.Errorf("got  %q\nwant %q", steps, want)
	}
	if got := queues[1].Stats(); got.Clients != 0 || got.Memory != 0 {
		t.Errorf("a closed queue: %+v", got)
	}
}

// TestEventGivenUp checks that events are reported as missed if a filter or a reply fails.
func TestEventGivenUp(t *testing.T) {
	e := newEventAgent(t, nil)
	e.Logger = slog.New(slog.DiscardHandler)
	c := e.client(1)
	c.fetch(t)
	add := func(n int) {
		for range n {
			if err := e.queue.Append(time.Time{}, 0, e.number.Of(9)); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(3)
	e.queue.SetFilter(c.r.Client, func(pdu.EventRecord) bool { panic("filter") })
	var w pdu.ResultWriter
	if err := e.Fetch(t.Context(), c.r, e.ids, &w); err != nil {
		t.Fatal(err)
	}
	e.queue.SetFilter(c.r.Client, nil)
	add(20)
	w.Reset()
	w.Limit = 40
	if err := e.Fetch(t.Context(), c.r, e.ids, &w); !errors.Is(err, pdu.ErrTooBig) {
		t.Errorf("a reply beyond its limit: %v", err)
	}
	add(1)
	if diff := cmp.Diff([]seen{{Missed: 23}, {Number: 9}}, c.numbers(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEventAbandoned checks that an abandoned request does not keep its client in the queue after
// the client has disconnected.
func TestEventAbandoned(t *testing.T) {
	var log bytes.Buffer
	e := newEventAgent(t, nil)
	e.Logger = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	c := e.client(1)
	cancel()
	c.end()
	var w pdu.ResultWriter
	_ = e.Fetch(ctx, c.r, e.ids, &w)
	if got := e.queue.Stats(); got.Clients != 0 || log.Len() > 0 {
		t.Errorf("%+v\n%s", got, &log)
	}
}

// TestEventMissedMany checks that the next fetches report the rest if a record cannot hold the
// number of missed events.
func TestEventMissedMany(t *testing.T) {
	e := newEventAgent(t, func(q *pmda.EventQueue) { q.MaxBytes = 8 })
	c := e.client(1)
	c.fetch(t)
	for _, n := range []int{math.MaxInt32, math.MaxInt32, 5} {
		if err := e.queue.AppendMissed(time.Time{}, n); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range [][]seen{{{Missed: math.MaxInt32}}, {{Missed: math.MaxInt32}}, {{Missed: 5}}, nil} {
		if diff := cmp.Diff(want, c.numbers(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
