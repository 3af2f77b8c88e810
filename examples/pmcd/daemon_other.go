//go:build !unix

package main

import (
	"errors"
	"fmt"
	"net"
)

// daemonize has no counterpart here.
func daemonize() (parent bool, listening func(), err error) {
	return true, nil, fmt.Errorf("running in the background: %w: use -f", errors.ErrUnsupported)
}

// setUmask does nothing: there is none.
func setUmask() {}

// setBacklog does nothing: the system chooses.
func setBacklog(net.Listener, int) {}
