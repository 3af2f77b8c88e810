package cutoff

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch follows the deadlines that a stream is set.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set []time.Time
		w := &Watch{Set: func(d time.Time) error { set = append(set, d); return nil }}
		want := func(what string, d ...time.Time) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(set, d) {
				t.Errorf("%s: deadlines %v, want %v", what, set, d)
			}
			set = nil
		}
		limit := time.Now().Add(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		w.Begin(ctx, limit)
		w.End()
		w.Begin(ctx, time.Time{})
		want("two waits", limit, time.Time{})
		cancel()
		want("cancelled while waiting", past)
		w.End()

		ctx, cancel = context.WithCancel(t.Context())
		w.Begin(ctx, limit)
		w.End()
		cancel()
		want("cancelled between waits", limit)
		w.Begin(ctx, limit)
		want("of a context that has ended", limit, past)
		w.End()

		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		w.Begin(ctx, limit)
		w.Begin(context.Background(), limit)
		cancel()
		want("another context", limit, limit)

		w.Close()
		ctx, cancel = context.WithCancel(t.Context())
		w.Begin(ctx, limit)
		cancel()
		want("closed", limit)
	})
}

func TestAllocations(t *testing.T) {
	w := &Watch{Set: func(time.Time) error { return nil }}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		w.Begin(ctx, time.Time{})
		w.End()
	}); n != 0 {
		t.Errorf("%v allocations a wait", n)
	}
}
