//go:build !unix

package daemonfile

import "net"

// probe takes each socket for one that a process has: the system cannot tell.
func probe(string) error { return ErrInUse }

func (s Socket) bind(entry) (net.Listener, error) { return net.Listen("unix", s.Path) }
