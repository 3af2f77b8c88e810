package pmdaproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openPath opens a file that is not a link. path ends with a NUL.
func openPath(path []byte, flags int) (file, error) {
	at := unix.AT_FDCWD
	for {
		fd, _, err := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])), uintptr(openFlags|unix.O_NOFOLLOW|flags), 0, 0, 0)
		switch err {
		case 0:
			return file(fd), nil
		case unix.EINTR:
		default:
			return none, err
		}
	}
}

// openFile opens a file. path ends with a NUL.
func openFile(path []byte) (file, error) { return openPath(path, 0) }

// list adds the directories in the current directory of the walk. It returns false if that does not
// exist.
func (w *cgroupWalk) list() bool {
	w.path = append(w.path, 0)
	fd, err := openPath(w.path, unix.O_DIRECTORY)
	w.path = w.path[:len(w.path)-1]
	if err != nil {
		return false
	}
	defer fd.close()
	if w.buf == nil {
		w.buf = make([]byte, firstBuffer)
	}
	for {
		n, err := syscall.ReadDirent(int(fd), w.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return true
		}
		w.addEntries(w.buf[:n])
	}
}

// addEntries adds the directories among the entries. The type of an entry is the byte before its
// name.
func (w *cgroupWalk) addEntries(b []byte) {
	for _, name, rest, ok := cutEntry(b); ok; _, name, rest, ok = cutEntry(rest) {
		if b[direntHead-1] == unix.DT_DIR && len(name) > 0 {
			w.add(name)
		}
		b = rest
	}
}
