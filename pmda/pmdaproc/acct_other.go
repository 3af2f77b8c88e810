//go:build !linux

package pmdaproc

import "errors"

// setAccounting has the kernel write to a file when a process ends.
func setAccounting(string) error { return errors.ErrUnsupported }
