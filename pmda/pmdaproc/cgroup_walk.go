package pmdaproc

import (
	"bytes"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A cgroupWalk walks through the directories of a hierarchy of control groups. The next walk reuses
// its memory.
type cgroupWalk struct {
	path  []byte // of the current directory
	names []byte // of directories to visit, each with a NUL
	found int    // directories so far
	buf   []byte
	name  []byte
}

// Limits of a hierarchy. The kernel does not limit the number of groups. It cannot open paths of
// more than 4095 bytes.
const (
	maxCgroups     = 1 << 16
	maxCgroupDepth = 256
)

// A cgroupTree is the directories of a hierarchy during a request. The hierarchy is read once, so
// that all instance domains have the same groups.
type cgroupTree struct {
	root  string
	walk  cgroupWalk
	paths []byte // relative to the root, each with a NUL; empty for the root
}

// cgroupTrees are unused trees, whose memory is reused.
type cgroupTrees struct {
	mu   sync.Mutex
	free []*cgroupTree
}

// maxFreeTrees is the maximum number of unused trees. A request needs one for each hierarchy.
const maxFreeTrees = 16

// of returns the hierarchy below a directory for a request. It is empty if the directory cannot be
// read.
func (c *cgroupTrees) of(v *view, root string) *cgroupTree {
	for _, t := range v.trees {
		if t.root == root {
			return t
		}
	}
	t := c.get()
	t.root, t.paths = root, t.paths[:0]
	t.walk.run(root, func() { t.paths = append(append(t.paths, t.walk.path[len(root):]...), 0) })
	v.trees = append(v.trees, t)
	return t
}

func (c *cgroupTrees) get() *cgroupTree {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.free)
	if n == 0 {
		return new(cgroupTree)
	}
	t := c.free[n-1]
	c.free = c.free[:n-1]
	return t
}

// release returns the trees of a request.
func (c *cgroupTrees) release(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range v.trees {
		if cap(t.paths) <= keptBuffer && len(c.free) < maxFreeTrees {
			c.free = append(c.free, t)
		}
	}
	v.trees = nil
}

// run calls visit for a directory and each directory below it, with the path in w.path. It does not
// follow links and leaves out directories that disappear. It returns false if the first directory
// cannot be read.
func (w *cgroupWalk) run(dir string, visit func()) bool {
	w.path, w.names, w.found = append(w.path[:0], dir...), w.names[:0], 1
	return w.below(0, visit)
}

func (w *cgroupWalk) below(depth int, visit func()) bool {
	begin := len(w.names)
	if !w.list() {
		return false
	}
	visit()
	end, length := len(w.names), len(w.path)
	for at := begin; at < end && depth < maxCgroupDepth; {
		n := bytes.IndexByte(w.names[at:end], 0)
		w.path = append(append(w.path, '/'), w.names[at:at+n]...)
		w.below(depth+1, visit)
		w.path = w.path[:length]
		at += n + 1
	}
	w.names = w.names[:begin]
	return true
}

// add adds a directory to the walk.
func (w *cgroupWalk) add(name []byte) {
	if name[0] != '.' && w.found < maxCgroups {
		w.found++
		w.names = append(append(w.names, name...), 0)
	}
}

// cgroupName returns the name of a group, given its path below the mount point. It decodes the
// escapes of systemd, such as \x2d for a hyphen. Spaces and control characters stay or become
// escaped, because tools would not show them as part of a name. The name is valid until the next
// call.
func (w *cgroupWalk) cgroupName(path []byte) []byte {
	if len(path) == 0 {
		return rootCgroup
	}
	w.name = w.name[:0]
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '\\' && i+3 < len(path) && path[i+1] == 'x' {
			if v, ok := procfile.ParseHex(path[i+2 : i+4]); ok {
				c = byte(v)
				i += 3
			}
		}
		w.name = appendVisible(w.name, c, false)
	}
	if hasHigh(w.name) && !pmda.ValidInstanceName(string(w.name)) { // Unicode control characters
		raw := bytes.Clone(w.name)
		w.name = w.name[:0]
		for _, c := range raw {
			w.name = appendVisible(w.name, c, true)
		}
	}
	return w.name
}

var rootCgroup = []byte("/")

const hexDigits = "0123456789abcdef"

// appendVisible appends a character. It escapes a character that is not visible. With high it also
// escapes characters outside ASCII.
func appendVisible(to []byte, c byte, high bool) []byte {
	if c <= ' ' || c == 0x7f || high && c > 0x7f {
		return append(to, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(to, c)
}

func hasHigh(name []byte) bool {
	for _, c := range name {
		if c > 0x7f {
			return true
		}
	}
	return false
}

// isOfContainer reports whether a group belongs to a container or is below one that does. Its path
// or the last component of the path must be the container's name, with or without the suffix of a
// systemd unit. The C agent compares only the start of the name, so that lxc/web has the groups of
// lxc/web2 too.
func isOfContainer(name []byte, container string) bool {
	container = strings.TrimPrefix(container, "/")
	last := name[bytes.LastIndexByte(name, '/')+1:]
	return beginsWith(name[1:], container) || beginsWith(last, container)
}

// beginsWith reports whether a path is that of group or of a group below it. The path may have the
// suffix of a systemd unit that group lacks.
func beginsWith(path []byte, group string) bool {
	rest, ok := bytes.CutPrefix(path, []byte(group))
	if !ok {
		return false
	}
	for _, kind := range []string{".scope", ".service", ".slice"} {
		if after, ok := bytes.CutPrefix(rest, []byte(kind)); ok {
			rest = after
			break
		}
	}
	return len(rest) == 0 || rest[0] == '/'
}
