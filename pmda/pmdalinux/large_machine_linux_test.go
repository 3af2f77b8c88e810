package pmdalinux_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A large machine: what the test of it makes, and expects to see again.
const (
	bigCPUs   = 128
	bigNodes  = 4
	bigDisks  = 200 // sda to sdgr, of which each has two partitions; i and i+100 are paths to one
	bigMapped = 40  // device-mapper devices, and half as many arrays
	bigLinks  = 100 // interfaces: lo, 60 ethernets, the rest of kinds that do not count
	bigIRQs   = 60
)

// bigTimes are the ten times of a processor.
func bigTimes(cpu int) (ticks [10]uint64) {
	for i := range ticks {
		ticks[i] = uint64(cpu*1000 + i*10 + 100000)
	}
	ticks[8], ticks[9] = ticks[0]/2, ticks[1]/2 // the guests' part of the first two
	return ticks
}

func bigNode(cpu int) int { return cpu % (bigCPUs / 2) / (bigCPUs / 2 / bigNodes) } // siblings are half the machine apart

func bigIRQ(irq, cpu int) int { return irq*7 + cpu*3 }

// bigDisk is the name of a disk: sda to sdz, sdaa and on.
func bigDisk(i int) string {
	if i < 26 {
		return "sd" + string(rune('a'+i))
	}
	return "sd" + string(rune('a'+i/26-1)) + string(rune('a'+i%26))
}

// bigFields are the seventeen fields of a device.
func bigFields(seed int) (f [17]uint64) {
	for i := range f {
		f[i] = uint64(seed*100+i*2) + 1<<20
	}
	return f
}

func bigLink(i int) string {
	switch {
	case i == 0:
		return "lo"
	case i <= 60:
		return fmt.Sprintf("enp%ds0", i)
	case i <= 80:
		return fmt.Sprintf("veth%d", i)
	}
	return fmt.Sprintf("docker%d", i)
}

func bigTraffic(i, column int) uint64 { return uint64(i*1000+column) + 1<<33 }

// big makes the files.
func big() files {
	f := files{}
	bigProcessors(f)
	bigDevices(f)
	bigNetwork(f)
	for n := range bigNodes {
		dir := fmt.Sprintf("sys/devices/system/node/node%d/", n)
		f[dir+"meminfo"] = fmt.Sprintf("Node %d MemTotal:       %d kB\nNode %d MemFree:        %d kB\n", n, 1<<26+n, n, 1<<20+n)
		f[dir+"numastat"] = fmt.Sprintf("numa_hit %d\nnuma_miss %d\n", 1000+n, n)
	}
	return f
}

func bigProcessors(f files) {
	var stat, info, irqs strings.Builder
	var all [10]uint64
	irqs.WriteString("      ")
	for cpu := range bigCPUs {
		fmt.Fprintf(&stat, "cpu%d", cpu)
		for i, t := range bigTimes(cpu) {
			fmt.Fprintf(&stat, " %d", t)
			all[i] += t
		}
		stat.WriteString("\n")
		fmt.Fprintf(&info, "processor\t: %d\nmodel name\t: Large\ncpu MHz\t\t: %d.500\n\n", cpu, 2000+cpu)
		fmt.Fprintf(&irqs, " %10s", fmt.Sprint("CPU", cpu))
		f[fmt.Sprintf("sys/devices/system/node/node%d/cpu%d/", bigNode(cpu), cpu)] = ""
		f[fmt.Sprintf("sys/devices/system/cpu/cpu%d/online", cpu)] = "1\n"
	}
	irqs.WriteString("       \n")
	for irq := range bigIRQs {
		fmt.Fprintf(&irqs, "%4d: ", irq)
		for cpu := range bigCPUs {
			fmt.Fprintf(&irqs, "%10d ", bigIRQ(irq, cpu))
		}
		fmt.Fprintf(&irqs, " PCI-MSI %d-edge      nvme0q%d\n", irq*4096, irq)
	}
	f["proc/stat"] = "cpu " + strings.Trim(fmt.Sprint(all), "[]") + "\n" + stat.String() + "intr 1\nctxt 2\nbtime 3\nprocesses 4\nprocs_running 5\nprocs_blocked 6\n"
	f["proc/cpuinfo"], f["proc/interrupts"] = info.String(), irqs.String()
}

func bigDevices(f files) {
	var stats, parts strings.Builder
	parts.WriteString("major minor  #blocks  name\n\n")
	add := func(seed int, name string) {
		fmt.Fprintf(&stats, " %3d %7d %s %s\n", 8+seed/256, seed%256, name, strings.Trim(fmt.Sprint(bigFields(seed)), "[]"))
		fmt.Fprintf(&parts, " %3d %7d %11d %s\n", 8+seed/256, seed%256, 1<<30+seed, name)
	}
	for i := range bigDisks {
		add(i, bigDisk(i))
		add(1000+i, bigDisk(i)+"1")
		add(2000+i, bigDisk(i)+"2")
		f["sys/block/"+bigDisk(i)+"/device/wwid"] = fmt.Sprintf("naa.%016x\n", i%(bigDisks/2))
	}
	for i := range bigMapped {
		add(3000+i, fmt.Sprint("dm-", i))
		f[fmt.Sprintf("sys/block/dm-%d/dm/name", i)] = fmt.Sprintf("vg-volume%d\n", i)
	}
	for i := range bigMapped / 2 {
		add(4000+i, fmt.Sprint("md", i))
		f[fmt.Sprintf("dev/md/array%d", i)] = fmt.Sprintf("->../md%d", i)
	}
	f["proc/diskstats"], f["proc/partitions"] = stats.String(), parts.String()
}

func bigNetwork(f files) {
	var dev strings.Builder
	dev.WriteString(titles)
	for i := range bigLinks {
		fmt.Fprintf(&dev, "%6s:", bigLink(i))
		for c := range 16 {
			fmt.Fprintf(&dev, " %d", bigTraffic(i, c))
		}
		dev.WriteString("\n")
	}
	f["proc/net/dev"] = dev.String()
}

// TestBigMachine calculates what there is to be seen of a large machine, and compares
// all of it with the C agent.
func TestBigMachine(t *testing.T) {
	root := big().write(t)
	want := map[string]string{}
	bigWantProcessors(want)
	bigWantDisks(want)
	bigWantNetwork(want)
	var names []string
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names)
	var all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&all, "%s%s\n", name, want[name])
	}
	got := ours(t, root).look(names).String()
	if diff := cmp.Diff(strings.Split(all.String(), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	// Of discarded bytes, the C agent has those of one path.
	t.Run("twin", func(t *testing.T) { sameOnTree(t, root, "disk.wwid.discard_bytes") })
}

// each writes the instances 0 to n-1 of a metric.
func each(n int, name func(int) string, value func(int) uint64) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " %d %q %d", i, name(i), value(i))
	}
	return b.String()
}

// total adds values up.
func total(n int, value func(int) uint64) (sum uint64) {
	for i := range n {
		sum += value(i)
	}
	return sum
}

func bigWantProcessors(want map[string]string) {
	cpuName := func(cpu int) string { return fmt.Sprint("cpu", cpu) }
	for name, of := range map[string]func([10]uint64) uint64{
		"user": func(t [10]uint64) uint64 { return t[0] }, "vuser": func(t [10]uint64) uint64 { return t[0] - t[8] },
		"nice": func(t [10]uint64) uint64 { return t[1] }, "vnice": func(t [10]uint64) uint64 { return t[1] - t[9] },
		"sys": func(t [10]uint64) uint64 { return t[2] }, "idle": func(t [10]uint64) uint64 { return t[3] },
		"wait.total": func(t [10]uint64) uint64 { return t[4] }, "irq.hard": func(t [10]uint64) uint64 { return t[5] },
		"irq.soft": func(t [10]uint64) uint64 { return t[6] }, "intr": func(t [10]uint64) uint64 { return t[5] + t[6] },
		"steal": func(t [10]uint64) uint64 { return t[7] }, "guest": func(t [10]uint64) uint64 { return t[8] },
		"guest_nice": func(t [10]uint64) uint64 { return t[9] },
	} {
		ms := func(cpu int) uint64 { return 10 * of(bigTimes(cpu)) }
		want["kernel.percpu.cpu."+name] = each(bigCPUs, cpuName, ms)
		want["kernel.all.cpu."+name] = fmt.Sprint(" ", total(bigCPUs, ms))
		want["kernel.pernode.cpu."+name] = each(bigNodes, func(n int) string { return fmt.Sprint("node", n) }, func(n int) uint64 {
			return total(bigCPUs, func(cpu int) uint64 {
				if bigNode(cpu) != n {
					return 0
				}
				return ms(cpu)
			})
		})
	}
	want["hinv.ncpu"], want["hinv.nnode"] = fmt.Sprint(" ", bigCPUs), fmt.Sprint(" ", bigNodes)
	want["hinv.map.cpu_node"] = each(bigCPUs, cpuName, func(cpu int) uint64 { return uint64(bigNode(cpu)) })
	cell := func(irq, cpu int) uint64 { return uint64(bigIRQ(irq, cpu)) }
	want["kernel.percpu.intr"] = each(bigCPUs, cpuName, func(cpu int) uint64 {
		return total(bigIRQs, func(irq int) uint64 { return cell(irq, cpu) })
	})
	want["kernel.all.interrupts.total"] = each(bigIRQs, func(irq int) string { return fmt.Sprint(irq) }, func(irq int) uint64 {
		return total(bigCPUs, func(cpu int) uint64 { return cell(irq, cpu) })
	})
	want["kernel.percpu.interrupts"] = each(bigIRQs*bigCPUs,
		func(i int) string { return fmt.Sprintf("%d::cpu%d", i/bigCPUs, i%bigCPUs) },
		func(i int) uint64 { return cell(i/bigCPUs, i%bigCPUs) })
	want["mem.numa.util.total"] = each(bigNodes, func(n int) string { return fmt.Sprint("node", n) }, func(n int) uint64 { return uint64(1<<26 + n) })
	want["mem.numa.alloc.miss"] = each(bigNodes, func(n int) string { return fmt.Sprint("node", n) }, func(n int) uint64 { return uint64(n) })
}

func bigWantDisks(want map[string]string) {
	for name, of := range map[string]func([17]uint64) uint64{
		"read": func(f [17]uint64) uint64 { return f[0] }, "read_merge": func(f [17]uint64) uint64 { return f[1] },
		"blkread": func(f [17]uint64) uint64 { return f[2] }, "read_bytes": func(f [17]uint64) uint64 { return f[2] / 2 },
		"read_rawactive": func(f [17]uint64) uint64 { return f[3] }, "write": func(f [17]uint64) uint64 { return f[4] },
		"total": func(f [17]uint64) uint64 { return f[0] + f[4] }, "inflight": func(f [17]uint64) uint64 { return f[8] },
		"avactive": func(f [17]uint64) uint64 { return f[9] }, "aveq": func(f [17]uint64) uint64 { return f[10] },
		"discard": func(f [17]uint64) uint64 { return f[11] }, "discard_bytes": func(f [17]uint64) uint64 { return f[13] / 2 }, "flush_rawactive": func(f [17]uint64) uint64 { return f[16] },
	} {
		at := func(base int) func(int) uint64 { return func(i int) uint64 { return of(bigFields(base + i)) } }
		want["disk.dev."+name] = each(bigDisks, bigDisk, at(0))
		want["disk.all."+name] = fmt.Sprint(" ", total(bigDisks, at(0)))
		want["disk.partitions."+name] = each(2*bigDisks,
			func(i int) string { return fmt.Sprint(bigDisk(i/2), i%2+1) },
			func(i int) uint64 { return at(1000 * (i%2 + 1))(i / 2) })
		want["disk.dm."+name] = each(bigMapped, func(i int) string { return fmt.Sprint("vg-volume", i) }, at(3000))
		want["disk.md."+name] = each(bigMapped/2, func(i int) string { return fmt.Sprint("array", i) }, at(4000))
		want["disk.wwid."+name] = each(bigDisks/2, func(i int) string { return fmt.Sprintf("3%016x", i) },
			func(i int) uint64 { return at(0)(i) + at(0)(i+bigDisks/2) })
	}
	want["hinv.ndisk"] = fmt.Sprint(" ", bigDisks)
	want["disk.dev.capacity"] = each(bigDisks, bigDisk, func(i int) uint64 { return uint64(1<<30 + i) })
}

func bigWantNetwork(want map[string]string) {
	for name, columns := range map[string][]int{
		"in.bytes": {0}, "in.packets": {1}, "in.errors": {2}, "in.drops": {3}, "out.bytes": {8}, "out.packets": {9},
		"out.errors": {10}, "out.drops": {11}, "total.bytes": {0, 8}, "total.packets": {1, 9}, "total.errors": {2, 10}, "total.drops": {3, 11},
	} {
		of := func(i int) (v uint64) {
			for _, c := range columns {
				v += bigTraffic(i, c)
			}
			return v
		}
		want["network.interface."+name] = each(bigLinks, bigLink, of)
		want["network.all."+name] = fmt.Sprint(" ", total(60, func(i int) uint64 { return of(i + 1) }))
	}
	want["hinv.ninterface"] = fmt.Sprint(" ", bigLinks)
}
