package pmdaproc

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

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
