package pmdaproc

import (
	"bytes"

	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// blockDevices maps the numbers of block devices to their names.
type blockDevices struct {
	file  procfile.File         // /proc/diskstats
	rows  procfile.Rows[uint64] // numbers, by the names
	index map[uint64]int        // places in the rows, by the numbers
	at    []int                 // by device: 1 + its row of the current group
}

// maxBlockDevices is the maximum number of devices.
const maxBlockDevices = 1 << 16

// deviceNumber combines the numbers of a device.
func deviceNumber(major, minor uint32) uint64 { return uint64(major)<<32 | uint64(minor) }

// read reads the list of devices. Without the file the list is empty.
func (b *blockDevices) read() {
	text, err := b.file.Read()
	if err != nil {
		text = nil
	}
	b.parse(text)
}

// parse parses /proc/diskstats. It omits RAM disks and loop devices.
func (b *blockDevices) parse(text []byte) {
	if b.index == nil {
		b.index = map[uint64]int{}
	}
	clear(b.index)
	b.rows.Begin()
	for line := range procfile.Lines(text) {
		major, rest := procfile.CutField(line)
		minor, rest := procfile.CutField(rest)
		name, _ := procfile.CutField(rest)
		first, ok := procfile.ParseUint32(major)
		second, isNumber := procfile.ParseUint32(minor)
		if !ok || !isNumber || !isPlainName(name) || bytes.HasPrefix(name, []byte("loop")) || bytes.HasPrefix(name, []byte("ram")) || b.rows.Len() == maxBlockDevices {
			continue
		}
		number := deviceNumber(first, second)
		if _, known := b.index[number]; known {
			continue
		}
		b.index[number] = b.rows.Len()
		*b.rows.Row(name) = number
	}
	b.rows.End()
	b.at = b.at[:0]
	for range b.rows.Names {
		b.at = append(b.at, 0)
	}
}

// find finds a device by its numbers, such as 8:0.
func (b *blockDevices) find(numbers []byte) (at int, ok bool) {
	major, minor, _ := bytes.Cut(numbers, colon)
	first, isMajor := procfile.ParseUint32(major)
	second, isMinor := procfile.ParseUint32(minor)
	if !isMajor || !isMinor {
		return 0, false
	}
	at, ok = b.index[deviceNumber(first, second)]
	return at, ok
}

// deviceRow returns the row of a group and a device. isNew reports whether it is their first row in
// this reading. A new row still has the values of another. It returns nil if there are too many
// rows.
func deviceRow[T any](d *cgroupPairs[T], b *blockDevices, g *cgroup, first, device int) (row *T, isNew bool) {
	if at := b.at[device]; at > first {
		return &d.rows.Vals[at-1], false
	}
	if d.rows.Len() == maxCgroupPairs {
		return nil, false
	}
	row = d.row(g, "", b.rows.Names[device])
	b.at[device] = d.rows.Len()
	return row, true
}
