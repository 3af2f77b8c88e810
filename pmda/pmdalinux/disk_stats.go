package pmdalinux

import (
	"bytes"
	"math"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// The fields of a line of /proc/diskstats after the name. A sector has 512 bytes.
const (
	diskReads      = iota
	diskReadMerges // reads that became part of others
	diskReadSectors
	diskReadTime // milliseconds, as are all times
	diskWrites
	diskWriteMerges
	diskWriteSectors
	diskWriteTime
	diskInFlight
	diskBusyTime
	diskQueueTime
	diskDiscards // since Linux 4.18
	diskDiscardMerges
	diskDiscardSectors
	diskDiscardTime
	diskFlushes // since Linux 5.5
	diskFlushTime
	diskFields
)

// narrow are the fields that the kernel writes as 32-bit numbers.
const narrow = 1<<diskReadTime | 1<<diskWriteTime | 1<<diskInFlight | 1<<diskBusyTime | 1<<diskQueueTime | 1<<diskDiscardTime | 1<<diskFlushTime

// A disk is a block device of any class, with its fields of /proc/diskstats.
type disk struct {
	kernel string // its name in /proc and /sys
	field  [diskFields]uint64
	known  uint32 // a bit for each field that is there
}

// has reports whether the disk has all of the fields.
func (d *disk) has(fields uint32) bool { return d.known&fields == fields }

// parse reads the fields. A line has 11, 15 or 17 of them, or four for a partition under Linux 2.6.
func (d *disk) parse(fields []byte) {
	d.known = 0
	n := 0
	for ; n < diskFields; n++ {
		var field []byte
		if field, fields = procfile.CutField(fields); len(field) == 0 {
			break
		}
		v, ok := procfile.ParseUint(field)
		d.field[n] = v
		if ok && (v <= math.MaxUint32 || narrow>>n&1 == 0) {
			d.known |= 1 << n
		}
	}
	switch {
	case n < 4:
		d.known = 0
	case n == 4 && d.known == 0xf:
		d.field[diskReadSectors], d.field[diskWrites], d.field[diskWriteSectors] = d.field[1], d.field[2], d.field[3]
		d.known = 1<<diskReads | 1<<diskReadSectors | 1<<diskWrites | 1<<diskWriteSectors
	case n == 4:
		d.known = 0
	}
}

// A diskClass is a class of block devices. Each has an instance domain.
type diskClass int

const (
	noDisk diskClass = iota // not listed, such as a loop device
	wholeDisk
	partition
	mapped // by the device mapper
	array  // of the driver for multiple devices
	zram
)

// classOf finds the class by the kernel's name, as the C agent does.
func classOf(name []byte) diskClass {
	digits := len(bytes.TrimRight(name, "0123456789"))
	numbered := digits < len(name)
	has := func(prefix string) bool { return bytes.HasPrefix(name, []byte(prefix)) }
	switch {
	case has("loop"), has("ram"), has("sr") && len(name) > 2 && scan.IsDigit(name[2]):
		return noDisk
	case has("dm-"):
		return mapped
	case has("md"):
		return array
	case has("zram"):
		return zram
	case bytes.IndexByte(name, '/') >= 0: // cciss/c0d0p1 is a partition
		if numbered && name[digits-1] != 'p' {
			return wholeDisk
		}
		return partition
	case has("mmcblk"), has("nvme"), has("rbd"), has("nbd"):
		return partitionAfterP(name, digits)
	case numbered:
		return partition
	}
	return wholeDisk
}

// partitionAfterP handles disks whose names end with a number: their partitions have a p before the
// number. digits is the index of the last number.
func partitionAfterP(name []byte, digits int) diskClass {
	if digits < len(name) && name[digits-1] == 'p' {
		return partition
	}
	return wholeDisk
}

// eachDisk calls parse for the lines of /proc/diskstats with the name and the fields after it. It
// reports whether all lines could be parsed and the last one is complete.
func eachDisk(text []byte, parse func(name, fields []byte)) (all bool) {
	all = !procfile.Truncated(text)
	for line := range procfile.Lines(text) {
		_, rest, ok1 := procfile.CutUint(line)
		_, rest, ok2 := procfile.CutUint(rest)
		if name, fields := procfile.CutField(rest); ok1 && ok2 && validName(name) {
			parse(name, fields)
		} else {
			all = false
		}
	}
	return all
}

// validName reports whether a name can be an instance name: it is not empty, not longer than
// maxName, and has no control characters.
func validName(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return 0 < len(name) && len(name) <= maxName
}

// maxName is the maximum length of a device name in bytes. The longest names are those of the
// device mapper, with 127 bytes.
const maxName = 255
