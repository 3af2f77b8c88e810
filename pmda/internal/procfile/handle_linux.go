package procfile

import (
	"io/fs"
	"runtime"
	"syscall"
)

// A handle is an open file. An *os.File would need a second read to find the end of a file, and
// would make the network poller watch the files below /proc and /sys. The scheduler knows of all
// calls: a call that waits for a lock of the kernel does not hold up other goroutines. The file
// is closed once the handle is unreachable.
type handle struct {
	fd      int
	cleanup runtime.Cleanup
}

// openHandle opens a file to be read.
func openHandle(path string) (*handle, error) {
	fd, err := openDescriptor(path)
	if err != nil {
		return nil, err
	}
	h := &handle{fd: fd}
	h.cleanup = runtime.AddCleanup(h, closeDescriptor, fd)
	return h, nil
}

// pread reads once, at an offset. At the end of the file it returns 0.
func (h *handle) pread(b []byte, off int64) (int, error) {
	n, err := readDescriptor(h.fd, b, off)
	runtime.KeepAlive(h)
	return n, err
}

// readOnce reads once from the beginning of a file, which it opens and closes.
func readOnce(path string, b []byte) (int, error) {
	fd, err := openDescriptor(path)
	if err != nil {
		return 0, err
	}
	defer closeDescriptor(fd)
	return readDescriptor(fd, b, 0)
}

func openDescriptor(path string) (fd int, err error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_LARGEFILE, 0)
		switch err {
		case nil:
			return fd, nil
		case syscall.EINTR:
		default:
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

func readDescriptor(fd int, b []byte, off int64) (int, error) {
	for {
		n, err := syscall.Pread(fd, b, off)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

func (h *handle) close() {
	h.cleanup.Stop()
	closeDescriptor(h.fd)
	h.fd = -1
}

func closeDescriptor(fd int) { syscall.Close(fd) }
