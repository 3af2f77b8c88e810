//go:build !unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// daemonize has no counterpart here.
func daemonize() (parent bool, listening func(), err error) {
	return true, nil, fmt.Errorf("running in the background: %w: use -f", errors.ErrUnsupported)
}

// setUmask does nothing: there is none.
func setUmask() {}

// keepStderr returns standard error; its Close does nothing.
func keepStderr() io.WriteCloser { return noCloser{os.Stderr} }
