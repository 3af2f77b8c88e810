//go:build unix

package simple

import (
	"syscall"
	"time"
)

// cpuTimes are the processor times of a process.
type cpuTimes struct{ user, sys time.Duration }

func cpuTimesNow() (cpuTimes, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return cpuTimes{}, err
	}
	return cpuTimes{time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())}, nil
}
