package send

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/filesys"
)

// MaxMessage is the length of a message, before compression, above which it is not sent; nor is a
// file that is longer read.
const MaxMessage = 64 << 20

// A directory keeps messages, a file for each, whose numbers are their order. A file gets its name
// once it is complete:
//
//	0  the text "PCPSEND1"
//	8  uint32 CRC-32C of all that follows
//	12 uint32 points
//	16 uint8 length of what follows before the body: the encoding, and a space and the type if
//	   there is one
//
// in little-endian order. The file "lock" has the name of the protocol. A file that is damaged, as
// by a crash of the computer, is found out when it is read.
type directory struct {
	path string
	lock *os.File
	last uint64 // the number of the last file
}

const (
	fileMagic  = "PCPSEND1"
	fileHeader = 17
	fileSuffix = ".message"
	unfinished = "unfinished"
	maxPoints  = 1<<31 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errLocked is the error for a directory that another sender has.
var errLocked = errors.New("another program sends from this directory")

// openDirectory opens a directory, which is made if it is not there, and returns what waits in it,
// oldest first.
func openDirectory(path, protocol string) (d *directory, waiting []Message, err error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, nil, err
	}
	d = &directory{path: path}
	if d.lock, err = filesys.OpenRegular(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, nil, err
	}
	if err := filesys.Lock(d.lock, errLocked); err != nil {
		d.lock.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if err = d.claim(protocol); err == nil {
		waiting, err = d.list()
	}
	if err != nil {
		d.close()
		return nil, nil, err
	}
	return d, waiting, nil
}

// claim makes the directory one of a protocol, if it is not that of another.
func (d *directory) claim(protocol string) error {
	b, err := io.ReadAll(io.LimitReader(d.lock, 64))
	if err != nil {
		return err
	}
	if len(b) > 0 && string(b) != protocol {
		return fmt.Errorf("%s has messages of %q", d.path, b)
	}
	_, err = d.lock.WriteAt([]byte(protocol), 0)
	return err
}

func (d *directory) close() { d.lock.Close() }

// list finds the messages that wait. One whose beginning cannot be read counts as one without
// points.
func (d *directory) list() ([]Message, error) {
	if err := os.Remove(filepath.Join(d.path, unfinished)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	files, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var waiting []Message
	for _, f := range files {
		text, ok := strings.CutSuffix(f.Name(), fileSuffix)
		n, err := strconv.ParseUint(text, 10, 64)
		info, statErr := f.Info()
		if !ok || err != nil || n == 0 || d.name(n) != filepath.Join(d.path, f.Name()) || statErr != nil || !info.Mode().IsRegular() {
			continue
		}
		waiting = append(waiting, Message{Points: d.points(n), file: n, size: int(min(info.Size(), MaxMessage))})
		d.last = max(d.last, n)
	}
	slices.SortFunc(waiting, func(a, b Message) int { return cmp.Compare(a.file, b.file) })
	return waiting, nil
}

func (d *directory) name(n uint64) string {
	return filepath.Join(d.path, fmt.Sprintf("%020d%s", n, fileSuffix))
}

// points reads how many points a file says that it has.
func (d *directory) points(n uint64) int {
	f, err := filesys.OpenRegular(d.name(n), os.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	var b [fileHeader]byte
	if _, err := io.ReadFull(f, b[:]); err != nil || string(b[:8]) != fileMagic {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b[12:]) & maxPoints)
}

// write writes a message to a new file.
func (d *directory) write(m Message) (n uint64, err error) {
	b := appendFile(nil, m)
	path := filepath.Join(d.path, unfinished)
	if err := filesys.WriteNew(path, b, 0o600); err != nil {
		os.Remove(path)
		return 0, err
	}
	d.last++
	if err := os.Rename(path, d.name(d.last)); err != nil {
		return 0, err
	}
	return d.last, nil
}

// read reads a message and checks that it is intact.
func (d *directory) read(n uint64) (Message, error) {
	f, err := filesys.OpenRegular(d.name(n), os.O_RDONLY, 0)
	if err != nil {
		return Message{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxMessage+1<<10))
	if err != nil {
		return Message{}, err
	}
	m, err := parseFile(b)
	if err != nil {
		return Message{}, fmt.Errorf("%s: %w", d.name(n), err)
	}
	return m, nil
}

func (d *directory) remove(n uint64) error { return os.Remove(d.name(n)) }

// appendFile appends the contents of a file.
func appendFile(b []byte, m Message) []byte {
	b = append(b, fileMagic+"\x00\x00\x00\x00"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Points))
	kind := m.Encoding
	if m.Type != "" {
		kind += " " + m.Type
	}
	b = append(b, byte(len(kind)))
	b = append(append(b, kind...), m.Body...)
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli))
	return b
}

// parseFile parses the contents of a file. The message shares its memory.
func parseFile(b []byte) (Message, error) {
	if len(b) < fileHeader || string(b[:8]) != fileMagic {
		return Message{}, errors.New("no message")
	}
	if binary.LittleEndian.Uint32(b[8:]) != crc32.Checksum(b[12:], castagnoli) {
		return Message{}, errors.New("the message is damaged")
	}
	points := binary.LittleEndian.Uint32(b[12:])
	length, rest := int(b[16]), b[fileHeader:]
	if len(rest) < length || points > maxPoints {
		return Message{}, errors.New("the message is malformed")
	}
	encoding, kind, typed := strings.Cut(string(rest[:length]), " ")
	if typed && kind == "" {
		return Message{}, errors.New("the message is malformed")
	}
	return Message{Body: rest[length:], Encoding: encoding, Type: kind, Points: int(points)}, nil
}
