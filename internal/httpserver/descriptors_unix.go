//go:build unix

package httpserver

import "golang.org/x/sys/unix"

// maxDescriptors returns how many file descriptors the process may have, at most limit.
func maxDescriptors(limit int) int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil && uint64(r.Cur) < uint64(limit) { // the type of Cur is not the same everywhere
		return int(r.Cur)
	}
	return limit
}
