//go:build linux && !(amd64 || arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x)

package pmdalinux

import "golang.org/x/sys/unix"

// statfs is unix.Statfs for a path that ends with a NUL.
func statfs(path []byte, s *unix.Statfs_t) unix.Errno {
	err := unix.Statfs(string(path[:len(path)-1]), s)
	if err == nil {
		return 0
	}
	if no, ok := err.(unix.Errno); ok {
		return no
	}
	return unix.EIO
}
