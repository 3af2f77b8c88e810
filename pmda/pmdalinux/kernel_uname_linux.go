package pmdalinux

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newUname returns a function that sets names by uname(2). The call may wait while another process
// sets a name, so Go's scheduler must know of it. unix.Uname does not tell the scheduler.
func newUname() func(*kernelNames) error {
	u := new(unix.Utsname)
	return func(names *kernelNames) error {
		if _, _, e := unix.Syscall(unix.SYS_UNAME, uintptr(unsafe.Pointer(u)), 0, 0); e != 0 {
			return e
		}
		for i, field := range [len(names)][]byte{u.Sysname[:], u.Nodename[:], u.Release[:], u.Version[:], u.Machine[:]} {
			name, _, _ := bytes.Cut(field, []byte{0})
			if err := names[i].set(name); err != nil {
				return err
			}
		}
		return nil
	}
}
