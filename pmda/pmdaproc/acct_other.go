//go:build !linux

package pmdaproc

import "errors"

// setAccounting fails except on Linux.
func setAccounting(string) error { return errors.ErrUnsupported }
