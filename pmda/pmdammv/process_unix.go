//go:build unix

package pmdammv

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// alive reports whether a process exists.
func alive(pid int) bool { return pid > 0 && unix.Kill(pid, 0) != unix.ESRCH }

// ownerOf returns the owner of a file, or anyOwner for root and the user of this process.
func ownerOf(info fs.FileInfo) int {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || s.Uid == 0 || int(s.Uid) == os.Geteuid() {
		return anyOwner
	}
	return int(s.Uid)
}
