package pmdaproc_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestInteropCgroupMetadata compares the metrics of control groups, and the labels of their
// instance domains, with the C agent.
func TestInteropCgroupMetadata(t *testing.T) {
	pcptest.Need(t, "pmcd")
	for version, tree := range map[string]files{"1": cgroupsOne(), "2": cgroupsTwo()} {
		root := tree.write(t)
		c, our := cAgent(t, root), ourAgent(t, root)
		names := c.names("cgroup")
		if diff := cmp.Diff(names, our.names("cgroup")); diff != "" || len(names) != 204 {
			t.Fatalf("%d metrics (-C +ours)\n%s", len(names), diff)
		}
		if diff := cmp.Diff(c.descs(names), our.descs(names)); diff != "" {
			t.Errorf("descriptors (-C +ours)\n%s", diff)
		}
		c.values(names) // lists the groups of version 2
		serials := []int{16, 17, 20, 22, 23, 24, 26, 27, 37, 38}
		if version == "1" { // the C agent lists groups without processor time
			serials = append(serials, 21)
		}
		for _, serial := range serials {
			if diff := cmp.Diff(c.labelsOf(serial), our.labelsOf(serial)); diff != "" {
				t.Errorf("version %s: instance domain %d (-C +ours)\n%s", version, serial, diff)
			}
		}
	}
}

// labelsOf returns the labels of an instance domain and of its instances.
func (c agentClient) labelsOf(serial int) map[string]string {
	c.t.Helper()
	d := pdu.MakeInDom(3, serial)
	all := map[string]string{}
	list, err := c.Instances(c.t.Context(), d)
	if err != nil {
		c.t.Fatal(err)
	}
	names := map[pdu.InstID]string{pdu.NoInst: "the domain"}
	for _, i := range list {
		names[i.ID] = fmt.Sprint(i.ID, " ", i.Name)
	}
	set, err := c.InDomLabels(c.t.Context(), d)
	if err != nil {
		c.t.Fatal(err)
	}
	sets, err := c.InstanceLabels(c.t.Context(), d)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, s := range append(sets, set) {
		if len(s.JSON) > 0 {
			all[names[s.Inst]] = string(s.JSON)
		}
	}
	return all
}

const diskstats = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11\n 253       0 dm-0 1 2 3 4 5 6 7 8 9 10 11\n   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11\n   1       0 ram0 1 2 3 4 5 6 7 8 9 10 11\n"

var containerDir = strings.Repeat("0123456789abcdef", 4)

// cgroupsOne returns a tree with hierarchies of version 1. No two of its numbers are equal.
func cgroupsOne() files {
	n := 1000
	next := func() int { n++; return n }
	tree := files{
		"proc/diskstats": diskstats, "proc/stat": "cpu  1 2 3 4 5\n",
		"proc/cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t14\t1\ncpu\t4\t15\t1\ncpuacct\t4\t16\t1\nblkio\t5\t17\t0\nmemory\t6\t18\t1\nnet_cls\t7\t19\t1\n",
		"proc/mounts": "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n" +
			"cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\ncgroup /sys/fs/cgroup/net_cls cgroup rw,net_cls 0 0\ncgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n",
	}
	for _, group := range []string{"", "/docker", "/docker/" + containerDir, "/system.slice", `/system.slice/dev\x2dhugepages.mount`, "/system.slice/docker-" + containerDir + ".scope"} {
		put := func(controller, file, text string) { tree["sys/fs/cgroup/"+controller+group+"/"+file] = text }
		number := func(controller, file string) { put(controller, file, fmt.Sprintln(next())) }
		keyed := func(controller, file string, keys ...string) {
			var b strings.Builder
			for _, key := range keys {
				fmt.Fprintf(&b, "%s %d\n", key, next())
			}
			put(controller, file, b.String())
		}
		number("net_cls", "net_cls.classid")
		put("cpuset", "cpuset.cpus", fmt.Sprintf("0-%d\n", next()))
		put("cpuset", "cpuset.mems", fmt.Sprintf("0,%d\n", next()))
		keyed("cpu,cpuacct", "cpuacct.stat", "user", "system")
		number("cpu,cpuacct", "cpuacct.usage")
		put("cpu,cpuacct", "cpuacct.usage_percpu", fmt.Sprintf("%d %d %d \n", next(), next(), next()))
		number("cpu,cpuacct", "cpu.shares")
		keyed("cpu,cpuacct", "cpu.stat", "nr_periods", "nr_throttled", "throttled_time")
		number("cpu,cpuacct", "cpu.cfs_period_us")
		number("cpu,cpuacct", "cpu.cfs_quota_us")
		if group == "/docker" {
			put("cpu,cpuacct", "cpu.cfs_quota_us", "-1\n")
		}
		number("memory", "memory.usage_in_bytes")
		number("memory", "memory.limit_in_bytes")
		number("memory", "memory.failcnt")
		keys := slices.Clone(memoryStatKeys)
		for _, key := range memoryStatKeys[:15] {
			keys = append(keys, "total_"+key)
		}
		keyed("memory", "memory.stat", keys...)
		for _, file := range []string{"io_merged", "io_queued", "io_service_bytes", "io_serviced", "io_service_time", "io_wait_time", "throttle.io_service_bytes", "throttle.io_serviced"} {
			var keys []string
			for _, device := range []string{"8:0", "253:0", "7:0", "99:9"} {
				for _, op := range []string{"Read", "Write", "Sync", "Async", "Total"} {
					keys = append(keys, device+" "+op)
				}
			}
			keyed("blkio", "blkio."+file, append(keys, "Total")...)
		}
		keyed("blkio", "blkio.sectors", "8:0", "253:0", "7:0")
		keyed("blkio", "blkio.time", "8:0", "253:0")
	}
	tree["sys/fs/cgroup/memory/.hidden/memory.stat"] = "cache 1\n"
	tree["sys/fs/cgroup/memory/link"] = "->docker"
	tree["sys/fs/cgroup/memory/partial/memory.stat"] = "cache 12 13\nrss -1\nswap\nanon x\n\n"
	return tree
}

// memoryStatKeys are the lines of memory.stat. The first ones also have sums.
var memoryStatKeys = []string{"cache", "rss", "rss_huge", "mapped_file", "writeback", "swap", "pgpgin", "pgpgout", "pgfault", "pgmajfault", "inactive_anon", "active_anon", "inactive_file", "active_file", "unevictable",
	"anon", "anon_thp", "file", "file_dirty", "file_mapped", "file_writeback", "kernel_stack", "pgactivate", "pgdeactivate", "pglazyfree", "pglazyfreed", "pgrefill", "pgscan", "pgsteal",
	"recent_rotated_anon", "recent_rotated_file", "recent_scanned_anon", "recent_scanned_file", "shmem", "slab", "slab_reclaimable", "slab_unreclaimable", "sock", "thp_collapse_alloc", "thp_fault_alloc",
	"workingset_activate", "workingset_nodereclaim", "workingset_refault", "percpu"}

// cgroupsTwo returns a tree with the hierarchy of version 2.
func cgroupsTwo() files {
	n := 1000
	next := func() int { n++; return n }
	tree := files{
		"proc/diskstats": diskstats, "proc/stat": "cpu  1 2 3 4 5\n",
		"proc/cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t14\t1\ncpu\t0\t15\t1\nmemory\t0\t18\t1\n",
		"proc/mounts":  "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,memory_recursiveprot 0 0\n",
	}
	for i, group := range []string{"", "/machine.slice", "/machine.slice/libpod-" + containerDir + ".scope", "/user.slice", `/user.slice/a\x2db.mount`} {
		put := func(file, text string) { tree["sys/fs/cgroup"+group+"/"+file] = text }
		put("cpu.stat", fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec %d\nnr_periods 0\n", next(), next(), next()))
		stalls := func(who string) string {
			return fmt.Sprintf("%s avg10=%d.25 avg60=%d.50 avg300=%d.75 total=%d\n", who, next(), next(), next(), next())
		}
		put("cpu.pressure", stalls("some")+stalls("full"))
		put("io.pressure", stalls("some")+stalls("full"))
		put("irq.pressure", stalls("full"))
		if i > 0 {
			put("memory.pressure", stalls("some")+stalls("full"))
			put("memory.current", fmt.Sprintln(next()))
			var b strings.Builder
			for _, key := range memoryStatKeys[15:] {
				fmt.Fprintf(&b, "%s %d\n", key, next())
			}
			put("memory.stat", b.String())
		}
		for _, device := range []string{"8:0", "253:0", "7:0"} {
			tree["sys/fs/cgroup"+group+"/io.stat"] += fmt.Sprintf("%s rbytes=%d wbytes=%d rios=%d wios=%d dbytes=%d dios=%d cost.usage=1\n", device, next(), next(), next(), next(), next(), next())
		}
		put("cpuset.cpus", "0-1\n")
	}
	tree["sys/fs/cgroup/user.slice/max/memory.current"], tree["sys/fs/cgroup/user.slice/max/memory.stat"] = "max\n", ""
	tree["sys/fs/cgroup/user.slice/bad/memory.current"], tree["sys/fs/cgroup/user.slice/bad/memory.stat"] = "", "file 12\n"
	tree["sys/fs/cgroup/user.slice/bad/io.stat"] = "8:0 rbytes=1 wbytes=2\n8:1 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:1 rbytes=11 wbytes=12 rios=13 wios=14 dbytes=15 dios=16\n"
	tree["sys/fs/cgroup/user.slice/bad/cpu.pressure"] = "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
	return tree
}

// mendedCgroups maps versions to metrics of control groups with wrong values in the C agent, and
// the reason.
var mendedCgroups = map[string]map[string]string{
	"1": {
		`cgroup\.cpuacct\.stat\..*`:      "D11: clock ticks",
		`cgroup\.blkio\.(all|dev)\.time`: "D11: milliseconds taken for clock ticks",
		`cgroup\.netclass\..*`:           "D10: none",
	},
	"2": {
		`cgroup\.pressure\..*\.avg.*`:        "D5: numbers that are none",
		`cgroup\.cpuset\.(cpus|mems)`:        "no texts",
		`cgroup\.cpuacct\.(stat\..*|id\..*)`: "zeroes where the kernel has no such files",
	},
}

// TestInteropCgroupTrees compares the values of valid trees with the C agent, by instance name.
func TestInteropCgroupTrees(t *testing.T) {
	pcptest.Need(t, "pmcd")
	for version, tree := range map[string]files{"1": cgroupsOne(), "2": cgroupsTwo()} {
		root := tree.write(t)
		c, our := cAgent(t, root), ourAgent(t, root)
		names := c.names("cgroup")
		c.values(names) // lists the groups of version 2
		want, got := c.valuesByName(names), our.valuesByName(names)
		for _, metric := range names {
			diff := cmp.Diff(want[metric], got[metric])
			switch why := mendedCgroup(version, metric); {
			case diff != "" && why == "":
				t.Errorf("version %s: %s (-C +ours)\n%s", version, metric, diff)
			case diff == "" && why != "":
				t.Errorf("version %s: %s: the C agent has it right", version, metric)
			}
		}
	}
}

// mendedCgroup returns why the values of a metric differ, or "".
func mendedCgroup(version, metric string) string {
	for pattern, why := range mendedCgroups[version] {
		if regexp.MustCompile("^" + pattern + "$").MatchString(metric) {
			return why
		}
	}
	return ""
}

// valuesByName returns values by metric and instance name.
func (c agentClient) valuesByName(metrics []string) map[string]map[string]string {
	c.t.Helper()
	byDomain := map[pdu.InDom]map[string]string{}
	all := map[string]map[string]string{}
	values, descs := c.values(metrics), c.descs(metrics)
	for _, metric := range metrics {
		d := descs[metric].InDom
		if byDomain[d] == nil {
			byDomain[d] = map[string]string{fmt.Sprint(int32(pdu.NoInst)): ""}
			if d != pdu.NoInDom {
				list, err := c.Instances(c.t.Context(), d)
				if err != nil {
					c.t.Fatal(err)
				}
				for _, i := range list {
					byDomain[d][fmt.Sprint(i.ID)] = i.Name
				}
			}
		}
		all[metric] = map[string]string{}
		for line := range strings.Lines(values[metric]) {
			id, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			name, ok := byDomain[d][id]
			if !ok {
				name = "?" + id
			}
			all[metric][name] = value
		}
	}
	return maps.Clone(all)
}

// BenchmarkCgroups fetches from the agent in this process, with many groups of version 2.
func BenchmarkCgroups(b *testing.B) {
	tree := cgroupsTwo()
	for i := range 300 {
		for _, file := range []string{"cpu.stat", "memory.stat", "memory.current", "io.stat", "cpu.pressure"} {
			tree[fmt.Sprintf("sys/fs/cgroup/system.slice/unit%d.service/%s", i, file)] = tree["sys/fs/cgroup/user.slice/"+file]
		}
	}
	root := tree.write(b)
	our := ourAgent(b, root)
	for name, metrics := range map[string][]string{"cpu": {"cgroup.cpu.stat.usage"}, "memory": {"cgroup.memory.current"}, "io": {"cgroup.io.stat.rbytes"}, "all": our.names("cgroup")} {
		b.Run(name, func(b *testing.B) { our.bench(b, metrics) })
	}
}
