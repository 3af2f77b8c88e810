package helptext

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

const (
	magic     = 0x50635068 // "PcPh"
	directory = 0x3132     // "12", the upper half of a word: a directory of version 2
	pagHeader = "PcPh22\n"
	recordLen = 12
	inDomBit  = 1 << 31
	orderMask = 1<<22 - 1 // the bits of a key by which entries are sorted
)

// MaxFile is how long a compiled file may be for Read.
const MaxFile = 16 << 20

// A FormatError reports malformed compiled files. It unwraps to the errno EINVAL, which the C
// library's pmdaOpenHelp(3) returns.
type FormatError struct {
	Entry int    // which one it is, from 0; -1 if it is the header
	Msg   string // what is wrong
}

// Error returns the problem and the entry that has it.
func (e *FormatError) Error() string {
	if e.Entry < 0 {
		return e.Msg
	}
	return fmt.Sprintf("entry %d: %s", e.Entry, e.Msg)
}

// Unwrap returns EINVAL.
func (e *FormatError) Unwrap() error { return pdu.ErrInvalid }

// badHeader has the words of the C library.
var badHeader = &FormatError{-1, "Bad format, not version 2 PCP help text"}

// Compile makes the compiled files of entries, byte for byte those of newhelp(1) on this
// machine. Errors: a key or a text with a NUL, which they cannot hold, texts of 4 GB and
// more.
func Compile(entries []Entry) (dir, pag []byte, err error) {
	type record struct{ key, oneLine, help uint32 }
	records := make([]record, len(entries))
	pag = []byte(pagHeader)
	for i, e := range entries {
		if strings.ContainsRune(e.Key+e.OneLine+e.Help, 0) {
			return nil, nil, &FormatError{i, fmt.Sprintf("%q has a NUL", e.Key)}
		}
		r := &records[i]
		r.key = fileKey(e.Of)
		pag = append(append(append(pag, "\n@ "...), e.Key...), ' ')
		r.oneLine = uint32(len(pag))
		pag = append(append(pag, e.OneLine...), 0)
		r.help = uint32(len(pag))
		pag = append(append(pag, e.Help...), 0)
		if uint64(len(pag)) > math.MaxUint32 {
			return nil, nil, &FormatError{i, "the texts are too long"}
		}
	}
	slices.SortStableFunc(records, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.key&inDomBit, b.key&inDomBit), cmp.Compare(a.key&orderMask, b.key&orderMask))
	})
	native := binary.NativeEndian
	for _, word := range []uint32{magic, directory << 16, uint32(len(entries))} {
		dir = native.AppendUint32(dir, word)
	}
	for _, r := range records {
		dir = native.AppendUint32(dir, r.key)
		dir = native.AppendUint32(dir, r.oneLine)
		dir = native.AppendUint32(dir, r.help)
	}
	return dir, pag, nil
}

// fileKey is the key of an entry in a directory.
func fileKey(of pdu.TextTarget) uint32 {
	if d, ok := of.InDom(); ok {
		return uint32(d) | inDomBit
	}
	m, _ := of.PMID()
	return uint32(m)
}

// Decode reads compiled files, of either byte order. The entries have the order of the directory.
// The texts share no memory with dir and pag. The error is a *FormatError: a malformed header, a
// directory that lacks entries, a text that is not in the file, or texts that overlap, which
// together might be far longer than the file.
func Decode(dir, pag []byte) ([]Entry, error) {
	if len(dir) < recordLen || !bytes.HasPrefix(pag, []byte(pagHeader)) {
		return nil, badHeader
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(dir) != magic {
		order = binary.BigEndian
	}
	if order.Uint32(dir) != magic || order.Uint32(dir[4:])>>16 != directory {
		return nil, badHeader
	}
	n := order.Uint32(dir[8:])
	if got := len(dir)/recordLen - 1; uint64(n) > uint64(got) {
		return nil, &FormatError{got, fmt.Sprintf("the directory ends, it should have %d entries", n)}
	}
	entries := make([]Entry, n)
	texts := string(pag)
	left := len(texts) // as many bytes may the texts have that follow
	for i := range entries {
		record := dir[recordLen*(i+1):]
		var text [2]string
		for j := range text {
			at := order.Uint32(record[4+4*j:])
			if uint64(at) >= uint64(len(texts)) {
				return nil, &FormatError{i, fmt.Sprintf("a text begins at %d, behind the end of the file", at)}
			}
			within := texts[at:min(len(texts), int(at)+left)]
			end := strings.IndexByte(within, 0)
			if end < 0 {
				return nil, &FormatError{i, fmt.Sprintf("the text at %d has no end, or is part of others", at)}
			}
			text[j] = within[:end]
			left -= end + 1
		}
		entries[i] = Entry{Of: fileTarget(order.Uint32(record)), OneLine: text[0], Help: text[1]}
	}
	return entries, nil
}

// fileTarget inverts fileKey.
func fileTarget(key uint32) pdu.TextTarget {
	if key&inDomBit != 0 {
		return pdu.TextOfInDom(pdu.InDom(key &^ inDomBit))
	}
	return pdu.TextOfMetric(pdu.PMID(key))
}

// Read reads the compiled files NAME.dir and NAME.pag of a directory. Errors: those of
// the file system, such as fs.ErrNotExist, and *FormatError. The counterpart of
// pmdaOpenHelp(3).
func Read(fsys fs.FS, name string) ([]Entry, error) {
	var files [2][]byte
	for i, suffix := range []string{".dir", ".pag"} {
		b, err := readFile(fsys, name+suffix, badHeader)
		if err != nil {
			return nil, err
		}
		files[i] = b
	}
	return Decode(files[0], files[1])
}

// ReadSource reads a source. Errors: those of the file system, and *FormatError for what
// is no regular file, or is longer than MaxFile.
func ReadSource(fsys fs.FS, name string) ([]byte, error) {
	return readFile(fsys, name, &FormatError{-1, name + " is no regular file"})
}

// readFile reads a file that is not too long.
func readFile(fsys fs.FS, name string, notRegular *FormatError) ([]byte, error) {
	if st, err := fs.Stat(fsys, name); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() { // to open a pipe would wait for a writer
		return nil, notRegular
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if len(b) > MaxFile {
		return nil, &FormatError{-1, fmt.Sprintf("%s has more than %d bytes", name, MaxFile)}
	}
	return b, err
}

// Index maps texts by the metric or instance domain that they describe. If there are several texts
// of a metric, the first counts, and of an instance domain the last, as with pmdaGetHelp(3) and
// pmdaGetInDomHelp(3).
func Index(entries []Entry) map[pdu.TextTarget]Entry {
	index := make(map[pdu.TextTarget]Entry, len(entries))
	for _, e := range entries {
		_, twice := index[e.Of]
		if _, isInDom := e.Of.InDom(); isInDom || !twice {
			index[e.Of] = e
		}
	}
	return index
}
