package pdu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/internal/wire"
)

func TestErrorText(t *testing.T) {
	for code, want := range map[Error]string{
		0:               "No error",
		1:               "No such PMAPI error code (1)",
		-2:              "No such file or directory",
		-41:             "Unknown error 41",
		-200:            "Unknown error 200",
		-12344:          "Unknown error 12344",
		ErrName:         "Unknown metric name",
		ErrArg:          "Bad value for function argument",
		-12352:          "No such PMAPI error code (-12352)",
		ErrNYI:          "Functionality not yet implemented",
		-21364:          "Authentication - user not found",
		-21400:          "Authentication - undefined error!",
		-22345:          "Unknown secure sockets error -22345 (-1001)",
		math.MinInt32:   "Unknown secure sockets error -2147483648 (-2147462304)",
		ErrPMDANotReady: "PMDA is not yet ready to respond to requests",
	} {
		if got := code.Error(); got != want {
			t.Errorf("%d: got %q, want %q", int32(code), got, want)
		}
	}
}

func TestErrorUnwrap(t *testing.T) {
	for _, tt := range []struct {
		code   Error
		target error
		want   bool
	}{
		{-13, fs.ErrPermission, true},
		{-2, fs.ErrNotExist, true},
		{-17, fs.ErrExist, true},
		{-111, syscall.ECONNREFUSED, true},
		{-95, errors.ErrUnsupported, true},
		{-2, fs.ErrPermission, false},
		{ErrPermission, fs.ErrPermission, false},
		{ErrName, ErrName, true},
	} {
		if got := errors.Is(fmt.Errorf("fetch: %w", tt.code), tt.target); got != tt.want {
			t.Errorf("%d is %v: %v", int32(tt.code), tt.target, got)
		}
	}
	for _, e := range []Error{0, 5, ErrGeneric, ErrName, ErrNYI} {
		if err := e.Unwrap(); err != nil {
			t.Errorf("%d unwraps to %v", int32(e), err)
		}
	}
}

type slow struct{ error }

func (slow) Timeout() bool { return true }

func TestFromError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Error
	}{
		{nil, 0},
		{ErrName, ErrName},
		{fmt.Errorf("on web1: %w", ErrInst), ErrInst},
		{Error(0), ErrGeneric},
		{syscall.EINVAL, -22},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, -2},
		{fmt.Errorf("read: %w", syscall.ETIMEDOUT), -110},
		{&wire.Error{Field: "f"}, ErrIPC},
		{context.DeadlineExceeded, ErrTimeout},
		{slow{errors.New("x")}, ErrTimeout},
		{context.Canceled, -125},
		{io.EOF, ErrEOF},
		{io.ErrUnexpectedEOF, ErrIPC},
		{fs.ErrNotExist, -2},
		{fs.ErrExist, -17},
		{fs.ErrPermission, -13},
		{fs.ErrInvalid, -22},
		{errors.ErrUnsupported, -95},
		{errors.New("anything"), ErrGeneric},
	} {
		if got := FromError(tt.err); got != tt.want {
			t.Errorf("%v: got %d, want %d", tt.err, int32(got), int32(tt.want))
		}
	}
}

func TestErrnoRoundTrip(t *testing.T) {
	for n := range linuxErrnoTexts {
		if local, ok := localErrno(n); ok && n > 0 {
			if back := linuxErrno(local); int(back) != n {
				t.Errorf("errno %d became %v and then %d", n, local, back)
			}
		}
	}
	if n := linuxErrno(1 << 20); n != 0 {
		t.Errorf("an errno that is none became %d", n)
	}
}

func TestErrorV1(t *testing.T) {
	if got := ErrPermission.v1(); got != -1042 {
		t.Errorf("ErrPermission is %d", int32(got))
	}
	for code, want := range map[int32]Error{-1042: ErrPermission, -1000: ErrGeneric, -999: -999, -11: -11, 0: 0, 32: 32, math.MinInt32: math.MinInt32} {
		if diff := cmp.Diff(want, fromV1(code)); diff != "" {
			t.Errorf("%d (-want +got)\n%s", code, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		e := Error(rapid.Int32().Draw(t, "code"))
		if e < -999 && e > ErrGeneric {
			return // the same number as a 1.x code
		}
		if got := fromV1(int32(e.v1())); got != e {
			t.Fatalf("%d became %d", int32(e), int32(got))
		}
	})
}
