package pmdalinux

import "strings"

// A zoneStat is a metric mem.zoneinfo.*. Without a text it is the mem.vmstat metric of the same
// name for one zone or node.
type zoneStat struct{ name, text string }

// baseName returns the name without the common prefix.
func (m zoneStat) baseName() string { return strings.TrimPrefix(m.name, "mem.zoneinfo.") }

// key returns the name in /proc/zoneinfo.
func (m zoneStat) key() string {
	if key := zoneKeys[m.baseName()]; key != "" {
		return key
	}
	return m.baseName()
}

// zoneStats are the metrics, by the item of their PMIDs.
var zoneStats = []zoneStat{
	{"mem.zoneinfo.free", "Free pages, to be compared with min, low and high"},
	{"mem.zoneinfo.min", "Pages that are kept for those who cannot wait: with fewer, threads have to reclaim"},
	{"mem.zoneinfo.low", "Free pages below which kswapd sets to work"},
	{"mem.zoneinfo.high", "Free pages at which kswapd rests again"},
	{"mem.zoneinfo.scanned", "Pages looked at since one was last reclaimed, as old kernels tell"},
	{"mem.zoneinfo.spanned", "Pages from the first to the last of the zone, with the holes between"},
	{"mem.zoneinfo.present", "Pages that are really there"},
	{"mem.zoneinfo.managed", "Pages that the kernel gives from: those present but for its own"},
	{"mem.zoneinfo.nr_free_pages", ""},
	{"mem.zoneinfo.nr_alloc_batch", "Pages to be taken before it is the turn of another zone"},
	{"mem.zoneinfo.nr_inactive_anon", ""},
	{"mem.zoneinfo.nr_active_anon", ""},
	{"mem.zoneinfo.nr_inactive_file", ""},
	{"mem.zoneinfo.nr_active_file", ""},
	{"mem.zoneinfo.nr_unevictable", ""},
	{"mem.zoneinfo.nr_mlock", ""},
	{"mem.zoneinfo.nr_anon_pages", ""},
	{"mem.zoneinfo.nr_mapped", ""},
	{"mem.zoneinfo.nr_file_pages", ""},
	{"mem.zoneinfo.nr_dirty", ""},
	{"mem.zoneinfo.nr_writeback", ""},
	{"mem.zoneinfo.nr_slab_reclaimable", ""},
	{"mem.zoneinfo.nr_slab_unreclaimable", ""},
	{"mem.zoneinfo.nr_page_table_pages", ""},
	{"mem.zoneinfo.nr_kernel_stack", ""},
	{"mem.zoneinfo.nr_unstable", ""},
	{"mem.zoneinfo.nr_bounce", ""},
	{"mem.zoneinfo.nr_vmscan_write", ""},
	{"mem.zoneinfo.nr_vmscan_immediate_reclaim", ""},
	{"mem.zoneinfo.nr_writeback_temp", ""},
	{"mem.zoneinfo.nr_isolated_anon", ""},
	{"mem.zoneinfo.nr_isolated_file", ""},
	{"mem.zoneinfo.nr_shmem", ""},
	{"mem.zoneinfo.nr_dirtied", ""},
	{"mem.zoneinfo.nr_written", ""},
	{"mem.zoneinfo.numa_hit", ""},
	{"mem.zoneinfo.numa_miss", ""},
	{"mem.zoneinfo.numa_foreign", ""},
	{"mem.zoneinfo.numa_interleave", ""},
	{"mem.zoneinfo.numa_local", ""},
	{"mem.zoneinfo.numa_other", ""},
	{"mem.zoneinfo.workingset_refault", ""},
	{"mem.zoneinfo.workingset_activate", ""},
	{"mem.zoneinfo.workingset_nodereclaim", ""},
	{"mem.zoneinfo.nr_anon_transparent_hugepages", ""},
	{"mem.zoneinfo.nr_free_cma", ""},
	{"mem.zoneinfo.cma", "Pages of the areas kept for large contiguous blocks"},
	{"mem.zoneinfo.nr_swapcached", "Pages that have been read back from swap and are still the same there"},
	{"mem.zoneinfo.nr_shmem_hugepages", ""},
	{"mem.zoneinfo.nr_shmem_pmdmapped", ""},
	{"mem.zoneinfo.nr_file_hugepages", ""},
	{"mem.zoneinfo.nr_file_pmdmapped", ""},
	{"mem.zoneinfo.nr_kernel_misc_reclaimable", ""},
	{"mem.zoneinfo.nr_foll_pin_acquired", ""},
	{"mem.zoneinfo.nr_foll_pin_released", ""},
	{"mem.zoneinfo.workingset_refault_anon", "Pages without a file that came back after they were reclaimed"},
	{"mem.zoneinfo.workingset_refault_file", "Pages of files that came back after they were reclaimed"},
	{"mem.zoneinfo.workingset_active_anon", "Pages without a file that came back so soon that they count as active"},
	{"mem.zoneinfo.workingset_active_file", "Pages of files that came back so soon that they count as active"},
	{"mem.zoneinfo.workingset_restore_anon", "Pages without a file that came back as active as they were"},
	{"mem.zoneinfo.workingset_restore_file", "Pages of files that came back as active as they were"},
	{"mem.zoneinfo.nr_zspages", ""},
	{"mem.zoneinfo.nr_zone_inactive_file", ""},
	{"mem.zoneinfo.nr_zone_active_file", ""},
	{"mem.zoneinfo.nr_zone_inactive_anon", ""},
	{"mem.zoneinfo.nr_zone_active_anon", ""},
	{"mem.zoneinfo.nr_zone_unevictable", ""},
	{"mem.zoneinfo.nr_zone_write_pending", ""},
}

// zoneKeys are the names in /proc/zoneinfo where they differ from the metrics'.
var zoneKeys = map[string]string{
	"workingset_active_anon": "workingset_activate_anon",
	"workingset_active_file": "workingset_activate_file",
}
