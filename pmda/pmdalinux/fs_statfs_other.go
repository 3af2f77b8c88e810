//go:build !linux

package pmdalinux

import "errors"

// statfs fails because the mounts are those of another machine.
func (u *usage) statfs([]byte) error { return errors.ErrUnsupported }
