package pmdaproc

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A label has the names of a process.
type label struct {
	known  bool
	by     int    // the user with whose rights it was read
	name   string // of the instance
	psargs string // the command line

	comm  string // the kernel's name and the start time when it was read:
	start uint64 // if they differ, it is stale
}

// pidDigits is the minimum number of digits at the start of a name.
const pidDigits = 6

// maxName is the maximum length in bytes of an instance name with all arguments.
const maxName = 4095

// names returns the names of a process. They are read once, and again when noteComm finds that the
// process has executed another program.
func (t *table) names(p *process) *label {
	l := &p.label
	if l.known && (l.by == t.view.uid || !t.files.hides()) {
		return l
	}
	id := appendPID(make([]byte, 0, 16), p.id)
	args, known := t.commandLine(p, maxName-len(id)-1)
	l.psargs = string(args)
	first, _, _ := strings.Cut(l.psargs, " ")
	l.name = string(id) + " " + first
	l.known, l.by = known, t.view.uid
	return l
}

// noteComm records the kernel's name of a process and its start time.
func (l *label) noteComm(comm string, start uint64) {
	if l.start == start && l.comm == comm {
		return
	}
	l.known = false
	l.comm, l.start = comm, start
}

// appendPID appends an ID with at least pidDigits digits.
func appendPID(b []byte, id pid) []byte {
	for least := int64(100000); least > int64(id) && least > 1; least /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(id), 10)
}

// commandLine returns the command line of a process, at most most bytes of it. For a process
// without arguments it is the kernel's name in parentheses. It is not known if the process has
// ended.
func (t *table) commandLine(p *process, most int) (args []byte, known bool) {
	text, err := t.files.readHead(p.id, "cmdline", most)
	if err == nil && len(text) > 0 {
		return cleanArguments(bytes.TrimRight(text, "\x00")), true
	}
	text, err = t.files.readHead(p.id, "status", maxName)
	if err != nil {
		return []byte("<exiting>"), false
	}
	line, _, whole := procfile.CutLine(text)
	name, ok := bytes.CutPrefix(line, []byte("Name:"))
	if !ok || !whole {
		return []byte("<exiting>"), false
	}
	name = bytes.TrimLeft(name, "\t ")
	name = name[:min(len(name), most-2)]
	return cleanArguments(append(append([]byte("("), name...), ')')), true
}

const (
	escape = 0x1b
	bell   = 7
)

// cleanArguments removes terminal control sequences in place. It replaces all other control
// characters by blanks, including those of C1 in UTF-8.
func cleanArguments(b []byte) []byte {
	b = dropEscapes(b)
	for i, c := range b {
		switch {
		case c < ' ', c == 0x7f:
			b[i] = ' '
		case c == 0xc2 && i+1 < len(b) && b[i+1] >= 0x80 && b[i+1] < 0xa0:
			b[i], b[i+1] = ' ', ' '
		}
	}
	return b
}

// dropEscapes removes escape sequences in place.
func dropEscapes(b []byte) []byte {
	if bytes.IndexByte(b, escape) < 0 {
		return b
	}
	to := b[:0]
	for len(b) > 0 {
		if b[0] != escape {
			to, b = append(to, b[0]), b[1:]
			continue
		}
		b = b[escapeLength(b):]
	}
	return to
}

// escapeLength returns the length of an escape sequence in bytes. A sequence without an end extends
// to the end of the text.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[': // parameters, and a final byte
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
		}
		return len(b)
	case ']': // up to BEL, or escape and a backslash
		for i := 2; i < len(b); i++ {
			if b[i] == bell {
				return i + 1
			}
			if b[i] == escape && i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
		}
		return len(b)
	}
	return 2
}
