package pmdalinux

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// zoneInfo is /proc/zoneinfo: the zones of memory and the nodes that have them.
//
//	Node 0, zone      DMA
//	  per-node stats
//	      nr_mapped    4728
//	  pages free     3840
//	        present  3998
//	        protection: (0, 3019, 10827, 10827, 10827)
//	      nr_mlock     0
//	  pagesets
//	    cpu: 0
//
// Zones without present pages are omitted, except for their protection.
type zoneInfo struct {
	keys       procfile.KeyedNumbers            // the names of numbers
	stats      instances[procfile.KeyedNumbers] // of the zones and nodes
	protection instances[uint64]

	// all are the zones and nodes in the order of the file, including omitted ones. All have IDs,
	// as in the C agent.
	all      procfile.Rows[struct{}]
	allStale bool // all has changed, and new ones have no IDs yet

	present int // index of "present" in keys

	// The part of the file that is being parsed.
	part zonePart
	node uint64
	zone []byte
	now  procfile.KeyedNumbers
	name []byte // of a zone or node
}

// A zonePart is a part of the file.
type zonePart int

const (
	ofOther zonePart = iota // no metric
	ofNode
	ofZone
)

// maxZones is above the number of zones of a node.
const maxZones = 16

// addZoneInfo adds the metrics of /proc/zoneinfo.
func (l *linux) addZoneInfo() {
	z := &zoneInfo{}
	z.stats.indom = &pmda.InDom{Serial: pmda.InDomSerial(32), Name: "zone", Text: "Zones of memory, and the nodes that have them",
		Labels:         `{"device_type":["memory","numa_node"],"indom_name":"per zone per numa_node"}`,
		InstanceLabels: func(i pdu.Instance) string { return zoneLabels(i.Name) }}
	z.protection.indom = &pmda.InDom{Serial: pmda.InDomSerial(33), Name: "protection of a zone", Text: "Zones of memory, by the zones that could be short of it",
		InstanceLabels: func(i pdu.Instance) string { return zoneLabels(i.Name) }}
	g := l.fileGroup("proc/zoneinfo", z.parse)
	z.stats.indom.Group, z.protection.indom.Group = g, g
	l.Attach(z.stats.indom)
	l.Attach(z.protection.indom)
	kbytes := uint64(os.Getpagesize() >> 10)
	inKBytes := func(pages uint64, ok bool) (uint64, bool) { return pages * kbytes, ok && pages < 1<<64/2/kbytes }
	for item, m := range zoneStats {
		at := z.keys.Index(m.key())
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(68, item), InDom: z.stats.indom, Units: pdu.SpaceKByte,
			Text:   "In a zone or node, in kilobytes: " + m.words(),
			Help:   "It is the kernel's number times the size of a page, whatever the number counts.",
			Values: rowValues(&z.stats, func(k *procfile.KeyedNumbers) (uint64, bool) { return inKBytes(k.Get(at)) }),
		})
	}
	z.present = z.keys.Index("present")
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "mem.zoneinfo.protection", ID: pmda.Item(70, 0), InDom: z.protection.indom, Units: pdu.SpaceKByte,
		Text:   "Memory of a zone that is kept from those who could have used another one",
		Help:   "The instance DMA::node0::lowmem_reserved2 is for those who asked for the node's zone 2, counted from 0.",
		Values: rowValues(&z.protection, func(pages *uint64) (uint64, bool) { return inKBytes(*pages, true) }),
	})
}

// words returns the text of the metric without its capital letter.
func (m zoneStat) words() string {
	if m.text == "" {
		for _, v := range vmstats {
			if v.key() == m.baseName() {
				m.text = v.text
			}
		}
	}
	return strings.ToLower(m.text[:1]) + m.text[1:]
}

// parse reads the file.
func (z *zoneInfo) parse(text []byte) error {
	if z.now.Empty() {
		z.now = z.keys.Clone()
	}
	z.all.Begin()
	z.stats.Begin()
	z.protection.Begin()
	z.part = ofOther
	for line := range procfile.Lines(text) {
		z.parseLine(line)
	}
	z.endPart()
	z.zone = nil
	return z.updateDomains()
}

// parseLine parses a line.
func (z *zoneInfo) parseLine(line []byte) {
	if node, zone, _, ok := cutZone(line); ok {
		z.endPart()
		z.node, z.zone, z.part = node, zone, ofZone
		return
	}
	word, rest := procfile.CutField(line)
	switch {
	case z.part == ofOther:
	case string(word) == "per-node":
		z.part = ofNode
	case string(word) == "pages":
		if z.part == ofNode {
			z.endPart()
			z.part = ofZone
		}
		z.now.ParseLine(rest)
	case string(word) == "pagesets":
		z.endPart()
	case string(word) == "protection:":
		z.parseProtection(rest)
	default:
		z.now.ParseLine(line)
	}
}

// endPart ends a part. The zone or node gets the numbers in it.
func (z *zoneInfo) endPart() {
	switch z.part {
	case ofNode:
		z.name = strconv.AppendUint(append(z.name[:0], "node"...), z.node, 10)
		z.all.Row(z.name)
		z.addRow()
	case ofZone:
		z.nameZone()
		z.all.Row(z.name)
		if v, ok := z.now.Get(z.present); ok && v > 0 {
			z.addRow()
		}
	}
	z.part = ofOther
	z.now.Clear()
}

// nameZone makes the name of the zone.
func (z *zoneInfo) nameZone() {
	z.name = append(append(z.name[:0], z.zone...), "::node"...)
	z.name = strconv.AppendUint(z.name, z.node, 10)
}

// addRow makes a row of the numbers.
func (z *zoneInfo) addRow() {
	r := z.stats.Row(z.name)
	if r.Empty() {
		*r = z.keys.Clone()
	}
	r.CopyFrom(&z.now)
}

// parseProtection parses the rest of a line like "protection: (0, 3019, 10827)".
func (z *zoneInfo) parseProtection(list []byte) {
	list = bytes.TrimSpace(list)
	if len(list) < 2 || list[0] != '(' || list[len(list)-1] != ')' {
		return
	}
	list = list[1 : len(list)-1]
	z.nameZone()
	z.name = append(z.name, "::lowmem_reserved"...)
	stem := len(z.name)
	for i := range maxZones {
		field, rest, more := bytes.Cut(list, []byte(","))
		v, ok := procfile.ParseUint(bytes.TrimSpace(field))
		if !ok {
			return
		}
		z.name = strconv.AppendInt(z.name[:stem], int64(i), 10)
		*z.protection.Row(z.name) = v
		if list = rest; !more {
			return
		}
	}
}

// updateDomains gives the names to the instance domains.
func (z *zoneInfo) updateDomains() error {
	if z.all.End() || z.allStale {
		z.allStale = true
		// All rows get IDs before those with values become instances.
		var all []string
		for _, name := range z.all.Names {
			if pmda.ValidInstanceName(name) && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		if _, err := z.stats.indom.SetNames(all...); err != nil {
			return err
		}
		z.stats.stale, z.allStale = true, false
	}
	return cmp.Or(z.stats.End(), z.protection.End())
}
