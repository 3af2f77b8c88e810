//go:build !unix

package main

import (
	"errors"
	"fmt"
)

// daemonize has no counterpart here.
func daemonize() (parent bool, err error) {
	return false, fmt.Errorf("running in the background: %w: use -f", errors.ErrUnsupported)
}
