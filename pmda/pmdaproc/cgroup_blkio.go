package pmdaproc

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A blkioFile is a file of the controller blkio with its metrics.
type blkioFile struct {
	name   string // without blkio.
	item   int    // of the first metric for each device
	single bool   // one number per device, not one per kind of operation
	units  pdu.Units
	text   string
	number func(n uint64) uint64 // converts a number to the value; may be nil
}

// allItem is the difference between the items of the metrics for all devices and for each device.
const allItem = 60

var blkioFiles = [...]blkioFile{
	{"io_merged", 0, false, pdu.UnitCount, "Requests that were made part of others", nil},
	{"io_queued", 5, false, pdu.UnitCount, "Requests that wait", nil},
	{"io_service_bytes", 10, false, pdu.SpaceByte, "Bytes read or written", nil},
	{"io_serviced", 15, false, pdu.UnitCount, "Requests that were served", nil},
	{"io_service_time", 20, false, pdu.TimeNSec, "Time from when requests were given to the device to when they were served", nil},
	{"io_wait_time", 25, false, pdu.TimeNSec, "Time for which requests have waited before they were given to the device", nil},
	{"sectors", 30, true, pdu.SpaceKByte, "KB read or written", func(n uint64) uint64 { return n / 2 }},
	{"time", 31, true, pdu.TimeMSec, "Time for which the group had the device", nil},
	{"throttle.io_service_bytes", 32, false, pdu.SpaceByte, "Bytes read or written, as limits for the group count them", nil},
	{"throttle.io_serviced", 37, false, pdu.UnitCount, "Requests that were served, as limits for the group count them", nil},
}

// blkioOps are the kinds of operations, in the order of items.
var blkioOps = [...]struct{ word, name, text string }{
	{"Read", "read", "reads"}, {"Write", "write", "writes"}, {"Sync", "sync", "what the group has waited for"}, {"Async", "async", "what the group has not waited for"}, {"Total", "total", "all"},
}

// blkioNumbers are the numbers of a device, or of all.
type blkioNumbers struct {
	n  [len(blkioOps)]uint64
	ok bool
}

// parse parses a file and calls each for each known device. The numbers of a device count only if
// its total follows.
func (f *blkioFile) parse(text []byte, b *blockDevices, each func(device int, n [len(blkioOps)]uint64)) {
	var n [len(blkioOps)]uint64
	last := -1
	for line := range procfile.Lines(text) {
		numbers, rest := procfile.CutField(line)
		device, ok := b.find(numbers)
		if !ok {
			continue
		}
		if device != last {
			n, last = [len(blkioOps)]uint64{}, device
		}
		op := len(blkioOps) - 1
		if !f.single {
			var word []byte
			word, rest = procfile.CutField(rest)
			for op = 0; op < len(blkioOps) && blkioOps[op].word != string(word); op++ {
			}
		}
		v, _, ok := procfile.CutUint(rest)
		if !ok || op == len(blkioOps) {
			continue
		}
		if n[op] = v; op == len(blkioOps)-1 {
			each(device, n)
			last = -1
		}
	}
}

// value converts a number to its value.
func (f *blkioFile) value(n uint64) uint64 {
	if f.number == nil {
		return n
	}
	return f.number(n)
}

// A blkioDevice is the numbers of a device in the files of a group.
type blkioDevice [len(blkioFiles)]blkioNumbers

// addBlockIO adds the metrics of disk use by groups of version 1.
func (c *cgroups) addBlockIO() {
	list := cgroupList{controller: "blkio"}
	ofEach := &blockDevices{file: procfile.File{Path: c.p.path("proc/diskstats")}}
	each := addCgroupPairs(c, 27, "block device", "device_name", "Control groups, with each block device", "block", list, ofEach.read, func(d *cgroupPairs[blkioDevice], g *cgroup) {
		first := d.rows.Len()
		for i := range blkioFiles {
			f := &blkioFiles[i]
			text, ok := d.read(g, "blkio."+f.name)
			if !ok {
				continue
			}
			f.parse(text, ofEach, func(device int, n [len(blkioOps)]uint64) {
				row, isNew := deviceRow(d, ofEach, g, first, device)
				if isNew {
					*row = blkioDevice{}
				}
				if row != nil {
					row[i] = blkioNumbers{n, true}
				}
			})
		}
	})
	all := c.addInDom(26, "block", "Control groups whose use of block devices is counted", list)
	ofAll := &blockDevices{file: procfile.File{Path: c.p.path("proc/diskstats")}}
	var reading uint32
	for i := range blkioFiles {
		f := &blkioFiles[i]
		sums := &groupFile[blkioNumbers]{i, "blkio." + f.name, "", func(sum *blkioNumbers, text []byte) {
			if reading != all.n {
				reading = all.n
				ofAll.read()
			}
			*sum = blkioNumbers{ok: true}
			f.parse(text, ofAll, func(_ int, n [len(blkioOps)]uint64) {
				for op := range n {
					sum.n[op] += n[op]
				}
			})
		}}
		for op, o := range blkioOps {
			item, name, text := f.item+op, f.name+"."+o.name, f.text+": "+o.text
			if f.single {
				if op < len(blkioOps)-1 {
					continue
				}
				item, name, text = f.item, f.name, f.text
			}
			each.addMetric(pmda.Metric[uint64]{Name: "cgroup.blkio.dev." + name, ID: pmda.Item(49, item), Sem: pdu.SemCounter, Units: f.units, Text: text},
				func(d *blkioDevice) (uint64, bool) { return f.value(d[i].n[op]), d[i].ok })
			addCgroupRows(all, 49, sums, cgroupRow[blkioNumbers, uint64]{item + allItem, "blkio.all." + name, pdu.SemCounter, f.units, text + ", on all devices",
				func(n *blkioNumbers) (uint64, bool) { return f.value(n.n[op]), n.ok }})
		}
	}
	all.addContainerID("blkio", 49, 42)
}
