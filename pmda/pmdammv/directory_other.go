//go:build !linux

package pmdammv

import (
	"os"
	"time"
)

// A dirState says what a directory is and when it has changed, in numbers that can be compared.
type dirState struct {
	sec, nsec int64 // of the last change
	err       error // why the state is unknown, a syscall.Errno
}

// stat looks at a directory, whose name ends with a NUL.
func stat(path []byte) dirState {
	info, err := os.Stat(string(path[:len(path)-1]))
	if err != nil {
		return dirState{err: errnoOf(err)}
	}
	return dirState{sec: info.ModTime().Unix(), nsec: int64(info.ModTime().Nanosecond())}
}

// fileClock returns the time that the system gives to a file that changes now.
func fileClock() time.Time { return time.Now() }
