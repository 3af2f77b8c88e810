package pmdalinux

import (
	"context"
	"math/bits"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// numaMetrics are the metrics of lines of a node's meminfo, in kilobytes.
var numaMetrics = []struct {
	item            int
	name, key, text string
}{
	{0, "mem.numa.util.total", "MemTotal", "Memory of a node"},
	{1, "mem.numa.util.free", "MemFree", "Memory of a node that nothing is in"},
	{2, "mem.numa.util.used", "MemUsed", "Memory of a node that something is in"},
	{3, "mem.numa.util.active", "Active", "Memory of a node used of late"},
	{4, "mem.numa.util.inactive", "Inactive", "Memory of a node not used of late"},
	{5, "mem.numa.util.active_anon", "Active(anon)", "Memory of a node used of late that no file stands behind"},
	{6, "mem.numa.util.inactive_anon", "Inactive(anon)", "Memory of a node not used of late that no file stands behind"},
	{7, "mem.numa.util.active_file", "Active(file)", "Memory of a node used of late with contents of files"},
	{8, "mem.numa.util.inactive_file", "Inactive(file)", "Memory of a node not used of late with contents of files"},
	{9, "mem.numa.util.highTotal", "HighTotal", "High memory of a node, of 32-bit kernels"},
	{10, "mem.numa.util.highFree", "HighFree", "High memory of a node that nothing is in"},
	{11, "mem.numa.util.lowTotal", "LowTotal", "Low memory of a node, of 32-bit kernels"},
	{12, "mem.numa.util.lowFree", "LowFree", "Low memory of a node that nothing is in"},
	{13, "mem.numa.util.unevictable", "Unevictable", "Memory of a node that cannot be reclaimed"},
	{14, "mem.numa.util.mlocked", "Mlocked", "Memory of a node that processes have locked"},
	{15, "mem.numa.util.dirty", "Dirty", "Memory of a node with changes that are to be written"},
	{16, "mem.numa.util.writeback", "Writeback", "Memory of a node with changes that are being written"},
	{17, "mem.numa.util.filePages", "FilePages", "Memory of a node with contents of files, swapped ones and tmpfs included"},
	{18, "mem.numa.util.mapped", "Mapped", "Memory of a node with files that processes have mapped"},
	{19, "mem.numa.util.anonpages", "AnonPages", "Memory of a node that is of processes and has no file behind it"},
	{20, "mem.numa.util.shmem", "Shmem", "Memory of a node in tmpfs and in shared memory segments"},
	{21, "mem.numa.util.kernelStack", "KernelStack", "Memory of a node in stacks that threads have in the kernel"},
	{22, "mem.numa.util.pageTables", "PageTables", "Memory of a node in page tables of processes"},
	{23, "mem.numa.util.NFS_Unstable", "NFS_Unstable", "Memory of a node sent to NFS servers that have not yet said it is on their disks"},
	{24, "mem.numa.util.bounce", "Bounce", "Memory of a node that stands in for what a device cannot reach"},
	{25, "mem.numa.util.writebackTmp", "WritebackTmp", "Memory of a node that FUSE has copies in while they are written"},
	{26, "mem.numa.util.slab", "Slab", "Memory of a node in the kernel's caches of objects"},
	{27, "mem.numa.util.slabReclaimable", "SReclaimable", "Memory of a node in caches of objects that can be given up"},
	{28, "mem.numa.util.slabUnreclaimable", "SUnreclaim", "Memory of a node in caches of objects that cannot be given up"},
}

// numaHugePages are the metrics of a node's huge pages. Each line gives a metric in pages and one
// in bytes.
var numaHugePages = []struct{ pages, bytes, key, text string }{
	{"mem.numa.util.hugepagesTotal", "mem.numa.util.hugepagesTotalBytes", "HugePages_Total", "set aside, in use or not"},
	{"mem.numa.util.hugepagesFree", "mem.numa.util.hugepagesFreeBytes", "HugePages_Free", "set aside and not in use"},
	{"mem.numa.util.hugepagesSurp", "mem.numa.util.hugepagesSurpBytes", "HugePages_Surp", "beyond those that the administrator set aside"},
}

// numaAllocs are the metrics of lines of a node's numastat.
var numaAllocs = []struct{ name, key, text string }{
	{"mem.numa.alloc.hit", "numa_hit", "Pages given by a node that was asked for them"},
	{"mem.numa.alloc.miss", "numa_miss", "Pages given by a node though another was asked, which had none"},
	{"mem.numa.alloc.foreign", "numa_foreign", "Pages given by another node, as the one that was asked had none"},
	{"mem.numa.alloc.interleave_hit", "interleave_hit", "Pages given by a node whose turn it was, where nodes take turns"},
	{"mem.numa.alloc.local_node", "local_node", "Pages given by a node to threads on its own processors"},
	{"mem.numa.alloc.other_node", "other_node", "Pages given by a node to threads on processors of others"},
}

// addNUMA adds the metrics of the nodes of memory.
func (l *linux) addNUMA() {
	info := l.nodeFiles("meminfo", 2)
	g := l.Group(info.refresh)
	add := func(name string, item int, units pdu.Units, text string, value func(context.Context, *pmda.Request, pdu.Instance) (uint64, error)) {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: name, ID: pmda.Item(36, item), InDom: l.nodes, Group: g, Units: units, Text: text, Value: value,
		})
	}
	for _, m := range numaMetrics {
		add(m.name, m.item, pdu.SpaceKByte, m.text, info.value(m.key, nil))
	}
	for i, m := range numaHugePages {
		add(m.pages, 29+i, pdu.UnitCount, "Huge pages of a node "+m.text, info.value(m.key, nil))
		add(m.bytes, 39+i, pdu.SpaceByte, "Memory of a node in huge pages "+m.text, info.value(m.key, l.hugePageSize()))
	}
	stat := l.nodeFiles("numastat", 0)
	g = l.Group(stat.refresh)
	for i, m := range numaAllocs {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(36, 32+i), InDom: l.nodes, Group: g,
			Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: m.text, Value: stat.value(m.key, nil),
		})
	}
	l.addBandwidth()
}

// nodeFiles are the files with named numbers that each node has under the same name.
type nodeFiles struct {
	*deviceFiles[procfile.KeyedNumbers]
	before int                   // how many fields stand before a name
	keys   procfile.KeyedNumbers // the names
}

func (l *linux) nodeFiles(name string, before int) *nodeFiles {
	n := &nodeFiles{before: before}
	n.deviceFiles = newDeviceFiles(l, l.nodes, n.parse, nodeDir, name)
	return n
}

// parse parses lines like "Node 0 MemTotal:  11102412 kB" or "numa_hit 268195172".
func (n *nodeFiles) parse(text []byte, k *procfile.KeyedNumbers) bool {
	if k.Empty() {
		*k = n.keys.Clone()
	}
	k.Clear()
	for line := range procfile.Lines(text) {
		for range n.before {
			_, line = procfile.CutField(line)
		}
		k.ParseLine(line)
	}
	return true
}

// value makes the Value of a metric with a number of each node. If factor is not nil, the number is
// multiplied by it.
func (n *nodeFiles) value(key string, factor number) func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
	at := n.keys.Index(key)
	return func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
		node := n.get(i.Name)
		if !node.ok {
			return 0, pmda.NoValue
		}
		v, ok := node.v.Get(at)
		if ok && factor != nil {
			var by, over uint64
			by, ok = factor()
			over, v = bits.Mul64(v, by)
			ok = ok && over == 0
		}
		if !ok {
			return 0, pmda.NoValue
		}
		return v, nil
	}
}

// hugePageSize returns the size of huge pages in bytes. It never changes, so the file is read only
// until it has been found.
func (l *linux) hugePageSize() number {
	info := &procfile.KeyedFile{File: l.file("proc/meminfo")}
	kbytes := keyedNumber(info, "Hugepagesize")
	bytes := product(kbytes, kilobyte)
	return func() (uint64, bool) {
		if _, ok := kbytes(); !ok {
			info.Read()
		}
		return bytes()
	}
}
