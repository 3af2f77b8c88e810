package pmdalinux

import (
	"bytes"
	"context"
	"regexp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// traffic is a line of /proc/net/dev: eight columns of received data and eight of sent data.
type traffic struct {
	columns [16]uint64
	known   [16]bool // the columns that could be parsed
	class   linkClass
}

// A linkClass says whether the sums include an interface.
type linkClass uint8

const (
	unclassified linkClass = iota
	physical
	virtual // its packets also pass other interfaces, or never leave the machine
)

// virtualNames matches the interfaces that network.all excludes. They are those of the C agent's
// default configuration, interfaces.conf.
var virtualNames = regexp.MustCompile(`^(lo|bond[0-9]+|team[0-9]+|tun[0-9]+|virbr[0-9]+|virbr[0-9]+-nic|` +
	`cni[0-9]+|cni-podman[0-9]+|docker[0-9]+|veth[0-9]+|face)$`)

// addInterfaces adds the metrics of network interfaces.
func (l *linux) addInterfaces() {
	l.addNetwork()
	l.addSoftnet()
	l.addVFS()
	l.addIPC()
}

// addNetwork adds the network metrics that differ inside a container.
func (l *linux) addNetwork() {
	dev := &netDev{}
	g := l.fileGroup("proc/net/dev", dev.parse)
	dev.rows.indom = &pmda.InDom{Serial: pmda.InDomSerial(3), Name: "interface", Group: g,
		Text:   "Network interfaces",
		Labels: `{"device_type":"interface","indom_name":"per interface"}`,
		InstanceLabels: func(i pdu.Instance) string {
			return pmda.LabelJSON(map[string]any{"interface": i.Name})
		},
	}
	dev.rows.idsOf = l.sharedIDs(dev.rows.indom)
	l.Attach(dev.rows.indom)
	l.addTraffic(dev)
	l.addTrafficSums(dev, g)
	l.addInterfaceAttributes(dev)
	l.addProtocols()
	l.addSockets()
	l.addInterfaceAddresses() // after network.sockstat.total, which would count its socket
}

// netDev is /proc/net/dev.
type netDev struct {
	rows     instances[traffic]
	sums     [8]total // over the interfaces that are not virtual
	complete bool     // all lines of the file could be parsed
}

// A total is the sum of a column. It is unknown if one of its numbers is unknown.
type total struct {
	v       uint64
	unknown bool
}

// summed are the columns that network.all sums, in the order of its metrics.
var summed = [8]int{0, 1, 2, 3, 8, 9, 10, 11}

// parse parses two lines of titles and then lines like "eth0: 1422 10 0 0 …". The last colon ends
// the name, because aliases of some drivers contain a colon, such as ib0:30.
func (d *netDev) parse(text []byte) error {
	d.rows.Begin()
	d.complete = procfile.HasCompleteLines(text)
	titles := 0
	for line := range procfile.Lines(text) {
		colon := bytes.LastIndexByte(line, ':')
		if titles < 2 && bytes.IndexByte(line, '|') >= 0 { // names may contain it too
			titles++
			continue
		}
		name, _ := procfile.CutField(line[:max(colon, 0)])
		if len(name) == 0 {
			d.complete = false
			continue
		}
		t, columns := d.rows.Row(name), line[colon+1:]
		for i := range t.columns {
			t.columns[i], columns, t.known[i] = procfile.CutUint(columns)
		}
	}
	if err := d.rows.End(); err != nil {
		return err
	}
	d.complete = d.complete && titles == 2
	d.addUp()
	return nil
}

// addUp computes the sums over the interfaces that are not virtual.
func (d *netDev) addUp() {
	d.sums = [8]total{}
	for at := range d.rows.Vals {
		t := &d.rows.Vals[at]
		if t.class == unclassified {
			t.class = physical
			if virtualNames.MatchString(d.rows.Names[at]) {
				t.class = virtual
			}
		}
		if t.class == virtual {
			continue
		}
		for i, c := range summed {
			d.sums[i].v += t.columns[c]
			d.sums[i].unknown = d.sums[i].unknown || !t.known[c]
		}
	}
}

// addTraffic adds the metrics of the columns of interfaces. Some are the sum of two columns.
func (l *linux) addTraffic(dev *netDev) {
	for item, m := range []struct {
		name, text string
		from, and  int // columns; the second is a second summand, or -1
	}{
		{"network.interface.in.bytes", "Bytes received", 0, -1},
		{"network.interface.in.packets", "Packets received", 1, -1},
		{"network.interface.in.errors", "Packets received that were damaged", 2, -1},
		{"network.interface.in.drops", "Packets received but thrown away, mostly for want of memory", 3, -1},
		{"network.interface.in.fifo", "Packets lost because the interface's queue of received ones was full", 4, -1},
		{"network.interface.in.frame", "Packets received with a damaged frame", 5, -1},
		{"network.interface.in.compressed", "Compressed packets received", 6, -1},
		{"network.interface.in.mcasts", "Multicast packets received", 7, -1},
		{"network.interface.out.bytes", "Bytes sent", 8, -1},
		{"network.interface.out.packets", "Packets sent", 9, -1},
		{"network.interface.out.errors", "Packets that could not be sent because of an error", 10, -1},
		{"network.interface.out.drops", "Packets thrown away instead of sent", 11, -1},
		{"network.interface.out.fifo", "Packets lost because the interface's queue of ones to send was full", 12, -1},
		{"network.interface.collisions", "Collisions on the medium while sending", 13, -1},
		{"network.interface.out.carrier", "Packets lost because the carrier was while sending", 14, -1},
		{"network.interface.out.compressed", "Compressed packets sent", 15, -1},
		{"network.interface.total.bytes", "Bytes received and sent", 0, 8},
		{"network.interface.total.packets", "Packets received and sent", 1, 9},
		{"network.interface.total.errors", "Errors while receiving and sending", 2, 10},
		{"network.interface.total.drops", "Packets thrown away, of those received and those to send", 3, 11},
		{"network.interface.total.mcasts", "Multicast packets, of which only the received ones are counted", 7, -1},
	} {
		units := pdu.UnitCount
		if m.from%8 == 0 {
			units = pdu.SpaceByte
		}
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(3, item), InDom: dev.rows.indom,
			Sem: pdu.SemCounter, Units: units,
			Text: m.text + ", of each interface",
			Values: rowValues(&dev.rows, func(t *traffic) (uint64, bool) {
				if m.and < 0 {
					return t.columns[m.from], t.known[m.from]
				}
				return t.columns[m.from] + t.columns[m.and], t.known[m.from] && t.known[m.and]
			}),
		})
	}
}

// addTrafficSums adds the sums over interfaces and the number of interfaces.
func (l *linux) addTrafficSums(dev *netDev, g *pmda.Group) {
	const help = "Left out are interfaces whose packets another one counts, or that lead nowhere:\n" +
		"lo, bond, team, tun, virbr, cni, docker and veth with their numbers."
	for item, m := range []struct{ name, text string }{
		{"network.all.in.bytes", "Bytes received"},
		{"network.all.in.packets", "Packets received"},
		{"network.all.in.errors", "Errors while receiving"},
		{"network.all.in.drops", "Received packets thrown away"},
		{"network.all.out.bytes", "Bytes sent"},
		{"network.all.out.packets", "Packets sent"},
		{"network.all.out.errors", "Errors while sending"},
		{"network.all.out.drops", "Packets thrown away instead of sent"},
		{"network.all.total.bytes", "Bytes received and sent"},
		{"network.all.total.packets", "Packets received and sent"},
		{"network.all.total.errors", "Errors while receiving and sending"},
		{"network.all.total.drops", "Packets thrown away, received ones and others"},
	} {
		units := pdu.UnitCount
		if item%4 == 0 {
			units = pdu.SpaceByte
		}
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(90, item), Group: g,
			Sem: pdu.SemCounter, Units: units,
			Text: m.text + ", in sum over the physical interfaces", Help: help,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
				s := dev.sums[item%8]
				if item >= 8 {
					s.v += dev.sums[item-4].v
					s.unknown = s.unknown || dev.sums[item-4].unknown
				}
				if s.unknown || !dev.complete {
					return 0, pmda.NoValue
				}
				return s.v, nil
			},
		})
	}
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.ninterface", ID: pmda.Item(3, 27), Group: g, Sem: pdu.SemDiscrete,
		Text: "Number of network interfaces",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			if !dev.complete {
				return 0, pmda.NoValue
			}
			return uint32(dev.rows.Len()), nil
		},
	})
}
