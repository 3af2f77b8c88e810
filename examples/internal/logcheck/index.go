package logcheck

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/archive"
)

// An entry is an entry of the index as the file has it. Its time may be invalid.
type entry struct {
	number     int
	sec, nsec  int64
	volume     int32
	meta, data int64
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// decodeEntry decodes an entry.
func decodeEntry(b []byte, version, number int) entry {
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	if version == 2 {
		return entry{number, int64(int32(word(0))), int64(int32(word(4))) * 1000, int32(word(8)), int64(word(12)), int64(word(16))}
	}
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	return entry{number, int64(int32(word(4)))<<32 | int64(word(0)), int64(int32(word(8))), int32(word(12)), long(16), long(24)}
}

// before reports whether the time of e is before another time. The nanoseconds of both may exceed a
// second.
func (e *entry) before(sec, nsec int64) bool {
	return float64(e.sec-sec)+float64(e.nsec-nsec)/1e9 < 0
}

// checkIndex is pass 1. It checks that the index leads to records.
func (k *checker) checkIndex() {
	k.trace("%s: start pass1 (check temporal index)\n", k.base)
	f, err := k.arch.File(archive.VolumeIndex)
	if err != nil {
		k.printf("%s: warning temporal index is missing\n", k.base)
		return
	}
	var last *entry
	var volume *archive.File
	for r, err := range f.Records() {
		if err != nil {
			return // pass 0 has reported it
		}
		if r.Kind != archive.KindIndex {
			continue
		}
		e := decodeEntry(r.Raw, k.label.Version, r.Number)
		if last == nil || last.volume != e.volume {
			volume = k.findVolume(&e)
		}
		k.checkEntry(&e, last, volume)
		last = &e
	}
}

// findVolume returns the volume of an entry, nil if the volume is missing.
func (k *checker) findVolume(e *entry) *archive.File {
	if e.volume < 0 {
		return nil
	}
	f, err := k.arch.File(int(e.volume))
	if err != nil {
		k.badIndex = true
		k.printf("%s.%d: file missing for log volume %d\n", k.base, e.volume, e.volume)
		return nil
	}
	return f
}

// checkEntry checks an entry against the entry before it, last.
func (k *checker) checkEntry(e, last *entry, volume *archive.File) {
	found := func(format string, args ...any) {
		k.badIndex = true
		k.printf("%s.index[entry %d]: ", k.base, e.number)
		k.printf(format, args...)
		k.errs.WriteByte('\n')
	}
	if e.volume < 0 {
		found("illegal negative volume number %d", e.volume)
	}
	switch {
	case e.sec < 0 || e.nsec < 0:
		found("illegal negative timestamp value (%d sec, %d nsec)", e.sec, e.nsec)
	case e.nsec >= int64(time.Second):
		found("illegal timestamp nsec value (%d sec, %d nsec)", e.sec, e.nsec)
	}
	checkOffset := func(f *archive.File, what string, offset int64) {
		if offset >= 0 && offset < k.label.Len() {
			found("offset to %s (%d) before end of label record (%d)", what, offset, k.label.Len())
		} else if size, err := f.Size(); err == nil && offset > size {
			found("offset to %s (%d) past end of file (%d)", what, offset, size)
		}
	}
	if meta, err := k.arch.File(archive.VolumeMeta); err == nil {
		checkOffset(meta, "metadata", e.meta)
	}
	if volume != nil {
		checkOffset(volume, "log", e.data)
	}
	start := k.label.Start
	if e.before(start.Unix(), int64(start.Nanosecond())) {
		found("timestamp (%d.%09d) less than log label timestamp (%d.%09d)", e.sec, e.nsec, start.Unix(), start.Nanosecond())
	}
	if last == nil {
		return
	}
	if e.before(last.sec, last.nsec) {
		found("timestamp (%d.%09d) went backwards in time (from %d.%09d at [entry %d])", e.sec, e.nsec, last.sec, last.nsec, last.number)
	}
	switch {
	case e.volume < last.volume:
		found("volume number (%d) decreased (from %d at [entry %d])", e.volume, last.volume, last.number)
	case e.volume == last.volume:
		if e.meta < last.meta {
			found("offset to metadata (%d) decreased (from %d at [entry %d])", e.meta, last.meta, last.number)
		}
		if e.data < last.data {
			found("offset to log (%d) decreased (from %d at [entry %d])", e.data, last.data, last.number)
		}
	}
}
