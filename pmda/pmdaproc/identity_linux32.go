//go:build linux && (386 || arm)

package pmdaproc

import "golang.org/x/sys/unix"

// These machines also have older calls for 16-bit IDs.
const (
	sysSetgroups = unix.SYS_SETGROUPS32
	sysSetresuid = unix.SYS_SETRESUID32
	sysSetresgid = unix.SYS_SETRESGID32
)
