//go:build !linux

package pmdammv

import (
	"os"
	"time"
)

// A dirState has the latest change of a directory. It is comparable.
type dirState struct {
	sec, nsec int64 // of the last change
	err       error // why the state is unknown, a syscall.Errno
}

// stat returns the state of a directory. path ends with a NUL.
func stat(path []byte) dirState {
	info, err := os.Stat(string(path[:len(path)-1]))
	if err != nil {
		return dirState{err: errnoOf(err)}
	}
	return dirState{sec: info.ModTime().Unix(), nsec: int64(info.ModTime().Nanosecond())}
}

// fileClock returns the time that the system gives to a file that changes now.
func fileClock() time.Time { return time.Now() }
