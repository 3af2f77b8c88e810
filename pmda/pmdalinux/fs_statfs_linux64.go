//go:build linux && (amd64 || arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x)

package pmdalinux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// statfs is unix.Statfs for a path that ends with a NUL. unix.Statfs would copy the path each time
// to append one.
func statfs(path []byte, s *unix.Statfs_t) unix.Errno {
	_, _, err := unix.Syscall(unix.SYS_STATFS, uintptr(unsafe.Pointer(&path[0])), uintptr(unsafe.Pointer(s)), 0)
	return err
}
