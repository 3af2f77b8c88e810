package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A diskMetric is a metric of one field of /proc/diskstats or the sum of two. It exists for the
// devices of each class, for disks by identifier, and for all disks together.
type diskMetric struct {
	names      [diskFamilies]nameAndItem
	fields     []int // one field, or two to add up
	units      pdu.Units
	narrow     bool // has 32 bits for each device
	narrowAll  bool // also for all disks
	text, help string
}

// Places in diskMetric.names after the classes of devices.
const (
	byWWID   = zram + 1 + iota // disks by world-wide identifier
	allDisks                   // all disks together
	diskFamilies
)

// A nameAndItem is the name of a metric, and the item of its PMID.
type nameAndItem struct {
	name string
	item int
}

// diskMetrics are the metrics of /proc/diskstats. The subject, such as "of each disk", is appended
// to the text.
var diskMetrics = []diskMetric{
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.read", 4}, partition: {"disk.partitions.read", 0}, mapped: {"disk.dm.read", 0}, array: {"disk.md.read", 0},
		zram: {"zram.read", 0}, byWWID: {"disk.wwid.read", 4}, allDisks: {"disk.all.read", 24}},
		fields: []int{diskReads}, units: pdu.UnitCount,
		text: "Reads completed"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.write", 5}, partition: {"disk.partitions.write", 1}, mapped: {"disk.dm.write", 1}, array: {"disk.md.write", 1},
		zram: {"zram.write", 1}, byWWID: {"disk.wwid.write", 5}, allDisks: {"disk.all.write", 25}},
		fields: []int{diskWrites}, units: pdu.UnitCount,
		text: "Writes completed"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.total", 28}, partition: {"disk.partitions.total", 2}, mapped: {"disk.dm.total", 2}, array: {"disk.md.total", 2},
		zram: {"zram.total", 2}, byWWID: {"disk.wwid.total", 28}, allDisks: {"disk.all.total", 29}},
		fields: []int{diskReads, diskWrites}, units: pdu.UnitCount,
		text: "Reads and writes completed"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.blkread", 6}, partition: {"disk.partitions.blkread", 3}, mapped: {"disk.dm.blkread", 3}, array: {"disk.md.blkread", 3},
		zram: {"zram.blkread", 3}, byWWID: {"disk.wwid.blkread", 6}, allDisks: {"disk.all.blkread", 26}},
		fields: []int{diskReadSectors}, units: pdu.UnitCount,
		text: "Sectors of 512 bytes read"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.blkwrite", 7}, partition: {"disk.partitions.blkwrite", 4}, mapped: {"disk.dm.blkwrite", 4}, array: {"disk.md.blkwrite", 4},
		zram: {"zram.blkwrite", 4}, byWWID: {"disk.wwid.blkwrite", 7}, allDisks: {"disk.all.blkwrite", 27}},
		fields: []int{diskWriteSectors}, units: pdu.UnitCount,
		text: "Sectors of 512 bytes written"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.blktotal", 36}, partition: {"disk.partitions.blktotal", 5}, mapped: {"disk.dm.blktotal", 5}, array: {"disk.md.blktotal", 5},
		zram: {"zram.blktotal", 5}, byWWID: {"disk.wwid.blktotal", 36}, allDisks: {"disk.all.blktotal", 37}},
		fields: []int{diskReadSectors, diskWriteSectors}, units: pdu.UnitCount,
		text: "Sectors of 512 bytes read and written"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.read_bytes", 38}, partition: {"disk.partitions.read_bytes", 6}, mapped: {"disk.dm.read_bytes", 6}, array: {"disk.md.read_bytes", 6},
		zram: {"zram.read_bytes", 6}, byWWID: {"disk.wwid.read_bytes", 38}, allDisks: {"disk.all.read_bytes", 41}},
		fields: []int{diskReadSectors}, units: pdu.SpaceKByte,
		text: "Data read"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.write_bytes", 39}, partition: {"disk.partitions.write_bytes", 7}, mapped: {"disk.dm.write_bytes", 7}, array: {"disk.md.write_bytes", 7},
		zram: {"zram.write_bytes", 7}, byWWID: {"disk.wwid.write_bytes", 39}, allDisks: {"disk.all.write_bytes", 42}},
		fields: []int{diskWriteSectors}, units: pdu.SpaceKByte,
		text: "Data written"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.total_bytes", 40}, partition: {"disk.partitions.total_bytes", 8}, mapped: {"disk.dm.total_bytes", 8}, array: {"disk.md.total_bytes", 8},
		zram: {"zram.total_bytes", 8}, byWWID: {"disk.wwid.total_bytes", 40}, allDisks: {"disk.all.total_bytes", 43}},
		fields: []int{diskReadSectors, diskWriteSectors}, units: pdu.SpaceKByte,
		text: "Data read and written"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.read_merge", 49}, partition: {"disk.partitions.read_merge", 9}, mapped: {"disk.dm.read_merge", 9}, array: {"disk.md.read_merge", 9},
		zram: {"zram.read_merge", 9}, byWWID: {"disk.wwid.read_merge", 49}, allDisks: {"disk.all.read_merge", 51}},
		fields: []int{diskReadMerges}, units: pdu.UnitCount,
		text: "Reads that were made part of another one that waited"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.write_merge", 50}, partition: {"disk.partitions.write_merge", 10}, mapped: {"disk.dm.write_merge", 10}, array: {"disk.md.write_merge", 10},
		zram: {"zram.write_merge", 10}, byWWID: {"disk.wwid.write_merge", 50}, allDisks: {"disk.all.write_merge", 52}},
		fields: []int{diskWriteMerges}, units: pdu.UnitCount,
		text: "Writes that were made part of another one that waited"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.avactive", 46}, partition: {"disk.partitions.avactive", 11}, mapped: {"disk.dm.avactive", 11}, array: {"disk.md.avactive", 11},
		zram: {"zram.avactive", 11}, byWWID: {"disk.wwid.avactive", 46}, allDisks: {"disk.all.avactive", 44}},
		fields: []int{diskBusyTime}, units: pdu.TimeMSec, narrow: true,
		text: "Time with at least one request under way",
		help: "As a rate, this is the utilisation: 1 if there was always something to do. Of a device that works on\nseveral requests at once, that does not mean that it could do no more."},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.aveq", 47}, partition: {"disk.partitions.aveq", 12}, mapped: {"disk.dm.aveq", 12}, array: {"disk.md.aveq", 12},
		zram: {"zram.aveq", 12}, byWWID: {"disk.wwid.aveq", 47}, allDisks: {"disk.all.aveq", 45}},
		fields: []int{diskQueueTime}, units: pdu.TimeMSec, narrow: true,
		text: "Time that requests spent under way, each counted",
		help: "As a rate, this is how many requests were under way on average, in the queue or at the device."},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.read_rawactive", 72}, partition: {"disk.partitions.read_rawactive", 13}, mapped: {"disk.dm.read_rawactive", 14}, array: {"disk.md.read_rawactive", 14},
		zram: {"zram.read_rawactive", 13}, byWWID: {"disk.wwid.read_rawactive", 72}, allDisks: {"disk.all.read_rawactive", 74}},
		fields: []int{diskReadTime}, units: pdu.TimeMSec, narrow: true,
		text: "Time that reads took, each counted",
		help: "Divided by the reads that were completed meanwhile, it is what one took on average, from the queue on."},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.write_rawactive", 73}, partition: {"disk.partitions.write_rawactive", 14}, mapped: {"disk.dm.write_rawactive", 15}, array: {"disk.md.write_rawactive", 15},
		zram: {"zram.write_rawactive", 14}, byWWID: {"disk.wwid.write_rawactive", 73}, allDisks: {"disk.all.write_rawactive", 75}},
		fields: []int{diskWriteTime}, units: pdu.TimeMSec, narrow: true,
		text: "Time that writes took, each counted",
		help: "Divided by the writes that were completed meanwhile, it is what one took on average, from the queue on."},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.total_rawactive", 79}, partition: {"disk.partitions.total_rawactive", 15}, mapped: {"disk.dm.total_rawactive", 16}, array: {"disk.md.total_rawactive", 16},
		zram: {"zram.total_rawactive", 15}, byWWID: {"disk.wwid.total_rawactive", 79}, allDisks: {"disk.all.total_rawactive", 80}},
		fields: []int{diskReadTime, diskWriteTime}, units: pdu.TimeMSec, narrow: true,
		text: "Time that reads and writes took, each counted"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.discard", 88}, partition: {"disk.partitions.discard", 17}, mapped: {"disk.dm.discard", 18}, array: {"disk.md.discard", 18},
		zram: {"zram.discard", 17}, byWWID: {"disk.wwid.discard", 88}, allDisks: {"disk.all.discard", 96}},
		fields: []int{diskDiscards}, units: pdu.UnitCount,
		text: "Discards completed",
		help: "A discard tells the device that data is not needed any more. Linux counts them since version 4.18."},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.blkdiscard", 89}, partition: {"disk.partitions.blkdiscard", 18}, mapped: {"disk.dm.blkdiscard", 19}, array: {"disk.md.blkdiscard", 19},
		zram: {"zram.blkdiscard", 18}, byWWID: {"disk.wwid.blkdiscard", 89}, allDisks: {"disk.all.blkdiscard", 97}},
		fields: []int{diskDiscardSectors}, units: pdu.UnitCount,
		text: "Sectors of 512 bytes discarded"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.discard_bytes", 90}, partition: {"disk.partitions.discard_bytes", 19}, mapped: {"disk.dm.discard_bytes", 20}, array: {"disk.md.discard_bytes", 20},
		zram: {"zram.discard_bytes", 19}, byWWID: {"disk.wwid.discard_bytes", 90}, allDisks: {"disk.all.discard_bytes", 98}},
		fields: []int{diskDiscardSectors}, units: pdu.SpaceKByte,
		text: "Data discarded"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.discard_merge", 91}, partition: {"disk.partitions.discard_merge", 20}, mapped: {"disk.dm.discard_merge", 21}, array: {"disk.md.discard_merge", 21},
		zram: {"zram.discard_merge", 20}, byWWID: {"disk.wwid.discard_merge", 91}, allDisks: {"disk.all.discard_merge", 99}},
		fields: []int{diskDiscardMerges}, units: pdu.UnitCount,
		text: "Discards that were made part of another one that waited"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.discard_rawactive", 92}, partition: {"disk.partitions.discard_rawactive", 21}, mapped: {"disk.dm.discard_rawactive", 22}, array: {"disk.md.discard_rawactive", 22},
		zram: {"zram.discard_rawactive", 21}, byWWID: {"disk.wwid.discard_rawactive", 92}, allDisks: {"disk.all.discard_rawactive", 100}},
		fields: []int{diskDiscardTime}, units: pdu.TimeMSec, narrow: true, narrowAll: true,
		text: "Time that discards took, each counted"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.flush", 93}, partition: {"disk.partitions.flush", 22}, mapped: {"disk.dm.flush", 23}, array: {"disk.md.flush", 23},
		zram: {"zram.flush", 22}, byWWID: {"disk.wwid.flush", 93}, allDisks: {"disk.all.flush", 101}},
		fields: []int{diskFlushes}, units: pdu.UnitCount,
		text: "Flushes completed",
		help: "A flush makes the device put what it has been given where it stays. Linux counts them since version\n5.5, for whole devices only."},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.flush_rawactive", 94}, partition: {"disk.partitions.flush_rawactive", 23}, mapped: {"disk.dm.flush_rawactive", 24}, array: {"disk.md.flush_rawactive", 24},
		zram: {"zram.flush_rawactive", 23}, byWWID: {"disk.wwid.flush_rawactive", 94}, allDisks: {"disk.all.flush_rawactive", 102}},
		fields: []int{diskFlushTime}, units: pdu.TimeMSec, narrow: true, narrowAll: true,
		text: "Time that flushes took, each counted"},
	{names: [diskFamilies]nameAndItem{
		wholeDisk: {"disk.dev.inflight", 95}, partition: {"disk.partitions.inflight", 24}, mapped: {"disk.dm.inflight", 25}, array: {"disk.md.inflight", 25},
		zram: {"zram.inflight", 24}, byWWID: {"disk.wwid.inflight", 95}, allDisks: {"disk.all.inflight", 104}},
		fields: []int{diskInFlight}, narrow: true,
		text: "Requests under way at present"},
}

// value returns the value for a device. It is not ok if the device lacks the fields.
func (m *diskMetric) value(d *disk) (v uint64, ok bool) {
	for _, f := range m.fields {
		if !d.has(1 << f) {
			return 0, false
		}
		v += d.field[f]
	}
	if m.units == pdu.SpaceKByte {
		v /= 2
	}
	if m.narrow {
		v = uint64(uint32(v))
	}
	return v, true
}

// semantics returns the semantics: a counter, except for the requests in flight.
func (m *diskMetric) semantics() pdu.Sem {
	if m.fields[0] == diskInFlight {
		return pdu.SemInstant
	}
	return pdu.SemCounter
}

// A classInfo is the instance domain of a class of devices and the common parts of its metrics.
type classInfo struct {
	class                   diskClass
	serial                  int
	name, label, text, each string // each completes the metrics' texts
	cluster                 int
}

var diskClasses = []classInfo{
	{wholeDisk, 1, "disk", "per disk", "Disks, by the names that the kernel gives them",
		"of each disk", 0},
	{partition, 10, "partition", "per partition", "Partitions of disks, by the names that the kernel gives them",
		"of each partition", 10},
	{mapped, 24, "mapped device", "per dm device", "Devices of the device mapper, such as logical volumes, by the names in /dev/mapper",
		"of each device of the device mapper", 54},
	{array, 25, "array", "per md device", "Arrays of disks (MD), by the names in /dev/md, else by those that the kernel gives them",
		"of each array", 59},
	{zram, 38, "zram device", "", "Compressed disks in memory (zram)",
		"of each zram device", 86},
}

// addOfEach adds a metric of the devices of a class.
func addOfEach[T uint32 | uint64](a *pmda.Agent, m diskMetric, c classInfo, r *instances[disk]) {
	n := m.names[c.class]
	pmda.Register(a, pmda.Metric[T]{
		Name: n.name, ID: pmda.Item(c.cluster, n.item), InDom: r.indom, Sem: m.semantics(), Units: m.units,
		Text: m.text + ", " + c.each, Help: m.help,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
			// If no device has the fields, the kernel is too old.
			return putRowValues(r, s, pdu.ErrAppVersion, func(d *disk) (T, bool) {
				v, ok := m.value(d)
				return T(v), ok
			})
		},
	})
}

// addOfAll adds a metric of all disks together.
func addOfAll[T uint32 | uint64](d *disks, m diskMetric) {
	n := m.names[allDisks]
	pmda.Register(d.l.Agent, pmda.Metric[T]{
		Name: n.name, ID: pmda.Item(0, n.item), Sem: m.semantics(), Units: m.units, Group: d.group,
		Text: m.text + ", of all disks together", Help: m.help,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
			v, err := m.sum(d)
			return T(v), err
		},
	})
}

// sum adds up the values of all disks. It returns pmda.NoValue if a value is unknown or the list is
// incomplete, and pdu.ErrAppVersion if no disk has a value.
func (m *diskMetric) sum(d *disks) (sum uint64, err error) {
	r := &d.class[wholeDisk]
	known := 0
	for at := range r.ids {
		if v, ok := m.value(&r.Vals[at]); ok {
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
