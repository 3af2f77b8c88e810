//go:build !linux

package pmdalinux

import "errors"

// newUname makes a function that says that this is no Linux.
func newUname() func(*kernelNames) error {
	return func(*kernelNames) error { return errors.ErrUnsupported }
}
