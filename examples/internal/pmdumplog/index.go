package pmdumplog

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// An indexEntry is an entry of the index with the time as the file has it, which may be invalid.
type indexEntry struct {
	archive.IndexEntry
	sec, nsec int64
}

// printIndex prints the entries of the index and their faults.
func (d *dumper) printIndex() error {
	tabs := 2
	if d.label.Version > 2 {
		tabs++
	}
	tabs += 2 * min(d.stamp, 2)
	d.printf("\nTemporal Index\n%sLog Vol    end(meta)     end(log)\n", strings.Repeat("\t", tabs))
	return d.eachArchive(d.printEntries)
}

// printEntries prints the entries of the index of an archive.
func (d *dumper) printEntries() error {
	if d.arch.Files().Index == "" {
		return nil
	}
	f, err := d.arch.File(archive.VolumeIndex)
	if err != nil {
		return err
	}
	var last *indexEntry
	for r, err := range f.Records() {
		if err != nil {
			return nil // the rest of the index is of no use to readers either
		}
		if r.Kind != archive.KindIndex {
			continue
		}
		e := indexEntry{}
		if e.IndexEntry, err = r.Entry(); err != nil {
			return err
		}
		e.sec, e.nsec = rawTime(r.Raw, d.label.Version)
		d.out.Write(d.appendIndexTime(d.out.AvailableBuffer(), &e))
		d.printf("\t  %5d  %11d  %11d\n", e.Volume, e.Meta, e.Data)
		d.printProblems(&e, last)
		last = &e
	}
	return nil
}

// rawTime returns the time of an index entry in seconds and nanoseconds. It checks neither of them.
func rawTime(b []byte, version int) (sec, nsec int64) {
	low, second := binary.BigEndian.Uint32(b), int32(binary.BigEndian.Uint32(b[4:]))
	if version == 2 {
		return int64(int32(low)), int64(second) * 1000
	}
	return int64(second)<<32 | int64(low), int64(int32(binary.BigEndian.Uint32(b[8:])))
}

// valid reports whether the time is valid.
func (e *indexEntry) valid() bool {
	return e.sec >= 0 && e.nsec >= 0 && e.nsec < int64(time.Second)
}

// appendIndexTime appends the time of an entry. It formats an invalid fraction as printf(3) formats
// the number.
func (d *dumper) appendIndexTime(b []byte, e *indexEntry) []byte {
	if e.valid() {
		return d.appendTime(b, time.Unix(e.sec, e.nsec))
	}
	whole := string(d.appendTime(nil, time.Unix(e.sec, 0)))
	fraction := e.nsec
	for range 9 - d.clock.Digits {
		fraction /= 10
	}
	zeros := strings.Repeat("0", d.clock.Digits)
	return append(b, strings.Replace(whole, "."+zeros, fmt.Sprintf(".%0*d", d.clock.Digits, fraction), 1)...)
}

// printProblems prints the faults of an entry.
func (d *dumper) printProblems(e, last *indexEntry) {
	volume, volumeErr := d.arch.File(e.Volume)
	if e.Volume < 0 {
		volumeErr = pdu.ErrLogFile
	}
	if volumeErr != nil && (last == nil || last.Volume != e.Volume) {
		d.printf("\t\tWarning: file missing for log volume %d\n", e.Volume)
	}
	if !e.valid() {
		d.printf("\t\tError: illegal timestamp value (%d sec, %d nsec)\n", e.sec, e.nsec)
	}
	if meta, err := d.arch.File(archive.VolumeMeta); err == nil {
		d.printPastEnd(meta, e.Meta, "meta")
	}
	if volumeErr == nil {
		d.printPastEnd(volume, e.Data, "log")
	}
	if last != nil {
		d.printOrder(e, last)
	}
}

// printPastEnd reports an offset beyond the end of a file.
func (d *dumper) printPastEnd(f *archive.File, offset int64, what string) {
	if size, err := f.Size(); err == nil && offset > size {
		d.printf("\t\tError: offset to %s file past end of file (%d)\n", what, size)
	}
}

// printOrder reports the fields of an entry that are less than in the last one.
func (d *dumper) printOrder(e, last *indexEntry) {
	if last.sec > e.sec || last.sec == e.sec && last.nsec > e.nsec {
		d.printf("\t\tError: timestamp went backwards in time %s -> %s\n", d.appendIndexTime(nil, last), d.appendIndexTime(nil, e))
	}
	if e.Volume < last.Volume {
		d.printf("\t\tError: volume number decreased\n")
	}
	if e.Volume == last.Volume && e.Meta < last.Meta {
		d.printf("\t\tError: offset to meta file decreased\n")
	}
	if e.Volume == last.Volume && e.Data < last.Data {
		d.printf("\t\tError: offset to log file decreased\n")
	}
}
