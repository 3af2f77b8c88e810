package pmdalinux

import "golang.org/x/sys/unix"

// ask asks the file system at path, which ends with a NUL. That may take as long
// as it likes.
func (u *usage) ask(path []byte) error {
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
