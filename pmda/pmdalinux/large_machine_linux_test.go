package pmdalinux_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// A machine is the numbers of the processors, interrupts and devices of a tree. The values of each
// depend only on its number, so they are the same on each machine that has it.
type machine struct{ cpus, irqs, disks, mapped, links []int }

// The sizes of the large machine.
const (
	largeCPUs   = 128
	largeNodes  = 4
	largeIRQs   = 60
	largeDisks  = 200 // each with two partitions; disk i and disk i+100 are paths to the same
	largeMapped = 40  // devices of the device mapper, and half as many arrays
	largeLinks  = 100 // interfaces: lo, 60 physical ones, and others
)

func largeMachine() machine {
	return machine{upTo(largeCPUs), upTo(largeIRQs), upTo(largeDisks), upTo(largeMapped), upTo(largeLinks)}
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// diskNumber returns the name of disk i: sda to sdz, sdaa and so on.
func diskNumber(i int) string {
	if i < 26 {
		return "sd" + string(rune('a'+i))
	}
	return "sd" + string(rune('a'+i/26-1)) + string(rune('a'+i%26))
}

// linkNumber returns the name of interface i. Those in the middle are physical.
func linkNumber(i int) string {
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

// tree makes the files.
func (m machine) tree() files {
	f := files{}
	m.addProcessors(f)
	m.addDisks(f)
	m.addInterfaces(f)
	return f
}

func (m machine) addProcessors(f files) {
	var stat, info, irqs strings.Builder
	var all [10]int
	irqs.WriteString("      ")
	for _, cpu := range m.cpus {
		fmt.Fprintf(&stat, "cpu%d", cpu)
		for i := range all {
			ticks := cpu*1000 + i*10 + 100000
			if i >= 8 { // guest times, part of the first two
				ticks = (cpu*1000 + (i-8)*10 + 100000) / 2
			}
			fmt.Fprintf(&stat, " %d", ticks)
			all[i] += ticks
		}
		stat.WriteString("\n")
		fmt.Fprintf(&info, "processor\t: %d\nmodel name\t: Large\ncpu MHz\t\t: %d.500\n\n", cpu, 2000+cpu)
		fmt.Fprintf(&irqs, " %10s", fmt.Sprint("CPU", cpu))
		node := cpu % (largeCPUs / 2) / (largeCPUs / 2 / largeNodes) // siblings are half the machine apart
		f[fmt.Sprintf("sys/devices/system/node/node%d/cpu%d/", node, cpu)] = ""
		f[fmt.Sprintf("sys/devices/system/cpu/cpu%d/online", cpu)] = "1\n"
		dir := fmt.Sprintf("sys/devices/system/node/node%d/", node)
		f[dir+"meminfo"] = fmt.Sprintf("Node %d MemTotal:       %d kB\nNode %d MemFree:        %d kB\n", node, 1<<26+node, node, 1<<20+node)
		f[dir+"numastat"] = fmt.Sprintf("numa_hit %d\nnuma_miss %d\n", 1000+node, node)
	}
	irqs.WriteString("       \n")
	for _, irq := range m.irqs {
		fmt.Fprintf(&irqs, "%4d: ", irq)
		for _, cpu := range m.cpus {
			fmt.Fprintf(&irqs, "%10d ", irq*7+cpu*3)
		}
		fmt.Fprintf(&irqs, " PCI-MSI %d-edge      nvme0q%d\n", irq*4096, irq)
	}
	f["proc/stat"] = "cpu " + strings.Trim(fmt.Sprint(all), "[]") + "\n" + stat.String() + "intr 1\nctxt 2\nbtime 3\nprocesses 4\nprocs_running 5\nprocs_blocked 6\n"
	f["proc/cpuinfo"], f["proc/interrupts"] = info.String(), irqs.String()
}

func (m machine) addDisks(f files) {
	var stats, parts strings.Builder
	parts.WriteString("major minor  #blocks  name\n\n")
	add := func(number int, name string) {
		fmt.Fprintf(&stats, " %3d %7d %s", 8+number/256, number%256, name)
		for field := range 17 {
			fmt.Fprintf(&stats, " %d", number*100+field*2+1<<20)
		}
		stats.WriteString("\n")
		fmt.Fprintf(&parts, " %3d %7d %11d %s\n", 8+number/256, number%256, 1<<30+number, name)
	}
	for _, i := range m.disks {
		add(i, diskNumber(i))
		add(1000+i, diskNumber(i)+"1")
		add(2000+i, diskNumber(i)+"2")
		f["sys/block/"+diskNumber(i)+"/device/wwid"] = fmt.Sprintf("naa.%016x\n", i%(largeDisks/2))
	}
	for _, i := range m.mapped {
		add(3000+i, fmt.Sprint("dm-", i))
		f[fmt.Sprintf("sys/block/dm-%d/dm/name", i)] = fmt.Sprintf("vg-volume%d\n", i)
	}
	for _, i := range m.mapped {
		if i%2 == 0 {
			add(4000+i, fmt.Sprint("md", i))
			f[fmt.Sprintf("dev/md/array%d", i)] = fmt.Sprintf("->../md%d", i)
		}
	}
	f["proc/diskstats"], f["proc/partitions"] = stats.String(), parts.String()
}

func (m machine) addInterfaces(f files) {
	var dev strings.Builder
	dev.WriteString(titles)
	for _, i := range m.links {
		fmt.Fprintf(&dev, "%6s:", linkNumber(i))
		for column := range 16 {
			fmt.Fprintf(&dev, " %d", uint64(i*1000+column)+1<<33)
		}
		dev.WriteString("\n")
	}
	f["proc/net/dev"] = dev.String()
}

// TestLargeMachine checks a machine with many processors and devices. It has one instance for each,
// with the same values as on a machine with this device alone, and sums are correct. The tests of
// small machines and the C agent check which values those are.
func TestLargeMachine(t *testing.T) {
	root := largeMachine().tree().write(t)
	our := ourAgent(t, root)
	p := our.snapshot(agentMetrics(t, our))
	t.Run("instances", func(t *testing.T) { checkInstanceCounts(t, p) })
	t.Run("sums", func(t *testing.T) { checkSums(t, p) })
	for _, m := range []machine{
		{cpus: []int{0}, irqs: []int{0}, disks: []int{0}, mapped: []int{0}, links: []int{0}},
		{cpus: []int{77}, irqs: []int{33}, disks: []int{26}, mapped: []int{38}, links: []int{60}},
		{cpus: []int{5, largeCPUs - 1}, irqs: []int{7, largeIRQs - 1}, disks: []int{25, largeDisks - 1}, mapped: []int{10, largeMapped - 1}, links: []int{61, largeLinks - 1}},
	} {
		t.Run(fmt.Sprintf("alone/cpu=%d", m.cpus[0]), func(t *testing.T) { checkAlone(t, p, m) })
	}
	// The C agent counts the discarded bytes of only one path.
	t.Run("same as C", func(t *testing.T) { sameOnTree(t, root, "disk.wwid.discard_bytes") })
}

// checkInstanceCounts checks that each device has an instance.
func checkInstanceCounts(t *testing.T, p snapshot) {
	for name, want := range map[string]int{
		"hinv.ncpu": largeCPUs, "hinv.nnode": largeNodes, "hinv.ndisk": largeDisks, "hinv.ninterface": largeLinks,
	} {
		if got, _ := number(p.values[name][""]); int(got) != want {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
	for name, want := range map[string]int{
		"kernel.percpu.cpu.user": largeCPUs, "kernel.pernode.cpu.user": largeNodes, "hinv.cpu.clock": largeCPUs, "mem.numa.util.total": largeNodes,
		"kernel.all.interrupts.total": largeIRQs, "kernel.percpu.interrupts": largeIRQs * largeCPUs,
		"disk.dev.read": largeDisks, "disk.partitions.read": 2 * largeDisks, "disk.wwid.read": largeDisks / 2,
		"disk.dm.read": largeMapped, "disk.md.read": largeMapped / 2, "network.interface.in.bytes": largeLinks,
	} {
		if got := len(p.values[name]); got != want {
			t.Errorf("%s has %d instances, want %d", name, got, want)
		}
	}
}

// checkSums checks that each sum is the sum of its parts.
func checkSums(t *testing.T, p snapshot) {
	for _, s := range []struct {
		sums, parts string
		of          func(part string) (sum string, counts bool) // the instance whose sum has a part
	}{
		{"kernel.all.cpu.", "kernel.percpu.cpu.", ofAll},
		{"kernel.all.cpu.", "kernel.pernode.cpu.", ofAll},
		{"disk.all.", "disk.dev.", ofAll},
		{"disk.wwid.", "disk.dev.", wwidOfDisk},
		{"network.all.", "network.interface.", func(name string) (string, bool) { return "", strings.HasPrefix(name, "enp") }},
		{"kernel.all.interrupts.total", "kernel.percpu.interrupts", func(name string) (string, bool) {
			irq, _, _ := strings.Cut(name, "::")
			return irq, true
		}},
		{"kernel.percpu.intr", "kernel.percpu.interrupts", func(name string) (string, bool) {
			_, cpu, _ := strings.Cut(name, "::")
			return cpu, true
		}},
	} {
		n := 0
		for name, sums := range byInstance(p, s.sums) {
			parts := byInstance(p, s.parts)[s.parts+strings.TrimPrefix(name, s.sums)]
			if len(sums) == 0 || len(parts) == 0 {
				continue // texts
			}
			want := map[string]float64{}
			for part, v := range parts {
				if sum, counts := s.of(part); counts {
					want[sum] += v
				}
			}
			if n++; !maps.Equal(sums, want) {
				t.Errorf("%s is %v, want %v, the sums of %s", name, sums, want, s.parts)
			}
		}
		if n == 0 || strings.HasSuffix(s.sums, ".") && n < 10 {
			t.Errorf("only %d metrics %s* are sums of %s*", n, s.sums, s.parts)
		}
	}
}

func ofAll(string) (string, bool) { return "", true }

// wwidOfDisk returns the identifier of a disk of the large machine.
func wwidOfDisk(name string) (string, bool) {
	i := slices.IndexFunc(upTo(largeDisks), func(i int) bool { return diskNumber(i) == name })
	return fmt.Sprintf("3%016x", i%(largeDisks/2)), true
}

// byInstance returns the numbers of the metrics with a prefix, by instance name.
func byInstance(p snapshot, prefix string) map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for name, values := range p.values {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		all[name] = map[string]float64{}
		for inst, a := range values {
			if v, ok := number(a); ok {
				all[name][unquoted(inst)] = v
			}
		}
	}
	return all
}

// unquoted returns the name of an instance without its ID.
func unquoted(inst string) string { return strings.Trim(instName(inst), `"`) }

// checkAlone checks that the values of one processor, interrupt or device are the same on a small
// machine.
func checkAlone(t *testing.T, large snapshot, m machine) {
	our := ourAgent(t, m.tree().write(t))
	p := our.snapshot(agentMetrics(t, our))
	compared := map[string]int{}
	for name, values := range p.values {
		subject := slices.IndexFunc(ofOneDevice, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if subject < 0 {
			continue
		}
		among := map[string]pdu.Atom{}
		for inst, a := range large.values[name] {
			among[unquoted(inst)] = a
		}
		for inst, a := range values {
			compared[ofOneDevice[subject]]++
			if b := among[unquoted(inst)]; text(a) != text(b) {
				t.Errorf("%s of %s is %s, and %s where it is one of many", name, inst, text(a), text(b))
			}
		}
	}
	for _, prefix := range ofOneDevice {
		if compared[prefix] == 0 {
			t.Errorf("there are no metrics %s*", prefix)
		}
	}
}

// ofOneDevice are prefixes of metrics whose instances are a single processor, interrupt or device.
var ofOneDevice = []string{
	"kernel.percpu.cpu.", "kernel.percpu.interrupts", "hinv.cpu.", "hinv.map.cpu_", "mem.numa.",
	"disk.dev.", "disk.partitions.", "disk.dm.", "disk.md.", "hinv.map.dmname", "hinv.map.mdname", "hinv.map.scsi_id", "network.interface.",
}
