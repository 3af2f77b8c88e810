package pmdalinux

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// capacities are the sizes of block devices in /proc/partitions, in kilobytes, by the
// kernel's names.
type capacities struct {
	names []string
	kb    []uint64
	known []bool
	index map[string]int
}

// capacityMetrics are the capacities of each class of disks. disk_zram.go has that of zram devices,
// which comes from another file.
var capacityMetrics = map[diskClass]nameAndItem{
	wholeDisk: {"disk.dev.capacity", 87},
	partition: {"disk.partitions.capacity", 16},
	mapped:    {"disk.dm.capacity", 17},
	array:     {"disk.md.capacity", 17},
}

// addCapacities adds the metrics of capacities. It returns the capacities and the group
// that reads them.
func (d *disks) addCapacities() (*capacities, *pmda.Group) {
	s := new(capacities)
	g := d.l.fileGroup("proc/partitions", s.parse)
	for _, c := range diskClasses {
		n, ok := capacityMetrics[c.class]
		if !ok {
			continue
		}
		r := &d.class[c.class]
		pmda.Register(d.l.Agent, pmda.Metric[uint64]{
			Name: n.name, ID: pmda.Item(c.cluster, n.item), InDom: r.indom, Group: g,
			Sem: pdu.SemDiscrete, Units: pdu.SpaceKByte, Text: "The size, " + c.each,
			Values: rowValues(r, func(d *disk) (uint64, bool) { return s.of(d.kernel) }),
		})
	}
	return s, g
}

// of returns the size of a device.
func (s *capacities) of(kernel string) (kb uint64, ok bool) {
	at, ok := s.index[kernel]
	if !ok {
		return 0, false
	}
	return s.kb[at], s.known[at]
}

// parse reads lines such as " 8 1 1048576 sda1". The first is a heading.
func (s *capacities) parse(text []byte) error {
	n, same := 0, true
	eachPartition(text, func(name []byte, kb uint64, ok bool) {
		if n == len(s.names) {
			s.names, s.kb, s.known = append(s.names, string(name)), append(s.kb, 0), append(s.known, false)
			same = false
		} else if s.names[n] != string(name) {
			s.names[n] = string(name)
			same = false
		}
		s.kb[n], s.known[n] = kb, ok
		n++
	})
	if same && n == len(s.names) {
		return nil
	}
	s.names, s.kb, s.known = s.names[:n], s.kb[:n], s.known[:n]
	s.index = make(map[string]int, n)
	for at, name := range s.names {
		s.index[name] = at
	}
	return nil
}

// eachPartition calls add for the lines that have a name.
func eachPartition(text []byte, add func(name []byte, kb uint64, ok bool)) {
	for line := range procfile.Lines(text) {
		_, rest, ok1 := procfile.CutUint(line)
		_, rest, ok2 := procfile.CutUint(rest)
		field, rest := procfile.CutField(rest)
		kb, ok := procfile.ParseUint(field)
		if name, _ := procfile.CutField(rest); ok1 && ok2 && validName(name) {
			add(name, kb, ok)
		}
	}
}
