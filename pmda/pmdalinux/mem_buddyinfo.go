package pmdalinux

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// maxOrder is above the maximum order of blocks of any kernel.
const maxOrder = 32

// A buddy is a column of a line of /proc/buddyinfo.
type buddy struct {
	blocks uint64
	order  int
}

// addBuddyInfo adds the metrics of /proc/buddyinfo.
func (l *linux) addBuddyInfo() {
	buddies := &instances[buddy]{indom: &pmda.InDom{Serial: pmda.InDomSerial(31), Name: "buddy",
		Text:           "Sizes of free blocks, by zone, order and node: a block of order n is 2 to the n pages long",
		Labels:         `{"device_type":["memory","numa_node"],"indom_name":"per buddy per numa_node"}`,
		InstanceLabels: func(i pdu.Instance) string { return zoneLabels(i.Name) }}}
	var name []byte
	g := l.fileGroup("proc/buddyinfo", func(text []byte) error {
		buddies.Begin()
		for line := range procfile.Lines(text) {
			node, zone, rest, ok := cutZone(line)
			if !ok {
				continue
			}
			for order := range maxOrder {
				var blocks uint64
				if blocks, rest, ok = procfile.CutUint(rest); !ok {
					break
				}
				name = append(append(name[:0], zone...), "::order"...)
				name = append(strconv.AppendInt(name, int64(order), 10), "::node"...)
				*buddies.Row(strconv.AppendUint(name, node, 10)) = buddy{blocks, order}
			}
		}
		return buddies.End()
	})
	buddies.indom.Group = g
	l.Attach(buddies.indom)
	kbytes := uint64(os.Getpagesize() >> 10)
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "mem.buddyinfo.pages", ID: pmda.Item(67, 0), InDom: buddies.indom,
		Text:   "Free blocks of a size: how many there are, not their pages",
		Values: rowValues(buddies, func(b *buddy) (uint64, bool) { return b.blocks, true }),
	})
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "mem.buddyinfo.total", ID: pmda.Item(67, 1), InDom: buddies.indom, Units: pdu.SpaceKByte,
		Text: "Memory in free blocks of a size",
		Values: rowValues(buddies, func(b *buddy) (uint64, bool) {
			size := kbytes << b.order
			return b.blocks * size, b.blocks < 1<<64/2/size
		}),
	})
}

// cutZone parses the start of a line like "Node 0, zone   Normal  3291 1946".
func cutZone(line []byte) (node uint64, zone, rest []byte, ok bool) {
	word, rest := procfile.CutField(line)
	field, rest := procfile.CutField(rest)
	word2, rest := procfile.CutField(rest)
	zone, rest = procfile.CutField(rest)
	digits, comma := bytes.CutSuffix(field, []byte(","))
	node, ok = procfile.ParseUint(digits)
	ok = ok && comma && string(word) == "Node" && string(word2) == "zone" && len(zone) > 0
	return node, zone, rest, ok
}

// zoneLabels returns the labels of an instance whose name has a node, and perhaps a zone and an
// order: "Normal::order3::node0", "Normal::node0::lowmem_reserved1", "node0".
func zoneLabels(name string) string {
	labels := map[string]any{}
	for i, part := range strings.Split(name, "::") {
		if n, ok := procfile.NumberAfter([]byte(part), "node"); ok {
			labels["numa_node"] = n
		} else if n, ok := procfile.NumberAfter([]byte(part), "order"); ok {
			labels["order"] = n
		} else if n, ok := procfile.NumberAfter([]byte(part), "lowmem_reserved"); ok {
			labels["lowmem_reserved"] = n
		} else if i == 0 {
			labels["zone"] = part
		}
	}
	return pmda.LabelJSON(labels)
}
