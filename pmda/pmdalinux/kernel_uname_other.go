//go:build !linux

package pmdalinux

import "errors"

// newUname returns a function that fails.
func newUname() func(*kernelNames) error {
	return func(*kernelNames) error { return errors.ErrUnsupported }
}
