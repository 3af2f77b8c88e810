package pmdammv

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A dirState identifies a directory and its latest change. It is comparable.
type dirState struct {
	device, inode uint64
	sec, nsec     int64 // of the last change
	err           error // why the state is unknown, a syscall.Errno
}

// stat returns the state of a directory. path ends with a NUL, so stat need not allocate, as
// unix.Stat does.
func stat(path []byte) dirState {
	var s unix.Statx_t
	const flags = unix.AT_STATX_SYNC_AS_STAT
	const mask = unix.STATX_INO | unix.STATX_MTIME
	at := unix.AT_FDCWD
	for {
		_, _, err := unix.Syscall6(unix.SYS_STATX, uintptr(at), uintptr(unsafe.Pointer(&path[0])), flags, mask, uintptr(unsafe.Pointer(&s)), 0)
		switch err {
		case 0:
			return dirState{device: unix.Mkdev(s.Dev_major, s.Dev_minor), inode: s.Ino, sec: s.Mtime.Sec, nsec: int64(s.Mtime.Nsec)}
		case unix.EINTR:
		case unix.ENOSYS, unix.EPERM: // an old kernel, or a seccomp filter
			return statFallback(path)
		default:
			return dirState{err: err}
		}
	}
}

func statFallback(path []byte) dirState {
	info, err := os.Stat(string(path[:len(path)-1]))
	if err != nil {
		return dirState{err: errnoOf(err)}
	}
	d := dirState{sec: info.ModTime().Unix(), nsec: int64(info.ModTime().Nanosecond())}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		d.device, d.inode = uint64(s.Dev), uint64(s.Ino)
	}
	return d
}

// fileClock returns the time that the kernel gives to a file that changes now. It is that of the
// last timer interrupt, which may lag behind time.Now by hundreds of milliseconds on a virtual
// machine.
func fileClock() time.Time {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t); err != nil {
		return time.Now()
	}
	return time.Unix(t.Unix())
}
