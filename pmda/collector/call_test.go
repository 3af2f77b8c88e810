package collector_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/internal/override"
	"github.com/pcp-go/pcp/pmns"
)

// gated returns an agent with two metrics. The value of the first waits until gate is closed,
// unless gate is nil.
func gated(d pdu.Domain, name string, gate <-chan struct{}) *pmda.Agent {
	a := &pmda.Agent{Name: name, Domain: d}
	wait := func(v uint64) func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
		return func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			if v == 1 && gate != nil {
				<-gate
			}
			return v, nil
		}
	}
	pmda.Register(a, pmda.Metric[uint64]{Name: name + ".slow", ID: pmda.Item(0, 1), Value: wait(1)})
	pmda.Register(a, pmda.Metric[uint64]{Name: name + ".fast", ID: pmda.Item(0, 2), Value: wait(2)})
	o := override.In(a)
	o.Desc = func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
		if id.Item() == 1 && gate != nil {
			<-gate
		}
		return o.Next.Desc(ctx, r, id)
	}
	return a
}

func pmid(d pdu.Domain, item int) pdu.PMID { return pdu.MakePMID(d, 0, item) }

func equal(t *testing.T, what string, got []pdu.Error, want ...pdu.Error) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// TestAbandonInline blocks an agent for 20 s. Its clients get their replies in time, other
// clients do not notice, and the agent recovers without help.
func TestAbandonInline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := &collector.Server{Timeout: time.Second}
		for _, a := range []*pmda.Agent{gated(100, "stuck", gate), gated(101, "other", nil)} {
			if err := s.Add(a); err != nil {
				t.Fatal(err)
			}
		}
		c, quiet := collectortest.Connect(t, s), collectortest.Connect(t, s)
		begin := time.Now()
		equal(t, "mixed", c.FetchCodes(pmid(100, 1), pmid(101, 2), pmid(100, 2), pmid(101, 1)),
			pdu.ErrTimeout, 0, pdu.ErrTimeout, 0)
		if took := time.Since(begin); took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("the reply took %v", took)
		}
		begin = time.Now()
		equal(t, "the client goes on", c.FetchCodes(pmid(101, 1)), 0)
		equal(t, "another client", quiet.FetchCodes(pmid(101, 1), pmid(100, 2)), 0, 0)
		if took := time.Since(begin); took > time.Millisecond {
			t.Errorf("others waited %v", took)
		}

		// Calls of other requests than fetches are abandoned too.
		begin = time.Now()
		if err := c.Conn.Write(0, pdu.DescReq{PMID: pmid(100, 1)}); err != nil {
			t.Fatal(err)
		}
		_, body, err := c.Conn.Read()
		var st pdu.Status
		if err != nil || st.Decode(body) != nil || st.Code != pdu.ErrTimeout {
			t.Fatalf("desc: %v %v", st, err)
		}
		if took := time.Since(begin); took > 1100*time.Millisecond {
			t.Errorf("the descriptor took %v", took)
		}

		// Two more, and the agent has no slots left: it is fenced at once.
		var wg sync.WaitGroup
		for range 2 {
			c := collectortest.Connect(t, s)
			wg.Go(func() { equal(t, "stuck", c.FetchCodes(pmid(100, 1)), pdu.ErrTimeout) })
		}
		wg.Wait()
		begin = time.Now()
		equal(t, "fenced", c.FetchCodes(pmid(100, 2), pmid(101, 2)), pdu.ErrPMDAFenced, 0)
		if took := time.Since(begin); took > time.Millisecond {
			t.Errorf("the fenced agent took %v", took)
		}
		time.Sleep(20 * time.Second)
		close(gate)
		synctest.Wait()
		equal(t, "recovered", c.FetchCodes(pmid(100, 1), pmid(100, 2), pmid(101, 2)), 0, 0, 0)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAbandonOnTime checks that the watchdog abandons a call when it is due, even if the client
// has waited for a slot or the timeout is lowered during the call.
func TestAbandonOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := []time.Duration{70 * time.Second, 100 * time.Second, 10 * time.Second}
		s := (&collector.Server{Timeout: time.Minute}).WithAgentCalls(1)
		a := &pmda.Agent{Name: "tired", Domain: 100}
		pmda.Register(a, pmda.Metric[uint64]{Name: "tired.m", Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			took := calls[0]
			calls = calls[1:]
			time.Sleep(took)
			return 1, nil
		}})
		if err := s.Add(a); err != nil {
			t.Fatal(err)
		}
		late := func(c *collectortest.Client, want time.Duration) {
			begin := time.Now()
			equal(t, "late", c.FetchCodes(pmid(100, 0)), pdu.ErrTimeout)
			if took := time.Since(begin).Truncate(time.Microsecond); took != want {
				t.Errorf("the reply took %v, want %v", took, want)
			}
		}
		first, second := collectortest.Connect(t, s), collectortest.Connect(t, s)
		var wg sync.WaitGroup
		wg.Go(func() { late(first, time.Minute) })
		time.Sleep(50 * time.Second)
		// It waits 20 s, until the first call is abandoned and returns.
		wg.Go(func() { late(second, time.Minute) })
		wg.Wait()
		time.Sleep(2 * time.Minute)
		wg.Go(func() { late(first, 3*time.Second) })
		time.Sleep(2 * time.Second)
		s.SetTimeout(3 * time.Second)
		wg.Wait()
		time.Sleep(time.Minute)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestWaitForSlot makes more concurrent calls of an agent than it has slots. The others are
// queued, and abandoned at the deadline.
func TestWaitForSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := (&collector.Server{Timeout: time.Second}).WithAgentCalls(1)
		if err := s.Add(gated(100, "stuck", gate)); err != nil {
			t.Fatal(err)
		}
		first, second, third := collectortest.Connect(t, s), collectortest.Connect(t, s), collectortest.Connect(t, s)
		var wg sync.WaitGroup
		wg.Go(func() { equal(t, "first", first.FetchCodes(pmid(100, 1)), pdu.ErrTimeout) })
		synctest.Wait()
		wg.Go(func() { equal(t, "second", second.FetchCodes(pmid(100, 2)), pdu.ErrTimeout) })
		wg.Wait()
		equal(t, "third", third.FetchCodes(pmid(100, 2)), pdu.ErrPMDAFenced)
		close(gate)
		synctest.Wait()
		equal(t, "third, later", third.FetchCodes(pmid(100, 2)), 0)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestSlowOverlap calls agents that take half a second each. At first the calls run one after the
// other. Once the agents are known to be slow, they run in parallel.
func TestSlowOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &collector.Server{Timeout: 5 * time.Second}
		for d := range pdu.Domain(3) {
			a := &pmda.Agent{Name: fmt.Sprint("slow", d), Domain: 100 + d}
			pmda.Register(a, pmda.Metric[uint64]{Name: a.Name + ".m", Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
				time.Sleep(500 * time.Millisecond)
				return 1, nil
			}})
			if err := s.Add(a); err != nil {
				t.Fatal(err)
			}
		}
		c := collectortest.Connect(t, s)
		for i, want := range []time.Duration{1500 * time.Millisecond, 500 * time.Millisecond} {
			begin := time.Now()
			equal(t, "slow", c.FetchCodes(pmid(100, 0), pmid(101, 0), pmid(102, 0)), 0, 0, 0)
			if took := time.Since(begin); took != want {
				t.Errorf("fetch %d took %v, want %v", i, took, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAbandoned checks that the arguments of an abandoned call do not change, even though other
// fetches reuse the memory of its request.
func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var before, later pmda.Request
		slow := &pmda.Agent{Name: "slow", Domain: 100}
		pmda.Register(slow, pmda.Metric[uint64]{Name: "slow.value", ID: pmda.Item(0, 1),
			Value: func(_ context.Context, r *pmda.Request, _ pdu.Instance) (uint64, error) {
				before = *r
				<-gate
				later = *r
				return 1, nil
			}})
		s := &collector.Server{Timeout: time.Second}
		for _, a := range []*pmda.Agent{slow, gated(101, "fast", nil)} {
			if err := s.Add(a); err != nil {
				t.Fatal(err)
			}
		}
		s.SetLastDuration(100, time.Second) // makes the agent slow
		c := collectortest.Connect(t, s)
		equal(t, "abandoned", c.FetchCodes(pmid(100, 1), pmid(101, 1)), pdu.ErrTimeout, 0)
		for range 10 {
			equal(t, "others", c.FetchCodes(pmid(101, 1)), 0)
		}
		close(gate)
		synctest.Wait()
		if before.Client == nil || before.Deadline.IsZero() || later != before {
			t.Errorf("the request was %+v and became %+v", before, later)
		}
		c.Net.Close()
		s.Close()
	})
}

// TestPanic checks that after a panic of an agent the client gets an error, the log gets a line,
// and the agent is fenced for a moment.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &collector.Server{Timeout: time.Second}
		a := &pmda.Agent{Name: "panicking", Domain: 100}
		// A panic in Value would only fail the metric.
		o := override.In(a)
		o.Fetch = func(context.Context, *pmda.Request, []pdu.PMID, *pdu.ResultWriter) error { panic("on purpose") }
		if err := s.Add(a); err != nil {
			t.Fatal(err)
		}
		c := collectortest.Connect(t, s)
		equal(t, "panic", c.FetchCodes(pmid(100, 0)), pdu.ErrGeneric)
		equal(t, "fenced", c.FetchCodes(pmid(100, 0)), pdu.ErrPMDAFenced)
		time.Sleep(collector.PanicPause)
		equal(t, "again", c.FetchCodes(pmid(100, 0)), pdu.ErrGeneric)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAbandonedContext checks that the context of an abandoned call ends even if the client stays
// connected. The contexts of its later calls do not end.
func TestAbandonedContext(t *testing.T) {
	for _, sideCall := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ended := 0
			waitForEnd := func(ctx context.Context) {
				select {
				case <-ctx.Done():
					ended++
				case <-time.After(time.Hour):
				}
			}
			a := &pmda.Agent{Name: "returning", Domain: 100}
			pmda.Register(a, pmda.Metric[uint64]{Name: "returning.m", ID: pmda.Item(0, 1),
				Value: func(ctx context.Context, _ *pmda.Request, _ pdu.Instance) (uint64, error) {
					waitForEnd(ctx)
					return 1, nil
				}})
			o := override.In(a)
			o.Desc = func(ctx context.Context, _ *pmda.Request, _ pdu.PMID) (pdu.Desc, error) {
				waitForEnd(ctx)
				return pdu.Desc{}, nil
			}
			s := &collector.Server{Timeout: time.Second}
			collectortest.Add(t, s, a, gated(101, "other", nil))
			c := collectortest.Connect(t, s)
			for i := range 2 {
				if sideCall {
					s.SetLastDuration(100, time.Second) // makes the agent slow
				}
				begin := time.Now()
				equal(t, "fetch", c.FetchCodes(pmid(100, 1), pmid(101, 1)), pdu.ErrTimeout, 0)
				if took := time.Since(begin); took > 1100*time.Millisecond {
					t.Errorf("the reply took %v", took)
				}
				synctest.Wait()
				if ended != 2*i+1 {
					t.Errorf("side call %v: %d calls of %d saw their context end", sideCall, ended, 2*i+1)
				}
				if err := c.Conn.Write(0, pdu.DescReq{PMID: pmid(100, 1)}); err != nil {
					t.Fatal(err)
				}
				if _, _, err := c.Conn.Read(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if ended != 2*i+2 {
					t.Errorf("desc: %d calls of %d saw their context end", ended, 2*i+2)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTimeOfLateResult checks that the time of a result is when all calls were done, even if one
// has waited for a slot in vain.
func TestTimeOfLateResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := (&collector.Server{Timeout: time.Second}).WithAgentCalls(1)
		collectortest.Add(t, s, gated(100, "stuck", gate))
		first, second := collectortest.Connect(t, s), collectortest.Connect(t, s)
		var wg sync.WaitGroup
		wg.Go(func() { equal(t, "first", first.FetchCodes(pmid(100, 1)), pdu.ErrTimeout) })
		time.Sleep(time.Second / 2)
		if err := second.Conn.Write(0, pdu.Fetch{HighRes: true, PMIDs: []pdu.PMID{pmid(100, 2)}}); err != nil {
			t.Fatal(err)
		}
		h, body, err := second.Conn.Read()
		if err != nil {
			t.Fatal(err)
		}
		res := pdu.Result{Format: pdu.FormatHighRes}
		if err := res.Decode(body); h.Kind != pdu.KindHighResResult || err != nil {
			t.Fatal(h.Kind, err)
		}
		if late := time.Since(res.Time); late != 0 {
			t.Errorf("the result came %v after its time", late)
		}
		wg.Wait()
		close(gate)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestTimeAfterWait checks that the other agents of a fetch get extra time after a call has
// waited for a slot until the deadline.
func TestTimeAfterWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := (&collector.Server{Timeout: time.Second}).WithAgentCalls(1)
		collectortest.Add(t, s, gated(100, "stuck", gate))
		for d := range pdu.Domain(3) {
			a := &pmda.Agent{Name: fmt.Sprint("fast", d), Domain: 101 + d}
			pmda.Register(a, pmda.Metric[uint64]{Name: a.Name + ".m", ID: pmda.Item(0, 1),
				Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
					time.Sleep(10 * time.Millisecond)
					return 1, nil
				}})
			collectortest.Add(t, s, a)
		}
		first, second := collectortest.Connect(t, s), collectortest.Connect(t, s)
		var wg sync.WaitGroup
		wg.Go(func() { equal(t, "first", first.FetchCodes(pmid(100, 1)), pdu.ErrTimeout) })
		time.Sleep(time.Second / 2)
		equal(t, "second", second.FetchCodes(pmid(100, 2), pmid(101, 1), pmid(102, 1), pmid(103, 1)), pdu.ErrTimeout, 0, 0, 0)
		wg.Wait()
		close(gate)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestNoSlotInTime checks that a call that does not get a slot in time does not count as overdue,
// and is not made later.
func TestNoSlotInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := collectortest.NewMessages()
		calls := 0
		slow := &pmda.Agent{Name: "slow", Domain: 100}
		pmda.Register(slow, pmda.Metric[uint64]{Name: "slow.m", ID: pmda.Item(0, 1),
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
				calls++
				time.Sleep(1500 * time.Millisecond)
				return 1, nil
			}})
		s := (&collector.Server{Timeout: time.Second, Logger: slog.New(log)}).WithAgentCalls(1)
		collectortest.Add(t, s, slow, gated(101, "fast", nil))
		s.SetLastDuration(100, time.Second) // makes the agent slow
		first := collectortest.Connect(t, s)
		var wg sync.WaitGroup
		wg.Go(func() { equal(t, "first", first.FetchCodes(pmid(100, 1)), pdu.ErrTimeout) })
		time.Sleep(time.Second / 2)
		for range 20 { // their deadline is when the first call returns
			c := collectortest.Connect(t, s)
			wg.Go(func() { equal(t, "waiting", c.FetchCodes(pmid(100, 1), pmid(101, 1)), pdu.ErrTimeout, 0) })
		}
		wg.Wait()
		time.Sleep(10 * time.Second)
		if n := len(log.Take()); n != 2*calls {
			t.Errorf("%d lines in the log for %d overdue calls", n, calls)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestStoreStuck checks that values of other agents are stored even if some agents do not return.
func TestStoreStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := &collector.Server{Timeout: time.Second}
		block := func() error { <-gate; return nil }
		fast, last := &collectortest.Agent{Name: "fast", Domain: 102}, &collectortest.Agent{Name: "last", Domain: 104}
		collectortest.Add(t, s, &collectortest.Agent{Name: "stuck", Domain: 101, Failing: block}, fast, &collectortest.Agent{Name: "also", Domain: 103, Failing: block}, last)
		g := collectortest.Connect(t, s)
		begin := time.Now()
		if got := g.Request(collectortest.Storing(pmid(101, 1), pmid(102, 1), pmid(103, 1), pmid(104, 1))); got != "error: "+pdu.ErrTimeout.Error() {
			t.Error(got)
		}
		if took := time.Since(begin); took > 1200*time.Millisecond {
			t.Errorf("the reply took %v", took)
		}
		for _, a := range []*collectortest.Agent{fast, last} {
			want := fmt.Sprintf("RESULT %v -1=7", pmid(a.Domain, 1))
			if len(a.Stored) != 1 || strings.TrimPrefix(a.Stored[0], "HIGHRES_") != want {
				t.Errorf("%s has stored %q", a.Name, a.Stored)
			}
		}
		for _, d := range []pdu.Domain{102, 103} {
			want := map[pdu.Domain]string{102: "success", 103: "error: " + pdu.ErrTimeout.Error()}[d]
			if got := g.Request(collectortest.Storing(pmid(d, 1))); got != want {
				t.Errorf("later, domain %d: %s, want %s", d, got, want)
			}
		}
		close(gate)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A blockedLog is a log that blocks at a message until gate is closed.
type blockedLog struct {
	slog.Handler
	message string
	gate    chan struct{}
}

func (b blockedLog) Enabled(context.Context, slog.Level) bool { return true }

func (b blockedLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == b.message {
		<-b.gate
	}
	return nil
}

// TestBlockedLog checks that a blocked log holds up only the client that the message is about.
func TestBlockedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := &collector.Server{Timeout: time.Second, Logger: slog.New(blockedLog{slog.DiscardHandler, "agent timed out", gate})}
		collectortest.Add(t, s, gated(100, "stuck", gate), gated(101, "other", nil))
		c := collectortest.Connect(t, s)
		var wg sync.WaitGroup
		wg.Go(func() { equal(t, "stuck", c.FetchCodes(pmid(100, 1)), pdu.ErrTimeout) })
		time.Sleep(2 * time.Second)
		begin := time.Now()
		equal(t, "another client", collectortest.Connect(t, s).FetchCodes(pmid(101, 1)), 0)
		if took := time.Since(begin); took > time.Millisecond {
			t.Errorf("another client waited %v", took)
		}
		close(gate)
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// panickingNames is an agent whose Namespace panics when broken is set.
type panickingNames struct {
	pmda.Handler
	broken *bool
}

func (f panickingNames) Namespace() *pmns.Tree {
	if *f.broken {
		panic("no names")
	}
	return nil
}

// TestPanicInNames checks that an agent whose Namespace always panics does not fill the log, and
// that the names of other agents stay.
func TestPanicInNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := collectortest.NewMessages()
		s := &collector.Server{Logger: slog.New(log)}
		broken := false
		collectortest.Add(t, s, panickingNames{collectortest.EmptyAgent("panicking", 100), &broken}, gated(101, "other", nil))
		g := collectortest.Connect(t, s)
		broken = true
		for range 5 {
			for range 10 {
				if got := g.Request(pdu.NameList{Names: []string{"other.fast"}}); !strings.Contains(got, "101.0.2") {
					t.Fatal(got)
				}
			}
			time.Sleep(collector.PanicPause)
		}
		if n := len(log.Take()); n != 5 {
			t.Errorf("%d lines in the log", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestOthersAfterWait checks that, when a call has waited for a slot until the deadline, the
// other agents are still called and do not count as overdue.
func TestOthersAfterWait(t *testing.T) {
	id := func(d pdu.Domain) pdu.PMID { return pdu.MakePMID(d, 0, 1) }
	tree, err := pmns.Parse("names", strings.NewReader("root { x }\nx { a 100:*:* b 102:*:* c 103:*:* }"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		ask  pdu.PDU
		want string
	}{
		{"store", collectortest.Storing(id(100), id(101), id(102), id(103)), "error: " + pdu.ErrTimeout.Error()},
		{"descriptors", pdu.DescsReq{PMIDs: []pdu.PMID{id(100), id(102), id(103)}},
			"{Descs:[{PMID:PM_ID_NULL Type:32 InDom:0.0 Sem:??? Units:}" +
				" {PMID:102.0.1 Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:} {PMID:103.0.1 Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:}]}"},
		{"names", pdu.TraverseReq{Name: "x"}, "{Names:[x.a x.b.a x.b.b x.c.a x.c.b] Statuses:[] Err:No error}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				log := collectortest.NewMessages()
				s := (&collector.Server{Timeout: time.Second, Logger: slog.New(log), Names: tree}).WithAgentCalls(1)
				stuck, busy := &collectortest.Agent{Name: "stuck", Domain: 100}, &collectortest.Agent{Name: "busy", Domain: 101}
				fast, last := &collectortest.Agent{Name: "fast", Domain: 102}, &collectortest.Agent{Name: "last", Domain: 103}
				stuck.Failing = func() error { <-gate; return nil }
				busy.Failing = func() error { time.Sleep(900 * time.Millisecond); return nil }
				fast.Failing = func() error { time.Sleep(10 * time.Millisecond); return nil }
				collectortest.Add(t, s, stuck, busy, fast, last)
				first, second, third := collectortest.Connect(t, s), collectortest.Connect(t, s), collectortest.Connect(t, s)
				first.Send(pdu.DescReq{PMID: id(100)}) // is abandoned after 1 s
				time.Sleep(500 * time.Millisecond)
				time.AfterFunc(700*time.Millisecond, func() { second.Request(pdu.DescReq{PMID: id(101)}) })
				// The call waits for a slot, up to 1.5 s.
				if got := third.Request(test.ask); got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
				for _, a := range []*collectortest.Agent{fast, last} {
					if len(a.Called) != 1 {
						t.Errorf("%s was called for %q", a.Name, a.Called)
					}
				}
				time.Sleep(2 * time.Second)
				first.Receive()
				if diff := cmp.Diff([]string{"agent timed out; it is fenced until a call returns"}, log.Take()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				close(gate)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestOthersAfterOverdue checks that a request of any kind continues with the other agents after
// a call is abandoned.
func TestOthersAfterOverdue(t *testing.T) {
	id := func(d pdu.Domain) pdu.PMID { return pdu.MakePMID(d, 0, 1) }
	tree, err := pmns.Parse("names", strings.NewReader("root { x }\nx { a 100:*:* m 101:0:1 b 101:*:* c 102:*:* }"))
	if err != nil {
		t.Fatal(err)
	}
	overdue := pdu.ErrTimeout.Error()
	const gap = "{PMID:PM_ID_NULL Type:32 InDom:0.0 Sem:??? Units:}"
	desc := func(d pdu.Domain) string {
		return fmt.Sprintf("{PMID:%v Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:}", id(d))
	}
	for _, test := range []struct {
		name string
		ask  pdu.PDU
		want string
	}{
		{"fetch", pdu.Fetch{PMIDs: []pdu.PMID{id(100), id(101), id(100), id(102)}},
			"RESULT 100.0.1 " + overdue + "; 101.0.1 -1=1; 100.0.1 " + overdue + "; 102.0.1 -1=1"},
		{"store", collectortest.Storing(id(100), id(101), id(102)), "error: " + overdue},
		{"descriptors", pdu.DescsReq{PMIDs: []pdu.PMID{id(101), id(100), id(102), id(100), id(101)}},
			"{Descs:[" + strings.Join([]string{desc(101), gap, desc(102), gap, desc(101)}, " ") + "]}"},
		{"names", pdu.TraverseReq{Name: "x"}, "{Names:[x.a x.m x.b.a x.b.b x.c.a x.c.b] Statuses:[] Err:No error}"},
		{"metrics", pdu.NameList{Names: []string{"x.a.x", "x.b.x", "x.c.x"}}, "error: " + overdue},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				s := &collector.Server{Timeout: time.Second, Names: tree}
				stuck := &collectortest.Agent{Name: "stuck", Domain: 100, Failing: func() error { <-gate; return nil }}
				others := []*collectortest.Agent{{Name: "b", Domain: 101}, {Name: "c", Domain: 102}}
				for _, a := range others {
					a.Failing = func() error { time.Sleep(10 * time.Millisecond); return nil }
				}
				collectortest.Add(t, s, stuck, others[0], others[1])
				g := collectortest.Connect(t, s)
				for range 2 { // the others are inline calls first, and then, being slow, side calls
					begin := time.Now()
					if got := g.Request(test.ask); got != test.want {
						t.Errorf("got  %s\nwant %s", got, test.want)
					}
					if took := time.Since(begin); took < time.Second || took > 1100*time.Millisecond {
						t.Errorf("the reply took %v", took)
					}
				}
				for _, a := range others {
					if len(a.Called) < 2 {
						t.Errorf("%s was called for %q", a.Name, a.Called)
					}
				}
				close(gate)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCallDeadline checks that the context of a call and its request have the deadline of the
// client's request, in inline and side calls, with extra time, and after an abandoned call.
func TestCallDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type deadlines struct {
			name             string
			context, request time.Duration // from the start of the request
		}
		var got []deadlines
		var mu sync.Mutex
		var begin time.Time
		note := func(name string, takes time.Duration) *pmda.Agent {
			a := &pmda.Agent{Name: name, Domain: 100 + pdu.Domain(name[0]-'a')}
			pmda.Register(a, pmda.Metric[uint64]{Name: name + ".m", ID: pmda.Item(0, 1),
				Value: func(ctx context.Context, r *pmda.Request, _ pdu.Instance) (uint64, error) {
					d, ok := ctx.Deadline()
					if ok == r.Deadline.IsZero() {
						t.Errorf("%s: a context with the deadline %v of a request with %v", name, d, r.Deadline)
					}
					if !ok {
						d, r = begin, &pmda.Request{Deadline: begin}
					}
					child, cancel := context.WithTimeout(ctx, time.Hour)
					defer cancel()
					if of, _ := child.Deadline(); ok && !of.Equal(d) {
						t.Errorf("a context made of it has the deadline %v, want %v", of, d)
					}
					mu.Lock()
					got = append(got, deadlines{name, d.Sub(begin), r.Deadline.Sub(begin)})
					mu.Unlock()
					time.Sleep(takes)
					if again, ok := ctx.Deadline(); ok && !again.Equal(d) {
						t.Errorf("the deadline of %s has changed to %v", name, again)
					}
					return 1, nil
				}})
			return a
		}
		s := &collector.Server{Timeout: time.Second}
		collectortest.Add(t, s, note("a", 2*time.Second), note("b", 2*time.Millisecond))
		c := collectortest.Connect(t, s)
		ask := func(ids ...pdu.PMID) []deadlines {
			t.Helper()
			synctest.Wait()
			begin, got = time.Now(), nil
			c.FetchCodes(ids...)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			return got
		}
		const full, extra = time.Second, time.Second + collector.ExtraTime
		for i, want := range [][]deadlines{
			{{"a", full, full}, {"b", extra, extra}}, // an inline call, then a side call
			{{"b", full, full}, {"a", full, full}},   // a side call and an inline call: both are slow now
			{{"a", full, full}},
		} {
			ids := []pdu.PMID{pmid(100, 1), pmid(101, 1)}[:min(len(want), 2)]
			have := ask(ids...)
			byName := func(a, b deadlines) int { return strings.Compare(a.name, b.name) }
			slices.SortFunc(have, byName)
			slices.SortFunc(want, byName)
			if diff := cmp.Diff(want, have, cmp.AllowUnexported(deadlines{})); diff != "" {
				t.Errorf("fetch %d (-want +got):\n%s", i, diff)
			}
		}
		for _, timeout := range []time.Duration{time.Minute, -1} {
			s.SetTimeout(timeout)
			want := []deadlines{{"b", max(timeout, 0), max(timeout, 0)}}
			if diff := cmp.Diff(want, ask(pmid(101, 1)), cmp.AllowUnexported(deadlines{})); diff != "" {
				t.Errorf("time-out %v (-want +got):\n%s", timeout, diff)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestChangeOfLateResult checks that clients learn of a change of labels and names even if it
// comes with the result of an abandoned call. The agent sends it once.
func TestChangeOfLateResult(t *testing.T) {
	for _, sideCall := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var later atomic.Bool
			a := &collectortest.Agent{Name: "late", Domain: 100}
			a.Fetched = func(_ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
				if !later.Load() {
					time.Sleep(1010 * time.Millisecond)
					w.Changed = pdu.ChangeNames
				}
				w.Begin(ids[0])
				return nil
			}
			s := &collector.Server{Timeout: time.Second}
			collectortest.Add(t, s, a)
			g := collectortest.Connect(t, s)
			if sideCall {
				collectortest.Add(t, s, gated(101, "fast", nil))
				g.Request(pdu.Fetch{PMIDs: []pdu.PMID{pmid(101, 1)}})
				g.Receive()
				s.SetLastDuration(100, time.Second) // makes the agent slow
				g.Request(pdu.Fetch{PMIDs: []pdu.PMID{pmid(100, 1), pmid(101, 1)}})
			} else {
				g.Request(pdu.Fetch{PMIDs: []pdu.PMID{pmid(100, 1)}})
			}
			time.Sleep(time.Second)
			later.Store(true)
			if got, want := g.Request(pdu.Fetch{PMIDs: []pdu.PMID{pmid(100, 1)}}), "change: names"; got != want {
				t.Errorf("side call %v: told %q, want %q", sideCall, got, want)
			}
			g.Net.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRemoveWhileWaiting checks that a removed agent is not called any more, even for requests
// that were waiting for a slot or for another agent.
func TestRemoveWhileWaiting(t *testing.T) {
	for _, sideCall := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a := &collectortest.Agent{Name: "goes", Domain: 100, Failing: func() error { time.Sleep(time.Second); return nil }}
			b := &collectortest.Agent{Name: "other", Domain: 101, Failing: func() error { time.Sleep(time.Second); return nil }}
			s := (&collector.Server{}).WithAgentCalls(1)
			collectortest.Add(t, s, a, b)
			if sideCall {
				s.SetLastDuration(100, time.Second) // makes the agent slow
			}
			first, second, third := collectortest.Connect(t, s), collectortest.Connect(t, s), collectortest.Connect(t, s)
			first.Send(pdu.DescReq{PMID: pmid(100, 1)})
			synctest.Wait()
			second.Send(pdu.Fetch{PMIDs: []pdu.PMID{pmid(100, 1)}}) // waits for a slot
			third.Send(pdu.Fetch{PMIDs: []pdu.PMID{pmid(101, 1), pmid(100, 1)}})
			synctest.Wait()
			if err := s.Remove(100); err != nil {
				t.Error(err)
			}
			first.Receive()
			for g, want := range map[*collectortest.Client]string{
				second: "RESULT 100.0.1 " + pdu.ErrNoAgent.Error(),
				third:  "RESULT 101.0.1 -1=1; 100.0.1 " + pdu.ErrNoAgent.Error(),
			} {
				if got := g.Receive(); got != "change: drop agent" {
					t.Errorf("told %q", got)
				}
				if got := g.Receive(); got != want {
					t.Errorf("side call %v: got %q, want %q", sideCall, got, want)
				}
			}
			if diff := cmp.Diff([]string{"desc"}, a.Called); diff != "" {
				t.Errorf("calls of the removed agent (-want +got):\n%s", diff)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
