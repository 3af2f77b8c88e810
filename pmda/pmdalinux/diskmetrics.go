package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A diskMetric is made of one or two fields, for the devices of each class and for
// all disks together.
type diskMetric struct {
	name                  string
	disk, part, mapd, all int // its items for disks, partitions, mapped devices and arrays, all disks
	a, b                  int // the fields: their sum, or a alone if both are the same
	units                 pdu.Units
	narrow                bool // has 32 bits for each device
	narrowAll             bool // also for all disks
	text, help            string
}

// diskMetrics are the metrics of /proc/diskstats. The text is completed by what it
// is of.
var diskMetrics = []diskMetric{
	{name: "read", disk: 4, part: 0, mapd: 0, all: 24, a: diskReads, b: diskReads, units: pdu.UnitCount,
		text: "Reads completed"},
	{name: "write", disk: 5, part: 1, mapd: 1, all: 25, a: diskWrites, b: diskWrites, units: pdu.UnitCount,
		text: "Writes completed"},
	{name: "total", disk: 28, part: 2, mapd: 2, all: 29, a: diskReads, b: diskWrites, units: pdu.UnitCount,
		text: "Reads and writes completed"},
	{name: "blkread", disk: 6, part: 3, mapd: 3, all: 26, a: diskReadSectors, b: diskReadSectors, units: pdu.UnitCount,
		text: "Sectors of 512 bytes read"},
	{name: "blkwrite", disk: 7, part: 4, mapd: 4, all: 27, a: diskWriteSectors, b: diskWriteSectors, units: pdu.UnitCount,
		text: "Sectors of 512 bytes written"},
	{name: "blktotal", disk: 36, part: 5, mapd: 5, all: 37, a: diskReadSectors, b: diskWriteSectors, units: pdu.UnitCount,
		text: "Sectors of 512 bytes read and written"},
	{name: "read_bytes", disk: 38, part: 6, mapd: 6, all: 41, a: diskReadSectors, b: diskReadSectors, units: pdu.SpaceKByte,
		text: "Data read"},
	{name: "write_bytes", disk: 39, part: 7, mapd: 7, all: 42, a: diskWriteSectors, b: diskWriteSectors, units: pdu.SpaceKByte,
		text: "Data written"},
	{name: "total_bytes", disk: 40, part: 8, mapd: 8, all: 43, a: diskReadSectors, b: diskWriteSectors, units: pdu.SpaceKByte,
		text: "Data read and written"},
	{name: "read_merge", disk: 49, part: 9, mapd: 9, all: 51, a: diskReadMerges, b: diskReadMerges, units: pdu.UnitCount,
		text: "Reads that were made part of another one that waited"},
	{name: "write_merge", disk: 50, part: 10, mapd: 10, all: 52, a: diskWriteMerges, b: diskWriteMerges, units: pdu.UnitCount,
		text: "Writes that were made part of another one that waited"},
	{name: "avactive", disk: 46, part: 11, mapd: 11, all: 44, a: diskBusyTime, b: diskBusyTime, units: pdu.TimeMSec, narrow: true,
		text: "Time with at least one request under way",
		help: "As a rate, this is the utilisation: 1 if there was always something to do. Of a device that works on\nseveral requests at once, that does not mean that it could do no more."},
	{name: "aveq", disk: 47, part: 12, mapd: 12, all: 45, a: diskQueueTime, b: diskQueueTime, units: pdu.TimeMSec, narrow: true,
		text: "Time that requests spent under way, each counted",
		help: "As a rate, this is how many requests were under way on average, in the queue or at the device."},
	{name: "read_rawactive", disk: 72, part: 13, mapd: 14, all: 74, a: diskReadTime, b: diskReadTime, units: pdu.TimeMSec, narrow: true,
		text: "Time that reads took, each counted",
		help: "Divided by the reads that were completed meanwhile, it is what one took on average, from the queue on."},
	{name: "write_rawactive", disk: 73, part: 14, mapd: 15, all: 75, a: diskWriteTime, b: diskWriteTime, units: pdu.TimeMSec, narrow: true,
		text: "Time that writes took, each counted",
		help: "Divided by the writes that were completed meanwhile, it is what one took on average, from the queue on."},
	{name: "total_rawactive", disk: 79, part: 15, mapd: 16, all: 80, a: diskReadTime, b: diskWriteTime, units: pdu.TimeMSec, narrow: true,
		text: "Time that reads and writes took, each counted"},
	{name: "discard", disk: 88, part: 17, mapd: 18, all: 96, a: diskDiscards, b: diskDiscards, units: pdu.UnitCount,
		text: "Discards completed",
		help: "A discard tells the device that data is not needed any more. Linux counts them since version 4.18."},
	{name: "blkdiscard", disk: 89, part: 18, mapd: 19, all: 97, a: diskDiscardSectors, b: diskDiscardSectors, units: pdu.UnitCount,
		text: "Sectors of 512 bytes discarded"},
	{name: "discard_bytes", disk: 90, part: 19, mapd: 20, all: 98, a: diskDiscardSectors, b: diskDiscardSectors, units: pdu.SpaceKByte,
		text: "Data discarded"},
	{name: "discard_merge", disk: 91, part: 20, mapd: 21, all: 99, a: diskDiscardMerges, b: diskDiscardMerges, units: pdu.UnitCount,
		text: "Discards that were made part of another one that waited"},
	{name: "discard_rawactive", disk: 92, part: 21, mapd: 22, all: 100, a: diskDiscardTime, b: diskDiscardTime, units: pdu.TimeMSec, narrow: true, narrowAll: true,
		text: "Time that discards took, each counted"},
	{name: "flush", disk: 93, part: 22, mapd: 23, all: 101, a: diskFlushes, b: diskFlushes, units: pdu.UnitCount,
		text: "Flushes completed",
		help: "A flush makes the device put what it has been given where it stays. Linux counts them since version\n5.5, for whole devices only."},
	{name: "flush_rawactive", disk: 94, part: 23, mapd: 24, all: 102, a: diskFlushTime, b: diskFlushTime, units: pdu.TimeMSec, narrow: true, narrowAll: true,
		text: "Time that flushes took, each counted"},
	{name: "inflight", disk: 95, part: 24, mapd: 25, all: 104, a: diskInFlight, b: diskInFlight, narrow: true,
		text: "Requests under way at present"},
}

// of is the value for a device, false if the fields are not there.
func (m *diskMetric) of(d *disk) (v uint64, ok bool) {
	if !d.has(1<<m.a | 1<<m.b) {
		return 0, false
	}
	v = d.field[m.a]
	if m.b != m.a {
		v += d.field[m.b]
	}
	if m.units == pdu.SpaceKByte {
		v /= 2
	}
	if m.narrow {
		v = uint64(uint32(v))
	}
	return v, true
}

// semantics are those of a counter, but of the requests under way.
func (m *diskMetric) semantics() pdu.Sem {
	if m.a == diskInFlight {
		return pdu.SemInstant
	}
	return pdu.SemCounter
}

// A classInfo is how a class of devices is exported.
type classInfo struct {
	class                   diskClass
	serial                  int
	name, label, text, each string
	prefix                  string
	cluster                 int
	item                    func(diskMetric) (item int, wide bool)
}

var diskClasses = []classInfo{
	{wholeDisk, 1, "disk", "per disk", "Disks, by the names that the kernel gives them",
		"of each disk", "disk.dev.", 0, diskMetric.ofDisk},
	{partition, 10, "partition", "per partition", "Partitions of disks, by the names that the kernel gives them",
		"of each partition", "disk.partitions.", 10, diskMetric.ofPartition},
	{mapped, 24, "mapped device", "per dm device", "Devices of the device mapper, such as logical volumes, by the names in /dev/mapper",
		"of each device of the device mapper", "disk.dm.", 54, diskMetric.ofMapped},
	{array, 25, "array", "per md device", "Arrays of disks (MD), by the names in /dev/md, else by those that the kernel gives them",
		"of each array", "disk.md.", 59, diskMetric.ofMapped},
	{zram, 38, "zram device", "", "Compressed disks in memory (zram)",
		"of each zram device", "zram.", 86, diskMetric.ofPartition},
}

func (m diskMetric) ofDisk() (item int, wide bool)      { return m.disk, !m.narrow }
func (m diskMetric) ofPartition() (item int, wide bool) { return m.part, !m.narrow }

// ofMapped: those of the device mapper and of arrays have 32 bits for bytes too.
func (m diskMetric) ofMapped() (item int, wide bool) {
	return m.mapd, !m.narrow && m.units != pdu.SpaceKByte || m.name == "discard_bytes"
}

// addToEach adds a metric of the devices of a class.
func addToEach[T uint32 | uint64](a *pmda.Agent, m diskMetric, c classInfo, item int, r *rows[disk]) {
	pmda.Register(a, pmda.Metric[T]{
		Name: c.prefix + m.name, ID: pmda.Item(c.cluster, item), InDom: r.indom, Sem: m.semantics(), Units: m.units,
		Text: m.text + ", " + c.each, Help: m.help,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
			return putColumn(r, s, pdu.ErrAppVersion, func(d *disk) (T, bool) { // the kernel is too old
				v, ok := m.of(d)
				return T(v), ok
			})
		},
	})
}

// addToAll adds a metric of all disks together.
func addToAll[T uint32 | uint64](d *disks, m diskMetric) {
	pmda.Register(d.l.Agent, pmda.Metric[T]{
		Name: "disk.all." + m.name, ID: pmda.Item(0, m.all), Sem: m.semantics(), Units: m.units, Group: d.group,
		Text: m.text + ", of all disks together", Help: m.help,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
			v, err := m.sum(d)
			return T(v), err
		},
	})
}

// sum adds up what the disks have. There is no value if it is not known of all of
// them, and pdu.ErrAppVersion if of none.
func (m *diskMetric) sum(d *disks) (sum uint64, err error) {
	r := &d.class[wholeDisk]
	known := 0
	for at := range r.ids {
		if v, ok := m.of(&r.vals[at]); ok {
			sum += v
			known++
		}
	}
	switch {
	case known == 0 && len(r.ids) > 0:
		return 0, pdu.ErrAppVersion
	case known < len(r.ids) || !d.complete:
		return 0, pmda.NoValue
	}
	return sum, nil
}
