package pmdalinux

import (
	"bytes"
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/hanging"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A usage is the result of statfs(2) for a file system.
type usage struct {
	blockSize, blocks, free, avail uint64 // avail are free blocks that every user may have
	files, freeFiles               uint64
}

// A mount is a mounted file system.
type mount struct {
	escaped  string // the directory as written in /proc/self/mounts
	dir      string // the directory
	path     []byte // the directory below the root of the agent, with a NUL behind
	readOnly bool
	use      usage
	ok       bool // statfs has succeeded, and use is valid
}

// mounts are the mounted file systems of one kind, on disks or in memory. Each kind has its own
// groups, and no other group is locked during statfs (see linux.add). A file system that does not
// reply therefore delays only fetches of its kind.
type mounts struct {
	l        *linux
	rows     instances[mount]
	at       map[string]int // last row of a name
	isListed func(device, dir, kind []byte) bool
	name     func(device, dir []byte) []byte // of the instance
	usage    *pmda.Group                     // calls statfs of those that the client wants
	complete bool                            // all lines of the file could be parsed
}

// addFilesystems adds the metrics of file systems.
func (l *linux) addFilesystems() {
	disk := &mounts{l: l, isListed: onDisk, name: func(device, _ []byte) []byte { return device }}
	disk.attach(&pmda.InDom{Serial: pmda.InDomSerial(5), Name: "file system", Text: "File systems on disks that are mounted, by device"})
	disk.addUsage(5, "of each file system", usageNames{
		capacity: "filesys.capacity", used: "filesys.used", free: "filesys.free",
		maxfiles: "filesys.maxfiles", usedfiles: "filesys.usedfiles", freefiles: "filesys.freefiles",
	})
	disk.addFull("filesys.full", pmda.Item(5, 8), "of each file system")
	disk.addPlaces()
	tmp := &mounts{l: l, isListed: inMemory, name: func(_, dir []byte) []byte { return dir }}
	tmp.attach(&pmda.InDom{Serial: pmda.InDomSerial(18), Name: "tmpfs", Text: "File systems in memory (tmpfs), by the directory that they are mounted on"})
	tmp.addUsage(34, "of each tmpfs", usageNames{
		capacity: "tmpfs.capacity", used: "tmpfs.used", free: "tmpfs.free",
		maxfiles: "tmpfs.maxfiles", usedfiles: "tmpfs.usedfiles", freefiles: "tmpfs.freefiles",
	})
	tmp.addFull("tmpfs.full", pmda.Item(34, 7), "of each tmpfs")

	count := &mounts{l: l, isListed: onDisk, name: disk.name, rows: instances[mount]{indom: new(pmda.InDom)}}
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.nfilesys", ID: pmda.Item(5, 0), Sem: pdu.SemDiscrete, Units: pdu.UnitCount,
		Group: l.fileGroup("proc/self/mounts", count.parse),
		Text:  "File systems on disks that are mounted, each counted once",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			if !count.complete {
				return 0, pmda.NoValue
			}
			return uint32(count.rows.Len()), nil
		},
	})
}

// attach adds the instance domain of a kind of file systems to the agent.
func (m *mounts) attach(indom *pmda.InDom) {
	indom.Group = m.l.fileGroup("proc/self/mounts", m.parse)
	m.usage = m.l.Group(m.statfs)
	m.rows.indom, m.rows.idsOf = indom, m.l.sharedIDs(indom)
	m.l.Attach(indom)
}

// usageNames are the names of the metrics that both kinds of file systems have.
type usageNames struct{ capacity, used, free, maxfiles, usedfiles, freefiles string }

// addUsage adds the metrics that both kinds have, except for full.
func (m *mounts) addUsage(cluster int, of string, names usageNames) {
	m.addSpace(names.capacity, pmda.Item(cluster, 1), pdu.SemDiscrete, "The size, "+of, func(u *usage) uint64 { return u.blocks })
	m.addSpace(names.used, pmda.Item(cluster, 2), pdu.SemInstant, "Space in use, "+of, func(u *usage) uint64 { return u.blocks - u.free })
	m.addSpace(names.free, pmda.Item(cluster, 3), pdu.SemInstant, "Space not in use, "+of, func(u *usage) uint64 { return u.free })
	m.addCount(names.maxfiles, pmda.Item(cluster, 4), pdu.SemDiscrete, 0, "Inodes that there are room for, "+of, func(u *usage) uint64 { return u.files })
	m.addCount(names.usedfiles, pmda.Item(cluster, 5), pdu.SemInstant, 0, "Inodes in use, "+of, func(u *usage) uint64 { return u.files - u.freeFiles })
	m.addCount(names.freefiles, pmda.Item(cluster, 6), pdu.SemInstant, 0, "Inodes not in use, "+of, func(u *usage) uint64 { return u.freeFiles })
}

// addSpace adds a metric that converts a number of blocks to kilobytes.
func (m *mounts) addSpace(name string, id pmda.ItemID, sem pdu.Sem, text string, blocks func(*usage) uint64) {
	addMounted(m, pmda.Metric[uint64]{Name: name, ID: id, Sem: sem, Units: pdu.SpaceKByte, Text: text},
		func(f *mount) uint64 { return f.use.kb(blocks(&f.use)) })
}

// addCount adds a metric of a 32-bit number.
func (m *mounts) addCount(name string, id pmda.ItemID, sem pdu.Sem, units pdu.Units, text string, n func(*usage) uint64) {
	addMounted(m, pmda.Metric[uint32]{Name: name, ID: id, Sem: sem, Units: units, Text: text},
		func(f *mount) uint32 { return uint32(n(&f.use)) })
}

// addFull adds the metric of the percentage of space in use.
func (m *mounts) addFull(name string, id pmda.ItemID, of string) {
	addMounted(m, pmda.Metric[float64]{Name: name, ID: id, Text: "Percentage in use of what is not set aside, " + of},
		func(f *mount) float64 { return f.use.full() })
}

// addPlaces adds the metrics that only file systems on disks have.
func (m *mounts) addPlaces() {
	m.addCount("filesys.blocksize", pmda.Item(5, 9), pdu.SemInstant, pdu.SpaceByte, "The size of a block, of each file system", func(u *usage) uint64 { return u.blockSize })
	m.addSpace("filesys.avail", pmda.Item(5, 10), pdu.SemInstant, "Space not in use that everybody may take, of each file system", func(u *usage) uint64 { return u.avail })
	addMounted(m, pmda.Metric[string]{Name: "filesys.mountdir", ID: pmda.Item(5, 7), Sem: pdu.SemDiscrete,
		Text: "The directory that each file system is mounted on"}, func(f *mount) string { return f.dir })
	addMounted(m, pmda.Metric[uint32]{Name: "filesys.readonly", ID: pmda.Item(5, 11),
		Text: "1 for a file system that is mounted to be read only, else 0"}, func(f *mount) uint32 {
		if f.readOnly {
			return 1
		}
		return 0
	})
}

// statfs calls statfs for the file systems that the client has selected. A container may mount
// anything, so its file systems together get hanging.Time to reply. Those that have not replied by
// then have no values.
func (m *mounts) statfs(ctx context.Context, r *pmda.Request) error {
	rule, wait := r.Profile.For(m.rows.indom.ID()), ctx
	if m.l.view != nil {
		limited, cancel := context.WithTimeout(ctx, hanging.Time)
		defer cancel()
		wait = limited
	}
	for _, at := range m.rows.order {
		if f := &m.rows.Vals[at]; rule.Includes(m.rows.ids[at]) {
			if m.l.view == nil {
				f.ok = m.l.statfs(&f.use, f.path) == nil
			} else {
				f.ok = m.l.statfsSoon(wait, &f.use, f.path) == nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// statfsSoon is statfs for a file system of a container, which may not reply.
func (l *linux) statfsSoon(ctx context.Context, u *usage, path []byte) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	type result struct {
		use usage
		err error
	}
	path = bytes.Clone(path) // the caller may reuse path before the call returns
	got, err := hanging.Do(ctx, &l.view.host.calls, *l.view, string(path), func() (r result) {
		r.err = l.statfs(&r.use, path)
		return r
	}, nil)
	if err == nil {
		*u, err = got.use, got.err
	}
	return err
}

// addMounted adds a metric of the file systems with a successful statfs. The error is pdu.ErrInst
// if it fails for all of them.
func addMounted[T pdu.Scalar](m *mounts, t pmda.Metric[T], of func(*mount) T) {
	t.InDom, t.Group = m.rows.indom, m.usage
	t.Values = func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
		return putRowValues(&m.rows, s, pdu.ErrInst, func(f *mount) (T, bool) {
			return of(f), f.ok
		})
	}
	pmda.Register(m.l.Agent, t)
}

// kb converts blocks to kilobytes.
func (u *usage) kb(blocks uint64) uint64 {
	if u.blockSize%1024 == 0 {
		return blocks * (u.blockSize / 1024)
	}
	return blocks * u.blockSize / 1024
}

// full returns the percentage in use, counted as df(1) does. It is 0 for an empty file system.
func (u *usage) full() float64 {
	used := u.blocks - u.free
	if used+u.avail == 0 {
		return 0
	}
	return 100 * float64(used) / float64(used+u.avail)
}

// onDisk reports whether a file system is listed in filesys, which has file systems of devices and
// the root directory. Network file systems are not listed because they may not reply.
func onDisk(device, dir, kind []byte) bool {
	switch string(kind) {
	case "proc", "nfs", "devfs", "devpts", "devtmpfs", "cgroup", "sysfs", "squashfs", "autofs", "selinuxfs", "securityfs", "configfs", "tmpfs":
		return false
	}
	return bytes.HasPrefix(device, []byte("/dev")) || string(dir) == "/"
}

// inMemory reports whether a file system is listed in tmpfs.
func inMemory(_, _, kind []byte) bool { return string(kind) == "tmpfs" }

// parse reads lines such as "/dev/sda1 /boot ext4 rw,relatime 0 0". A file system that is mounted
// twice is listed once, with its first mount.
func (m *mounts) parse(text []byte) error {
	m.rows.Begin()
	if m.at == nil || len(m.at) > 2*len(m.rows.Names) { // most names no longer have rows
		m.at = make(map[string]int, len(m.rows.Names))
	}
	m.complete = !procfile.Truncated(text)
	for line := range procfile.Lines(text) {
		m.complete = m.parseLine(line) && m.complete
	}
	return m.rows.End()
}

// parseLine parses a line. It reports whether the line is valid.
func (m *mounts) parseLine(line []byte) bool {
	at, ok := procfile.ParseMount(line)
	if !ok || len(at.Device) > 0 && !validPath(at.Device) || !validPath(at.Dir) {
		return false
	}
	if name := m.name(at.Device, at.Dir); len(name) > 0 && m.isListed(at.Device, at.Dir, at.Kind) && !m.hasRow(name) {
		m.addRow(name).update(m.l, at.Dir, at.Options)
	}
	return true
}

// hasRow reports whether a name already has a row in this reading. If the next row had the name in
// the previous reading, no earlier row has it, because the names of rows differ.
func (m *mounts) hasRow(name []byte) bool {
	if m.rows.NextHad(name) {
		return false
	}
	at, ok := m.at[string(name)]
	return ok && m.rows.Has(at, name)
}

// addRow adds a row for a name without one.
func (m *mounts) addRow(name []byte) *mount {
	row := m.rows.Row(name)
	if at, ok := m.at[string(name)]; !ok || at != m.rows.Len()-1 {
		m.at[m.rows.LastName()] = m.rows.Len() - 1
	}
	return row
}

// update sets the directory and the options of a mount.
func (f *mount) update(l *linux, dir, options []byte) {
	if f.escaped != string(dir) {
		*f = mount{escaped: string(dir), dir: procfile.Unescape(dir)}
		f.path = append([]byte(l.mountPath(f.dir)), 0)
	}
	f.readOnly = false
	for len(options) > 0 {
		var o []byte
		o, options, _ = bytes.Cut(options, []byte(","))
		f.readOnly = f.readOnly || string(o) == "ro"
	}
}

// validPath reports whether a device or directory can be an instance name.
func validPath(name []byte) bool {
	return 0 < len(name) && len(name) <= maxPath && bytes.IndexByte(name, 0) < 0
}

// maxPath is the maximum length of a path.
const maxPath = 4096
