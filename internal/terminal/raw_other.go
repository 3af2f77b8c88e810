//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package terminal

import (
	"errors"
	"os"
)

const (
	canStop  = false
	readEnds = false
)

type mode struct{}

func isTerminal(*os.File) bool { return false }

func makeRaw(_, _ *os.File) (*mode, error) { return nil, errors.ErrUnsupported }

func (*mode) again() error   { return errors.ErrUnsupported }
func (*mode) restore() error { return errors.ErrUnsupported }

func size(*os.File) (width, height int, err error) { return 0, 0, errors.ErrUnsupported }

func readSome(*os.File, []byte) (int, error) { return 0, errors.ErrUnsupported }

func notifyResize(chan os.Signal) {}
func stopResize(chan os.Signal)   {}

func stop() error { return errors.ErrUnsupported }
