//go:build !unix

package handover

import (
	"context"
	"errors"
	"net"
	"os"
)

// Notify does nothing: no signal asks for a handover on this system.
func Notify(chan<- os.Signal) {}

// Start returns errors.ErrUnsupported.
func Start(context.Context, []net.Listener, RunAsRoot) (*Successor, error) {
	return nil, errors.ErrUnsupported
}

// A Predecessor is the process whose place this one takes. This system has no handovers.
type Predecessor struct{}

// FindPredecessor returns nil.
func FindPredecessor() *Predecessor { return nil }

// Inherit does nothing.
func (*Predecessor) Inherit([]net.Listener) {}

// Relieve does nothing.
func (*Predecessor) Relieve(context.Context, func()) {}
