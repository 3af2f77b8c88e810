package ctxwait_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

// One has the lock at a time.
func TestLock(t *testing.T) {
	m := ctxwait.NewMutex()
	n := 0 // for the race detector too
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if err := m.Lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				n++
				m.Unlock()
			}
		})
	}
	wg.Wait()
	if n != 8000 {
		t.Errorf("%d of 8000", n)
	}
}

func TestTryLock(t *testing.T) {
	m := ctxwait.NewMutex()
	if !m.TryLock() || m.TryLock() {
		t.Error("the lock is had once")
	}
	m.Unlock()
	if !m.TryLock() {
		t.Error("the lock is not free again")
	}
}

// A wait ends with its context, and with the cause of that.
func TestEnds(t *testing.T) {
	cause := errors.New("no longer needed")
	synctest.Test(t, func(t *testing.T) {
		m := ctxwait.NewMutex()
		ctx, cancel := context.WithCancelCause(t.Context())
		if err := m.Lock(ctx); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() { failed <- m.Lock(ctx) }()
		synctest.Wait()
		if len(failed) > 0 {
			t.Fatalf("no wait: %v", <-failed)
		}
		cancel(cause)
		if err := <-failed; err != cause {
			t.Errorf("%v, want %v", err, cause)
		}
		m.Unlock()
		if err := m.Lock(ctx); err != nil {
			t.Errorf("the lock is free: %v", err)
		}
	})
}

// Nothing is allocated.
func TestAllocs(t *testing.T) {
	m, ctx := ctxwait.NewMutex(), t.Context()
	if n := testing.AllocsPerRun(100, func() {
		if err := m.Lock(ctx); err != nil {
			t.Fatal(err)
		}
		m.Unlock()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
