//go:build linux && !(mips || mipsle || mips64 || mips64le)

package pdu

import "syscall"

// localErrno is the local errno for a Linux number.
func localErrno(n int) (syscall.Errno, bool) { return syscall.Errno(n), true }

// linuxErrno returns the Linux number of a local errno, or 0 if it has no such number.
func linuxErrno(e syscall.Errno) int32 {
	if e < syscall.Errno(-ErrGeneric) {
		return int32(e)
	}
	return 0
}
