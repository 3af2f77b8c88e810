package pmda

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// Limits of a cache file.
const (
	maxCacheFile = 256 << 20 // bytes
	maxCacheLine = 1022      // bytes without the line end; the C library does not read longer lines
)

// Before it reads a file, read makes room for one entry per expectedLine bytes, up to maxExpected.
const (
	maxExpected  = 1 << 20
	expectedLine = 32
)

// expect makes room for n more entries.
func (t *cacheTable) expect(n int) {
	t.entries = slices.Grow(t.entries, n)
	if 2*(t.byName.n+n) > len(t.byName.cells) {
		t.byName.grow(t.byName.n + n)
	}
}

// read adds the entries of a file to the table, inactive. The format is that of the C
// library:
//
//	2 0 2147483647                version, whether IDs are used again, the highest ID
//	0 1795238727 sda              ID, when it was saved last, name
//	1 1795238727 [6b6579] sdb     the same with a key, in hexadecimal
//
// It returns the number of records that it has read, and the first error. It continues after an
// error in a record, because otherwise the IDs of all later records would be lost. It stops if the
// header is wrong.
func (t *cacheTable) read(path string) (n int, err error) {
	t.foreign = nil
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	} else if err == nil && info.Size() > maxCacheFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxCacheFile)
	}
	var in *os.File
	if err == nil {
		in, err = os.Open(path)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.foreign = err // it may be readable later
		}
		return 0, err
	}
	defer in.Close()
	t.expect(int(min(info.Size()/expectedLine, maxExpected)))
	if n, err = t.decode(io.LimitReader(in, maxCacheFile)); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if t.foreign != nil {
		t.foreign = err
	}
	return n, err
}

// decode reads the text of a file.
func (t *cacheTable) decode(text io.Reader) (n int, err error) {
	in := bufio.NewReaderSize(text, 1<<16)
	var first error
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return n, first
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			t.foreign = err
			return n, cmp.Or(first, err)
		}
		err = lineError(in, line, err)
		line = bytes.TrimSuffix(line, []byte("\n"))
		if number == 1 {
			if err == nil {
				err = t.header(string(line))
			}
			if err != nil {
				t.foreign = err
				return 0, fmt.Errorf("line 1: %w", err)
			}
			continue
		}
		if err == nil {
			err = t.record(line)
		}
		if _, ignored := err.(cacheConflict); err == nil || ignored {
			n++
		}
		if err != nil && first == nil {
			first = fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// lineError returns the error of a line that is too long or cut off. If the line does not fit into
// the buffer, lineError skips its rest.
func lineError(in *bufio.Reader, line []byte, err error) error {
	long := len(line) > maxCacheLine+1
	for err == bufio.ErrBufferFull {
		_, err = in.ReadSlice('\n')
	}
	switch {
	case long:
		return badRecord(fmt.Sprintf("it is too long: more than %d bytes", maxCacheLine))
	case err == io.EOF:
		return badRecord("it is cut off")
	}
	return nil
}

// A badRecord describes the error in a line of a cache file. Its code is pdu.ErrGeneric.
type badRecord string

func (e badRecord) Error() string { return string(e) }

func (e badRecord) Unwrap() error { return pdu.ErrGeneric }

// A cacheConflict is the error of a record that conflicts with an entry of the cache.
type cacheConflict struct {
	id    pdu.InstID
	name  string
	other cacheEntry
}

func (e cacheConflict) Error() string {
	return fmt.Sprintf("instance %d %.40q is ignored: there is %d %.40q", e.id, e.name, e.other.id, e.other.name)
}

// header parses the first line. Version 1 has no highest ID.
func (t *cacheTable) header(line string) error {
	bad := badRecord(fmt.Sprintf("%.40q is no header of a cache of instances", line))
	fields := strings.Fields(line)
	if len(fields) < 2 || fields[1] != "0" && fields[1] != "1" {
		return bad
	}
	switch {
	case fields[0] == "1" && len(fields) == 2:
	case fields[0] == "2" && len(fields) == 3:
		highest, err := strconv.ParseInt(fields[2], 10, 32)
		if err != nil || highest < 0 {
			return bad
		}
		t.limit = highest + 1
	default:
		return bad
	}
	t.reuse = fields[1] == "1"
	return nil
}

// record parses any other line.
func (t *cacheTable) record(line []byte) error {
	id, rest, ok1 := cutNumber(line, math.MaxInt32)
	stamp, rest, ok2 := cutNumber(rest, math.MaxInt64)
	var key []byte
	ok3 := true
	if len(rest) > 0 && rest[0] == '[' {
		key, rest, ok3 = cutKey(rest)
	}
	if !ok1 || !ok2 || !ok3 || len(rest) == 0 || bytes.IndexByte(rest, 0) >= 0 {
		return badRecord(fmt.Sprintf("%.40q is no record of an instance", line))
	}
	e := cacheEntry{id: pdu.InstID(id), name: string(rest), stamp: stamp, state: cacheInactive}
	if err := t.checkName(e.name); err != nil {
		return badRecord(fmt.Sprintf("%.40q: %v", line, err))
	}
	return t.loaded(e, string(key))
}

// cutNumber parses a number and the blanks around it.
func cutNumber(s []byte, highest int64) (n int64, rest []byte, ok bool) {
	s = trimBlanks(s)
	i := 0
	for ; i < len(s) && scan.IsDigit(s[i]); i++ {
		d := int64(s[i] - '0')
		if n > (highest-d)/10 {
			return 0, nil, false
		}
		n = 10*n + d
	}
	rest = trimBlanks(s[i:])
	return n, rest, i > 0 && len(rest) < len(s[i:]) // a blank must follow
}

// cutKey parses a key in brackets and the blanks after it.
func cutKey(s []byte) (key, rest []byte, ok bool) {
	digits, after, ok := bytes.Cut(s[1:], []byte("]"))
	if !ok {
		return nil, nil, false
	}
	key, err := hex.AppendDecode(nil, digits)
	rest = trimBlanks(after)
	return key, rest, err == nil && len(rest) < len(after)
}

func trimBlanks(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

// loaded adds an entry of a file, unless another entry has its name or ID. If the table already has
// the entry, loaded replaces its stamp and key, as in the C library.
func (t *cacheTable) loaded(e cacheEntry, key string) error {
	if slot, ok := t.findName(e.name); ok {
		other := &t.entries[slot]
		if has := t.keys[slot]; other.id != e.id || other.name != e.name || has != "" && key != "" && has != key {
			return cacheConflict{e.id, e.name, *other}
		}
		t.setKey(slot, key)
		other.stamp = e.stamp
		return nil
	}
	if slot, ok := t.lookupID(e.id); ok {
		return cacheConflict{e.id, e.name, t.entries[slot]}
	}
	changed, restamped := t.changed, t.restamped
	t.claim(e, key)
	t.changed, t.restamped = changed, restamped
	return nil
}

// save writes a file if entries were added or culled since the last time or, with stamps, if
// entries were added again. It returns the number of entries in the file. It does not hold the lock
// while it writes.
func (t *cacheTable) save(path string, stamps bool) (n int, err error) {
	text, n, err := t.unsaved(stamps)
	if n < 0 || err != nil {
		return 0, err
	}
	if path != "" {
		if err = writeCacheFile(path, text); err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.changed = true
			return 0, err
		}
	}
	return n, nil
}

// unsaved returns the text to write and its number of entries. n is negative if there is nothing to
// write.
func (t *cacheTable) unsaved(stamps bool) (text []byte, n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.foreign != nil {
		return nil, 0, fmt.Errorf("the file is left alone, since it could not be loaded: %w", t.foreign)
	}
	if !t.changed && !(stamps && t.restamped) {
		return nil, -1, nil
	}
	text, n = t.text(time.Now().Unix())
	return text, n, nil
}

// text returns the content of a file of the table, and its number of entries. Entries without a
// stamp get the stamp now. Entries that the format cannot hold are left out.
func (t *cacheTable) text(now int64) (text []byte, n int) {
	mode := 0
	if t.reuse {
		mode = 1
	}
	t.sort()
	text = fmt.Appendf(nil, "2 %d %d\n", mode, t.capacity()-1)
	for at := range t.entries {
		e := &t.entries[t.slotAt(at)]
		if e.state == cacheCulled {
			continue
		}
		if e.stamp == 0 {
			e.stamp = now
		}
		before := len(text)
		if text = e.append(text, t.keys[t.slotAt(at)]); len(text) > before {
			n++
		}
		if at == 0 {
			text = slices.Grow(text, len(t.entries)*(len(text)-before+4))
		}
	}
	t.changed, t.restamped = false, false
	return text, n
}

// append appends the line of an entry, unless reading the line would yield a different entry.
func (e *cacheEntry) append(text []byte, key string) []byte {
	before := len(text)
	text = strconv.AppendInt(text, int64(e.id), 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, e.stamp, 10)
	text = append(text, ' ')
	if key != "" {
		text = append(text, '[')
		text = hex.AppendEncode(text, []byte(key))
		text = append(text, "] "...)
	}
	text = append(text, e.name...)
	lost := " \t[\n\x00" // at the beginning of a name
	if key != "" {
		lost = " \t\n\x00"
	}
	if len(text)-before > maxCacheLine || e.name == "" || strings.IndexByte(lost, e.name[0]) >= 0 || strings.ContainsAny(e.name, "\n\x00") {
		return text[:before]
	}
	return append(text, '\n')
}

// writeCacheFile replaces a file in one step: a reader finds the old or the new text, even after a
// crash.
func writeCacheFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // of no effect once it is renamed
	_, err = tmp.Write(text)
	if err == nil {
		err = cmp.Or(tmp.Chmod(0o644), tmp.Sync())
	}
	if err = cmp.Or(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
