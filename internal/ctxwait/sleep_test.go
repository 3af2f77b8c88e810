package ctxwait_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

func TestSleep(t *testing.T) {
	cause := errors.New("the cause")
	ended, end := context.WithCancelCause(t.Context())
	end(cause)
	for _, d := range []time.Duration{-1, 0, time.Hour} {
		if err := ctxwait.Sleep(ended, d); err != cause {
			t.Errorf("Sleep(%v) of an ended context: %v, want its cause", d, err)
		}
	}
	began := time.Now()
	for _, d := range []time.Duration{-time.Hour, 0, 20 * time.Millisecond} {
		if err := ctxwait.Sleep(t.Context(), d); err != nil {
			t.Errorf("Sleep(%v): %v", d, err)
		}
	}
	if d := time.Since(began); d < 20*time.Millisecond {
		t.Errorf("slept for %v, want 20 ms", d)
	}
	late, end := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { end(cause) })
	if err := ctxwait.Sleep(late, time.Hour); err != cause {
		t.Errorf("Sleep of a context that ends: %v, want its cause", err)
	}
}
