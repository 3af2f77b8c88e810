package pmdalinux

import (
	"bytes"
	"context"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux/internal/procfile"
)

// A usage is what a file system says of itself: statfs(2).
type usage struct {
	blockSize, blocks, free, avail uint64 // avail is free to everybody
	files, freeFiles               uint64
}

// A mount is a mounted file system.
type mount struct {
	raw      string // the directory as /proc/self/mounts has it
	dir      string // as it is
	path     []byte // where that is, with a NUL behind
	readOnly bool
	use      usage
	ok       bool // it answered, with use
}

// mounts are the mounted file systems of a kind. Each kind has groups of its own,
// which nothing else is locked with while file systems are asked (see add): one
// that does not answer keeps those waiting who ask for its kind, not those who ask
// for anything else, nor how many there are.
type mounts struct {
	l      *linux
	rows   instances[mount]
	at     map[string]int // where in rows a name was last
	wanted func(device, dir, kind []byte) bool
	name   func(device, dir []byte) []byte
	answer *pmda.Group // asks those that the client wants
	whole  bool
}

// addFilesystems adds the metrics of file systems.
func (l *linux) addFilesystems() {
	disk := &mounts{l: l, wanted: onDisk, name: func(device, _ []byte) []byte { return device }}
	disk.attach(&pmda.InDom{Serial: pmda.InDomSerial(5), Name: "file system", Text: "File systems on disks that are mounted, by device"})
	disk.addUsage(5, "of each file system", usageNames{
		capacity: "filesys.capacity", used: "filesys.used", free: "filesys.free",
		maxfiles: "filesys.maxfiles", usedfiles: "filesys.usedfiles", freefiles: "filesys.freefiles",
	})
	disk.addFull("filesys.full", pmda.Item(5, 8), "of each file system")
	disk.addPlaces()
	tmp := &mounts{l: l, wanted: inMemory, name: func(_, dir []byte) []byte { return dir }}
	tmp.attach(&pmda.InDom{Serial: pmda.InDomSerial(18), Name: "tmpfs", Text: "File systems in memory (tmpfs), by the directory that they are mounted on"})
	tmp.addUsage(34, "of each tmpfs", usageNames{
		capacity: "tmpfs.capacity", used: "tmpfs.used", free: "tmpfs.free",
		maxfiles: "tmpfs.maxfiles", usedfiles: "tmpfs.usedfiles", freefiles: "tmpfs.freefiles",
	})
	tmp.addFull("tmpfs.full", pmda.Item(34, 7), "of each tmpfs")

	count := &mounts{l: l, wanted: onDisk, name: disk.name, rows: instances[mount]{indom: new(pmda.InDom)}}
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.nfilesys", ID: pmda.Item(5, 0), Sem: pdu.SemDiscrete, Units: pdu.UnitCount,
		Group: l.fileGroup("proc/self/mounts", count.parse),
		Text:  "File systems on disks that are mounted, each counted once",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			if !count.whole {
				return 0, pmda.NoValue
			}
			return uint32(count.rows.Len()), nil
		},
	})
}

// attach makes the instance domain of a kind of file systems a part of the agent.
func (m *mounts) attach(indom *pmda.InDom) {
	indom.Group = m.l.fileGroup("proc/self/mounts", m.parse)
	m.answer = m.l.Group(m.ask)
	m.rows.indom = indom
	m.l.Attach(indom)
}

// usageNames are the names of the metrics that both kinds have.
type usageNames struct{ capacity, used, free, maxfiles, usedfiles, freefiles string }

// addUsage adds the metrics that both kinds have.
func (m *mounts) addUsage(cluster int, of string, names usageNames) {
	m.addSpace(names.capacity, pmda.Item(cluster, 1), pdu.SemDiscrete, "The size, "+of, func(u *usage) uint64 { return u.blocks })
	m.addSpace(names.used, pmda.Item(cluster, 2), pdu.SemInstant, "Space in use, "+of, func(u *usage) uint64 { return u.blocks - u.free })
	m.addSpace(names.free, pmda.Item(cluster, 3), pdu.SemInstant, "Space not in use, "+of, func(u *usage) uint64 { return u.free })
	m.addCount(names.maxfiles, pmda.Item(cluster, 4), pdu.SemDiscrete, 0, "Inodes that there are room for, "+of, func(u *usage) uint64 { return u.files })
	m.addCount(names.usedfiles, pmda.Item(cluster, 5), pdu.SemInstant, 0, "Inodes in use, "+of, func(u *usage) uint64 { return u.files - u.freeFiles })
	m.addCount(names.freefiles, pmda.Item(cluster, 6), pdu.SemInstant, 0, "Inodes not in use, "+of, func(u *usage) uint64 { return u.freeFiles })
}

// addSpace adds a metric of a number of blocks, in kilobytes.
func (m *mounts) addSpace(name string, id pmda.ItemID, sem pdu.Sem, text string, blocks func(*usage) uint64) {
	addMounted(m, pmda.Metric[uint64]{Name: name, ID: id, Sem: sem, Units: pdu.SpaceKByte, Text: text},
		func(f *mount) uint64 { return f.use.kb(blocks(&f.use)) })
}

// addCount adds a metric of a number of 32 bits.
func (m *mounts) addCount(name string, id pmda.ItemID, sem pdu.Sem, units pdu.Units, text string, n func(*usage) uint64) {
	addMounted(m, pmda.Metric[uint32]{Name: name, ID: id, Sem: sem, Units: units, Text: text},
		func(f *mount) uint32 { return uint32(n(&f.use)) })
}

// addFull adds the metric of how full file systems are.
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

// ask asks the file systems that the client wants.
func (m *mounts) ask(ctx context.Context, r *pmda.Request) error {
	rule := r.Profile.For(m.rows.indom.ID())
	for _, at := range m.rows.order {
		if f := &m.rows.Vals[at]; rule.Includes(m.rows.ids[at]) {
			f.ok = m.l.ask(&f.use, f.path) == nil
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// addMounted adds a metric of the file systems that answer. The error is
// pdu.ErrInst if none does.
func addMounted[T pdu.Scalar](m *mounts, t pmda.Metric[T], of func(*mount) T) {
	t.InDom, t.Group = m.rows.indom, m.answer
	t.Values = func(_ context.Context, _ *pmda.Request, s *pmda.Values[T]) error {
		return putRowValues(&m.rows, s, pdu.ErrInst, func(f *mount) (T, bool) {
			return of(f), f.ok
		})
	}
	pmda.Register(m.l.Agent, t)
}

// kb is so many blocks in kilobytes.
func (u *usage) kb(blocks uint64) uint64 {
	if u.blockSize%1024 == 0 {
		return blocks * (u.blockSize / 1024)
	}
	return blocks * u.blockSize / 1024
}

// full is the percentage in use, as df(1) counts. An empty one is not full.
func (u *usage) full() float64 {
	used := u.blocks - u.free
	if used+u.avail == 0 {
		return 0
	}
	return 100 * float64(used) / float64(used+u.avail)
}

// onDisk reports whether a file system is one that is listed: that of a device,
// or of the root directory. Those of other machines are not: they may not answer.
func onDisk(device, dir, kind []byte) bool {
	switch string(kind) {
	case "proc", "nfs", "devfs", "devpts", "devtmpfs", "cgroup", "sysfs", "squashfs", "autofs", "selinuxfs", "securityfs", "configfs", "tmpfs":
		return false
	}
	return bytes.HasPrefix(device, []byte("/dev")) || string(dir) == "/"
}

func inMemory(_, _, kind []byte) bool { return string(kind) == "tmpfs" }

// parse reads lines such as "/dev/sda1 /boot ext4 rw,relatime 0 0". What is
// mounted twice counts once, as it was first.
func (m *mounts) parse(text []byte) error {
	m.rows.Begin()
	if m.at == nil || len(m.at) > 2*len(m.rows.Names) { // most are gone
		m.at = make(map[string]int, len(m.rows.Names))
	}
	m.whole = !procfile.Truncated(text)
	for line := range procfile.Lines(text) {
		m.whole = m.line(line) && m.whole
	}
	return m.rows.end()
}

// line takes a line in. It is false if that makes no sense. One that begins with a
// blank has no device: what was mounted was named "".
func (m *mounts) line(line []byte) bool {
	device, rest := procfile.CutField(line)
	unnamed := len(line) > 0 && line[0] == ' '
	if unnamed {
		device, rest = nil, line
	}
	dir, rest := procfile.CutField(rest)
	kind, rest := procfile.CutField(rest)
	options, rest := procfile.CutField(rest)
	_, rest, ok1 := procfile.CutUint(rest)
	_, _, ok2 := procfile.CutUint(rest)
	if !ok1 || !ok2 || !unnamed && !validPath(device) || !validPath(dir) {
		return false
	}
	if name := m.name(device, dir); len(name) > 0 && m.wanted(device, dir, kind) && !m.listed(name) {
		m.row(name).take(m.l, dir, options)
	}
	return true
}

// listed reports whether a name has been given to a row in this reading. What had
// the next place in the reading before has not: rows differ.
func (m *mounts) listed(name []byte) bool {
	if m.rows.NextHad(name) {
		return false
	}
	at, ok := m.at[string(name)]
	return ok && m.rows.Has(at, name)
}

// row is a row for a name that is not listed.
func (m *mounts) row(name []byte) *mount {
	row := m.rows.Row(name)
	if at, ok := m.at[string(name)]; !ok || at != m.rows.Len()-1 {
		m.at[m.rows.LastName()] = m.rows.Len() - 1
	}
	return row
}

// take fills in where and how a file system is mounted.
func (f *mount) take(l *linux, dir, options []byte) {
	if f.raw != string(dir) {
		*f = mount{raw: string(dir), dir: unescape(string(dir))}
		f.path = append([]byte(l.path(f.dir)), 0)
	}
	f.readOnly = false
	for len(options) > 0 {
		var o []byte
		o, options, _ = bytes.Cut(options, []byte(","))
		f.readOnly = f.readOnly || string(o) == "ro"
	}
}

// goodPath reports whether a device or directory is fit for an instance.
func validPath(name []byte) bool {
	return 0 < len(name) && len(name) <= maxPath && bytes.IndexByte(name, 0) < 0
}

// maxPath is how long a path may be.
const maxPath = 4096

// unescape makes a path of what the kernel writes, with \040 for a space.
func unescape(dir string) string {
	if !strings.Contains(dir, `\`) {
		return dir
	}
	var b strings.Builder
	for i := 0; i < len(dir); i++ {
		if c, ok := octal(dir[i:]); ok {
			b.WriteByte(c)
			i += len(`\040`) - 1
		} else {
			b.WriteByte(dir[i])
		}
	}
	return b.String()
}

// octal reads a character such as \040. There are no NULs in paths.
func octal(s string) (c byte, ok bool) {
	if len(s) < 4 || s[0] != '\\' || s[1] < '0' || s[1] > '3' {
		return 0, false
	}
	for _, d := range []byte(s[1:4]) {
		if d < '0' || d > '7' {
			return 0, false
		}
		c = c<<3 | (d - '0')
	}
	return c, c != 0
}
