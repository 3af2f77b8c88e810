//go:build !unix

package pmda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// untilSignal leaves signals alone: a read of standard input could not be
// interrupted.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func takeStdio() (io.ReadWriteCloser, error) {
	rw := duplex{os.Stdin, os.Stdout}
	os.Stdout = os.Stderr
	return rw, nil
}

func restrictSocket(string) error { return nil }

func userExists(string) bool { return false }

func becomeUser(name string) error {
	return fmt.Errorf("switch to user %s: %w", name, errors.ErrUnsupported)
}
