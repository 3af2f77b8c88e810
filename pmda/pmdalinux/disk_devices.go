package pmdalinux

import (
	"cmp"
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// disks are the block devices, by class.
type disks struct {
	l        *linux
	group    *pmda.Group
	class    [zram + 1]instances[disk]
	mapped   instances[struct{}] // devices of the device mapper by the kernel's names, such as dm-0
	arrays   instances[struct{}] // arrays by the kernel's names, such as md0
	dmNames  *deviceFiles[string]
	links    arrayLinks
	name     []byte // of the device that is being parsed
	complete bool   // all lines of the last reading could be parsed
}

// addDisks adds the metrics of /proc/diskstats, and the others of block devices.
func (l *linux) addDisks() {
	d := &disks{l: l, links: arrayLinks{dir: l.path("dev/md")}}
	d.mapped.indom, d.arrays.indom = new(pmda.InDom), new(pmda.InDom)
	d.dmNames = deviceFilesOf(l, &d.mapped, parseName, blockDir, "dm/name")
	d.group = l.fileGroup("proc/diskstats", d.parse)
	for _, c := range diskClasses {
		r := &d.class[c.class]
		r.indom = &pmda.InDom{Serial: pmda.InDomSerial(c.serial), Name: c.name, Text: c.text, Group: d.group}
		if c.label != "" {
			r.indom.Labels = pmda.LabelJSON(map[string]any{"device_type": "block", "indom_name": c.label})
			r.indom.InstanceLabels = deviceName
		}
		l.Attach(r.indom)
		for _, m := range diskMetrics {
			if m.narrow {
				addOfEach[uint32](l.Agent, m, c, r)
			} else {
				addOfEach[uint64](l.Agent, m, c, r)
			}
		}
	}
	d.addAll()
	d.addNames()
	d.addZram()
	d.addArrayStatus()
	l.addWWIDDisks(d.addCapacities())
	l.addSCSI()
	l.addTapes()
	l.addFCHosts()
}

// deviceName returns the labels of a device.
func deviceName(i pdu.Instance) string { return pmda.LabelJSON(map[string]any{"device_name": i.Name}) }

// parse reads /proc/diskstats.
func (d *disks) parse(text []byte) error {
	for c := wholeDisk; c <= zram; c++ {
		d.class[c].Begin()
	}
	d.mapped.Begin()
	d.arrays.Begin()
	d.links.startReading()
	d.complete = eachDisk(text, d.parseLine)
	err := cmp.Or(d.mapped.End(), d.arrays.End())
	for c := wholeDisk; c <= zram; c++ {
		err = cmp.Or(err, d.class[c].End())
	}
	return err
}

// parseLine parses the line of a device.
func (d *disks) parseLine(kernel, fields []byte) {
	class := classOf(kernel)
	name := kernel
	switch class {
	case noDisk:
		return
	case mapped:
		d.mapped.Row(kernel)
		n := d.dmNames.get(d.mapped.LastName())
		if !n.ok {
			return // its instance name is not known
		}
		name = append(d.name[:0], n.v...)
		d.name = name
	case array:
		d.arrays.Row(kernel)
		name = d.links.name(kernel)
	}
	r := &d.class[class]
	if !r.Row(name).update(kernel, fields) {
		r.DropLast()
		d.complete = false
	}
}

// update parses the fields of a line. It reports whether at least one is known.
func (d *disk) update(kernel, fields []byte) bool {
	if d.kernel != string(kernel) {
		*d = disk{kernel: string(kernel)}
	}
	d.parse(fields)
	return d.known != 0
}

// addAll adds the metrics of all disks together.
func (d *disks) addAll() {
	for _, m := range diskMetrics {
		if m.narrowAll {
			addOfAll[uint32](d, m)
		} else {
			addOfAll[uint64](d, m)
		}
	}
	pmda.Register(d.l.Agent, pmda.Metric[uint32]{
		Name: "hinv.ndisk", ID: pmda.Item(0, 33), Sem: pdu.SemDiscrete, Group: d.group,
		Text: "Disks that there are, partitions and devices made of others not counted",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			if !d.complete {
				return 0, pmda.NoValue
			}
			return uint32(len(d.class[wholeDisk].ids)), nil
		},
	})
}
