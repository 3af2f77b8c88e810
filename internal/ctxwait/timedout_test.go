package ctxwait

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
)

func TestTimedOut(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.EOF, false},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		{&net.OpError{Op: "read", Err: io.EOF}, false},
		{fmt.Errorf("first: %w", os.ErrDeadlineExceeded), true},
		{errors.Join(&net.OpError{Op: "read", Err: io.EOF}, fmt.Errorf("second: %w", context.DeadlineExceeded)), true},
		{errors.Join(io.EOF, context.Canceled), false},
	} {
		if got := TimedOut(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}
