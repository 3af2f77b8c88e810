package pmdalinux

import (
	"bytes"
	"errors"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addVFS adds the metrics that all file systems share: open files, inodes, locks.
func (l *linux) addVFS() {
	var list []numberMetric[int32]
	for _, m := range []struct {
		item, column     int
		name, file, text string
	}{
		{0, 0, "vfs.files.count", "file-nr", "Open files, each opening counted"},
		{1, 1, "vfs.files.free", "file-nr", "Places for open files that are allocated and not used"},
		{2, 2, "vfs.files.max", "file-nr", "Open files that there can be at most; no value for more than 31 bits hold"},
		{3, 0, "vfs.inodes.count", "inode-state", "Inodes in memory"},
		{4, 1, "vfs.inodes.free", "inode-state", "Inodes in memory that are not used"},
		{5, 0, "vfs.dentry.count", "dentry-state", "Directory entries in memory"},
		{6, 1, "vfs.dentry.free", "dentry-state", "Directory entries in memory that are not used"},
		{7, 0, "vfs.aio.count", "aio-nr", "Asynchronous requests that programs have made room for"},
		{8, 0, "vfs.aio.max", "aio-max-nr", "Asynchronous requests that there can be room for at most"},
	} {
		list = append(list, numberMetric[int32]{file: "proc/sys/fs/" + m.file, column: m.column,
			Metric: pmda.Metric[int32]{Name: m.name, ID: pmda.Item(27, m.item), Text: m.text}})
	}
	addNumberFiles(l, list...)
	l.addLocks()
}

// locks counts the locks of one kind.
type locks struct{ read, write, all uint32 }

// addLocks adds the metrics of /proc/locks.
func (l *linux) addLocks() {
	now := new([3]locks) // in the order of kinds
	g := l.fileGroup("proc/locks", func(text []byte) error { return parseLocks(now, text) })
	for i, m := range []struct {
		read, write, count, text string
	}{
		{"vfs.locks.posix.read", "vfs.locks.posix.write", "vfs.locks.posix.count", "POSIX locks"},
		{"vfs.locks.flock.read", "vfs.locks.flock.write", "vfs.locks.flock.count", "Locks by flock"},
		{"vfs.locks.lease.read", "vfs.locks.lease.write", "vfs.locks.lease.count", "Leases of files"},
	} {
		add := func(name string, item int, text string, v *uint32) {
			pmda.Register(l.Agent, pmda.Metric[uint32]{Name: name, ID: pmda.Item(75, 3*i+item), Group: g,
				Text: m.text + text + " that are held", Value: valueOf(v)})
		}
		add(m.read, 0, " to read", &now[i].read)
		add(m.write, 1, " to write", &now[i].write)
		add(m.count, 2, "", &now[i].all)
	}
}

// errNoLock is the error for a line of /proc/locks that is not a lock.
var errNoLock = errors.New("/proc/locks: malformed line")

// parseLocks reads lines like "1: POSIX  ADVISORY  WRITE 1 00:06:1028 0 EOF". A line with an arrow
// after the number waits for the lock above.
func parseLocks(now *[3]locks, text []byte) error {
	*now = [3]locks{}
	if procfile.Truncated(text) {
		return errNoLock
	}
	for line := range procfile.Lines(text) {
		number, line := procfile.CutField(line)
		if !bytes.HasSuffix(number, []byte(":")) {
			return errNoLock
		}
		kind, line := procfile.CutField(line)
		_, line = procfile.CutField(line)
		access, line := procfile.CutField(line)
		var l *locks
		switch string(kind) {
		case "POSIX":
			l = &now[0]
		case "FLOCK":
			l = &now[1]
		case "LEASE", "DELEG":
			l = &now[2]
		}
		if pid, _ := procfile.CutField(line); len(pid) == 0 {
			return errNoLock
		}
		if l == nil {
			continue
		}
		l.all++
		switch string(access) {
		case "READ":
			l.read++
		case "WRITE":
			l.write++
		case "RW":
			l.read++
			l.write++
		}
	}
	return nil
}
