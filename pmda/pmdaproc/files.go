package pmdaproc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

var pageSize, ownPID = os.Getpagesize(), os.Getpid()

// A reader reads the files of processes into one buffer.
type reader struct {
	dir     directory // /proc
	threads bool      // try the file of the thread before that of its process
	foreign bool      // the client is another user than the agent's
	kept    keptFiles
	path    []byte
	buf     []byte
	hiding  struct { // whether users may not see the processes of others
		yes  bool
		next time.Time // when to look again
	}
}

// maxFile is the maximum number of bytes that are read of a file of a process. No value may be
// longer.
const maxFile = 16 << 20

const (
	firstBuffer = 8 << 10
	keptBuffer  = 1 << 20 // longer buffers are released
)

// trim releases the buffer of a long file.
func (r *reader) trim() {
	if len(r.buf) > keptBuffer {
		r.buf = nil
	}
}

// setPath sets path to the relative path of a file of a process, with a NUL.
func (r *reader) setPath(id pid, task bool, name string) {
	r.path = strconv.AppendInt(r.path[:0], int64(id), 10)
	if task {
		r.path = append(r.path, "/task/"...)
		r.path = strconv.AppendInt(r.path, int64(id), 10)
	}
	r.path = append(append(append(r.path, '/'), name...), 0)
}

// open opens a file of a process.
func (r *reader) open(id pid, name string) (file, error) {
	if r.foreign && !public[name] && r.isOwn(id) {
		return none, syscall.EACCES
	}
	if r.threads {
		r.setPath(id, true, name)
		if f, err := r.dir.open(r.path); err == nil || !isAbsent(err) {
			return f, err
		}
	}
	r.setPath(id, false, name)
	return r.dir.open(r.path)
}

// public are the files that all users may read.
var public = map[string]bool{"stat": true, "status": true, "statm": true, "schedstat": true, "cgroup": true,
	"oom_score": true, "autogroup": true, "cmdline": true, "attr/current": true}

// isOwn reports whether a process or thread belongs to the agent. The kernel always lets a process
// see all of itself, so the agent decides what other users may see of it.
func (r *reader) isOwn(id pid) bool {
	if int(id) == ownPID {
		return true
	}
	if !r.threads {
		return false
	}
	_, err := os.Stat("/proc/self/task/" + strconv.Itoa(int(id)))
	return err == nil
}

// isAbsent reports whether an error means that a file does not exist.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// readOnce reads a file that the kernel writes in one piece. A read that does not fill the buffer
// has read all of it.
func (r *reader) readOnce(id pid, name string) ([]byte, error) { return r.read(id, name, true) }

// readNew is readOnce with the parameters of readKept.
func (r *reader) readNew(id pid, _ int, name string) ([]byte, error) { return r.readOnce(id, name) }

// readKept is readOnce for a file that may be kept open.
func (r *reader) readKept(id pid, kind int, name string) ([]byte, error) {
	if r.kept.limit == 0 || r.threads || r.hides() || r.foreign && !public[name] {
		return r.readOnce(id, name)
	}
	r.makeBuffer()
	if n, ok := r.kept.readAgain(id, kind, r.buf); ok {
		return r.buf[:n], nil
	}
	f, err := r.open(id, name)
	if err != nil {
		return nil, err
	}
	n, err := f.read(r.buf)
	if err != nil || n == len(r.buf) || !r.kept.keep(id, kind, f) {
		f.close()
	}
	if n == len(r.buf) { // it is long
		return r.readOnce(id, name)
	}
	return r.buf[:n], err
}

// makeBuffer allocates the buffer before its first use.
func (r *reader) makeBuffer() {
	if r.buf == nil {
		r.buf = make([]byte, firstBuffer)
	}
}

// readAll reads a file of many records. Each read returns only as many as fit into a page.
func (r *reader) readAll(id pid, name string) ([]byte, error) { return r.read(id, name, false) }

// read reads a file. The text is valid until the next read.
func (r *reader) read(id pid, name string, once bool) ([]byte, error) {
	f, err := r.open(id, name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	r.makeBuffer()
	for n := 0; ; {
		m, err := f.read(r.buf[n:])
		if err != nil {
			return nil, err
		}
		n += m
		switch {
		case m == 0, once && n < len(r.buf), n >= maxFile:
			return r.buf[:min(n, maxFile)], nil
		case len(r.buf)-n < firstBuffer/2:
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
	}
}

// readHead reads the start of a file in a single read.
func (r *reader) readHead(id pid, name string, n int) ([]byte, error) {
	f, err := r.open(id, name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	r.makeBuffer()
	n, err = f.read(r.buf[:n])
	return r.buf[:n], err
}

// link returns the target of a link of a process.
func (r *reader) link(id pid, name string) ([]byte, error) {
	if r.foreign && r.isOwn(id) {
		return nil, syscall.EACCES
	}
	r.makeBuffer()
	r.setPath(id, false, name)
	n, err := r.dir.readlink(r.path, r.buf)
	return r.buf[:n], err
}

// countEntries counts the entries of a directory of a process.
func (r *reader) countEntries(id pid, name string) (n int, err error) {
	if r.foreign && r.isOwn(id) {
		return 0, syscall.EACCES
	}
	if r.threads {
		r.setPath(id, true, name)
		if n, err = r.dir.count(r.path); err == nil || !isAbsent(err) {
			return n, err
		}
	}
	r.setPath(id, false, name)
	return r.dir.count(r.path)
}

// processes appends all processes.
func (r *reader) processes(to []entry) ([]entry, error) { return r.dir.list(to) }

// threadsOf appends the threads of a process. It appends nothing if the process has ended.
func (r *reader) threadsOf(to []entry, id pid) []entry {
	r.setPath(id, false, "task")
	return r.dir.listAt(to, r.path)
}

// hidesCheck is the interval between checks of the mount options of /proc.
const hidesCheck = 10 * time.Second

// hides reports whether the mount option hidepid hides the files of a process from other users. If
// so, values that were read for one user must not be shown to another.
func (r *reader) hides() bool {
	now := r.kept.now
	if now.Before(r.hiding.next) {
		return r.hiding.yes
	}
	r.hiding.next = now.Add(hidesCheck)
	r.hiding.yes = true // unless the mounts say otherwise
	if text, err := readLimited(r.dir.path+"/self/mounts", maxFile); err == nil {
		r.hiding.yes = hidesProcesses(text)
	}
	return r.hiding.yes
}

// hidesProcesses reports whether a list of mounts has a /proc that hides processes.
func hidesProcesses(mounts []byte) bool {
	for line := range procfile.Lines(mounts) {
		m, _ := procfile.ParseMount(line)
		if string(m.Kind) != "proc" {
			continue
		}
		for option := range bytes.SplitSeq(m.Options, []byte(",")) {
			if how, ok := strings.CutPrefix(string(option), "hidepid="); ok && how != "0" && how != "off" {
				return true
			}
		}
	}
	return false
}

// errNoData is ENODATA of Linux, which some other systems lack.
const errNoData syscall.Errno = 61

// valueError converts the error of a file of a process to that of its values. A value that the
// client may not see is missing without an error.
func valueError(err error) error {
	if err == nil {
		return nil
	}
	code, ok := errors.AsType[syscall.Errno](err)
	switch {
	case !ok:
		return err
	case code == syscall.EACCES, code == syscall.EINVAL:
		return pmda.NoValue
	case code == syscall.ENOENT:
		return pdu.ErrAppVersion
	case code == errNoData:
		return pdu.ErrValue
	}
	return pdu.Error(-int32(code))
}
