package pmdaproc

import "golang.org/x/sys/unix"

// isDevice reports whether a file is the device with a number.
func isDevice(path string, major, minor uint32) bool {
	var s unix.Stat_t
	return unix.Stat(path, &s) == nil && unix.Major(uint64(s.Rdev)) == major && unix.Minor(uint64(s.Rdev)) == minor
}
