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

// keepStderr is standard error, which nobody can close.
func keepStderr() io.WriteCloser { return kept{os.Stderr} }
