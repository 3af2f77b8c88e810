package pmdalinux

import (
	"context"
	"os"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addMemory adds the metrics of memory and swap.
func (l *linux) addMemory() {
	l.addMeminfo()
	l.addVMStat()
	l.addSwapDevices()
	l.addNUMA()
	l.addKSM()
	l.addBuddyInfo()
	l.addZoneInfo()
	l.addSlabInfo()
	l.addFragmentation()
}

// addMeminfo adds the metrics of /proc/meminfo.
func (l *linux) addMeminfo() {
	info, g := l.keyedFile("proc/meminfo")
	for _, m := range meminfo {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(1, m.item), Group: g, Units: pdu.SpaceKByte,
			Text: m.text, Value: keyedNumber(info, m.key).value,
		})
	}
	l.addMemoryUse(g, info)
	l.addHugePages(g, info)
	l.addSwapSpace(g, info)
}

// meminfo are the metrics with a line in /proc/meminfo, in kilobytes.
var meminfo = []struct {
	item            int
	name, key, text string
}{
	{2, "mem.util.free", "MemFree", "Memory that nothing is in"},
	{3, "mem.util.shared", "MemShared", "Memory that several processes share, as kernels before 2.6 told"},
	{4, "mem.util.bufmem", "Buffers", "Memory with blocks of disks as such, mostly the descriptions of files"},
	{5, "mem.util.cached", "Cached", "Memory with contents of files, and of tmpfs and shared memory"},
	{13, "mem.util.swapCached", "SwapCached", "Memory that has been read back from swap and is still the same there"},
	{14, "mem.util.active", "Active", "Memory used of late, which is reclaimed last"},
	{15, "mem.util.inactive", "Inactive", "Memory not used of late, which is reclaimed first"},
	{16, "mem.util.highTotal", "HighTotal", "High memory: that which a 32-bit kernel has to map before it can use it"},
	{17, "mem.util.highFree", "HighFree", "High memory that nothing is in"},
	{18, "mem.util.lowTotal", "LowTotal", "Low memory: that which a 32-bit kernel can use directly, for its own data too"},
	{19, "mem.util.lowFree", "LowFree", "Low memory that nothing is in"},
	{20, "mem.util.swapTotal", "SwapTotal", "Swap space of all devices, in kilobytes"},
	{21, "mem.util.swapFree", "SwapFree", "Swap space not in use, in kilobytes"},
	{22, "mem.util.dirty", "Dirty", "Memory with changes that are to be written to disk"},
	{23, "mem.util.writeback", "Writeback", "Memory with changes that are being written to disk"},
	{24, "mem.util.mapped", "Mapped", "Memory with files that processes have mapped, such as libraries"},
	{25, "mem.util.slab", "Slab", "Memory in the kernel's caches of objects"},
	{26, "mem.util.committed_AS", "Committed_AS", "Memory that processes would need if they used all that they have asked for"},
	{27, "mem.util.pageTables", "PageTables", "Memory in the tables that map addresses of processes, on their lowest level"},
	{28, "mem.util.reverseMaps", "ReverseMaps", "Mappings of pages back to their page tables, as early kernels 2.6 told"},
	{30, "mem.util.anonpages", "AnonPages", "Memory of processes that no file stands behind, such as heaps and stacks"},
	{31, "mem.util.commitLimit", "CommitLimit", "The most that committed_AS may be if overcommitting is forbidden"},
	{32, "mem.util.bounce", "Bounce", "Memory that stands in for what a device cannot reach"},
	{33, "mem.util.NFS_Unstable", "NFS_Unstable", "Memory sent to NFS servers that have not yet said it is on their disks"},
	{34, "mem.util.slabReclaimable", "SReclaimable", "The part of slab that can be given up, such as known files and directories"},
	{35, "mem.util.slabUnreclaimable", "SUnreclaim", "The part of slab that cannot be given up"},
	{36, "mem.util.active_anon", "Active(anon)", "The part of active that no file stands behind"},
	{37, "mem.util.inactive_anon", "Inactive(anon)", "The part of inactive that no file stands behind"},
	{38, "mem.util.active_file", "Active(file)", "The part of active with contents of files"},
	{39, "mem.util.inactive_file", "Inactive(file)", "The part of inactive with contents of files"},
	{40, "mem.util.unevictable", "Unevictable", "Memory that cannot be reclaimed: locked, or of file systems in memory"},
	{41, "mem.util.mlocked", "Mlocked", "Memory that processes have locked, as with mlock(2)"},
	{42, "mem.util.shmem", "Shmem", "Memory in tmpfs and in shared memory segments"},
	{43, "mem.util.kernelStack", "KernelStack", "Memory in the stacks that threads have in the kernel"},
	{48, "mem.util.directMap4k", "DirectMap4k", "Memory that the kernel maps for itself in pages of 4 kilobytes"},
	{49, "mem.util.directMap2M", "DirectMap2M", "Memory that the kernel maps for itself in pages of 2 megabytes"},
	{50, "mem.util.vmallocTotal", "VmallocTotal", "Addresses that the kernel has for vmalloc: its memory in scattered pages"},
	{51, "mem.util.vmallocUsed", "VmallocUsed", "Addresses for vmalloc that are in use"},
	{52, "mem.util.vmallocChunk", "VmallocChunk", "The largest stretch of addresses for vmalloc that is free; 0 since kernel 4.4"},
	{53, "mem.util.mmap_copy", "MmapCopy", "Memory with copies of files that a kernel without memory protection mapped"},
	{54, "mem.util.quicklists", "Quicklists", "Memory kept aside for page tables to come"},
	{55, "mem.util.corrupthardware", "HardwareCorrupted", "Memory that the hardware has found broken"},
	{56, "mem.util.anonhugepages", "AnonHugePages", "The part of anonpages that is in huge pages, which the kernel forms by itself"},
	{57, "mem.util.directMap1G", "DirectMap1G", "Memory that the kernel maps for itself in pages of a gigabyte"},
	{58, "mem.util.available", "MemAvailable", "Memory that new programs could have without swapping, as the kernel estimates"},
}

// addMemoryUse adds the metrics of the size of memory and of memory in use.
func (l *linux) addMemoryUse(g *pmda.Group, info *procfile.KeyedFile) {
	total, free, cached := keyedNumber(info, "MemTotal"), keyedNumber(info, "MemFree"), keyedNumber(info, "Cached")
	used := difference(total, free)
	for _, m := range []struct {
		item       int
		name       string
		sem        pdu.Sem
		of         number
		text, help string
	}{
		{0, "mem.physmem", pdu.SemDiscrete, total, "Memory that the kernel has to give away: the machine's but for its own code", ""},
		{10, "mem.freemem", pdu.SemInstant, free, "Free memory: mem.util.free under another name", ""},
		{1, "mem.util.used", pdu.SemInstant, used, "Memory that something is in: mem.physmem less mem.util.free",
			"Much of it may be had for the asking: mem.util.available says how much."},
		{12, "mem.util.other", pdu.SemInstant, differenceOrZero(used, sum(cached, keyedNumber(info, "Buffers"))),
			"The part of mem.util.used that is neither cached nor bufmem", ""},
		{29, "mem.util.cache_clean", pdu.SemInstant, differenceOrZero(cached, sum(keyedNumber(info, "Dirty"), keyedNumber(info, "Writeback"))),
			"The part of mem.util.cached that is on disk too: neither dirty nor in writeback", ""},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(1, m.item), Group: g, Sem: m.sem, Units: pdu.SpaceKByte,
			Text: m.text, Help: m.help, Value: m.of.value,
		})
	}
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.physmem", ID: pmda.Item(1, 9), Group: g, Sem: pdu.SemDiscrete, Units: pdu.SpaceMByte,
		Text: "Memory in megabytes: mem.physmem, less what is no whole one",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			v, ok := total()
			return fit32(v>>10, ok)
		},
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.pagesize", ID: pmda.Item(1, 11), Sem: pdu.SemDiscrete, Units: pdu.SpaceByte,
		Text: "Size of a page of memory, the unit in which the kernel gives it",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			return uint32(os.Getpagesize()), nil
		},
	})
}

// addHugePages adds the metrics of reserved huge pages.
func (l *linux) addHugePages(g *pmda.Group, info *procfile.KeyedFile) {
	kbytes := keyedNumber(info, "Hugepagesize")
	bytes := product(kbytes, kilobyte)
	for i, m := range []struct{ pages, bytes, key, text string }{
		{"mem.util.hugepagesTotal", "mem.util.hugepagesTotalBytes", "HugePages_Total", "set aside, in use or not"},
		{"mem.util.hugepagesFree", "mem.util.hugepagesFreeBytes", "HugePages_Free", "set aside and not in use"},
		{"mem.util.hugepagesRsvd", "mem.util.hugepagesRsvdBytes", "HugePages_Rsvd", "promised to processes, which have not touched them yet"},
		{"mem.util.hugepagesSurp", "mem.util.hugepagesSurpBytes", "HugePages_Surp", "beyond those that the administrator set aside"},
	} {
		pages := keyedNumber(info, m.key)
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.pages, ID: pmda.Item(1, 44+i), Group: g, Units: pdu.UnitCount,
			Text:  "Huge pages " + m.text,
			Help:  "Pages of hinv.hugepagesize. Those of other sizes, and those that the kernel forms by itself, do not count.",
			Value: pages.value,
		})
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.bytes, ID: pmda.Item(1, 60+i), Group: g, Units: pdu.SpaceByte,
			Text: "Memory in huge pages " + m.text, Value: product(pages, bytes).value,
		})
	}
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.hugepagesize", ID: pmda.Item(1, 59), Group: g, Sem: pdu.SemDiscrete, Units: pdu.SpaceByte,
		Text: "Size of a huge page, where none is asked for by its size",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			return fit32(bytes())
		},
	})
}

// addSwapSpace adds the sums over all swap devices.
func (l *linux) addSwapSpace(g *pmda.Group, info *procfile.KeyedFile) {
	total, free := keyedNumber(info, "SwapTotal"), keyedNumber(info, "SwapFree")
	for _, m := range []struct {
		item       int
		name, text string
		of         number
	}{
		{6, "swap.length", "Swap space of all devices", total},
		{7, "swap.used", "Swap space in use", difference(total, free)},
		{8, "swap.free", "Swap space not in use", free},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(1, m.item), Group: g, Units: pdu.SpaceByte, Text: m.text,
			Value: product(m.of, kilobyte).value,
		})
	}
}
