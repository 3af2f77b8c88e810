package pmdago

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/scan"
)

// maxRSSUnit is the unit of ru_maxrss in bytes.
const maxRSSUnit = 1024

// errFormat is the error for a malformed file below /proc.
var errFormat = errors.New("pmdago: a file below /proc/self cannot be understood")

// startTime returns the time when the process began. The kernel reports it in ticks since boot, 100
// per second on every architecture.
func startTime() (time.Time, error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return time.Time{}, err
	}
	// The name of the program is in parentheses and may have any characters.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const field = 22 - 3 // field number in proc(5); fields begins with the third
	if len(fields) <= field {
		return time.Time{}, errFormat
	}
	ticks, err := strconv.ParseInt(string(fields[field]), 10, 64)
	if err != nil {
		return time.Time{}, errFormat
	}
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, err
	}
	age := time.Duration(up.Nano()) - time.Duration(ticks)*(time.Second/100)
	return time.Now().Add(-age), nil
}

// memory returns the resident memory and the address space, in bytes.
func memory() (resident, size uint64, err error) {
	var buf [128]byte
	text, err := readSmall("/proc/self/statm", buf[:])
	if err != nil {
		return 0, 0, err
	}
	size, rest, ok1 := number(text)
	resident, _, ok2 := number(rest)
	if !ok1 || !ok2 {
		return 0, 0, errFormat
	}
	page := uint64(os.Getpagesize())
	return resident * page, size * page, nil
}

// number parses the number at the start of text and returns the rest.
func number(text []byte) (n uint64, rest []byte, ok bool) {
	text = bytes.TrimLeft(text, " ")
	for len(text) > 0 && scan.IsDigit(text[0]) {
		n, text, ok = n*10+uint64(text[0]-'0'), text[1:], true
	}
	return n, text, ok
}

// readSmall reads the start of a file into buf.
func readSmall(path string, buf []byte) ([]byte, error) {
	fd, err := open(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		return buf[:max(n, 0)], err
	}
}

func open(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// openFiles returns the number of open descriptors. Since 6.2 the kernel reports it as the size
// of a directory. Older kernels require counting the entries.
func openFiles() (uint32, error) {
	const dir = "/proc/self/fd"
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err == nil && st.Size > 0 {
		return uint32(st.Size), nil
	}
	return countFiles(dir)
}

// countFiles counts the entries of /proc/self/fd, except its own.
func countFiles(dir string) (uint32, error) {
	f, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	return uint32(len(names)) - 1, nil
}
