//go:build linux || darwin || freebsd

package pmdago

import (
	"syscall"
	"time"
)

// processorTime returns the processor time used by the process.
func processorTime() (user, system time.Duration, err error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, err
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), nil
}

// maxResident returns the maximum resident memory so far, in bytes.
func maxResident() (uint64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return uint64(u.Maxrss) * maxRSSUnit, nil
}

// maxFiles returns the maximum number of open descriptors: the soft limit, which the runtime has
// raised.
func maxFiles() (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, err
	}
	return uint64(l.Cur), nil
}
