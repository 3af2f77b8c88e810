//go:build unix

package pmdammv

import "golang.org/x/sys/unix"

// maxOpen returns how many files may be kept open: limit, or less if the process's limit is low.
func maxOpen(limit int) int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	if most := uint64(r.Cur) / openShare; most < uint64(limit) { // the type of Cur varies
		return int(most)
	}
	return limit
}
