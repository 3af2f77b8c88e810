//go:build !unix

package pmda

import (
	"context"
	"io"
	"os"
)

// untilSignal leaves signals alone: a read of standard input could not be
// interrupted.
func untilSignal(ctx context.Context) (_ context.Context, exit func(status int)) {
	return ctx, os.Exit
}

func privateStdio() (io.ReadWriteCloser, error) {
	rw := duplex{os.Stdin, os.Stdout}
	os.Stdout = os.Stderr
	return rw, nil
}
