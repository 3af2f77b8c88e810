//go:build !unix

package main

import "errors"

// daemonize is not supported on this system.
func daemonize() (parent bool, started func() error, err error) {
	return true, nil, errors.New("--daemonize is not supported on this system")
}
