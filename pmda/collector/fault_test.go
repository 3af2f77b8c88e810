//go:build unix

package collector

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// oneOfEach returns a request of every kind that agents reply to, except FETCH.
func oneOfEach(d pdu.Domain) []pdu.PDU {
	id, indom := pdu.MakePMID(d, 0, 12), pdu.MakeInDom(d, 0)
	var w pdu.ResultWriter
	w.Begin(id)
	w.Atom(7, collectortest.ExpectedAtom(id, 7))
	dynamic := fmt.Sprintf("dynamic%d", d)
	return []pdu.PDU{
		pdu.DescReq{PMID: id},
		pdu.DescsReq{PMIDs: []pdu.PMID{id}},
		pdu.DescsReq{PMIDs: []pdu.PMID{id, id + 1, id + 2}},
		pdu.InstanceReq{InDom: indom, Inst: pdu.NoInst},
		pdu.TextReq{Ident: uint32(id), Text: pdu.TextPMID | pdu.TextHelp},
		pdu.LabelReq{Ident: uint32(id), Class: pdu.LabelItem},
		pdu.LabelReq{Ident: uint32(indom), Class: pdu.LabelInstances},
		w.PDU(pdu.FormatLowRes),
		pdu.NameList{Names: []string{dynamic + ".x9"}},
		pdu.NameList{Names: []string{dynamic + ".x9", dynamic + ".x10"}},
		pdu.PMIDList{PMIDs: []pdu.PMID{id}},
		pdu.ChildReq{Name: dynamic},
		pdu.TraverseReq{Name: dynamic},
	}
}

// TestEveryRequestInTime blocks an agent for 20 s with a timeout of 1 s. Each kind of request
// must get its reply in time, and the late results of the agent are dropped.
func TestEveryRequestInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		stuck := &faulty{
			ExactAgent: collectortest.NewExactAgent(20),
			fail:       func(*pmda.Request, string) error { <-gate; return nil },
			wrong:      noWrongReply,
		}
		log := collectortest.NewMessages()
		requests := oneOfEach(20)
		s := &Server{Timeout: time.Second, agentCalls: len(requests) + 2, Logger: slog.New(log)}
		s.LogAll()
		for _, h := range []pmda.Handler{stuck, collectortest.NewExactAgent(10)} {
			if err := s.Add(h); err != nil {
				t.Fatal(err)
			}
		}
		g, quiet := collectortest.Connect(t, s), collectortest.Connect(t, s)
		inTime := func(what any, begin time.Time) {
			t.Helper()
			if took := time.Since(begin); took < time.Second || took > 1100*time.Millisecond {
				t.Errorf("%#v took %v", what, took)
			}
		}
		for _, p := range requests {
			begin := time.Now()
			if got := g.Code(p); got != pdu.ErrTimeout {
				t.Errorf("%#v: %v", p, got)
			}
			inTime(p, begin)
			if diff := cmp.Diff([]pdu.Error{0}, quiet.FetchExact(pdu.MakePMID(10, 0, 2))); diff != "" {
				t.Errorf("another agent (-want +got):\n%s", diff)
			}
		}
		begin := time.Now()
		got := g.FetchExact(pdu.MakePMID(10, 0, 0), pdu.MakePMID(20, 0, 0), pdu.MakePMID(10, 0, 2), pdu.MakePMID(20, 0, 2))
		if diff := cmp.Diff([]pdu.Error{0, pdu.ErrTimeout, 0, pdu.ErrTimeout}, got); diff != "" {
			t.Errorf("mixed fetch (-want +got):\n%s", diff)
		}
		inTime("mixed fetch", begin)

		time.Sleep(20 * time.Second)
		close(gate)
		// While the late calls return, others use the memory.
		for range 50 {
			g.FetchExact(pdu.MakePMID(10, 0, 2), pdu.MakePMID(20, 0, 2), pdu.MakePMID(10, 0, 0))
		}
		synctest.Wait()
		for _, p := range requests {
			want := pdu.Error(0)
			if p.Kind() == pdu.KindResult {
				want = collectortest.ExpectedStore(pdu.MakePMID(20, 0, 12), []pdu.InstID{7})
			}
			if got := g.Code(p); got != want {
				t.Errorf("after the calls returned: %#v: %v", p, got)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		counts := map[string]int{}
		for _, m := range log.Take() {
			counts[m]++
		}
		// Each request calls the agent once, regardless of its kind.
		n := len(requests) + 1
		if diff := cmp.Diff(map[string]int{"agent timed out": n, "agent returned from an overdue request": n}, counts); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// waits counts how long replies took. A machine under load makes some of them late. A collector
// that lets one agent hold up others makes all of them late, by the timeout.
type waits struct {
	n, late int
	worst   time.Duration // beyond the limit and the allowance
}

func (w *waits) add(begin time.Time, limit time.Duration, delays *delayMonitor) {
	now := time.Now()
	over := now.Sub(begin) - limit - delays.allowance(begin, now)
	w.n++
	if over > 0 {
		w.late++
		w.worst = max(w.worst, over)
	}
}

func (w *waits) check(t *testing.T, what string, most time.Duration) {
	t.Helper()
	t.Logf("%s: %d, %d late, the worst by %v", what, w.n, w.late, w.worst)
	if w.n == 0 || w.late > 1+w.n/20 || w.worst > most {
		t.Errorf("%s: %d of %d were late, the worst by %v", what, w.late, w.n, w.worst)
	}
}

// suspend stops a process, and waits until it has stopped if the system shows that.
func suspend(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if stat := fmt.Sprintf("/proc/%d/stat", p.Pid); runtime.GOOS == "linux" {
		collectortest.Eventually(t, "stop", func() bool {
			b, err := os.ReadFile(stat)
			return err == nil && bytes.Contains(b, []byte(") T "))
		})
	}
}

// TestStoppedAgent stops the process of an agent for a while. The timeout is 3 s, because on a busy
// machine even a healthy agent may take 1 s to reply. If PCP_CHAOS is at least 10 s, the agent is
// stopped for 20 s.
func TestStoppedAgent(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	pause := 4500 * time.Millisecond
	if d, err := time.ParseDuration(os.Getenv("PCP_CHAOS")); err == nil && d >= 10*time.Second {
		pause = 20 * time.Second
	}
	log := collectortest.NewMessages()
	s := &Server{Timeout: timeout, AgentHelloTimeout: collectortest.ReplyLimit, Logger: slog.New(log), Names: remoteNames(30, 31)}
	defer s.Close()
	if err := s.Add(collectortest.NewExactAgent(10)); err != nil {
		t.Fatal(err)
	}
	for _, d := range []pdu.Domain{30, 31} {
		if err := s.StartAgent(agentLine(d, timeout, 1, "")); err != nil {
			t.Fatal(err)
		}
	}
	p := s.agents.Load().get(30).remote.Load()
	g, quiet := collectortest.Connect(t, s), collectortest.Connect(t, s)
	mine, inside, outside := pdu.MakePMID(30, 0, 0), pdu.MakePMID(10, 0, 0), pdu.MakePMID(31, 0, 0)
	fine := []pdu.Error{0, 0, 0}
	if diff := cmp.Diff(fine, g.FetchExact(mine, inside, outside)); diff != "" {
		t.Fatalf("at first (-want +got):\n%s", diff)
	}
	delays := newDelayMonitor()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { delays.run(ctx) })
	defer wg.Wait()
	defer cancel()
	suspend(t, p.cmd.Process)
	stopped := time.Now()
	isStopped := func() bool { return time.Since(stopped) < pause }
	var mineWaits, quietWaits waits
	wg.Go(func() {
		for isStopped() {
			begin := time.Now()
			quiet.FetchExact(inside, outside)
			quietWaits.add(begin, 100*time.Millisecond, delays)
			time.Sleep(20 * time.Millisecond)
		}
	})
	for first := true; isStopped(); first = false {
		begin := time.Now()
		want, limit := []pdu.Error{0, pdu.ErrAgain, 0}, 100*time.Millisecond
		if first {
			want[1], limit = pdu.ErrTimeout, s.Timeout+100*time.Millisecond
		}
		if diff := cmp.Diff(want, g.FetchExact(inside, mine, outside)); diff != "" {
			t.Fatalf("%v after the stop (-want +got):\n%s", time.Since(stopped), diff)
		}
		mineWaits.add(begin, limit, delays)
		if got := g.Code(pdu.DescReq{PMID: mine}); got != pdu.ErrAgain {
			t.Errorf("desc: %v", got)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	collectortest.Eventually(t, "values of the agent that goes on", func() bool {
		return slices.Equal(g.FetchExact(mine, inside, outside), fine)
	})
	cancel()
	wg.Wait()
	mineWaits.check(t, "replies for the stopped agent", s.Timeout/2)
	quietWaits.check(t, "replies of healthy agents", s.Timeout/2)
	if got := s.agents.Load().get(30).remote.Load(); got != p {
		t.Error("the agent was started again")
	}
	want := []string{"agent started", "agent started", "agent did not reply in time; requests fail until the late reply comes", "agent replies again"}
	if diff := cmp.Diff(want, log.Take()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
