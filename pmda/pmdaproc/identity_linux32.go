//go:build linux && (386 || arm)

package pmdaproc

import "golang.org/x/sys/unix"

// These machines have older calls too, for IDs of 16 bits.
const (
	sysSetgroups = unix.SYS_SETGROUPS32
	sysSetresuid = unix.SYS_SETRESUID32
	sysSetresgid = unix.SYS_SETRESGID32
)
