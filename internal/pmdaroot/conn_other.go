//go:build !linux

package pmdaroot

import (
	"context"
	"errors"
	"os"
)

// A Conn is a connection to pmdaroot, which only PCP for Linux has.
type Conn struct{}

// Dial fails with errors.ErrUnsupported.
func Dial(context.Context, string) (*Conn, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Conn) Close() error { return nil }

// Exchange fails with errors.ErrUnsupported.
func (*Conn) Exchange(context.Context, Kind, []byte, int) ([]byte, []*os.File, error) {
	return nil, nil, errors.ErrUnsupported
}

func (*Conn) isReady() bool { return true }

func (*Conn) closeUnused() {}

var errBroken = errors.New("there is no pmdaroot")

// CloseFiles closes files that came with a reply.
func CloseFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
