package pmdaproc

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A directory is /proc. It stays open so that the kernel need not look it up for each file below
// it. The kernel checks the rights of the reader, not of the opener. Paths below it end with a NUL.
type directory struct {
	path   string
	handle *handle // nil until it is open
	buf    []byte
}

// A handle is an open file. It is closed when it is garbage-collected.
type handle struct{ fd file }

// A file is an open file.
type file int

const none file = -1

const openFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_LARGEFILE | unix.O_NONBLOCK

// fd opens the directory if it is not open.
func (d *directory) fd() (file, error) {
	if d.handle != nil {
		return d.handle.fd, nil
	}
	fd, err := unix.Open(d.path, openFlags|unix.O_DIRECTORY, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: d.path, Err: err}
	}
	d.handle = &handle{file(fd)}
	runtime.AddCleanup(d.handle, func(fd file) { fd.close() }, file(fd))
	return file(fd), nil
}

// mostKept returns how many files of processes may stay open. It is 0 if the files are not the
// kernel's or if the program has few descriptors.
func (d *directory) mostKept() int {
	fd, err := d.fd()
	if err != nil {
		return 0
	}
	var s unix.Statfs_t
	var limit unix.Rlimit
	if unix.Fstatfs(int(fd), &s) != nil || s.Type != unix.PROC_SUPER_MAGIC || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(mostKept, limit.Cur/2))
}

// open opens a file below the directory.
func (d *directory) open(path []byte) (file, error) { return d.openAt(path, openFlags) }

func (d *directory) openAt(path []byte, flags int) (file, error) {
	at, err := d.fd()
	if err != nil {
		return 0, err
	}
	for {
		fd, _, err := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])), uintptr(flags), 0, 0, 0)
		switch err {
		case 0:
			return file(fd), nil
		case unix.EINTR:
		default:
			return 0, err
		}
	}
}

// read reads the next bytes. At the end of the file it returns 0.
func (f file) read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(f), b)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// readAt reads from the start of the file.
func (f file) readAt(b []byte) (int, error) {
	n, err := syscall.Pread(int(f), b, 0)
	return max(n, 0), err
}

func (f file) close() { syscall.Close(int(f)) }

// readlink reads the target of a link into b.
func (d *directory) readlink(path, b []byte) (int, error) {
	at, err := d.fd()
	if err != nil {
		return 0, err
	}
	n, _, code := unix.Syscall6(unix.SYS_READLINKAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0)
	if code != 0 {
		return 0, code
	}
	return int(n), nil
}

// list appends the processes in the directory.
func (d *directory) list(to []entry) ([]entry, error) {
	fd, err := d.fd()
	if err != nil {
		return to, err
	}
	if _, err := unix.Seek(int(fd), 0, unix.SEEK_SET); err != nil {
		return to, err
	}
	return d.entries(to, fd)
}

// listAt appends the processes in a directory below it.
func (d *directory) listAt(to []entry, path []byte) []entry {
	fd, err := d.openAt(path, openFlags|unix.O_DIRECTORY)
	if err != nil {
		return to
	}
	defer fd.close()
	to, _ = d.entries(to, fd)
	return to
}

func (d *directory) entries(to []entry, fd file) ([]entry, error) {
	for {
		b, err := d.readEntries(fd)
		if len(b) == 0 || err != nil {
			return to, err
		}
		to = parseEntries(to, b)
	}
}

// count counts the entries of a directory below it.
func (d *directory) count(path []byte) (n int, err error) {
	fd, err := d.openAt(path, openFlags|unix.O_DIRECTORY)
	if err != nil {
		return 0, err
	}
	defer fd.close()
	for {
		b, err := d.readEntries(fd)
		if len(b) == 0 || err != nil {
			return n, err
		}
		n += countEntries(b)
	}
}

// directoryBuffer is the size of the buffer for the entries of a directory in bytes.
const directoryBuffer = 64 << 10

// readEntries reads the next entries of a directory. It returns nothing at the end.
func (d *directory) readEntries(fd file) ([]byte, error) {
	if d.buf == nil {
		d.buf = make([]byte, directoryBuffer)
	}
	for {
		n, err := syscall.ReadDirent(int(fd), d.buf)
		if err != unix.EINTR {
			return d.buf[:max(n, 0)], err
		}
	}
}

// direntHead is the length of the part of an entry of getdents64(2) before its name: the inode, the
// offset, the length of the entry and the type.
const direntHead = 19

// cutEntry returns the inode and the name of the first entry.
func cutEntry(b []byte) (inode uint64, name, rest []byte, ok bool) {
	if len(b) <= direntHead {
		return 0, nil, nil, false
	}
	n := int(binary.NativeEndian.Uint16(b[16:]))
	if n <= direntHead || n > len(b) {
		return 0, nil, nil, false
	}
	name = b[direntHead:n]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return binary.NativeEndian.Uint64(b), name, b[n:], true
}

// parseEntries appends the processes among the entries.
func parseEntries(to []entry, b []byte) []entry {
	for inode, name, rest, ok := cutEntry(b); ok; inode, name, rest, ok = cutEntry(rest) {
		if id, ok := parsePID(name); ok {
			to = append(to, entry{id, inode})
		}
	}
	return to
}

// countEntries counts entries other than . and .. .
func countEntries(b []byte) (n int) {
	for _, name, rest, ok := cutEntry(b); ok; _, name, rest, ok = cutEntry(rest) {
		if string(name) != "." && string(name) != ".." {
			n++
		}
	}
	return n
}
