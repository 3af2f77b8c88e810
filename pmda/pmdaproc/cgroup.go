package pmdaproc

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// cgroups are the control groups of the machine.
type cgroups struct {
	p      *proc
	mounts cgroupMounts
}

// addCgroups adds the metrics of control groups.
func (p *proc) addCgroups() {
	c := &cgroups{p: p}
	c.mounts.file.Path = p.path("proc/mounts")
	for _, add := range []func(){
		c.addOverview,
		c.addUnified,
		c.addIOStat,
		c.addCPUSets,
		c.addCPUAccounting,
		c.addCPUScheduler,
		c.addMemory,
		c.addNetClass,
		c.addBlockIO,
	} {
		add()
	}
}

// A cgroup is a control group in a hierarchy.
type cgroup struct {
	name      string
	dir       string // its directory
	container string // ID of its container, or empty
	listed    uint32 // last reading that listed it
	files     [maxCgroupFiles]content
}

// maxCgroupFiles is the maximum number of files of a group that the metrics of an instance domain
// read.
const maxCgroupFiles = 10

// A cgroupList is the list of the control groups of a hierarchy and the contents of their files. A
// request starts a reading, which lists the groups. Files are read again when their values are
// requested.
type cgroupList struct {
	c          *cgroups
	controller string // controller of the hierarchy of version 1; empty for version 2 alone
	either     bool   // use version 2 if the controller has no hierarchy
	needs      string // a file that groups of version 2 must have, or empty

	unified bool // the reading is of version 2
	n       uint32
	known   map[string]*cgroup // by name
	list    []*cgroup          // of the reading
	names   []string
	dir     []byte
	path    []byte
	buf     []byte
}

// refresh starts a reading. Without a mounted hierarchy the list is empty.
func (l *cgroupList) refresh(ctx context.Context) error {
	l.n++
	l.list, l.names = l.list[:0], l.names[:0]
	if len(l.buf) > keptBuffer {
		l.buf = nil
	}
	mounts, err := l.c.mounts.read()
	if err != nil && !isAbsent(err) {
		return valueError(err)
	}
	at := slices.IndexFunc(mounts, func(m cgroupMount) bool {
		return !m.unified && l.controller != "" && slices.Contains(m.options, l.controller)
	})
	if at < 0 && (l.either || l.controller == "") {
		at = slices.IndexFunc(mounts, func(m cgroupMount) bool { return m.unified })
	}
	if at >= 0 {
		l.unified = mounts[at].unified
		v := viewOf(ctx)
		tree := l.c.p.trees.of(v, l.c.p.path(mounts[at].dir))
		for rest := tree.paths; len(rest) > 0; {
			var path []byte
			path, rest, _ = bytes.Cut(rest, nul)
			l.add(tree, path, v.container)
		}
	}
	l.dropUnlisted()
	return nil
}

var nul = []byte{0}

// add adds a group by its path below the mount point. The first group with a name counts.
func (l *cgroupList) add(tree *cgroupTree, path []byte, container string) {
	name := tree.walk.cgroupName(path)
	l.dir = append(append(l.dir[:0], tree.root...), path...)
	if container != "" && !isOfContainer(name, container) || l.unified && l.needs != "" && !l.has(l.dir, l.needs) {
		return
	}
	g := l.known[string(name)]
	if g == nil {
		g = &cgroup{name: string(name), container: string(containerID(name))}
		l.known[g.name] = g
	}
	if g.listed == l.n {
		return
	}
	if g.listed = l.n; g.dir != string(l.dir) {
		g.dir = string(l.dir)
	}
	l.list, l.names = append(l.list, g), append(l.names, g.name)
}

// dropUnlisted removes groups that have not been listed for some time, if the list has become long.
func (l *cgroupList) dropUnlisted() {
	if len(l.known) <= len(l.list)+len(l.list)/8+1024 && l.n%keptReadings != 0 {
		return
	}
	for name, g := range l.known {
		if l.n-g.listed >= keptReadings {
			delete(l.known, name)
		}
	}
}

// has reports whether a directory has a file.
func (l *cgroupList) has(dir []byte, name string) bool {
	l.path = append(append(append(append(l.path[:0], dir...), '/'), name...), 0)
	f, err := openFile(l.path)
	if err != nil {
		return false
	}
	f.close()
	return true
}

// maxCgroupFile is the maximum length of a file of a group in bytes. Some files have a line for
// each block device or a number for each processor.
const maxCgroupFile = 4 << 20

// read reads a file of a group. The text is valid until the next read. It is not ok if the file
// does not exist or is too long.
func (l *cgroupList) read(g *cgroup, name string) (text []byte, ok bool) {
	l.path = append(append(append(append(l.path[:0], g.dir...), '/'), name...), 0)
	f, err := openFile(l.path)
	if err != nil {
		return nil, false
	}
	defer f.close()
	if l.buf == nil {
		l.buf = make([]byte, firstBuffer)
	}
	for n := 0; ; {
		m, err := f.read(l.buf[n:])
		if err != nil {
			return nil, false
		}
		if n += m; m == 0 || n < len(l.buf) { // the kernel writes it in one piece
			return l.buf[:n], true
		}
		if n >= maxCgroupFile {
			return nil, false
		}
		l.buf = append(l.buf, make([]byte, n)...)
	}
}

// A groupFile is a file of control groups with the values of a T. parse sets all of them. The file
// has a name in each version of control groups, empty if the version has no such file.
type groupFile[T any] struct {
	index         int
	first, second string
	parse         func(to *T, text []byte)
}

// of reads the file of a group once per reading. It returns nil if the file does not exist.
func (k *groupFile[T]) of(l *cgroupList, g *cgroup) *T {
	c := &g.files[k.index]
	v, ok := c.value.(*T)
	if !ok {
		v = new(T)
		c.value = v
	}
	if c.reading != l.n {
		c.reading, c.err = l.n, pmda.NoValue
		name := k.first
		if l.unified {
			name = k.second
		}
		if name == "" {
			return nil
		}
		if text, ok := l.read(g, name); ok {
			k.parse(v, text)
			c.err = nil
		}
	}
	if c.err != nil {
		return nil
	}
	return v
}

// A cgroupInDom is an instance domain of control groups.
type cgroupInDom struct {
	cgroupList
	indom *pmda.InDom
	ids   []pdu.InstID // of the groups in the list
}

// addInDom adds an instance domain of the groups of a hierarchy.
func (c *cgroups) addInDom(serial int, device, text string, l cgroupList) *cgroupInDom {
	d := &cgroupInDom{cgroupList: l}
	d.c, d.known = c, map[string]*cgroup{}
	d.indom = &pmda.InDom{Serial: pmda.InDomSerial(serial), Name: "control group", Text: text,
		Help:           "The name of an instance is the path of the group below the mount point of its hierarchy.",
		Labels:         deviceLabel(device),
		InstanceLabels: func(i pdu.Instance) string { return `{"cgroup":` + quoteJSON(i.Name) + "}" },
		Group:          c.p.Group(d.refresh)}
	c.p.Attach(d.indom)
	return d
}

func (d *cgroupInDom) refresh(ctx context.Context, _ *pmda.Request) (err error) {
	if err = d.cgroupList.refresh(ctx); err == nil {
		d.ids, err = d.indom.SetNames(d.names...)
	}
	return err
}

// deviceLabel returns the label of an instance domain.
func deviceLabel(device string) string {
	if device == "" {
		return ""
	}
	return `{"device_type":"` + device + `"}`
}

// quoteJSON returns a text as a JSON string.
func quoteJSON(s string) string {
	b, _ := json.Marshal(s) // cannot fail
	return string(b)
}

// A cgroupRow is a metric of a file of control groups.
type cgroupRow[T any, V pdu.Scalar] struct {
	item  int
	name  string // without cgroup.
	sem   pdu.Sem
	units pdu.Units
	text  string
	value func(*T) (v V, ok bool)
}

// addCgroupRows adds metrics of a file.
func addCgroupRows[T any, V pdu.Scalar](d *cgroupInDom, cluster int, k *groupFile[T], rows ...cgroupRow[T, V]) {
	for _, row := range rows {
		pmda.Register(d.c.p.Agent, pmda.Metric[V]{Name: "cgroup." + row.name, ID: pmda.Item(cluster, row.item), InDom: d.indom,
			Sem: row.sem, Units: row.units, Text: row.text,
			Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[V]) error {
				for i, g := range d.list {
					if !s.Wants(d.ids[i]) {
						continue
					}
					of := k.of(&d.cgroupList, g)
					if of == nil {
						continue
					}
					if v, ok := row.value(of); ok {
						s.Put(d.ids[i], v)
					}
				}
				return nil
			}})
	}
}

// addContainerID adds the metric of the containers of groups.
func (d *cgroupInDom) addContainerID(name string, cluster, item int) {
	pmda.Register(d.c.p.Agent, pmda.Metric[string]{Name: "cgroup." + name + ".id.container", ID: pmda.Item(cluster, item), InDom: d.indom, Sem: pdu.SemDiscrete,
		Text: "ID of the container that the control group is made for, empty if for none",
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[string]) error {
			for i, g := range d.list {
				s.Put(d.ids[i], g.container)
			}
			return nil
		}})
}

// A cgroupNumber is the contents of a file of one number.
type cgroupNumber struct {
	v  uint64
	ok bool
}

// parse parses the first field of a text. The word max means no number and yields 0.
func (n *cgroupNumber) parse(text []byte) {
	line, _, _ := procfile.CutLine(text)
	field, _ := procfile.CutField(line)
	if n.v, n.ok = procfile.ParseUint(field); string(field) == "max" {
		n.v, n.ok = 0, true
	}
}

func (n *cgroupNumber) get() (uint64, bool) { return n.v, n.ok }

// cgroupNumberFile makes a file of one number.
func cgroupNumberFile(index int, first, second string) *groupFile[cgroupNumber] {
	return &groupFile[cgroupNumber]{index, first, second, (*cgroupNumber).parse}
}

// A cgroupPairs is an instance domain of control groups with their devices or processors. Each row
// has the values of one pair.
type cgroupPairs[T any] struct {
	cgroupList
	indom *pmda.InDom
	rows  procfile.Rows[T]
	ids   []pdu.InstID // of the rows
	name  []byte
}

// maxCgroupPairs is the maximum number of instances of such a domain.
const maxCgroupPairs = 1 << 18

// addCgroupPairs adds an instance domain. read reads the files of a group and calls row for each
// pair.
func addCgroupPairs[T any](c *cgroups, serial int, what, label, text, device string, l cgroupList, begin func(), read func(d *cgroupPairs[T], g *cgroup)) *cgroupPairs[T] {
	d := &cgroupPairs[T]{cgroupList: l}
	d.c, d.known = c, map[string]*cgroup{}
	d.indom = &pmda.InDom{Serial: pmda.InDomSerial(serial), Name: "control group with " + what, Text: text,
		Help:           "The name of an instance has the path of the group, two colons and the name of what it\nuses.",
		Labels:         deviceLabel(device),
		InstanceLabels: func(i pdu.Instance) string { return pairLabels(i.Name, label) },
		Group: c.p.Group(func(ctx context.Context, _ *pmda.Request) (err error) {
			d.rows.Begin()
			if err := d.refresh(ctx); err != nil {
				return err
			}
			begin()
			for _, g := range d.list {
				read(d, g)
			}
			d.rows.End()
			d.ids, err = d.indom.SetNames(d.rows.Names...)
			return err
		})}
	c.p.Attach(d.indom)
	return d
}

// pairLabels returns the labels of an instance such as /::cpu0.
func pairLabels(name, label string) string {
	at := strings.LastIndex(name, "::")
	if at < 0 {
		return ""
	}
	of := name[at+2:]
	if label == "cpu" {
		of = strings.TrimPrefix(of, "cpu")
	}
	return `{"cgroup":` + quoteJSON(name[:at]) + `,"` + label + `":` + quoteJSON(of) + "}"
}

// row returns the row of a group and a device or processor. It still has the values of an earlier
// reading.
func (d *cgroupPairs[T]) row(g *cgroup, prefix string, of string) *T {
	d.name = append(append(append(append(d.name[:0], g.name...), "::"...), prefix...), of...)
	return d.rows.Row(d.name)
}

// addMetric adds a metric of the rows.
func (d *cgroupPairs[T]) addMetric(m pmda.Metric[uint64], value func(*T) (v uint64, ok bool)) {
	m.InDom = d.indom
	m.Values = func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
		for i, id := range d.ids {
			if v, ok := value(&d.rows.Vals[i]); ok {
				s.Put(id, v)
			}
		}
		return nil
	}
	pmda.Register(d.c.p.Agent, m)
}
