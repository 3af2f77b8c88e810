//go:build !unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// daemonize has no counterpart here.
func daemonize() (parent bool, err error) {
	return false, fmt.Errorf("running in the background: %w: use -f", errors.ErrUnsupported)
}

// keepStderr returns standard error; its Close does nothing.
func keepStderr() io.WriteCloser { return noCloser{os.Stderr} }
