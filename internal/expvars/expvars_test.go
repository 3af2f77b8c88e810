package expvars

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ key, component, printable string }{
		{"requests", "requests", "requests"},
		{"requests/s", "requests_s", "requests/s"},
		{"200", "x200", "200"},
		{"_x", "x_x", "_x"},
		{"", "x", "_"},
		{"a b\tc", "a_b_c", "a_b_c"},
		{"größe", "gr__e", "größe"},
		{"a\xff", "a_", "a_"},
	} {
		if got := Component(c.key); got != c.component {
			t.Errorf("component of %q is %q, want %q", c.key, got, c.component)
		}
		if got := Printable(c.key); got != c.printable {
			t.Errorf("printable %q is %q, want %q", c.key, got, c.printable)
		}
	}
}

// A call that hangs is not made again until it has returned.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Calls
		stop := make(chan struct{})
		var calls atomic.Int32
		v := expvar.Func(func() any { calls.Add(1); <-stop; return 7 })
		for range 2 {
			if _, err := c.Value(context.Background(), "v", v); !errors.Is(err, pdu.ErrAgain) {
				t.Errorf("error %v, want %v", err, pdu.ErrAgain)
			}
		}
		if calls.Load() != 1 || c.Stuck() != 1 {
			t.Errorf("%d calls, %d have not returned; want 1 of both", calls.Load(), c.Stuck())
		}
		close(stop)
		time.Sleep(time.Second)
		if got, err := c.Value(context.Background(), "v", v); err != nil || got == nil || c.Stuck() != 0 {
			t.Errorf("value %v, %v, %d have not returned", got, err, c.Stuck())
		}
		panics := expvar.Func(func() any { panic("no") })
		if _, err := c.Value(context.Background(), "p", panics); err == nil || err.Error() != "expvar: panic: no" {
			t.Errorf("error of a panic: %v", err)
		}
	})
}

// A request that is given up does not spoil the next one's, while what it has called returns in
// time.
func TestCallsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Calls
		calls := 0
		v := expvar.Func(func() any { time.Sleep(CallTimeout / 2); calls++; return calls })
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Value(ctx, "v", v); !errors.Is(err, pdu.ErrAgain) {
			t.Errorf("error %v of the one that is given up", err)
		}
		if got, err := c.Value(t.Context(), "v", v); err != nil || fmt.Sprint(got) != "2" || c.Stuck() != 0 {
			t.Errorf("value %v, %v; %d have not returned", got, err, c.Stuck())
		}
	})
}
