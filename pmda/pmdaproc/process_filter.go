package pmdaproc

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// maxList is how long a list of the processes of a control group may be.
const maxList = 64 << 20

// cgroupProcesses adds the processes of a control group, whose directory it is, or its
// threads. A directory that is not there has none.
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

// groupReads are readings of which processes a control group has. A client names the directory, which may be
// on a file system that does not answer: others must not wait for that. So each reading has a goroutine, and
// before a table is locked.
type groupReads struct {
	list func(v *view) []entry // lists the processes of the group of a view

	mu      sync.Mutex
	hanging map[groupRead]int // how many there are that nobody waits for any more
}

// A groupRead says what is read, and with whose rights.
type groupRead struct {
	uid               int
	container, cgroup string
}

const (
	groupReadTime = time.Second // so long a client waits for its group
	maxHanging    = 8           // so many groups of a user may not answer
	unknownUser   = -1          // the uid of clients that have not said who they are
)

// groupMembers returns the processes of the control group of a view, sorted. The error is pdu.ErrAgain for
// a group that does not answer.
func (p *proc) groupMembers(ctx context.Context, v *view) ([]entry, error) {
	g, read := &p.groups, groupRead{v.uid, v.container, v.cgroup}
	if !v.access && !v.switches {
		read.uid = unknownUser // and not root, whose number it has
	}
	if g.hangs(read) {
		return nil, pdu.ErrAgain
	}
	found := make(chan []entry, 1)
	seen := *v // which may change when the wait is over
	go func() {
		v := &seen
		var members []entry
		if v.switches { // without the rights of the client it sees no group
			p.identity.as(v.uid, v.gid, func() { members = g.list(v) })
		} else {
			members = g.list(v)
		}
		slices.SortFunc(members, byID)
		found <- members
	}()
	timer := time.NewTimer(groupReadTime)
	defer timer.Stop()
	select {
	case members := <-found:
		return members, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	g.giveUp(read, found)
	return nil, pdu.ErrAgain
}

// hangs reports whether a reading would hang, as far as is known, or whether the user has too many that do.
func (g *groupReads) hangs(read groupRead) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for other := range g.hanging {
		if other == read {
			return true
		}
		if other.uid == read.uid {
			n++
		}
	}
	return n >= maxHanging
}

// giveUp has a reading hang until it has found something.
func (g *groupReads) giveUp(read groupRead, found <-chan []entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hanging == nil {
		g.hanging = map[groupRead]int{}
	}
	g.hanging[read]++
	go func() {
		<-found
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.hanging[read]--; g.hanging[read] == 0 {
			delete(g.hanging, read)
		}
	}()
}

// listGroup lists the processes of the control group of a view.
func (p *proc) listGroup(v *view) []entry {
	if v.container != "" {
		return p.containerProcesses(nil, v)
	}
	return cgroupProcesses(nil, p.path(v.cgroup), v.threads)
}

// containerProcesses adds the processes of a container.
func (p *proc) containerProcesses(to []entry, v *view) []entry {
	for _, dir := range p.cgroupDirectories(v.container) {
		if _, err := os.Stat(dir); err == nil {
			return cgroupProcesses(to, dir, v.threads)
		}
	}
	return to
}

// cgroupDirectories are where the control group of a container may be: as a path below the
// mount point of the second version of control groups, or of the controller of memory in
// the first; or below the slice of machines.
func (p *proc) cgroupDirectories(name string) (dirs []string) {
	text, err := readLimited(p.path("proc/mounts"), maxList)
	if err != nil {
		return nil
	}
	for line := range procfile.Lines(text) {
		_, line := procfile.CutField(line)
		dir, line := procfile.CutField(line)
		kind, line := procfile.CutField(line)
		options, _ := procfile.CutField(line)
		of1 := string(kind) == "cgroup" && bytes.Contains(append(append([]byte(","), options...), ','), []byte(",memory,"))
		if of1 || string(kind) == "cgroup2" {
			at := p.path(string(dir))
			dirs = append(dirs, filepath.Join(at, name), filepath.Join(at, "machine.slice", name))
		}
	}
	return dirs
}

// readLimited reads a file of at most so many bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // clients name it: it may be a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if at, err := f.Stat(); err != nil || !at.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
