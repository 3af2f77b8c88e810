//go:build !linux

package pmdalinux

import "errors"

// ask has nobody to ask: the mounts are those of another machine.
func (u *usage) ask([]byte) error { return errors.ErrUnsupported }
