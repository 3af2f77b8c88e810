package pcptest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Dir is the direction of a PDU in a capture; its value is the character that starts the PDU's
// line.
type Dir byte

const (
	// ToServer marks a PDU from the side that asked for the connection: a client to its collector,
	// a collector to its agent.
	ToServer Dir = '>'
	// ToClient marks a PDU of the answering side.
	ToClient Dir = '<'
)

func (d Dir) String() string { return string(rune(d)) }

// PDU is one protocol data unit of a capture.
type PDU struct {
	Section string // title of the connection that it belongs to, "" before the first title
	Note    string // comment above it, lines separated by newlines, without the "# "
	Dir     Dir
	Bytes   []byte // the whole PDU, with its 12-byte header
}

// Type returns the type word of the header (0x7000 is an ERROR), or 0 when the PDU is too short to
// have one.
func (p PDU) Type() uint32 {
	if len(p.Bytes) < 8 {
		return 0
	}
	return binary.BigEndian.Uint32(p.Bytes[4:])
}

// ReadCapture reads a capture file. See the package comment for the format.
func ReadCapture(path string) ([]PDU, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseCapture(f, path)
}

// ReadCaptureFS is ReadCapture for a file of fsys.
func ReadCaptureFS(fsys fs.FS, name string) ([]PDU, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseCapture(f, name)
}

// ParseCapture reads a capture from r. Errors start with name and the line number. A PDU whose
// length word differs from the bytes given is an error: a capture holds whole PDUs as they were on
// the wire.
func ParseCapture(r io.Reader, name string) ([]PDU, error) {
	var pdus []PDU
	var section string
	var notes []string
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 64<<20) // a line is one PDU and PDUs of servers have no limit
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		switch {
		case strings.TrimSpace(line) == "":
			notes = nil // a remark on the file, not on the next PDU
		case line[0] == '#':
			notes = append(notes, strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "))
		case strings.HasPrefix(line, "== "):
			section, notes = line[3:], nil
		case line[0] == byte(ToServer), line[0] == byte(ToClient):
			b, err := parsePDU(line[1:])
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			pdus = append(pdus, PDU{Section: section, Note: strings.Join(notes, "\n"), Dir: Dir(line[0]), Bytes: b})
			notes = nil
		default:
			return nil, fmt.Errorf("%s:%d: want a line that starts with \">\", \"<\", \"#\" or \"== \", got %.20q", name, n, line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return pdus, nil
}

func parsePDU(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return nil, err
	}
	if len(b) < headerLen {
		return nil, fmt.Errorf("a PDU of %d bytes is shorter than its %d-byte header", len(b), headerLen)
	}
	if n := binary.BigEndian.Uint32(b); int64(n) != int64(len(b)) {
		return nil, fmt.Errorf("the PDU's length word says %d bytes, the line has %d", n, len(b))
	}
	return b, nil
}

// WriteCapture writes pdus in the format that ParseCapture reads.
func WriteCapture(w io.Writer, pdus []PDU) error {
	var b bytes.Buffer
	section := ""
	for _, p := range pdus {
		if p.Section != section {
			fmt.Fprintf(&b, "\n== %s\n", p.Section)
			section = p.Section
		}
		if p.Note != "" {
			for l := range strings.SplitSeq(p.Note, "\n") {
				fmt.Fprintf(&b, "# %s\n", l)
			}
		}
		writePDU(&b, p.Dir, p.Bytes)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writePDU writes one line, four bytes a word.
func writePDU(b *bytes.Buffer, d Dir, p []byte) {
	b.WriteByte(byte(d))
	for len(p) > 0 {
		n := min(4, len(p))
		fmt.Fprintf(b, " %x", p[:n])
		p = p[n:]
	}
	b.WriteByte('\n')
}
