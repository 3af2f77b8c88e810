package pmdaproc

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A cgroupMount is a mounted hierarchy of control groups.
type cgroupMount struct {
	name    string   // the path as /proc/mounts has it
	dir     string   // the path
	unified bool     // it is the hierarchy of version 2
	options []string // include the controllers of version 1
}

// cgroupMounts are the mounts of control groups.
type cgroupMounts struct {
	mu   sync.Mutex
	file procfile.File
	text []byte // of the last reading
	list []cgroupMount
}

// maxCgroupMounts is the maximum number of mounts of control groups. Each container may have some.
const maxCgroupMounts = 1 << 14

// read reads /proc/mounts. The caller must not change the list.
func (m *cgroupMounts) read() ([]cgroupMount, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, err := m.file.Read()
	if err != nil {
		return nil, err
	}
	if m.list == nil || !bytes.Equal(text, m.text) {
		m.text = append(m.text[:0], text...)
		m.list = parseCgroupMounts(text)
	}
	return m.list, nil
}

// parseCgroupMounts parses /proc/mounts. The first mount on a path counts.
func parseCgroupMounts(text []byte) []cgroupMount {
	list := []cgroupMount{}
	known := map[string]bool{}
	for line := range procfile.Lines(text) {
		at, _ := procfile.ParseMount(line)
		unified := string(at.Kind) == "cgroup2"
		name := string(at.Dir)
		if !unified && string(at.Kind) != "cgroup" || known[name] || !pmda.ValidInstanceName(name) {
			continue
		}
		known[name] = true
		m := cgroupMount{name: name, dir: procfile.Unescape(at.Dir), unified: unified}
		if !unified {
			m.options = strings.Split(string(at.Options), ",")
		}
		if list = append(list, m); len(list) == maxCgroupMounts {
			break
		}
	}
	return list
}

// A cgroupSubsystem is a line of /proc/cgroups.
type cgroupSubsystem struct{ hierarchy, groups, enabled uint32 }

// A cgroupOverview is the controllers and the mounts of hierarchies.
type cgroupOverview struct {
	c          *cgroups
	group      *pmda.Group
	file       procfile.File // /proc/cgroups
	rows       procfile.Rows[cgroupSubsystem]
	mounts     []cgroupMount
	names      []string // of the mounts
	subsystems struct {
		indom *pmda.InDom
		ids   []pdu.InstID
	}
	mounted struct {
		indom *pmda.InDom
		ids   []pdu.InstID
	}
}

// maxCgroupSubsystems is the maximum number of controllers. The kernel has 13.
const maxCgroupSubsystems = 1024

// refresh reads the two files. A missing file counts as empty.
func (o *cgroupOverview) refresh(context.Context, *pmda.Request) error {
	text, err := o.file.Read()
	if err != nil && !isAbsent(err) {
		return valueError(err)
	}
	o.parseSubsystems(text)
	if o.subsystems.ids, err = o.subsystems.indom.SetNames(o.rows.Names...); err != nil {
		return err
	}
	if o.mounts, err = o.c.mounts.read(); err != nil && !isAbsent(err) {
		return valueError(err)
	}
	o.names = o.names[:0]
	for _, m := range o.mounts {
		o.names = append(o.names, m.name)
	}
	o.mounted.ids, err = o.mounted.indom.SetNames(o.names...)
	return err
}

// parseSubsystems parses /proc/cgroups.
func (o *cgroupOverview) parseSubsystems(text []byte) {
	o.rows.Begin()
	for line := range procfile.Lines(text) {
		name, rest := procfile.CutField(line)
		var n [3]uint64
		if _, ok := procfile.CutUints(rest, n[:]); !ok || !isPlainName(name) || name[0] == '#' || o.rows.Len() == maxCgroupSubsystems {
			continue
		}
		row := o.rows.Row(name)
		if slices.Contains(o.rows.Names[:o.rows.Len()-1], o.rows.LastName()) {
			o.rows.DropLast()
			continue
		}
		*row = cgroupSubsystem{uint32(n[0]), uint32(n[1]), uint32(n[2])}
	}
	o.rows.End()
}

// isPlainName reports whether a name consists of printable ASCII characters other than a colon.
func isPlainName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || c == ':' {
			return false
		}
	}
	return len(name) > 0
}

// controllers returns the options of a mount that are controllers.
func (o *cgroupOverview) controllers(m cgroupMount) string {
	var all []string
	for _, option := range m.options {
		if slices.Contains(o.rows.Names, option) {
			all = append(all, option)
		}
	}
	if len(all) == 0 {
		return "?"
	}
	return strings.Join(all, ",")
}

// addOverview adds the metrics of controllers and mounts.
func (c *cgroups) addOverview() {
	o := &cgroupOverview{c: c, file: procfile.File{Path: c.p.path("proc/cgroups")}}
	o.group = c.p.Group(o.refresh)
	o.subsystems.indom = &pmda.InDom{Serial: pmda.InDomSerial(37), Name: "controller of control groups", Group: o.group,
		Text: "Controllers of control groups", Help: "A controller shares out a resource of the machine, such as memory, to groups of\nprocesses. The kernel also calls it a subsystem."}
	o.mounted.indom = &pmda.InDom{Serial: pmda.InDomSerial(38), Name: "mount of control groups", Group: o.group,
		Text: "Mount points of hierarchies of control groups"}
	c.p.Attach(o.subsystems.indom)
	c.p.Attach(o.mounted.indom)
	for item, m := range map[int]struct {
		name, text string
		value      func(s *cgroupSubsystem) uint32
	}{
		0: {"hierarchy", "Number of the hierarchy that has the controller, 0 for that of version 2", func(s *cgroupSubsystem) uint32 { return s.hierarchy }},
		2: {"num_cgroups", "Control groups in the hierarchy that has the controller", func(s *cgroupSubsystem) uint32 { return s.groups }},
		3: {"enabled", "Whether the controller is switched on", func(s *cgroupSubsystem) uint32 { return s.enabled }},
	} {
		pmda.Register(c.p.Agent, pmda.Metric[uint32]{Name: "cgroup.subsys." + m.name, ID: pmda.Item(37, item), InDom: o.subsystems.indom, Text: m.text,
			Values: func(_ context.Context, _ *pmda.Request, v *pmda.Values[uint32]) error {
				for i, id := range o.subsystems.ids {
					v.Put(id, m.value(&o.rows.Vals[i]))
				}
				return nil
			}})
	}
	count := func(name string, id pmda.ItemID, text string, n func() int) {
		pmda.Register(c.p.Agent, pmda.Metric[uint32]{Name: name, ID: id, Group: o.group, Units: pdu.UnitCount, Text: text,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return uint32(n()), nil }})
	}
	count("cgroup.subsys.count", pmda.Item(37, 1), "Controllers that the kernel has", func() int { return len(o.rows.Names) })
	count("cgroup.mounts.count", pmda.Item(38, 1), "Mount points of hierarchies of control groups", func() int { return len(o.mounts) })
	pmda.Register(c.p.Agent, pmda.Metric[string]{Name: "cgroup.mounts.subsys", ID: pmda.Item(38, 0), InDom: o.mounted.indom,
		Text: "Controllers of the hierarchy that is mounted", Help: "There are commas between them. A question mark stands for none, as with version 2.",
		Values: func(_ context.Context, _ *pmda.Request, v *pmda.Values[string]) error {
			for i, id := range o.mounted.ids {
				if v.Wants(id) {
					v.Put(id, o.controllers(o.mounts[i]))
				}
			}
			return nil
		}})
}
