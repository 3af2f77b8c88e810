package pmdago

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxRSSUnit is the unit of ru_maxrss in bytes.
const maxRSSUnit = 1

// startTime returns the time when the process began.
func startTime() (time.Time, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid())
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(0, p.Proc.P_starttime.Nano()), nil
}

// memory is not supported, because only Mach calls report it.
func memory() (resident, size uint64, err error) { return 0, 0, errors.ErrUnsupported }

// openFiles counts the entries of /dev/fd, except its own.
func openFiles() (uint32, error) {
	f, err := os.Open("/dev/fd")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	return uint32(max(len(names)-1, 0)), nil
}
