package ctxwait

import (
	"context"
	"time"
)

// Sleep waits for a duration of this computer's time. If ctx ends first, Sleep returns its cause.
func Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 && ctx.Err() == nil {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
