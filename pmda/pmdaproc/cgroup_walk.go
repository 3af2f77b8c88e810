package pmdaproc

import (
	"bytes"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A cgroupWalk goes through the directories of a hierarchy of control groups. Its memory is used
// again by the next.
type cgroupWalk struct {
	path  []byte // of the directory where it is
	names []byte // of directories that it will come to, each with a NUL
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

// A cgroupTree is the directories of a hierarchy, as a request has found them: all instance domains
// that it needs have the same groups, and the hierarchy is read once.
type cgroupTree struct {
	root  string
	walk  cgroupWalk
	paths []byte // below the root, each with a NUL; that of the root is empty
}

// cgroupTrees are those that no request needs, whose memory is used again.
type cgroupTrees struct {
	mu   sync.Mutex
	free []*cgroupTree
}

// maxFreeTrees is how many there are at most: a request needs one for each hierarchy.
const maxFreeTrees = 16

// of is the hierarchy below a directory, for a request. There are no groups if that cannot be read.
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

// release gives back what a request has found.
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

// run calls visit for a directory and those below it, whose path it finds in w.path. Links are not
// followed; a directory that goes meanwhile is left out. It is false if the first cannot be read.
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

// add adds a directory to those that the walk will come to.
func (w *cgroupWalk) add(name []byte) {
	if name[0] != '.' && w.found < maxCgroups {
		w.found++
		w.names = append(append(w.names, name...), 0)
	}
}

// cgroupName is the name of a group by its path below the mount point: what systemd has escaped,
// such as \x2d for a hyphen, stands for itself. What would not be seen as a part of a name stays or
// becomes escaped: spaces and control characters. It is valid until the next.
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
	if hasHigh(w.name) && !pmda.ValidInstanceName(string(w.name)) { // it has control characters of Unicode
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

// appendVisible appends a character, escaped if it is no visible one, or if high is set and it is
// none of ASCII.
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

// isOfContainer reports whether a group is that of a container, or below it: its path or the last
// component of that is the container's name for it, with what systemd calls its kind of unit, or
// without. In C any that begin so are, and lxc/web has those of lxc/web2 too.
func isOfContainer(name []byte, container string) bool {
	container = strings.TrimPrefix(container, "/")
	last := name[bytes.LastIndexByte(name, '/')+1:]
	return beginsWith(name[1:], container) || beginsWith(last, container)
}

// beginsWith reports whether the path of a group begins with that of another, or with a name
// without its ".scope".
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
