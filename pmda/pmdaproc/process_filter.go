package pmdaproc

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/pcp-go/pcp/pmda/internal/hanging"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// maxList is the maximum length of a list of the processes of a control group in bytes.
const maxList = 64 << 20

// cgroupProcesses appends the processes or threads of the control group with the directory dir. It
// appends nothing if the directory does not exist.
func cgroupProcesses(to []entry, dir string, threads bool) []entry {
	names := []string{"cgroup.procs", "container/cgroup.procs"}
	if threads {
		names = []string{"cgroup.threads", "tasks", "container/cgroup.threads"}
	}
	for _, name := range names {
		if text, err := readLimited(filepath.Join(dir, name), maxList); err == nil {
			for line := range bytes.Lines(text) {
				if id, ok := parsePID(bytes.TrimSpace(line)); ok {
					to = append(to, entry{id: id})
				}
			}
			return to
		}
	}
	return to
}

// groupReads reads which processes a control group has. A client chooses the directory, which may
// be on a file system that does not reply. Other clients must not wait for that, so the directory
// is read before a table is locked.
type groupReads struct {
	list  func(v *view) []entry         // lists the processes of the group of a view
	calls hanging.Calls[int, groupRead] // by the user whose rights they use
}

// A groupRead identifies a reading.
type groupRead struct{ container, cgroup string }

// unknownUser is the uid of clients without credentials.
const unknownUser = -1

// groupMembers returns the processes of the control group of a view, sorted. The error is
// pdu.ErrAgain for a group whose file system does not reply.
func (p *proc) groupMembers(ctx context.Context, v *view) ([]entry, error) {
	uid := v.uid
	if !v.access && !v.switches {
		uid = unknownUser // since the zero uid is root's
	}
	seen := *v // v may change after the wait
	return hanging.Do(ctx, &p.groups.calls, uid, groupRead{v.container, v.cgroup}, func() (members []entry) {
		v := &seen
		if v.switches { // without the rights of the client it sees no group
			p.identity.runAs(v.uid, v.gid, func() { members = p.groups.list(v) })
		} else {
			members = p.groups.list(v)
		}
		slices.SortFunc(members, byID)
		return members
	}, nil)
}

// listGroup lists the processes of the control group of a view.
func (p *proc) listGroup(v *view) []entry {
	if v.container != "" {
		return p.containerProcesses(nil, v)
	}
	return cgroupProcesses(nil, p.path(v.cgroup), v.threads)
}

// containerProcesses appends the processes of a container.
func (p *proc) containerProcesses(to []entry, v *view) []entry {
	for _, dir := range p.cgroupDirectories(v.container) {
		if _, err := os.Stat(dir); err == nil {
			return cgroupProcesses(to, dir, v.threads)
		}
	}
	return to
}

// cgroupDirectories returns the possible directories of the control group of a container: below the
// mount point of version 2 of control groups, below that of the memory controller of version 1, or
// below the slice of machines.
func (p *proc) cgroupDirectories(name string) (dirs []string) {
	text, err := readLimited(p.path("proc/mounts"), maxList)
	if err != nil {
		return nil
	}
	for line := range procfile.Lines(text) {
		m, _ := procfile.ParseMount(line)
		of1 := string(m.Kind) == "cgroup" && bytes.Contains(append(append([]byte(","), m.Options...), ','), []byte(",memory,"))
		if of1 || string(m.Kind) == "cgroup2" {
			at := p.path(procfile.Unescape(m.Dir))
			dirs = append(dirs, filepath.Join(at, name), filepath.Join(at, "machine.slice", name))
		}
	}
	return dirs
}

// readLimited reads a file of at most limit bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: a client's file may be a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if at, err := f.Stat(); err != nil || !at.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
