package pmda_test

import (
	"bytes"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNameIDsWrite checks that a call with any number of new names writes the file once, and a call
// with known names never.
func TestNameIDsWrite(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	d, log := filed(t, filepath.Join(dir, "251.0"))
	var names []string
	for i := range 200 {
		names = append(names, "veth"+strconv.Itoa(i))
	}
	for range 3 {
		if _, err := d.NameIDs(names...); err != nil {
			t.Fatal(err)
		}
	}
	events := make([]byte, 1<<16)
	n, err := unix.Read(fd, events)
	if writes := bytes.Count(events[:max(n, 0)], []byte("251.0\x00")); err != nil || writes != 1 {
		t.Errorf("the file was written %d times, %v", writes, err)
	}
	if log.Len() > 0 {
		t.Error(log)
	}
}
