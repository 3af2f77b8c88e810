//go:build unix

package daemonfile

import (
	"io/fs"
	"os"
	"syscall"
)

// shared reports whether others than root and this user can put files into the directory.
func (e entry) shared() bool {
	info, err := e.dir.Stat(".")
	if err != nil {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	const others = 0o022
	return !ok || info.Mode()&others != 0 || st.Uid != 0 && int(st.Uid) != os.Geteuid()
}

// openSpecial opens the entry if it is a device for characters, or the target of a link if that is
// no regular file and only this user or root can have made the link; else it returns nil. It does
// not wait for a terminal's line, nor for a reader of a pipe.
func (e entry) openSpecial(path string) (*os.File, error) {
	info, err := e.dir.Lstat(e.name)
	switch {
	case err != nil:
		return nil, nil
	case isCharDevice(info):
		return writeTo(e.dir.OpenFile(e.name, specialFlags, 0))
	case info.Mode()&fs.ModeSymlink == 0 || e.shared():
		return nil, nil
	}
	switch info, err = os.Stat(path); {
	case err != nil || info.Mode().IsRegular():
		return nil, nil
	case !isCharDevice(info) && info.Mode()&fs.ModeNamedPipe == 0:
		return nil, errNoFile
	}
	return writeTo(os.OpenFile(path, specialFlags, 0))
}

const specialFlags = os.O_WRONLY | os.O_APPEND | syscall.O_NONBLOCK | syscall.O_NOCTTY

func isCharDevice(info fs.FileInfo) bool { return info.Mode()&fs.ModeCharDevice != 0 }

// writeTo has the writes to a file wait, unlike its opening.
func writeTo(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(int(f.Fd()), false); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// truncateOwn empties a file of this user in a directory where only others can create files. It
// returns nil for any other entry.
func (e entry) truncateOwn() *os.File {
	f, err := e.dir.OpenFile(e.name, os.O_RDWR|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && st.Nlink == 1 && int(st.Uid) == os.Geteuid() && os.Geteuid() != 0 && f.Truncate(0) == nil {
			return f
		}
	}
	f.Close()
	return nil
}
