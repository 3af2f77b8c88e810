//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package terminal

import (
	"errors"
	"os"
)

func hideInput(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }
