//go:build !linux

package pmdalinux

import "errors"

// newMachine makes a function that says that this is no Linux.
func newMachine() func() ([]byte, error) {
	return func() ([]byte, error) { return nil, errors.ErrUnsupported }
}
