//go:build !unix

package daemonfile

import "net"

// Activated returns no sockets: service managers pass none here.
func Activated() ([]net.Listener, error) { return nil, nil }
