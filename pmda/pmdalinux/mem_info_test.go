package pmdalinux_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// liveMemory are metrics of memory and swap that come from system calls, not from a tree,
// with the reason.
var liveMemory = map[string]string{}

// only removes the lines of metrics without values.
func only(shown string) string {
	var b strings.Builder
	for line := range strings.Lines(shown) {
		if strings.Contains(line, " ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// memoryNames are metrics of /proc/meminfo that are calculated or that the test damages.
var memoryNames = []string{
	"hinv.hugepagesize", "hinv.physmem", "mem.freemem", "mem.physmem",
	"mem.util.active_anon", "mem.util.bufmem", "mem.util.cache_clean", "mem.util.cached", "mem.util.dirty", "mem.util.free",
	"mem.util.hugepagesFree", "mem.util.hugepagesFreeBytes", "mem.util.other", "mem.util.slab", "mem.util.used",
	"swap.free", "swap.length", "swap.used",
}

// TestMeminfo compares the values of good and damaged files.
func TestMeminfo(t *testing.T) {
	none := func() string {
		return strings.Join(memoryNames, ": Metric not supported by this version of monitored application\n") +
			": Metric not supported by this version of monitored application\n"
	}
	for _, tt := range []struct{ name, text, want string }{
		{"good", `MemTotal:        1000000 kB
MemFree:          300000 kB
Buffers:           10000 kB
Cached:           200000 kB
Dirty:              3000 kB
Writeback:          2000 kB
Active(anon):        100 kB
Slab:7 kB
SwapTotal:           500 kB
SwapFree:            200 kB
HugePages_Free:        3
Hugepagesize:       2048 kB
`, `hinv.hugepagesize 2097152
hinv.physmem 976
mem.freemem 300000
mem.physmem 1000000
mem.util.active_anon 100
mem.util.bufmem 10000
mem.util.cache_clean 195000
mem.util.cached 200000
mem.util.dirty 3000
mem.util.free 300000
mem.util.hugepagesFree 3
mem.util.hugepagesFreeBytes 6291456
mem.util.other 490000
mem.util.slab 7
mem.util.used 700000
swap.free 204800
swap.length 512000
swap.used 307200
`},
		{"more in use than there is", "MemTotal: 1 kB\nMemFree: 2 kB\nSwapTotal: 3 kB\nSwapFree: 4 kB\n",
			"hinv.physmem 0\nmem.freemem 2\nmem.physmem 1\nmem.util.free 2\nswap.free 4096\nswap.length 3072\n"},
		{"more cached than in use", "MemTotal: 9 kB\nMemFree: 2 kB\nCached: 9 kB\nBuffers: 1 kB\nDirty: 7 kB\nWriteback: 7 kB\n",
			"hinv.physmem 0\nmem.freemem 2\nmem.physmem 9\nmem.util.bufmem 1\nmem.util.cache_clean 0\nmem.util.cached 9\nmem.util.dirty 7\n" +
				"mem.util.free 2\nmem.util.other 0\nmem.util.used 7\n"},
		{"damaged lines", "MemTotal: many kB\nMemFree: -5 kB\nCached: 12x kB\nBuffers:\nDirty: 5 MB\nSlab 6 kB 7\n\x00\x00\nActive(anon) 4\n" +
			"SwapTotal: 99999999999999999999 kB\n: 3 kB\nSwapFree: 8 k", "mem.util.active_anon 4\n"},
		{"huge numbers", "MemTotal: 18446744073709551615 kB\nHugePages_Free: 18446744073709551615\nHugepagesize: 4194304 kB\nSwapFree: 18014398509481984 kB\n",
			"mem.physmem 18446744073709551615\nmem.util.hugepagesFree 18446744073709551615\n"},
		{"cut off in a number", "MemFree: 123 kB\nCached: 45", "mem.freemem 123\nmem.util.free 123\n"},
		{"empty", "", ""},
		{"an endless line", strings.Repeat("MemFree ", 1<<16), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := only(files{"proc/meminfo": tt.text}.valuesOf(t, memoryNames...))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
	if diff := cmp.Diff(none(), files{}.valuesOf(t, memoryNames...)); diff != "" {
		t.Error("without the file: (-want +got)\n", diff)
	}
}

// TestVMStatSemantics checks that the numbers of free pages are not counters.
func TestVMStatSemantics(t *testing.T) {
	names := []string{"mem.vmstat.nr_free_cma", "mem.vmstat.nr_free_pages"}
	descs := ourAgent(t, files{}.write(t)).snapshot(names).descs
	for _, name := range names {
		if d := descs[name]; d.Sem != pdu.SemInstant {
			t.Errorf("%s: %v", name, d.Sem)
		}
	}
}

// TestVMStat compares sums, and values that newer kernels report only in parts.
func TestVMStat(t *testing.T) {
	names := []string{
		"mem.vmstat.nr_free_pages", "mem.vmstat.nr_slab", "mem.vmstat.pgscan_direct_total", "mem.vmstat.pgscan_kswapd_total",
		"mem.vmstat.pgsteal_total", "mem.vmstat.thp_split", "swap.in", "swap.pagesin", "swap.pagesout",
	}
	const noProcesses = "swap.in: Metric not supported by this version of monitored application\n"
	for _, tt := range []struct{ name, text, want string }{
		{"new", "nr_free_pages 12\nnr_slab_reclaimable 3\nnr_slab_unreclaimable 4\npgscan_direct 5\npgscan_direct_throttle 1\npgscan_kswapd 6\n" +
			"pgsteal_kswapd 7\npgsteal_direct 8\npgsteal_anon 100\nthp_split_page 9\nthp_split_page_failed 2\npswpin 4294967297\npswpout 3\n",
			"mem.vmstat.nr_free_pages 12\nmem.vmstat.nr_slab 7\nmem.vmstat.pgscan_direct_total 6\nmem.vmstat.pgscan_kswapd_total 6\n" +
				"mem.vmstat.pgsteal_total 15\nmem.vmstat.thp_split 11\n" + noProcesses + "swap.pagesin 1\nswap.pagesout 3\n"},
		{"old", "nr_slab 3\npgsteal_dma 1\npgsteal_normal 2\nthp_split 4\n",
			"mem.vmstat.nr_slab 3\nmem.vmstat.pgsteal_total 3\nmem.vmstat.thp_split 4\n" + noProcesses},
		{"parts", "nr_slab_reclaimable 3\nthp_split_page 9\npgscan_direct x\npswpin -1\n", noProcesses},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := only(files{"proc/vmstat": tt.text}.valuesOf(t, names...))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestSwapDevices compares the values of good and damaged lines.
func TestSwapDevices(t *testing.T) {
	got := only(files{"proc/swaps": `Filename				Type		Size		Used		Priority
/dev/sda2                               partition	1000		300		-2
/swap\040file                           file		500		600		5
/dev/sdb                                partition	5000000000	1		0
/dev/sdc                                partition	1
/dev/sdd                                partition	a		1		1
/dev/sda2                               partition	7		3		4
none                                    partition	7		3		4
/dev/zram0                              partition	8		0		100
/dev/sde                                partition	8		0		1`,
	}.valuesOf(t, "swapdev.free", "swapdev.length", "swapdev.maxswap", "swapdev.vlength", "swapdev.priority"))
	want := `swapdev.free 0 "/dev/sda2" 700 2 "/dev/zram0" 8
swapdev.length 0 "/dev/sda2" 1000 1 "/swap\\040file" 500 2 "/dev/zram0" 8
swapdev.maxswap 0 "/dev/sda2" 1000 1 "/swap\\040file" 500 2 "/dev/zram0" 8
swapdev.priority 0 "/dev/sda2" -2 1 "/swap\\040file" 5 2 "/dev/zram0" 100
swapdev.vlength 0 "/dev/sda2" 0 1 "/swap\\040file" 0 2 "/dev/zram0" 0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestNUMA compares the values of nodes, including one with damaged or missing files.
func TestNUMA(t *testing.T) {
	const dir = "sys/devices/system/node/"
	tree := files{
		"proc/meminfo": "Hugepagesize: 2048 kB\n",
		dir + "node0/meminfo": "Node 0 MemTotal: 1000 kB\nNode 0 MemUsed: 700 kB\nNode 0 Mapped: 7 kB\nNode 0 PageTables: 8 kB\n" +
			"Node 0 SecPageTables: 0 kB\nNode 0 HugePages_Free: 3\nNode 0 ShmemPmdMapped: 0 kB\n",
		dir + "node0/numastat": "numa_hit 12\nlocal_node x\n",
		dir + "node1/meminfo":  "Node 1 MemTotal: -1 kB\nNode 1 Mapped: 99999999999999999999 kB\nNode 1 MemUsed:\nMemTotal: 6 kB\nNode 1 HugePages_Free: 4",
		dir + "node3/numastat": "numa_hit 13\nlocal_node 14\n",
	}
	want := `mem.numa.alloc.hit 0 "node0" 12 2 "node3" 13
mem.numa.alloc.local_node 2 "node3" 14
mem.numa.util.hugepagesFree 0 "node0" 3
mem.numa.util.hugepagesFreeBytes 0 "node0" 6291456
mem.numa.util.mapped 0 "node0" 7
mem.numa.util.pageTables 0 "node0" 8
mem.numa.util.total 0 "node0" 1000
mem.numa.util.used 0 "node0" 700
`
	names := []string{
		"mem.numa.alloc.hit", "mem.numa.alloc.local_node", "mem.numa.util.free", "mem.numa.util.hugepagesFree", "mem.numa.util.hugepagesFreeBytes",
		"mem.numa.util.mapped", "mem.numa.util.pageTables", "mem.numa.util.total", "mem.numa.util.used",
	}
	if diff := cmp.Diff(want, only(tree.valuesOf(t, names...))); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	if got := only(files{dir + "online": "0\n"}.valuesOf(t, names...)); got != "" {
		t.Error("without nodes there is ", got)
	}
}

// TestKSM compares the values of good and damaged files.
func TestKSM(t *testing.T) {
	names := []string{"mem.ksm.full_scans", "mem.ksm.pages_shared", "mem.ksm.run_state", "mem.ksm.sleep_time"}
	const dir = "sys/kernel/mm/ksm/"
	tree := files{dir + "run": "1\n\x00\x00", dir + "full_scans": "12", dir + "pages_shared": "-3\n"}
	want := `mem.ksm.full_scans
mem.ksm.pages_shared
mem.ksm.run_state 1
mem.ksm.sleep_time: Metric not supported by this version of monitored application
`
	if diff := cmp.Diff(want, tree.valuesOf(t, names...)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestZones compares the values of /proc/buddyinfo and /proc/zoneinfo.
func TestZones(t *testing.T) {
	page := uint64(os.Getpagesize() >> 10)
	kb := func(pages uint64) string { return fmt.Sprint(pages * page) }
	tree := files{
		"proc/buddyinfo": "Node 0, zone      DMA      3      1 \nNode 1, zone   Normal      7      0      18446744073709551615 \nNode x, zone A 1\nNode 2 zone B 1\n" +
			"Node 3, zone C 1 -1 5\nNode 4, zone\nNode 5, zone D 5 6",
		"proc/zoneinfo": `Node 0, zone      DMA
  per-node stats
      nr_mapped    28
      nr_dirty     -1
  pages free     40
        high     33
        present  98
        protection: (0, 19)
      nr_free_pages 41
      workingset_activate_file 7
  pagesets
    cpu: 0
              count: 5
              high:  240
  vm stats threshold: 4
  node_unreclaimable:  0
Node 0, zone  Movable
  pages free     0
        present  0
        protection: (0, x)
Node 1, zone   Normal
  pages free     99999999999999999999
        high     12
        present  1
        protection: (5`,
	}
	want := `mem.buddyinfo.pages 0 "DMA::order0::node0" 3 1 "DMA::order1::node0" 1 2 "Normal::order0::node1" 7 3 "Normal::order1::node1" 0 4 "Normal::order2::node1" 18446744073709551615 5 "C::order0::node3" 1
mem.buddyinfo.total 0 "DMA::order0::node0" ` + kb(3) + ` 1 "DMA::order1::node0" ` + kb(2) + ` 2 "Normal::order0::node1" ` + kb(7) + ` 3 "Normal::order1::node1" 0 5 "C::order0::node3" ` + kb(1) + `
mem.zoneinfo.free 1 "DMA::node0" ` + kb(40) + `
mem.zoneinfo.high 1 "DMA::node0" ` + kb(33) + ` 3 "Normal::node1" ` + kb(12) + `
mem.zoneinfo.nr_free_pages 1 "DMA::node0" ` + kb(41) + `
mem.zoneinfo.nr_mapped 0 "node0" ` + kb(28) + `
mem.zoneinfo.protection 0 "DMA::node0::lowmem_reserved0" 0 1 "DMA::node0::lowmem_reserved1" ` + kb(19) + ` 2 "Movable::node0::lowmem_reserved0" 0
`
	names := []string{
		"mem.buddyinfo.pages", "mem.buddyinfo.total", "mem.zoneinfo.free", "mem.zoneinfo.high", "mem.zoneinfo.nr_dirty",
		"mem.zoneinfo.nr_free_pages", "mem.zoneinfo.nr_mapped", "mem.zoneinfo.protection",
	}
	if diff := cmp.Diff(want, only(tree.valuesOf(t, names...))); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	damaged := files{
		"proc/buddyinfo": strings.Repeat("Node 0, zone A ", 10000),
		"proc/zoneinfo": "Node 0, zone A\n pages free 1\n present 1\nNode 0, zone A\n present 2\n per-node stats\n pagesets\n pages free 3\n protection: (1)\n" +
			"Node 0, zone \x1b[2J\n pages free 1\n present 1\n",
	}
	want = "mem.zoneinfo.free 0 \"A::node0\" " + kb(1) + "\n"
	if diff := cmp.Diff(want, only(damaged.valuesOf(t, names...))); diff != "" {
		t.Error("damaged: (-want +got)\n", diff)
	}
}

// memoryTree returns a small tree with all files of memory.
func memoryTree(t testing.TB) files {
	f := files{
		"proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 1000 300 -2\n/dev/sdb2 partition 1000 300 -3\n",
	}
	for _, name := range []string{"proc/meminfo", "proc/vmstat", "proc/buddyinfo", "proc/zoneinfo"} {
		text, err := os.ReadFile("/" + name)
		if err != nil {
			t.Skip("needs the files of a Linux: ", err)
		}
		f[name] = string(text)
	}
	for _, m := range []string{
		"full_scans", "merge_across_nodes", "pages_shared", "pages_sharing", "pages_to_scan",
		"pages_unshared", "pages_volatile", "run", "sleep_millisecs",
	} {
		f["sys/kernel/mm/ksm/"+m] = "1\n"
	}
	for node := range 2 {
		dir := fmt.Sprintf("sys/devices/system/node/node%d/", node)
		f[dir+"meminfo"] = fmt.Sprintf("Node %d MemTotal: 5 kB\nNode %[1]d HugePages_Free: 2\n", node)
		f[dir+"numastat"] = "numa_hit 5\n"
	}
	return f
}

// TestMemorySteady checks that fetches of memory and swap allocate nothing.
func TestMemorySteady(t *testing.T) {
	fetch := steadyFetch(t, memoryTree(t).write(t), "mem", "swap", "swapdev", "hinv.physmem", "hinv.pagesize", "hinv.hugepagesize")
	if n := testing.AllocsPerRun(100, fetch); n != 0 && !raceEnabled {
		t.Errorf("a fetch allocates %v times", n)
	}
}

// BenchmarkMemory fetches all metrics of memory and swap of this machine.
func BenchmarkMemory(b *testing.B) {
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		b.Skip("needs a Linux: ", err)
	}
	fetch := steadyFetch(b, "/", "mem", "swap", "swapdev")
	b.ReportAllocs()
	for b.Loop() {
		fetch()
	}
}
