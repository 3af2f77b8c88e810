package logcheck

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// A framing checks the records of one file: that they are complete, and that they begin and end
// with their length.
type framing struct {
	*checker
	path   string
	volume int
	in     *bufio.Reader
	number int   // of the record
	offset int64 // where it begins
	body   int   // how many of its bytes are in head
	head   [labelHead]byte
	broken bool // the line about the file has been ended
}

// The words of a label after its length: magic and version, and others that the check ignores.
const (
	labelHead  = 4
	labelMagic = 0x50052600
	wordLen    = 4
	readAhead  = 256 << 10 // bytes
)

// checkFiles is pass 0. It checks each file separately.
func (k *checker) checkFiles(ctx context.Context) (fatal bool) {
	meta, volumes := false, false
	for _, path := range k.paths {
		if !k.checkFile(ctx, path) {
			fatal = true
		}
		_, part, _ := baseName(path)
		meta = meta || part == "meta"
		volumes = volumes || part != "meta" && part != "index"
	}
	name := k.base
	if filepath.Base(name) == name {
		name = "./" + name
	}
	if !meta {
		k.printf("%s.meta: missing metadata file\n", name)
		fatal = true
	}
	if !volumes {
		k.printf("%s.0 (or similar): missing log file \n", name)
		fatal = true
	}
	return fatal
}

// checkFile checks a file and reports whether it is valid.
func (k *checker) checkFile(ctx context.Context, path string) bool {
	c := &framing{checker: k, path: terminal.EscapeName(path)}
	f, err := archive.Options{AnyFeature: true}.OpenFile(ctx, path)
	size := int64(0)
	if err == nil {
		k.opened = append(k.opened, f)
		size, err = f.Size()
	}
	if err != nil {
		c.printf("%s: cannot open file: %s\n", c.path, openError(err))
		return false
	}
	k.trace("%s: start pass0 ... ", c.path)
	c.volume = f.Volume()
	c.in = bufio.NewReaderSize(io.NewSectionReader(f, 0, size), readAhead)
	if !c.checkRecords() {
		return false
	}
	if c.number < 2 {
		c.found("%s: contains no PCP data\n", c.path)
	}
	if c.number > 0 {
		k.trace("found %d records\n", c.number)
	}
	return true
}

// openError returns the text of an error. Errors of PCP have the text of strerror(3).
func openError(err error) string {
	code := pdu.FromError(err)
	if code > pdu.ErrGeneric {
		return code.Error()
	}
	return "Unknown error " + strings.TrimPrefix(itoa(int64(code)), "-")
}

// found reports a fault of a file on a separate line.
func (c *framing) found(format string, args ...any) {
	if !c.broken {
		c.broken = true
		c.trace("\n")
	}
	c.printf(format, args...)
}

// checkRecords checks all records and reports whether they are valid.
func (c *framing) checkRecords() bool {
	version, sound := 0, true
	for {
		var more, ok bool
		if c.number > 0 && c.volume == archive.VolumeIndex {
			more, ok = c.checkEntry(version)
		} else {
			more, ok = c.checkRecord()
		}
		if !ok {
			if c.number > 0 && c.volume != archive.VolumeIndex {
				c.printf("%s: last valid record ends at offset %d\n", c.path, c.offset)
			}
			return false
		}
		if !more {
			return sound
		}
		switch {
		case c.number == 0:
			version, sound = c.checkLabel()
		case c.volume == archive.VolumeMeta:
			c.checkType(version)
		}
		c.number++
	}
}

// checkEntry checks that an entry of an index is complete.
func (c *framing) checkEntry(version int) (more, ok bool) {
	n := 20
	if version > 2 {
		n = 32
	}
	got, err := c.in.Discard(n)
	if err == nil {
		return true, true
	}
	if got > 0 {
		c.found("%s[record %d]: unexpected EOF in index entry, wanted %d, got %d bytes\n", c.path, c.number, n, got)
	}
	return false, got == 0
}

// checkRecord checks a record with its length before and after it.
func (c *framing) checkRecord() (more, ok bool) {
	head, got := c.word()
	switch {
	case got == 0:
		return false, true
	case got < wordLen:
		c.found("%s[record %d]: unexpected EOF in record header, wanted %d, got %d bytes\n", c.path, c.number, wordLen, got)
		return false, false
	case head < 2*wordLen:
		c.foundLength("header", int32(head))
		return false, false
	}
	// A negative length is not below the minimum, because the check is unsigned. Such a record has
	// no body to skip.
	body := max(int(int32(head))-2*wordLen, 0)
	c.body, _ = io.ReadFull(c.in, c.head[:min(body, labelHead)])
	rest, _ := c.in.Discard(body - min(body, labelHead))
	if got := c.body + rest; got < body {
		c.foundEOF("body", body, got)
		return false, false
	}
	tail, got := c.word()
	switch {
	case got < wordLen:
		c.foundEOF("trailer", wordLen, got)
		return false, false
	case tail < 2*wordLen:
		c.foundLength("trailer", int32(tail))
		return false, false
	case tail != head && c.number == 0:
		c.found("%s: label record length mismatch: header %d != trailer %d\n", c.path, int32(head), int32(tail))
		return false, false
	case tail != head:
		c.found("%s[record %d]: length mismatch: header %d != trailer %d\n", c.path, c.number, int32(head), int32(tail))
		return false, false
	}
	c.offset += int64(body) + 2*wordLen
	return true, true
}

// word reads a word, or fewer bytes at the end of the file.
func (c *framing) word() (word uint32, got int) {
	var b [wordLen]byte
	got, _ = io.ReadFull(c.in, b[:])
	return binary.BigEndian.Uint32(b[:]), got
}

func (c *framing) foundLength(which string, length int32) {
	if c.number == 0 {
		c.found("%s: illegal %s record length (%d) in label record\n", c.path, which, length)
	} else {
		c.found("%s[record %d]: illegal %s record length (%d)\n", c.path, c.number, which, length)
	}
}

func (c *framing) foundEOF(which string, want, got int) {
	if c.number == 0 {
		c.found("%s: unexpected EOF in label record %s, wanted %d, got %d bytes\n", c.path, which, want, got)
	} else {
		c.found("%s[record %d]: unexpected EOF in record %s, wanted %d, got %d bytes\n", c.path, c.number, which, want, got)
	}
}

// checkLabel checks the magic number and the version of the label. It returns the version that the
// rest of the file must have, 0 if the label is invalid.
func (c *framing) checkLabel() (version int, ok bool) {
	word := binary.BigEndian.Uint32(c.head[:])
	if magic := word &^ 0xff; magic != labelMagic {
		c.printf("%s: bad label magic number: 0x%x not 0x%x as expected\n", c.path, magic, labelMagic)
	}
	version = int(word & 0xff)
	length, known := labelLens[version]
	if !known {
		c.printf("%s: bad label version: %d not 2 or 3 as expected\n", c.path, version)
	}
	if c.offset != length {
		c.printf("%s: cannot load label record: %v\n", c.path, pdu.ErrLabel)
		return 0, false
	}
	if c.version == 0 {
		c.version, c.from = version, c.path
	}
	if version != c.version { // PCP's tool prints the same version twice
		c.printf("%s: mismatched label version: %d not %d as expected from %s\n", c.path, version, version, c.from)
		return c.version, false
	}
	return version, true
}

// labelLens are the lengths of labels by version.
var labelLens = map[int]int64{2: 132, 3: 808}

// typeNames are the types of metadata records that only one version of the archive has.
var typeNames = map[int32]struct {
	version int
	name    string
}{
	2: {2, "INDOM_V2"},
	3: {2, "LABEL_V2"},
	5: {3, "INDOM"},
	6: {3, "INDOM_DELTA"},
	7: {3, "LABEL"},
}

// checkType checks that the version of the archive has this type of metadata record.
func (c *framing) checkType(version int) {
	typ := int32(binary.BigEndian.Uint32(c.head[:]))
	if t, ok := typeNames[typ]; ok && c.body == labelHead && t.version != version && version != 0 {
		c.found("%s[record %d]: unexpected record type %s (%d) for V%d archive\n", c.path, c.number, t.name, typ, version)
	}
}
