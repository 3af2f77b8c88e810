//go:build linux || darwin || freebsd

package pmdago

import (
	"syscall"
	"time"
)

// processorTime is the processor time that the process has taken.
func processorTime() (user, system time.Duration, err error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, err
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), nil
}

// maxResident is the most memory that was ever resident, in bytes.
func maxResident() (uint64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return uint64(u.Maxrss) * maxRSSUnit, nil
}

// maxFiles is how many descriptors may be open: the soft limit, which the runtime
// has raised.
func maxFiles() (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, err
	}
	return uint64(l.Cur), nil
}
