package pmdalinux

import (
	"bytes"
	"math"
	"math/bits"
	"os"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A slab is a line of /proc/slabinfo: one of the kernel's caches of objects. The numbers
// are in the order of the columns of newer kernels.
type slab [7]uint64

const (
	slabActiveObjects = iota
	slabObjects
	slabObjectSize
	slabObjectsPerSlab
	slabPagesPerSlab
	slabActiveSlabs
	slabSlabs
)

// oldSlabs are the columns of versions 1.0 and 1.1, of Linux 2.2 and 2.4.
var oldSlabs = [...]int{slabActiveObjects, slabObjects, slabObjectSize, slabActiveSlabs, slabSlabs, slabPagesPerSlab}

// slabs are the caches of objects.
type slabs struct {
	rows instances[slab]
	name []byte // of the line that is being parsed
	old  bool   // the file is of an old version
}

// addSlabInfo adds the metrics of /proc/slabinfo.
func (l *linux) addSlabInfo() {
	c := &slabs{}
	c.rows.indom = &pmda.InDom{Serial: pmda.InDomSerial(12), Name: "slab cache",
		Text:   "The kernel's caches of objects of one kind each",
		Labels: `{"device_type":"memory","indom_name":"per slab"}`,
		Group:  l.restrictedFileGroup("proc/slabinfo", c.parse)}
	l.Attach(c.rows.indom)
	for _, m := range []struct {
		name         string
		item, column int
		units        pdu.Units
		text         string
	}{
		{"mem.slabinfo.objects.active", 0, slabActiveObjects, 0, "Objects of each cache that are in use"},
		{"mem.slabinfo.objects.total", 1, slabObjects, 0, "Objects of each cache that there is room for, in use or not"},
		{"mem.slabinfo.slabs.total_size", 7, -1, pdu.SpaceByte, "Memory that the objects in use of each cache take, with their part of what slabs waste"},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(20, m.item), InDom: c.rows.indom, Units: m.units, Text: m.text,
			Values: restrictedValues(l, rowValues(&c.rows, func(s *slab) (uint64, bool) {
				if m.column < 0 {
					return c.size(s)
				}
				return s[m.column], true
			})),
		})
	}
	for _, m := range []struct {
		name         string
		item, column int
		units        pdu.Units
		text         string
		always       bool // also shown, as by the C agent, in old versions
	}{
		{"mem.slabinfo.objects.size", 2, slabObjectSize, pdu.SpaceByte, "Size of an object of each cache", true},
		{"mem.slabinfo.slabs.active", 3, slabActiveSlabs, 0, "Slabs of each cache with objects in use", true},
		{"mem.slabinfo.slabs.total", 4, slabSlabs, 0, "Slabs of each cache", false},
		{"mem.slabinfo.slabs.pages_per_slab", 5, slabPagesPerSlab, 0, "Pages that a slab of each cache is long", true},
		{"mem.slabinfo.slabs.objects_per_slab", 6, slabObjectsPerSlab, 0, "Objects that fit in a slab of each cache", false},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(20, m.item), InDom: c.rows.indom, Units: m.units, Text: m.text,
			Values: restrictedValues(l, rowValues(&c.rows, func(s *slab) (uint32, bool) {
				return uint32(s[m.column]), (m.always || !c.old) && s[m.column] <= math.MaxUint32
			})),
		})
	}
}

// size is the bytes that the objects in use take: each has an equal part of a slab. Old
// kernels do not have the number of objects in a slab: there it is that of active slabs.
func (c *slabs) size(s *slab) (uint64, bool) {
	n, by := s[slabActiveObjects], s[slabObjectsPerSlab]
	if c.old {
		n, by = s[slabActiveSlabs], 1
	}
	over, pages := bits.Mul64(n, s[slabPagesPerSlab])
	over2, size := bits.Mul64(pages, uint64(os.Getpagesize()))
	if over != 0 || over2 != 0 || by == 0 {
		return 0, false
	}
	return size / by, true
}

// parse parses the version, then a line for each cache:
//
//	slabinfo - version: 2.1
//	# name  <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables …
//	dentry  34020  35742  192  21  1 : tunables 0 0 0 : slabdata 1702 1702 0
func (c *slabs) parse(text []byte) error {
	c.rows.Begin()
	first, rest, _ := procfile.CutLine(text)
	version, ok := bytes.CutPrefix(first, []byte("slabinfo - version: "))
	version, _ = procfile.CutField(version)
	switch string(version) {
	case "2.0", "2.1":
		c.old = false
	case "1.0", "1.1":
		c.old = true
	default:
		ok = false
	}
	if ok {
		for line := range procfile.Lines(rest) {
			c.parseLine(line)
		}
	}
	return c.rows.End()
}

// parseLine parses a line, if all of its numbers can be parsed.
func (c *slabs) parseLine(line []byte) {
	if len(line) == 0 || line[0] == '#' {
		return
	}
	line, ok := c.cutName(line)
	var s slab
	if c.old {
		var v [len(oldSlabs)]uint64
		_, ok2 := procfile.CutUints(line, v[:])
		for i, column := range oldSlabs {
			s[column] = v[i]
		}
		ok = ok && ok2
	} else {
		line, data, _ := bytes.Cut(line, []byte(" : slabdata "))
		line, ok2 := procfile.CutUints(line, s[:slabActiveSlabs])
		_, ok3 := procfile.CutUints(data, s[slabActiveSlabs:])
		next, _ := procfile.CutField(line)
		ok = ok && ok2 && ok3 && string(next) == ":"
	}
	if ok {
		*c.rows.Row(c.name) = s
	}
}

// cutName cuts off the name, which ends before the first number. The names of some
// modules' caches have blanks in them: an instance has underscores in their place.
func (c *slabs) cutName(line []byte) (rest []byte, ok bool) {
	c.name = c.name[:0]
	for {
		field, after := procfile.CutField(line)
		if len(field) == 0 || len(c.name) > 0 && (procfile.IsDigit(field[0]) || field[0] == '-' || field[0] == ':') {
			return line, validName(c.name)
		}
		if len(c.name) > 0 {
			c.name = append(c.name, '_')
		}
		c.name, line = append(c.name, field...), after
	}
}
