package pmdalinux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// TestRecords checks that reads of this machine's files end as their Record says, and that no line
// is longer.
func TestRecords(t *testing.T) {
	for name, record := range records {
		list := []string{"/" + name}
		if strings.HasSuffix(name, "/") {
			list = filesBelow(t, "/"+name)
		}
		for _, path := range list {
			switch text := readToEnd(t, path, record); {
			case record == procfile.Single:
			default:
				for line := range bytes.Lines(text) {
					if len(line) > record {
						t.Errorf("%s has a line of %d bytes, more than %d", path, len(line), record)
					}
				}
			}
		}
	}
}

// filesBelow returns the files that the agent reads in and below a directory.
func filesBelow(t *testing.T, dir string) (list []string) {
	t.Helper()
	for _, pattern := range []string{"kernel/*max", "kernel/shm*", "kernel/msgmn?", "kernel/sem", "kernel/random/poolsize", "kernel/os*", "fs/*-*", "ksm/*", "*"} {
		some, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, some...)
	}
	return list
}

// readToEnd reads a file until a read returns nothing. It checks that the read after the last one
// according to the Record is empty. If a file grows between two reads, such as a list of sockets,
// it tries again.
func readToEnd(t *testing.T, path string, record int) (text []byte) {
	t.Helper()
	var err error
	for range 20 {
		if text, err = readUntilEmpty(path, record); err == nil {
			return text
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(err)
	return nil
}

// readUntilEmpty is one attempt of readToEnd. A file that cannot be read is empty.
func readUntilEmpty(path string, record int) (text []byte, err error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil // missing in this kernel, or not readable
	}
	defer syscall.Close(fd)
	var b [64 << 10]byte
	last := false
	for {
		n, err := syscall.Pread(fd, b[:], int64(len(text)))
		switch {
		case errors.Is(err, syscall.EISDIR) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EINVAL):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case n == 0:
			return text, nil
		case last:
			return nil, fmt.Errorf("%s: %d bytes come after a read that is the last by the Record %d", path, n, record)
		}
		last = record == procfile.Single || n+record <= 4096
		text = append(text, b[:n]...)
	}
}

// TestRecordOf checks that the longest matching name wins.
func TestRecordOf(t *testing.T) {
	for name, want := range map[string]int{
		"proc/stat": procfile.Single, "proc/statx": 0, "proc/sys/kernel/random/poolsize": procfile.Single, "proc/net/tcp6": 512,
		"proc/self/mounts": 0, "proc/diskstats": 0, "proc/zoneinfo": 0, "proc/locks": 0, "sys/kernel/debug/extfrag/unusable_index": 0,
	} {
		if got := recordOf(name); got != want {
			t.Errorf("the Record of %s is %d, want %d", name, got, want)
		}
	}
}
