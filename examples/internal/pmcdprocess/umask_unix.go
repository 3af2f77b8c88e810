//go:build unix

package pmcdprocess

import "syscall"

// setUmask keeps other users from writing to files that agents create.
func setUmask() { syscall.Umask(0o022) }
