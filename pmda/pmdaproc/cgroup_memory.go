package pmdaproc

import (
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A memoryKey is a line of the file memory.stat with its metric.
type memoryKey struct {
	item int
	name string // as in the line, except that a dot is a _ there
	text string
}

// memoryKeys are the lines. In version 1 those up to maxTotal also have sums over a group and the
// groups below it.
var memoryKeys = []memoryKey{
	{0, "cache", "Memory with parts of files"},
	{1, "rss", "Memory of no file, also in huge pages"},
	{2, "rss_huge", "Memory of no file in huge pages"},
	{3, "mapped_file", "Memory with files that are mapped into processes"},
	{4, "writeback", "Memory that is being written to disks"},
	{5, "swap", "Memory that is swapped out"},
	{6, "pgpgin", "Pages that the group was charged with"},
	{7, "pgpgout", "Pages that the group was freed of"},
	{8, "pgfault", "Page faults"},
	{9, "pgmajfault", "Page faults for which disks were read"},
	{10, "inactive_anon", "Memory of no file that was not used for some time"},
	{11, "active_anon", "Memory of no file that was used lately"},
	{12, "inactive_file", "Memory with files that was not used for some time"},
	{13, "active_file", "Memory with files that was used lately"},
	{14, "unevictable", "Memory that cannot be reclaimed"},
	{17, "anon", "Memory of no file"},
	{18, "anon_thp", "Memory of no file in huge pages that the kernel has made by itself"},
	{19, "file", "Memory with parts of files, also of those in memory alone"},
	{20, "file_dirty", "Memory with files that was changed and is not being written yet"},
	{21, "file_mapped", "Memory with files that are mapped into processes"},
	{22, "file_writeback", "Memory with files that is being written to disks"},
	{25, "kernel_stack", "Memory for stacks of the kernel"},
	{26, "pgactivate", "Pages that became ones used lately"},
	{27, "pgdeactivate", "Pages that became ones not used for some time"},
	{28, "pglazyfree", "Pages that processes have said they need no more"},
	{50, "pglazyfreed", "Pages of those that processes need no more that were reclaimed"},
	{51, "pgrefill", "Pages looked at among those used lately"},
	{52, "pgscan", "Pages looked at among those not used for some time"},
	{53, "pgsteal", "Pages that were reclaimed"},
	{60, "recent.rotated_anon", "Pages of no file that were found in use lately"},
	{61, "recent.rotated_file", "Pages of files that were found in use lately"},
	{62, "recent.scanned_anon", "Pages of no file that were looked at lately"},
	{63, "recent.scanned_file", "Pages of files that were looked at lately"},
	{64, "shmem", "Memory with files that are in memory alone, such as shared memory"},
	{65, "slab", "Memory for structures of the kernel"},
	{66, "slab_reclaimable", "Memory for structures of the kernel that can be reclaimed"},
	{67, "slab_unreclaimable", "Memory for structures of the kernel that cannot be reclaimed"},
	{68, "sock", "Memory for packets"},
	{70, "thp_collapse_alloc", "Huge pages made of pages that were in use"},
	{71, "thp_fault_alloc", "Huge pages made for page faults"},
	{72, "workingset.activate", "Pages that were needed again soon after they were reclaimed, and count as used"},
	{73, "workingset.nodereclaim", "Times that records of pages that were reclaimed were reclaimed themselves"},
	{74, "workingset.refault", "Pages that were needed again after they were reclaimed"},
}

const (
	maxTotal     = 14
	firstTotal   = 30
	memoryItems  = 75
	recentPrefix = "recent."
)

// sem returns the semantics and the units of a metric.
func (k memoryKey) sem() (pdu.Sem, pdu.Units) {
	switch {
	case 6 <= k.item && k.item <= 9:
		return pdu.SemCounter, pdu.UnitCount
	case strings.HasPrefix(k.name, recentPrefix):
		return pdu.SemCounter, pdu.SpaceByte
	}
	return pdu.SemInstant, pdu.SpaceByte
}

// memoryItem maps the names of lines to the items of their metrics.
var memoryItem = func() map[string]int {
	items := map[string]int{}
	for _, k := range memoryKeys {
		key := strings.ReplaceAll(k.name, ".", "_")
		items[key] = k.item
		if k.item <= maxTotal {
			items["total_"+key] = firstTotal + k.item
		}
	}
	return items
}()

// A memoryStat is the contents of the file, by items.
type memoryStat [memoryItems]cgroupNumber

// parse parses lines such as "cache 4096".
func (m *memoryStat) parse(text []byte) {
	clear(m[:])
	for line := range procfile.Lines(text) {
		key, rest := procfile.CutField(line)
		if item, ok := memoryItem[string(key)]; ok {
			v, _, ok := procfile.CutUint(rest)
			m[item] = cgroupNumber{v, ok}
		}
	}
}

// addMemory adds the metrics of memory.
func (c *cgroups) addMemory() {
	d := c.addInDom(24, "memory", "Control groups whose use of memory is counted", cgroupList{controller: "memory", either: true, needs: "memory.stat"})
	stat := &groupFile[memoryStat]{0, "memory.stat", "memory.stat", (*memoryStat).parse}
	for _, k := range memoryKeys {
		sem, units := k.sem()
		row := cgroupRow[memoryStat, uint64]{k.item, "memory.stat." + k.name, sem, units, k.text, func(m *memoryStat) (uint64, bool) { return m[k.item].get() }}
		addCgroupRows(d, 45, stat, row)
		if k.item <= maxTotal {
			at := firstTotal + k.item
			row.item, row.name, row.text = at, "memory.stat.total."+k.name, k.text+": of the group and those below it"
			row.value = func(m *memoryStat) (uint64, bool) { return m[at].get() }
			addCgroupRows(d, 45, stat, row)
		}
	}
	number := func(index, item int, first, second, name string, sem pdu.Sem, units pdu.Units, text string) {
		addCgroupRows(d, 45, cgroupNumberFile(index, first, second), cgroupRow[cgroupNumber, uint64]{item, "memory." + name, sem, units, text, (*cgroupNumber).get})
	}
	number(1, 80, "memory.usage_in_bytes", "", "usage", pdu.SemInstant, pdu.SpaceByte, "Memory that the group has, in hierarchies of version 1")
	number(2, 81, "memory.limit_in_bytes", "", "limit", pdu.SemInstant, pdu.SpaceByte, "Memory that the group may have, in hierarchies of version 1")
	number(3, 82, "memory.failcnt", "", "failcnt", pdu.SemCounter, pdu.UnitCount, "Times that the group wanted more memory than it may have")
	number(4, 90, "", "memory.current", "current", pdu.SemInstant, pdu.SpaceByte, "Memory that the group has, in the hierarchy of version 2")
	d.addContainerID("memory", 45, 29)
}
