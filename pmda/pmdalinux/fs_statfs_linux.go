package pmdalinux

import "golang.org/x/sys/unix"

// statfs sets u to the result of statfs(2) for path, which ends with a NUL. It may wait
// indefinitely.
func (u *usage) statfs(path []byte) error {
	var s unix.Statfs_t
	err := unix.EINTR
	for err == unix.EINTR {
		err = statfs(path, &s)
	}
	if err != 0 {
		return err
	}
	*u = usage{
		blockSize: uint64(s.Bsize), blocks: s.Blocks, free: s.Bfree, avail: s.Bavail,
		files: s.Files, freeFiles: s.Ffree,
	}
	return nil
}
