package collector

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// TestAwaitAtDeadline checks that, if a side call ends at the deadline, the call is not reused
// before its goroutine has finished with it.
func TestAwaitAtDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &request{deadline: time.Now().Add(time.Second)}
		k := &call{agent: &agent{local: &pmda.Agent{}}, done: make(chan struct{})}
		time.AfterFunc(time.Second-1, func() { k.state.Store(callDone) })
		time.AfterFunc(2*time.Second, func() { close(k.done) })
		begin := time.Now()
		r.await(k)
		if _, done := k.outcome(); !done || r.abandoned || time.Since(begin) < 2*time.Second {
			t.Errorf("had the call after %v", time.Since(begin))
		}
	})
}

// TestRemoteBesideOverdue checks that an agent in another process is called at once, not in the
// short time that another agent leaves. Otherwise its reply might be late, and clients would get
// pdu.ErrAgain.
func TestRemoteBesideOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := &Server{Timeout: time.Second, agentCalls: 1}
		stuck := &collectortest.Agent{Name: "stuck", Domain: 100, Failing: func() error { <-gate; return nil }}
		collectortest.Add(t, s, stuck)
		outside := &collectortest.Agent{Name: "outside", Domain: 101, Failing: func() error { time.Sleep(100 * time.Millisecond); return nil }}
		near, far := net.Pipe()
		go func() {
			pmda.Serve(t.Context(), outside, far)
			far.Close()
		}()
		r, err := remote.New(t.Context(), outside.Info(), near, remote.Config{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		a := &agent{kind: "socket", conf: pmcdconf.Agent{Name: "outside", Domain: 101}, started: make(chan struct{}, 1), done: make(chan struct{})}
		a.setName("outside")
		a.ctx, a.cancel = context.WithCancel(t.Context())
		a.remote.Store(&process{Agent: r, stream: near, exited: make(chan struct{})})
		if err := s.add(a); err != nil {
			t.Fatal(err)
		}
		first, second, third := collectortest.Connect(t, s), collectortest.Connect(t, s), collectortest.Connect(t, s)
		first.Send(pdu.DescReq{PMID: pdu.MakePMID(100, 0, 1)}) // is abandoned after 1 s
		time.Sleep(500 * time.Millisecond)
		time.AfterFunc(1070*time.Millisecond, func() {
			if got := second.Request(pdu.DescReq{PMID: pdu.MakePMID(101, 0, 1)}); !strings.Contains(got, "101.0.1") {
				t.Errorf("another client: %s", got)
			}
		})
		const want = "{Descs:[{PMID:PM_ID_NULL Type:32 InDom:0.0 Sem:??? Units:}" +
			" {PMID:101.0.1 Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:}]}"
		// The call waits for a slot, up to 1.5 s.
		if got := third.Request(pdu.DescsReq{PMIDs: []pdu.PMID{pdu.MakePMID(100, 0, 1), pdu.MakePMID(101, 0, 1)}}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		time.Sleep(time.Second)
		first.Receive()
		close(gate)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestReturnAtDeadline has agents return about when their calls are abandoned. Each request must
// get its own reply, and in the end all slots must be free.
func TestReturnAtDeadline(t *testing.T) {
	t.Parallel()
	const timeout, clients = 2 * time.Millisecond, 8
	s := &Server{Timeout: timeout, agentCalls: 4 * clients, Logger: slog.New(slog.DiscardHandler)}
	for d := range pdu.Domain(3) {
		a := &collectortest.Agent{Name: fmt.Sprint("agent", d), Domain: 100 + d}
		var n atomic.Uint32
		a.Failing = func() error {
			if n.Add(1)%3 == 0 {
				time.Sleep(timeout - 100*time.Microsecond + time.Duration(n.Load()%20)*10*time.Microsecond)
			}
			return nil
		}
		collectortest.Add(t, s, a)
	}
	var abandoned atomic.Int64
	overdue := pdu.ErrTimeout.Error()
	var all sync.WaitGroup
	end := time.Now().Add(time.Second)
	for i := range clients {
		c := collectortest.Connect(t, s)
		all.Go(func() {
			for n := i; time.Now().Before(end); n += clients {
				ids := []pdu.PMID{pdu.MakePMID(100, 0, n%1000), pdu.MakePMID(101, 0, n%1000), pdu.MakePMID(102, 0, n%1000), pdu.MakePMID(100, 0, 1+n%1000)}
				kind, body := c.RoundTrip(pdu.Fetch{PMIDs: ids})
				var res pdu.Result
				if err := res.Decode(body); kind != pdu.KindResult || err != nil || res.Len() != len(ids) {
					t.Errorf("%v of %d metrics, %v", kind, res.Len(), err)
					return
				}
				for j, set := range res.All() {
					switch err := set.Err(); {
					case set.PMID != ids[j]:
						t.Errorf("%v in the place of %v", set.PMID, ids[j])
					case err == pdu.ErrTimeout:
						abandoned.Add(1)
					case err != nil || set.Len() != 1:
						t.Errorf("%v: %d values, %v", set.PMID, set.Len(), err)
					default:
						if v, err := pdu.As[uint32](set.Atom(0, pdu.TypeU32)); err != nil || int(v) != set.PMID.Item() {
							t.Errorf("%v has the value %d, %v", set.PMID, v, err)
						}
					}
				}
				if got := c.Request(pdu.DescReq{PMID: ids[1]}); got != "error: "+overdue && !strings.HasPrefix(got, fmt.Sprintf("{Desc:{PMID:%v ", ids[1])) {
					t.Errorf("descriptor of %v: %s", ids[1], got)
				}
				if got := c.Request(collectortest.Storing(ids[:3]...)); got != "error: "+overdue && got != "success" {
					t.Errorf("store: %s", got)
				}
			}
		})
	}
	all.Wait()
	collectortest.Eventually(t, "return of all calls", func() bool {
		for _, a := range s.agents.Load().list {
			if a.calls.slots.Len() != 0 || a.calls.abandoned.Load() != 0 {
				return false
			}
		}
		return true
	})
	if abandoned.Load() == 0 {
		t.Error("no call was abandoned")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
