package hanging

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// TestDo: a hanging call delays only one caller, and not for long. The calls of others go on, and
// a late result is passed on.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Calls[int, string]
		answer, came := make(chan struct{}), atomic.Int32{}
		do := func(ctx context.Context, owner int, call string, want error, waits time.Duration) {
			t.Helper()
			began := time.Now()
			n, err := Do(ctx, &c, owner, call, func() int {
				if call != "fine" {
					<-answer
				}
				return 5
			}, func(n int) { came.Add(int32(n)) })
			if err != want || err == nil && n != 5 || time.Since(began) != waits {
				t.Errorf("%d %s: %d, %v after %v", owner, call, n, err, time.Since(began))
			}
		}
		ctx := t.Context()
		do(ctx, 1, "fine", nil, 0)
		do(ctx, 1, "a", pdu.ErrAgain, Time)
		do(ctx, 1, "a", pdu.ErrAgain, 0)
		do(ctx, 1, "fine", nil, 0)
		do(ctx, 2, "a", pdu.ErrAgain, Time)
		for i := range Most - 1 {
			do(ctx, 1, string(rune('b'+i)), pdu.ErrAgain, Time)
		}
		do(ctx, 1, "fine", pdu.ErrAgain, 0) // too many
		do(ctx, 2, "fine", nil, 0)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		do(ended, 3, "a", pdu.ErrAgain, 0)
		if c.Len() != Most+2 {
			t.Errorf("%d calls hang", c.Len())
		}
		close(answer)
		synctest.Wait()
		if c.Len() != 0 || came.Load() != 5*(Most+2) {
			t.Errorf("%d calls hang, %d came late", c.Len(), came.Load())
		}
		do(ctx, 1, "a", nil, 0)
	})
}
