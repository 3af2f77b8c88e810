package pmdago

import (
	"errors"
	"syscall"
	"time"
)

// times returns when the process began, and its processor time.
func times() (began time.Time, user, system time.Duration, err error) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return time.Time{}, 0, 0, err
	}
	var created, exited, k, u syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &k, &u); err != nil {
		return time.Time{}, 0, 0, err
	}
	span := func(f syscall.Filetime) time.Duration {
		return 100 * time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime))
	}
	return time.Unix(0, created.Nanoseconds()), span(u), span(k), nil
}

func startTime() (time.Time, error) {
	began, _, _, err := times()
	return began, err
}

func processorTime() (user, system time.Duration, err error) {
	_, user, system, err = times()
	return user, system, err
}

// Windows has no file descriptors, and other calls report memory.

func memory() (resident, size uint64, err error) { return 0, 0, errors.ErrUnsupported }

func maxResident() (uint64, error) { return 0, errors.ErrUnsupported }

func openFiles() (uint32, error) { return 0, errors.ErrUnsupported }

func maxFiles() (uint64, error) { return 0, errors.ErrUnsupported }
