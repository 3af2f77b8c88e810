package procfile

import "bytes"

// A Mount is a line of /proc/mounts.
type Mount struct {
	Device, Dir []byte // escaped: see Unescape
	Kind        []byte // of the file system
	Options     []byte // separated by commas
}

// ParseMount parses a line such as "/dev/sda1 /boot ext4 rw,relatime 0 0". A line that begins
// with a blank has an empty device. It is not ok if fields are missing.
func ParseMount(line []byte) (m Mount, ok bool) {
	if len(line) > 0 && !isBlank(line[0]) {
		m.Device, line = CutField(line)
	}
	m.Dir, line = CutField(line)
	m.Kind, line = CutField(line)
	m.Options, line = CutField(line)
	var numbers [2]uint64
	_, ok = CutUints(line, numbers[:])
	return m, ok && len(m.Dir) > 0
}

// Unescape returns a path that the kernel writes with \040 for a blank, and other characters
// likewise.
func Unescape(path []byte) string {
	if bytes.IndexByte(path, '\\') < 0 {
		return string(path)
	}
	to := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c, ok := parseEscape(path[i:])
		if ok {
			i += len(`\040`) - 1
		} else {
			c = path[i]
		}
		to = append(to, c)
	}
	return string(to)
}

// parseEscape parses a character such as \040. Paths have no NUL.
func parseEscape(s []byte) (c byte, ok bool) {
	if len(s) < len(`\040`) || s[0] != '\\' || s[1] < '0' || s[1] > '3' {
		return 0, false
	}
	for _, d := range s[1:4] {
		if d < '0' || d > '7' {
			return 0, false
		}
		c = c<<3 | (d - '0')
	}
	return c, c != 0
}
