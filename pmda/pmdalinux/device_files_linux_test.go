package pmdalinux_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openBelow returns the number of open files of this process below a directory.
func openBelow(t *testing.T, dir string) (n int) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if path, err := os.Readlink(fd); err == nil && strings.HasPrefix(path, dir+"/") {
			n++
		}
	}
	return n
}

// writeDevices writes the lists of n processors and disks.
func writeDevices(t *testing.T, root string, n int) {
	t.Helper()
	var stat, disks strings.Builder
	stat.WriteString("cpu  1 2 3 4\n")
	for i := range n {
		fmt.Fprintf(&stat, "cpu%d 1 2 3 4\n", i)
		fmt.Fprintf(&disks, " 259 %d nvme%dn1%s", i, i, eleven)
	}
	write(t, root, "proc/stat", stat.String()+"intr 5\n")
	write(t, root, "proc/diskstats", disks.String())
}

// TestDescriptors checks that few files stay open on a large machine, and that all are read. Files
// of removed devices are closed, and others stay open in their place.
func TestDescriptors(t *testing.T) {
	const most, limit = 2000, 128
	tree := files{}
	for i := range most {
		tree[fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", i)] = fmt.Sprintln(1000 * (i + 1))
		tree[fmt.Sprintf("sys/block/nvme%dn1/queue/scheduler", i)] = fmt.Sprintf("none [s%d]\n", i)
		tree[fmt.Sprintf("sys/block/nvme%dn1/wwid", i)] = fmt.Sprintf("eui.%d\n", i/2)
	}
	root := tree.write(t)
	writeDevices(t, root, most)
	our := ourAgent(t, root)
	// A file of each processor, two of each disk, and one of the last path to a disk.
	kept := func(n int) int { return min(3*n+(n+1)/2, limit) }
	list := func(n int, value func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(" " + value(i))
		}
		return b.String() + "\n"
	}
	for _, n := range []int{most, 5, 1, 40, most - 1} {
		writeDevices(t, root, n)
		our.snapshot([]string{"hinv.ncpu", "hinv.ndisk", "disk.wwid.read"})
		if got := openBelow(t, root+"/sys"); got > kept(n) {
			t.Errorf("%d files of %d processors and as many disks are open before they are read", got, n)
		}
		names := []string{"disk.dev.scheduler", "disk.wwid.scheduler", "hinv.cpu.frequency_scaling.max"}
		got := our.snapshot(names).String()
		want := "disk.dev.scheduler" + list(n, func(i int) string { return fmt.Sprintf(`%d "nvme%dn1" s%d`, i, i, i) }) +
			"disk.wwid.scheduler" + list((n+1)/2, func(i int) string { return fmt.Sprintf(`%d "2%d" s%d`, i, i, min(2*i+1, n-1)) }) +
			"hinv.cpu.frequency_scaling.max" + list(n, func(i int) string { return fmt.Sprintf(`%d "cpu%d" %d`, i, i, i+1) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("of %d: (-want +got)\n%s", n, diff)
		}
		if got := openBelow(t, root+"/sys"); got != kept(n) {
			t.Errorf("%d files of %d processors and as many disks are open, want %d", got, n, kept(n))
		}
	}
}

// TestDeviceFilesAllocate checks that fetches of device files allocate nothing.
func TestDeviceFilesAllocate(t *testing.T) {
	tree := files{"proc/net/dev": "Inter-|\n face |bytes\n"}
	for i := range 4 {
		tree["proc/net/dev"] += fmt.Sprintf(" eth%d: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", i)
		for file, text := range map[string]string{"mtu": "1500", "speed": "1000", "duplex": "full", "flags": "0x1003", "operstate": "up", "type": "1"} {
			tree[fmt.Sprintf("sys/class/net/eth%d/%s", i, file)] = text + "\n"
		}
		cpu := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", i)
		tree[cpu+"cpufreq/scaling_cur_freq"], tree[cpu+"online"], tree[cpu+"thermal_throttle/core_throttle_count"] = "2000000\n", "1\n", "5\n"
	}
	root := tree.write(t)
	writeDevices(t, root, 4)
	allocatesNothing(t, root, "hinv.cpu", "hinv.node", "mem.numa", "disk", "network.interface.in", "network.interface.mtu", "network.interface.speed",
		"network.interface.baudrate", "network.interface.duplex", "network.interface.up", "network.interface.running",
		"network.interface.wireless", "network.interface.type", "network.interface.virtual")
}

// TestDevicesAllocate checks that fetches of the other files of devices allocate nothing.
func TestDevicesAllocate(t *testing.T) {
	tree := arrayTree("array_state=clean level=raid10 raid_disks=4 layout=258 degraded=2", "in_sync", "", "in_sync", "")
	maps.Copy(tree, fcHosts)
	maps.Copy(tree, files{
		"proc/slabinfo": goodSlabs["2.1"], "proc/tty/driver/serial": goodPorts, "sys/kernel/uevent_seqnum": "905\n",
		"sys/class/scsi_tape/st0/stats/in_flight": "1", "sys/class/scsi_tape/st0/stats/io_ns": "2",
		"sys/devices/system/node/node0/meminfo":  "Node 0 MemTotal: 16 kB\n",
		"var/lib/pcp/pmdas/linux/bandwidth.conf": "Version:1.0\nnode0:1\n",
	})
	allocatesNothing(t, tree.write(t), "disk.md.status", "fchost", "mem.numa.max_bandwidth", "mem.slabinfo", "pmda.version", "sysfs", "tape", "tty")
}

// TestSpeedStaysOpen checks that a file stays open while the kernel refuses to read it, such as the
// speed of an interface without a carrier.
func TestSpeedStaysOpen(t *testing.T) {
	const dir = "/sys/devices/virtual/net/lo"
	if _, err := os.ReadFile(dir + "/speed"); !errors.Is(err, syscall.EINVAL) {
		t.Skip("no such file: ", err)
	}
	our := ourAgent(t, "")
	for range 2 {
		if s := our.snapshot([]string{"network.interface.speed"}).String(); strings.Contains(s, `"lo"`) || openBelow(t, dir) != 1 {
			t.Errorf("%d files are open, and the speeds are %s", openBelow(t, dir), s)
		}
	}
}
