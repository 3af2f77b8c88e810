//go:build unix

package pmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/rawconn"
	"golang.org/x/sys/unix"
)

// untilSignal ends the context when a signal terminates the program. The next signal kills the
// program, in case a function of the agent hangs. SIGHUP, the end of a terminal, has no effect on a
// daemon. exit ends the program by the signal that arrived, as with C agents, or else with a
// status.
func untilSignal(ctx context.Context) (_ context.Context, exit func(status int)) {
	signal.Ignore(syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if !signal.Ignored(s) { // a shell makes background jobs ignore SIGINT
			signal.Notify(signals, s)
		}
	}
	var came atomic.Pointer[syscall.Signal]
	go func() {
		s := (<-signals).(syscall.Signal)
		came.Store(&s)
		signal.Stop(signals)
		cancel()
	}()
	return ctx, func(status int) {
		if s := came.Load(); s != nil {
			signal.Reset(*s)
			if syscall.Kill(os.Getpid(), *s) == nil {
				time.Sleep(time.Second) // the signal arrives before that
			}
		}
		os.Exit(status)
	}
}

// privateStdio returns standard input and output, and hides them from the rest of the program: its
// output goes to standard error, and its input is empty. Reads of a pipe or socket can be
// interrupted.
func privateStdio() (io.ReadWriteCloser, error) {
	in, err := move(0, "standard input")
	if err != nil {
		return nil, err
	}
	out, err := move(1, "standard output")
	if err != nil {
		in.Close()
		return nil, err
	}
	rw := duplex{rawconn.New(in), rawconn.New(out)}
	null, err := os.Open(os.DevNull)
	if err == nil {
		err = errors.Join(dup2(int(null.Fd()), 0), dup2(2, 1), null.Close())
	}
	if err != nil {
		rw.Close()
		return nil, fmt.Errorf("make standard input and output private: %w", err)
	}
	return rw, nil
}

// move duplicates a descriptor under another number. Child processes do not inherit it.
func move(fd int, name string) (*os.File, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(n, &st); err == nil && (st.Mode&unix.S_IFMT == unix.S_IFIFO || st.Mode&unix.S_IFMT == unix.S_IFSOCK) {
		// os.NewFile lets the runtime poll only non-blocking descriptors.
		if err := unix.SetNonblock(n, true); err != nil {
			unix.Close(n)
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return os.NewFile(uintptr(n), name), nil
}
