package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// paths are the disks by their world-wide identifiers. One that is reached by
// several paths shows as so many disks, which are added up here.
type paths struct {
	disks      instances[pathDisk]
	ids        *deviceFiles[wwid]
	schedulers *deviceFiles[string]
	moved      bool // a disk has another identifier than before
	group      []pathGroup
	rows       instances[*pathGroup]
	sizes      *sizes
}

type pathDisk struct {
	disk
	id string
}

// A pathGroup is a disk.
type pathGroup struct {
	p     *paths
	id    []byte
	at    []int  // its paths
	names string // of those
}

// addPaths adds the metrics of disks by identifier. G reads the sizes.
func (l *linux) addPaths(s *sizes, g *pmda.Group) {
	p := &paths{sizes: s}
	p.disks.indom = new(pmda.InDom)
	p.ids = deviceFilesOf(l, &p.disks, parseWWID, blockDir, wwidNames...)
	p.schedulers = deviceFilesOf(l, &p.disks, parseScheduler, blockDir, schedulerName)
	p.rows.indom = &pmda.InDom{Serial: pmda.InDomSerial(42), Name: "disk identifier",
		Text:  "Disks, by their world-wide identifiers, whatever number of paths leads to them",
		Group: l.fileGroup("proc/diskstats", p.parse)}
	l.Attach(p.rows.indom)
	for _, m := range diskMetrics {
		if m.narrow && m.a != diskInFlight {
			addToPaths[uint32](l, p, m)
		} else {
			addToPaths[uint64](l, p, m)
		}
	}
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "disk.wwid.capacity", ID: pmda.Item(92, 87), InDom: p.rows.indom, Group: g,
		Sem: pdu.SemDiscrete, Units: pdu.SpaceKByte, Text: "The sizes of all paths to each disk, added up",
		Values: rowValues(&p.rows, func(g **pathGroup) (uint64, bool) { return (*g).capacity() }),
	})
	addPathText(l, p, "disk.wwid.scheduler", 59, "What decides on the order of the requests on the last path to each disk",
		func(g *pathGroup) (string, bool) {
			return schedulerOf(p.schedulers, p.disks.Names[g.at[len(g.at)-1]])
		})
	addPathText(l, p, "disk.wwid.scsi_paths", 3, "The disks that are the paths to each disk, by the names that the kernel gives them",
		func(g *pathGroup) (string, bool) { return g.names, true })
}

// addToPaths adds a metric of /proc/diskstats.
func addToPaths[T uint32 | uint64](l *linux, p *paths, m diskMetric) {
	n := m.names[byWWID]
	pmda.Register(l.Agent, pmda.Metric[T]{
		Name: n.name, ID: pmda.Item(92, n.item), InDom: p.rows.indom, Sem: m.semantics(), Units: m.units,
		Text: m.text + ", of all paths to each disk", Help: m.help,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
			return putRowValues(&p.rows, s, pdu.ErrAppVersion, func(g **pathGroup) (sum T, ok bool) {
				for _, at := range (*g).at {
					v, ok := m.of(&p.disks.Vals[at].disk)
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

// addPathText adds a metric that is a text.
func addPathText(l *linux, p *paths, name string, item int, text string, of func(*pathGroup) (string, bool)) {
	pmda.Register(l.Agent, pmda.Metric[string]{
		Name: name, ID: pmda.Item(92, item), InDom: p.rows.indom, Sem: pdu.SemDiscrete, Text: text,
		Values: rowValues(&p.rows, func(g **pathGroup) (string, bool) { return of(*g) }),
	})
}

// capacity adds up the sizes of the paths, if all are known.
func (g *pathGroup) capacity() (sum uint64, ok bool) {
	for _, at := range g.at {
		kb, ok := g.p.sizes.of(g.p.disks.Names[at])
		if !ok {
			return 0, false
		}
		sum += kb
	}
	return sum, true
}

// parse reads /proc/diskstats.
func (p *paths) parse(text []byte) error {
	p.disks.Begin()
	p.moved = false
	eachDisk(text, p.line)
	moved := p.moved || p.disks.Changed()
	if err := p.disks.end(); err != nil {
		return err
	}
	if moved {
		p.regroup()
	}
	p.rows.Begin()
	for i := range p.group {
		*p.rows.Row(p.group[i].id) = &p.group[i]
	}
	return p.rows.end()
}

// line takes a line in.
func (p *paths) line(kernel, fields []byte) {
	if classOf(kernel) != wholeDisk {
		return
	}
	d := p.disks.Row(kernel)
	d.take(kernel, fields)
	id, _ := wwidOf(p.ids, p.disks.LastName())
	p.moved = p.moved || id != d.id
	d.id = id
}

// regroup finds out anew which paths lead where.
func (p *paths) regroup() {
	p.group = nil
	index := map[string]int{}
	for at, d := range p.disks.Vals {
		if d.id == "" {
			continue
		}
		i, ok := index[shortName(d.id)]
		if !ok {
			i = len(p.group)
			index[shortName(d.id)] = i
			p.group = append(p.group, pathGroup{p: p, id: []byte(d.id)})
		}
		g := &p.group[i]
		if string(g.id) != d.id {
			continue // as an instance, it could not be told from that one
		}
		if g.at = append(g.at, at); g.names != "" {
			g.names += " "
		}
		g.names += d.kernel
	}
}
