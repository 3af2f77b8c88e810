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
	mapped   instances[struct{}] // by the kernel's names, dm-0 and so on
	arrays   instances[struct{}] // likewise
	dmNames  *deviceFiles[string]
	links    arrayLinks
	name     []byte
	complete bool // it understood all lines
}

// addDisks adds the metrics of /proc/diskstats, and what belongs to its devices.
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
			if c.wide(m) {
				addToEach[uint64](l.Agent, m, c, r)
			} else {
				addToEach[uint32](l.Agent, m, c, r)
			}
		}
	}
	d.addAll()
	d.addNames()
	d.addZram()
	d.addArrayStatus()
	l.addPaths(d.addSizes())
	l.addSCSI()
	l.addTapes()
	l.addFCHosts()
}

// deviceName are the labels of a device.
func deviceName(i pdu.Instance) string { return pmda.LabelJSON(map[string]any{"device_name": i.Name}) }

// parse reads /proc/diskstats.
func (d *disks) parse(text []byte) error {
	for c := wholeDisk; c <= zram; c++ {
		d.class[c].Begin()
	}
	d.mapped.Begin()
	d.arrays.Begin()
	d.links.begin()
	d.complete = eachDisk(text, d.line)
	err := cmp.Or(d.mapped.end(), d.arrays.end())
	for c := wholeDisk; c <= zram; c++ {
		err = cmp.Or(err, d.class[c].end())
	}
	return err
}

// line takes a line in.
func (d *disks) line(kernel, fields []byte) {
	class := classOf(kernel)
	name := kernel
	switch class {
	case noDisk:
		return
	case mapped:
		d.mapped.Row(kernel)
		n := d.dmNames.get(d.mapped.LastName())
		if !n.ok {
			return // not of use without
		}
		name = append(d.name[:0], n.v...)
		d.name = name
	case array:
		d.arrays.Row(kernel)
		name = d.links.name(kernel)
	}
	r := &d.class[class]
	if !r.Row(name).take(kernel, fields) {
		r.DropLast()
		d.complete = false
	}
}

// take fills in what a line has. It is false if that is nothing.
func (d *disk) take(kernel, fields []byte) bool {
	if d.kernel != string(kernel) {
		*d = disk{kernel: string(kernel)}
	}
	d.parse(fields)
	return d.have != 0
}

// addAll adds the metrics of all disks together.
func (d *disks) addAll() {
	for _, m := range diskMetrics {
		if m.narrowAll {
			addToAll[uint32](d, m)
		} else {
			addToAll[uint64](d, m)
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
