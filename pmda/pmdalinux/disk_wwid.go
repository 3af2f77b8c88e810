package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// wwidDisks are the disks by their world-wide identifiers. A disk with several paths, as in a
// storage network, is several disks to the kernel. The metrics add up their values.
type wwidDisks struct {
	disks      instances[diskPath]
	ids        *deviceFiles[wwid]
	schedulers *deviceFiles[string]
	changed    bool // a path has another identifier than before
	groups     []pathGroup
	rows       instances[*pathGroup]
	capacities *capacities
}

// A diskPath is one of the kernel's disks, with its identifier.
type diskPath struct {
	disk
	id string
}

// A pathGroup is a disk with all of its paths.
type pathGroup struct {
	p     *wwidDisks
	id    []byte
	at    []int  // the rows of its paths
	names string // the names of its paths
}

// addWWIDDisks adds the metrics of disks by identifier. The group reads the capacities.
func (l *linux) addWWIDDisks(c *capacities, g *pmda.Group) {
	p := &wwidDisks{capacities: c}
	p.disks.indom = new(pmda.InDom)
	p.ids = deviceFilesOf(l, &p.disks, parseWWID, blockDir, wwidNames...)
	p.schedulers = deviceFilesOf(l, &p.disks, parseScheduler, blockDir, schedulerName)
	p.rows.indom = &pmda.InDom{Serial: pmda.InDomSerial(42), Name: "disk identifier",
		Text:  "Disks, by their world-wide identifiers, whatever number of paths leads to them",
		Group: l.fileGroup("proc/diskstats", p.parse)}
	l.Attach(p.rows.indom)
	for _, m := range diskMetrics {
		if m.narrow && m.fields[0] != diskInFlight {
			addWWIDMetric[uint32](l, p, m)
		} else {
			addWWIDMetric[uint64](l, p, m)
		}
	}
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "disk.wwid.capacity", ID: pmda.Item(92, 87), InDom: p.rows.indom, Group: g,
		Sem: pdu.SemDiscrete, Units: pdu.SpaceKByte, Text: "The sizes of all paths to each disk, added up",
		Values: rowValues(&p.rows, func(g **pathGroup) (uint64, bool) { return (*g).capacity() }),
	})
	addWWIDText(l, p, "disk.wwid.scheduler", 59, "What decides on the order of the requests on the last path to each disk",
		func(g *pathGroup) (string, bool) {
			return schedulerOf(p.schedulers, p.disks.Names[g.at[len(g.at)-1]])
		})
	addWWIDText(l, p, "disk.wwid.scsi_paths", 3, "The disks that are the paths to each disk, by the names that the kernel gives them",
		func(g *pathGroup) (string, bool) { return g.names, true })
}

// addWWIDMetric adds a metric of /proc/diskstats.
func addWWIDMetric[T uint32 | uint64](l *linux, p *wwidDisks, m diskMetric) {
	n := m.names[byWWID]
	pmda.Register(l.Agent, pmda.Metric[T]{
		Name: n.name, ID: pmda.Item(92, n.item), InDom: p.rows.indom, Sem: m.semantics(), Units: m.units,
		Text: m.text + ", of all paths to each disk", Help: m.help,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
			return putRowValues(&p.rows, s, pdu.ErrAppVersion, func(g **pathGroup) (sum T, ok bool) {
				for _, at := range (*g).at {
					v, ok := m.value(&p.disks.Vals[at].disk)
					if !ok {
						return 0, false
					}
					sum += T(v)
				}
				return sum, true
			})
		},
	})
}

// addWWIDText adds a metric with text values.
func addWWIDText(l *linux, p *wwidDisks, name string, item int, text string, of func(*pathGroup) (string, bool)) {
	pmda.Register(l.Agent, pmda.Metric[string]{
		Name: name, ID: pmda.Item(92, item), InDom: p.rows.indom, Sem: pdu.SemDiscrete, Text: text,
		Values: rowValues(&p.rows, func(g **pathGroup) (string, bool) { return of(*g) }),
	})
}

// capacity returns the sum of the capacities of the paths. It is not ok unless all are known.
func (g *pathGroup) capacity() (sum uint64, ok bool) {
	for _, at := range g.at {
		kb, ok := g.p.capacities.of(g.p.disks.Names[at])
		if !ok {
			return 0, false
		}
		sum += kb
	}
	return sum, true
}

// parse reads /proc/diskstats.
func (p *wwidDisks) parse(text []byte) error {
	p.disks.Begin()
	p.changed = false
	eachDisk(text, p.parseLine)
	changed := p.changed || p.disks.Changed()
	if err := p.disks.End(); err != nil {
		return err
	}
	if changed {
		p.group()
	}
	p.rows.Begin()
	for i := range p.groups {
		*p.rows.Row(p.groups[i].id) = &p.groups[i]
	}
	return p.rows.End()
}

// parseLine parses the line of a device.
func (p *wwidDisks) parseLine(kernel, fields []byte) {
	if classOf(kernel) != wholeDisk {
		return
	}
	d := p.disks.Row(kernel)
	d.update(kernel, fields)
	id, _ := wwidOf(p.ids, p.disks.LastName())
	p.changed = p.changed || id != d.id
	d.id = id
}

// group groups the paths by identifier.
func (p *wwidDisks) group() {
	p.groups = nil
	index := map[string]int{}
	for at, d := range p.disks.Vals {
		if d.id == "" {
			continue
		}
		i, ok := index[shortName(d.id)]
		if !ok {
			i = len(p.groups)
			index[shortName(d.id)] = i
			p.groups = append(p.groups, pathGroup{p: p, id: []byte(d.id)})
		}
		g := &p.groups[i]
		if string(g.id) != d.id {
			continue // the two would be the same instance
		}
		if g.at = append(g.at, at); g.names != "" {
			g.names += " "
		}
		g.names += d.kernel
	}
}
