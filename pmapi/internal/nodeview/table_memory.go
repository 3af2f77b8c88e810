package nodeview

import (
	"maps"
	"slices"
)

// meminfoFamilies are the fields of /proc/meminfo under node_exporter's names.
var meminfoFamilies = append(meminfo(map[string]string{
	"Active": "mem.util.active", "Active_anon": "mem.util.active_anon", "Active_file": "mem.util.active_file", "AnonHugePages": "mem.util.anonhugepages",
	"AnonPages": "mem.util.anonpages", "Bounce": "mem.util.bounce", "Buffers": "mem.util.bufmem", "Cached": "mem.util.cached",
	"CommitLimit": "mem.util.commitLimit", "Committed_AS": "mem.util.committed_AS", "DirectMap1G": "mem.util.directMap1G",
	"DirectMap2M": "mem.util.directMap2M", "DirectMap4k": "mem.util.directMap4k", "Dirty": "mem.util.dirty",
	"HardwareCorrupted": "mem.util.corrupthardware", "HighFree": "mem.util.highFree", "HighTotal": "mem.util.highTotal",
	"Hugepagesize": "hinv.hugepagesize", "Inactive": "mem.util.inactive", "Inactive_anon": "mem.util.inactive_anon",
	"Inactive_file": "mem.util.inactive_file", "KernelStack": "mem.util.kernelStack", "LowFree": "mem.util.lowFree", "LowTotal": "mem.util.lowTotal",
	"Mapped": "mem.util.mapped", "MemAvailable": "mem.util.available", "MemFree": "mem.util.free", "MemTotal": "mem.physmem",
	"Mlocked": "mem.util.mlocked", "MmapCopy": "mem.util.mmap_copy", "NFS_Unstable": "mem.util.NFS_Unstable", "PageTables": "mem.util.pageTables",
	"Quicklists": "mem.util.quicklists", "SReclaimable": "mem.util.slabReclaimable", "SUnreclaim": "mem.util.slabUnreclaimable",
	"Shmem": "mem.util.shmem", "Slab": "mem.util.slab", "SwapCached": "mem.util.swapCached", "SwapFree": "mem.util.swapFree",
	"SwapTotal": "mem.util.swapTotal", "Unevictable": "mem.util.unevictable", "VmallocChunk": "mem.util.vmallocChunk",
	"VmallocTotal": "mem.util.vmallocTotal", "VmallocUsed": "mem.util.vmallocUsed", "Writeback": "mem.util.writeback",
}),
	one("node_memory_HugePages_Free", gauge, "mem.util.hugepagesFree", "HugePages_Free of /proc/meminfo, in pages"),
	one("node_memory_HugePages_Rsvd", gauge, "mem.util.hugepagesRsvd", "HugePages_Rsvd of /proc/meminfo, in pages"),
	one("node_memory_HugePages_Surp", gauge, "mem.util.hugepagesSurp", "HugePages_Surp of /proc/meminfo, in pages"),
	one("node_memory_HugePages_Total", gauge, "mem.util.hugepagesTotal", "HugePages_Total of /proc/meminfo, in pages"),
	family{"node_memory_WritebackTmp_bytes", "WritebackTmp of /proc/meminfo", gauge, []source{{metric: "mem.vmstat.nr_writeback_temp", mul: 1, times: "hinv.pagesize"}}},
)

func meminfo(metrics map[string]string) []family {
	var all []family
	for _, field := range slices.Sorted(maps.Keys(metrics)) {
		all = append(all, one("node_memory_"+field+"_bytes", gauge, metrics[field], field+" of /proc/meminfo"))
	}
	return all
}

var vmstatFamilies = counts("node_vmstat_", "of /proc/vmstat", [][2]string{
	{"oom_kill", "mem.vmstat.oom_kill"}, {"pgfault", "mem.vmstat.pgfault"}, {"pgmajfault", "mem.vmstat.pgmajfault"}, {"pgpgin", "mem.vmstat.pgpgin"},
	{"pgpgout", "mem.vmstat.pgpgout"}, {"pswpin", "mem.vmstat.pswpin"}, {"pswpout", "mem.vmstat.pswpout"},
})

// counts returns a family for each field of a file, each with one metric. Their TYPE is untyped,
// because node_exporter does not know the type.
func counts(prefix, of string, fields [][2]string) []family {
	var all []family
	for _, f := range fields {
		all = append(all, one(prefix+f[0], untyped, f[1], f[0]+" "+of))
	}
	return all
}
