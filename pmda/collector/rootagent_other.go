//go:build !linux

package collector

import (
	"errors"
	"os"
)

// A rootAgent is a connection to pmdaroot, which only PCP for Linux has.
type rootAgent struct{}

func dialRootAgent(string) (*rootAgent, error) { return nil, errors.ErrUnsupported }

func (*rootAgent) close() {}

func (*rootAgent) startPipe(string, []string) (*rootChild, *os.File, *os.File, error) {
	return nil, nil, nil, errors.ErrUnsupported
}

func (*rootAgent) signal(int, bool) error { return errors.ErrUnsupported }

// A rootChild is a process that pmdaroot has started.
type rootChild struct {
	pid    int
	exited chan struct{}
}

func (*rootChild) signal(os.Signal) {}

func (*rootChild) forget() {}
