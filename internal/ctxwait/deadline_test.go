package ctxwait

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadline records the deadlines that are set on a stream.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set []time.Time
		d := &Deadline{Set: func(t time.Time) error { set = append(set, t); return nil }}
		want := func(what string, times ...time.Time) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(set, times) {
				t.Errorf("%s: deadlines %v, want %v", what, set, times)
			}
			set = nil
		}
		limit := time.Now().Add(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		d.Start(ctx, limit)
		d.Stop()
		d.Start(ctx, time.Time{})
		want("two waits", limit, time.Time{})
		cancel()
		want("cancelled while waiting", past)
		d.Stop()

		ctx, cancel = context.WithCancel(t.Context())
		d.Start(ctx, limit)
		d.Stop()
		cancel()
		want("cancelled between waits", limit)
		d.Start(ctx, limit)
		want("of a context that has ended", limit, past)
		d.Stop()

		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		d.Start(ctx, limit)
		d.Start(context.Background(), limit)
		cancel()
		want("another context", limit, limit)

		d.Close()
		ctx, cancel = context.WithCancel(t.Context())
		d.Start(ctx, limit)
		cancel()
		want("closed", limit)
	})
}

func TestAllocations(t *testing.T) {
	d := &Deadline{Set: func(time.Time) error { return nil }}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		d.Start(ctx, time.Time{})
		d.Stop()
	}); n != 0 {
		t.Errorf("%v allocations a wait", n)
	}
}
