//go:build unix

package pmdammv

import "golang.org/x/sys/unix"

// maxOpen returns how many files may be kept open: at most a part of the process's limit.
func maxOpen(limit int) int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	if most := uint64(r.Cur) / openShare; most < uint64(limit) { // the type of Cur is not the same everywhere
		return int(most)
	}
	return limit
}
