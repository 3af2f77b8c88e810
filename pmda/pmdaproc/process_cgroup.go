package pmdaproc

import (
	"bytes"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A membership is the contents of the file cgroup of a process.
type membership struct {
	groups    string // for each line what follows the first colon, with semicolons between them
	container string // the ID of the container, empty if it is in none
	buf       []byte
}

var membershipKind = &kind[membership]{cgroupFile, clusters{11, 54}, func(t *table, p *process, to *membership) error {
	text, err := t.files.readKept(p.id, cgroupFile, "cgroup")
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return pdu.ErrValue
	}
	if p.files[cgroupFile].isNew(text) {
		to.parse(text)
	}
	return nil
}}

// parse parses the text of a file. A last line without a newline was cut short.
func (m *membership) parse(text []byte) {
	m.buf = m.buf[:0]
	var container []byte
	for line := range procfile.Lines(text) {
		_, group, ok := bytes.Cut(line, colon)
		if !ok {
			continue
		}
		if len(m.buf) > 0 {
			m.buf = append(m.buf, ';')
		}
		m.buf = append(m.buf, group...)
		if _, path, ok := bytes.Cut(group, colon); ok && container == nil {
			container = containerID(path)
		}
	}
	setString(&m.groups, m.buf)
	setString(&m.container, container)
}

// containerIDLength is the number of hexadecimal digits in the ID of a container.
const containerIDLength = 64

// containerID returns the ID of the container that has a control group. It is in the last component
// of the path: docker-ID.scope, libpod-ID.scope or the ID alone. It is nil for other paths.
func containerID(path []byte) []byte {
	name := path[bytes.LastIndexByte(path, '/')+1:]
	for _, prefix := range []string{"docker-", "libpod-"} {
		if rest, ok := bytes.CutPrefix(name, []byte(prefix)); ok {
			if len(rest) > containerIDLength && rest[containerIDLength] == '.' {
				return rest[:containerIDLength]
			}
			return nil
		}
	}
	if len(name) == containerIDLength {
		return name
	}
	return nil
}

// addCgroup adds the metrics of the file cgroup.
func (p *proc) addCgroup() {
	addRows(p, membershipKind,
		row[membership, string]{0, "psinfo.cgroups", pdu.SemInstant, 0, "Control groups of the process", func(m *membership) (string, error) { return m.groups, nil }},
		row[membership, string]{1, "id.container", pdu.SemDiscrete, 0, "ID of the container of the process, empty if it is in none",
			func(m *membership) (string, error) { return m.container, nil }})
}
