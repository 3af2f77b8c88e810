package pmdalinux

import (
	"bytes"
	"math"
	"math/bits"
	"os"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A slab is a line of /proc/slabinfo, one of the kernel's caches of objects. The numbers are in the
// order of the columns of newer kernels.
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

// newSlabs are the columns before the tunables, of Linux 2.6 and later.
var newSlabs = [...]int{slabActiveObjects, slabObjects, slabObjectSize, slabObjectsPerSlab, slabPagesPerSlab}

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
		always       bool // also shown for old versions, as by the C agent
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

// size returns the bytes in the used objects. An object takes the size of a slab divided by the
// number of objects in it. Old kernels do not report that number. For them size returns the bytes
// in the active slabs.
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
	var s slab
	ok := true
	if c.old {
		line, _, _ = bytes.Cut(line, []byte(" : "))
		line, ok = c.cutNumbers(line, &s, oldSlabs[:])
	} else {
		data := bytes.LastIndex(line, []byte(" : slabdata "))
		tunables := bytes.LastIndex(line[:max(data, 0)], []byte(" : tunables "))
		if tunables < 0 {
			return
		}
		_, ok = procfile.CutUints(line[data+len(" : slabdata "):], s[slabActiveSlabs:])
		if ok {
			line, ok = c.cutNumbers(line[:tunables], &s, newSlabs[:])
		}
	}
	if ok && c.setName(line) {
		*c.rows.Row(c.name) = s
	}
}

// cutNumbers parses the numbers of columns after the name. The name may contain blanks and numbers.
func (c *slabs) cutNumbers(line []byte, s *slab, columns []int) (name []byte, ok bool) {
	for _, column := range slices.Backward(columns) {
		var field []byte
		line, field = procfile.CutLastField(line)
		if s[column], ok = procfile.ParseUint(field); !ok {
			return nil, false
		}
	}
	return line, true
}

// setName sets the name. It replaces blanks in the names of some modules' caches by underscores.
func (c *slabs) setName(text []byte) (ok bool) {
	c.name = c.name[:0]
	for field, rest := procfile.CutField(text); len(field) > 0; field, rest = procfile.CutField(rest) {
		if len(c.name) > 0 {
			c.name = append(c.name, '_')
		}
		c.name = append(c.name, field...)
	}
	return validName(c.name)
}
