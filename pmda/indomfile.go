package pmda

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Limits of an instance file. The C library reads no longer lines.
const (
	maxInstanceFile = 64 << 20
	maxInstanceLine = 1023
)

// An instanceFile is the memory of SetNames on disk, in the format of the C
// library's cache of instances:
//
//	2 0 2147483647                version, whether IDs are used again, the highest ID
//	0 1795238727 sda              ID, when it was seen last, name
//	1 1795238727 [6b6579] sdb     the same with a key, which is kept as it is
type instanceFile struct {
	foreign bool // it is no instance file, or cannot be read, and is left alone
	reuse   bool
	max     pdu.InstID
	known   map[string]instanceRecord
}

type instanceRecord struct {
	id    pdu.InstID
	stamp int64 // seconds since 1970
	key   string
}

func newInstanceFile() *instanceFile {
	return &instanceFile{max: math.MaxInt32, known: map[string]instanceRecord{}}
}

// readInstances reads a file. With an error it returns what it could read.
func readInstances(path string) (*instanceFile, error) {
	f := newInstanceFile()
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	} else if err != nil {
		f.foreign = true // it may be readable another time
		return f, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxInstanceFile+1))
	if err == nil && len(text) > maxInstanceFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxInstanceFile)
	}
	if err != nil {
		f.foreign = true
		return f, err
	}
	if err := f.parse(string(text)); err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// parse reads the text of a file. Damaged records are left out; the error is that
// of the first.
func (f *instanceFile) parse(text string) error {
	var first error
	ids, n := map[pdu.InstID]bool{}, 0
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		if n++; n == 1 {
			if err := f.header(line); err != nil {
				f.foreign = true
				return err
			}
			continue
		}
		name, r, err := f.record(line)
		if err == nil && (!whole || len(line) > maxInstanceLine) {
			err = errors.New("it is cut off, or too long")
		}
		if _, twice := f.known[name]; err == nil && (twice || ids[r.id]) {
			err = fmt.Errorf("the ID %d or name %.40q has been there before", r.id, name)
		}
		if err != nil {
			first = cmp.Or(first, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		f.known[name], ids[r.id] = r, true
	}
	return first
}

// header reads the first line. Version 1 has no highest ID.
func (f *instanceFile) header(line string) error {
	fields := strings.Fields(line)
	bad := fmt.Errorf("%.40q is no header of an instance file", line)
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
		f.max = pdu.InstID(highest)
	default:
		return bad
	}
	f.reuse = fields[1] == "1"
	return nil
}

// record reads another line.
func (f *instanceFile) record(line string) (name string, r instanceRecord, err error) {
	id, rest, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
	stamp, rest, _ := strings.Cut(rest, " ")
	n, err1 := strconv.ParseInt(id, 10, 32)
	r.stamp, err = strconv.ParseInt(stamp, 10, 64)
	name = strings.TrimLeft(rest, " \t")
	if strings.HasPrefix(name, "[") {
		key, after, ok := strings.Cut(name, "] ")
		if ok && strings.Trim(key[1:], "0123456789abcdefABCDEF") == "" {
			r.key, name = key[1:], strings.TrimLeft(after, " \t")
		}
	}
	if err1 != nil || err != nil || n < 0 || r.stamp < 0 || name == "" || pdu.InstID(n) > f.max || strings.ContainsRune(name, 0) {
		return "", r, fmt.Errorf("%.40q is no record of an instance", line)
	}
	r.id = pdu.InstID(n)
	return name, r, nil
}

// write replaces a file in one step: a reader finds the old text or the new.
func (f *instanceFile) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // of no effect once it is renamed
	_, err = tmp.Write(f.text())
	if err = cmp.Or(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// text is what the file has.
func (f *instanceFile) text() []byte {
	var b bytes.Buffer
	mode := 0
	if f.reuse {
		mode = 1
	}
	fmt.Fprintf(&b, "2 %d %d\n", mode, f.max)
	names := slices.SortedFunc(maps.Keys(f.known), func(a, b string) int { return cmp.Compare(f.known[a].id, f.known[b].id) })
	for _, name := range names {
		r := f.known[name]
		fmt.Fprintf(&b, "%d %d ", r.id, r.stamp)
		if r.key != "" {
			fmt.Fprintf(&b, "[%s] ", r.key)
		}
		b.WriteString(name)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// keepable reports whether a name comes back from a file as it was.
func keepable(name string) bool {
	return len(name) <= maxInstanceLine-64 && !strings.ContainsAny(name, "\n\x00") && strings.TrimLeft(name, " \t[") == name
}

// load adds the IDs of the file to the memory of SetNames.
func (d *InDom) load() {
	f, err := readInstances(d.File)
	d.file = f
	d.logFileError(err, "instance file cannot be read")
	byID := map[pdu.InstID]string{}
	for name, id := range d.ids {
		byID[id] = name
	}
	for name, r := range f.known {
		if other, ok := byID[r.id]; ok && other != name {
			delete(f.known, name) // the ID is another's now, in the file too
		} else if _, ok := d.ids[name]; !ok {
			d.ids[name] = r.id
			d.next = max(d.next, int64(r.id)+1)
		}
	}
}

// save writes the memory of SetNames. Names are those that there are now.
func (d *InDom) save(names []string) {
	f, now := d.file, time.Now().Unix()
	for name, id := range d.ids {
		if r, ok := f.known[name]; keepable(name) && (!ok || r.id != id) {
			f.known[name] = instanceRecord{id: id, stamp: now}
		}
	}
	for _, name := range names {
		if r, ok := f.known[name]; ok {
			r.stamp = now
			f.known[name] = r
		}
	}
	if !f.foreign {
		d.logFileError(f.write(d.File), "instance file cannot be written")
	}
}

// logFileError logs what is wrong with the file.
func (d *InDom) logFileError(err error, msg string) {
	if home := d.home.Load(); home != nil && err != nil && d.fileLog.isNew(home.agent, err.Error()) {
		home.agent.warn(err, msg, slog.String("indom", d.Name))
	}
}

// freeIDs chooses IDs for new names.
type freeIDs struct {
	d     *InDom
	above int64 // the ID after the highest in use
	low   int64 // all below are in use
	used  map[int64]bool
}

// next returns an ID: the one after the highest, or the lowest free one if the
// file says so, or there is none after the highest.
func (f *freeIDs) next() (pdu.InstID, error) {
	highest, reuse := int64(math.MaxInt32), false
	if f.d.file != nil {
		highest, reuse = int64(f.d.file.max), f.d.file.reuse
	}
	if !reuse && f.above <= highest {
		f.above++
		return pdu.InstID(f.above - 1), nil
	}
	for f.collectUsed(); f.low <= highest; f.low++ {
		if !f.used[f.low] {
			f.low++
			f.above = max(f.above, f.low)
			return pdu.InstID(f.low - 1), nil
		}
	}
	return 0, errors.New("no IDs are left for new instances")
}

// collectUsed finds out which IDs are in use.
func (f *freeIDs) collectUsed() {
	if f.used != nil {
		return
	}
	f.used = map[int64]bool{}
	for _, id := range f.d.ids {
		f.used[int64(id)] = true
	}
	for id := f.d.next; id < f.above; id++ {
		f.used[id] = true // chosen just now
	}
}
