package pmda_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
)

// counted has a Background function that counts its runs, and the runs that have not ended.
func counted(a *pmda.Agent) (runs, running *atomic.Int32, remove func()) {
	runs, running = new(atomic.Int32), new(atomic.Int32)
	return runs, running, a.Background(func(ctx context.Context) {
		runs.Add(1)
		running.Add(1)
		defer running.Add(-1)
		<-ctx.Done()
	})
}

// TestBackground checks that a function runs from the first start of serving to the last end, and
// never twice at a time.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := clockAgent()
		runs, running, _ := counted(a)
		check := func(what string, wantRuns, wantRunning int32) {
			t.Helper()
			synctest.Wait()
			if runs.Load() != wantRuns || running.Load() != wantRunning {
				t.Errorf("%s: %d runs, %d running, want %d, %d", what, runs.Load(), running.Load(), wantRuns, wantRunning)
			}
		}
		check("before", 0, 0)
		end := a.BeginServing(nil)
		check("one serves", 1, 1)
		end2 := a.BeginServing(nil)
		check("two serve", 1, 1)
		end()
		end()
		check("one again", 1, 1)
		end2()
		if running.Load() != 0 {
			t.Error("the end does not wait for the function")
		}
		check("none", 1, 0)
		end = a.BeginServing(nil)
		later, laterRunning, remove := counted(a) // while the agent is served
		check("again", 2, 1)
		if later.Load() != 1 || laterRunning.Load() != 1 {
			t.Error("a function does not run that was added later")
		}
		remove()
		remove()
		synctest.Wait()
		if laterRunning.Load() != 0 {
			t.Error("a function runs on that was removed")
		}
		end()
		end = a.BeginServing(nil)
		check("a third time", 3, 1)
		end()
		check("at the end", 3, 0)
		if later.Load() != 1 {
			t.Error("a function runs again that was removed")
		}
	})
}

// TestBackgroundServe checks that Serve and ServeListener run Background functions, even of a
// wrapped agent.
func TestBackgroundServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := clockAgent()
		runs, running, _ := counted(a)
		near, far := net.Pipe()
		served := make(chan error)
		go func() {
			served <- pmda.Serve(t.Context(), pmda.Serial(unwrapping{descCounter{a, new(atomic.Int64)}}), far)
		}()
		newPeer(t, &pdutest.Peer{Conn: pdu.NewConn(near), Stream: near}).domain()
		synctest.Wait()
		if runs.Load() != 1 || running.Load() != 1 {
			t.Errorf("Serve: %d runs, %d running", runs.Load(), running.Load())
		}
		near.Close()
		if err := <-served; err != nil || running.Load() != 0 {
			t.Errorf("after Serve: %v, %d running", err, running.Load())
		}

		l := newFakeListener()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { served <- pmda.ServeListener(ctx, a, l) }()
		for range 2 {
			near, far := net.Pipe()
			l.accepts <- far
			newPeer(t, &pdutest.Peer{Conn: pdu.NewConn(near), Stream: near}).domain()
			near.Close()
			synctest.Wait()
			if runs.Load() != 2 || running.Load() != 1 {
				t.Errorf("ServeListener: %d runs, %d running", runs.Load(), running.Load())
			}
		}
		cancel()
		if <-served; running.Load() != 0 {
			t.Errorf("after ServeListener: %d running", running.Load())
		}
	})
}

// TestBackgroundHangs checks that a function that ignores its ctx delays the end of a program only
// briefly, and that the next run waits for it.
func TestBackgroundHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log pcptest.LogBuffer
		a := clockAgent()
		a.Logger = logLines(&log)
		release := make(chan struct{})
		var running atomic.Int32
		for range 2 {
			a.Background(func(context.Context) {
				if running.Add(1) > 2 {
					t.Error("it runs twice at a time")
				}
				<-release
				running.Add(-1)
			})
		}
		begin := time.Now()
		end := a.BeginServing(nil)
		synctest.Wait()
		end()
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("the end takes %v", took)
		}
		if got, want := log.Take(), "level=WARN msg=\"a background function still runs\" agent=clock err=\"it ignores the end of its ctx\"\n"; got != want {
			t.Errorf("logged %q, want %q", got, want)
		}
		end = a.BeginServing(nil)
		synctest.Wait()
		close(release)
		end()
		synctest.Wait()
		if running.Load() != 0 {
			t.Errorf("%d run still", running.Load())
		}
	})
}

// TestBackgroundPanics checks that a panic is logged, and that other functions continue.
func TestBackgroundPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log pcptest.LogBuffer
		a := clockAgent()
		a.Logger = log.Logger(slog.LevelInfo)
		a.Background(func(context.Context) { panic("oops") })
		_, running, _ := counted(a)
		defer a.BeginServing(nil)()
		synctest.Wait()
		if got := log.Take(); !strings.Contains(got, `function=Background panic=oops`) || !strings.Contains(got, "background_test.go") {
			t.Errorf("logged %q", got)
		}
		if running.Load() != 1 {
			t.Error("another function has ended")
		}
	})
}
