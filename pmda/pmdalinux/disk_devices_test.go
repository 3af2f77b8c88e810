package pmdalinux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// liveDisks are metrics of disks and partitions that come from system calls, not from a tree,
// with the reason.
var liveDisks = map[string]string{"disk.md.status": "mdadm, which the C agent runs"}

const (
	none    = "Metric not supported by this version of monitored application"
	eleven  = " 1 2 3 4 5 6 7 8 9 10 11\n"
	fifteen = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
)

// TestDiskClasses sorts block devices by their names. The C agent does the same;
// TestDiskSameAsC runs it.
func TestDiskClasses(t *testing.T) {
	got := files{"proc/diskstats": diskNames()}.valuesOf(t, "disk.dev.read", "disk.partitions.read", "disk.dm.read", "disk.md.read", "zram.read", "hinv.ndisk")
	var b strings.Builder
	for line := range strings.Lines(got) {
		f := strings.Fields(line)
		b.WriteString(f[0])
		for _, f := range f[1:] {
			if name, ok := strings.CutPrefix(f, `"`); ok {
				b.WriteString(" " + strings.TrimSuffix(name, `"`))
			}
		}
		b.WriteByte('\n')
	}
	want := `disk.dev.read hda sda sdaa sda1b srx mmcblk0 mmcblk0boot0 nvme0n1 nvme0c0n1 vda cciss/c0d0 i2o/hda1 nbd0 rbd0 dasda dm
disk.dm.read
disk.md.read md0 md127p1 mdx
disk.partitions.read hda1 sda12 srx1 mmcblk0p1 nvme0n1p12 vda1 cciss/c0d0p1 i2o/hda nbd0p1 rbd0p1 drbd0 zd0p1 pmem0 fd0 st0
hinv.ndisk
zram.read zram0 zramx
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// diskNames returns a /proc/diskstats with all kinds of names.
func diskNames() string {
	var b strings.Builder
	for i, name := range strings.Fields(`hda hda1 sda sda12 sdaa sda1b sr0 sr12 srx srx1 loop0 loop0p1 ram0 ramdisk md0 md127p1 mdx dm-0
		mmcblk0 mmcblk0p1 mmcblk0boot0 nvme0n1 nvme0n1p12 nvme0c0n1 vda vda1 cciss/c0d0 cciss/c0d0p1 i2o/hda i2o/hda1
		nbd0 nbd0p1 rbd0 rbd0p1 drbd0 zd0p1 pmem0 fd0 st0 zram0 zramx dasda dm`) {
		fmt.Fprintf(&b, "%4d %7d %s%s", 8, i, name, eleven)
	}
	return b.String()
}

// TestDisks compares the values of good and damaged files.
func TestDisks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tree    files
		metrics string
		want    string
	}{
		{"no file", files{}, "disk.dev.read disk.all.read hinv.ndisk disk.dev.scheduler disk.md.read hinv.map.scsi_id",
			"disk.all.read: " + none + "\ndisk.dev.read: " + none + "\ndisk.dev.scheduler: " + none + "\ndisk.md.read: " + none +
				"\nhinv.map.scsi_id: " + none + "\nhinv.ndisk: " + none + "\n"},
		{"no disks", files{"proc/diskstats": ""}, "disk.dev.read disk.all.read hinv.ndisk", "disk.all.read 0\ndisk.dev.read\nhinv.ndisk 0\n"},
		{"old partition", files{"proc/diskstats": " 8 1 sda1 1 20 3 40\n"},
			"disk.partitions.total disk.partitions.read_bytes disk.partitions.blkwrite disk.partitions.read_merge",
			"disk.partitions.blkwrite 0 \"sda1\" 40\ndisk.partitions.read_bytes 0 \"sda1\" 10\ndisk.partitions.read_merge: " + none +
				"\ndisk.partitions.total 0 \"sda1\" 4\n"},
		{"no discards", files{"proc/diskstats": " 8 0 sda" + eleven}, "disk.dev.discard disk.all.discard disk.all.total_bytes",
			"disk.all.discard: " + none + "\ndisk.all.total_bytes 5\ndisk.dev.discard: " + none + "\n"},
		{"of each as far as known, sums only if complete", files{"proc/diskstats": " 8 0 sda" + eleven + " 8 16 sdb" + fifteen},
			"disk.dev.discard disk.all.discard disk.all.inflight", "disk.all.discard\ndisk.all.inflight 18\ndisk.dev.discard 1 \"sdb\" 12\n"},
		{"damaged fields", files{"proc/diskstats": " 8 0 sda x -2 99999999999999999999 4294967296 5 6 7 8 9 10 11\n 8 16 sdb" + eleven},
			"disk.dev.read disk.dev.read_merge disk.dev.blkread disk.dev.read_rawactive disk.dev.write disk.all.read disk.all.write disk.all.total hinv.ndisk",
			`disk.all.read
disk.all.total
disk.all.write 10
disk.dev.blkread 1 "sdb" 3
disk.dev.read 1 "sdb" 1
disk.dev.read_merge 1 "sdb" 2
disk.dev.read_rawactive 1 "sdb" 4
disk.dev.write 0 "sda" 5 1 "sdb" 5
hinv.ndisk 2
`},
		{"damaged lines", files{"proc/diskstats": "x 0 sda" + eleven + "\n8\n 8 16 s\x00b" + eleven + " 8 1 sdc\n 8 2 sdd 1 2 3\n 8 3 sde" + eleven + " 8 4 sdf 1 2 3 4 5 6 7 8 9 1"},
			"disk.dev.read disk.all.read hinv.ndisk", "disk.all.read\ndisk.dev.read 0 \"sde\" 1\nhinv.ndisk\n"},
		{"mapped", files{"proc/diskstats": " 253 0 dm-0" + eleven + " 253 1 dm-1" + eleven + " 253 2 dm-2" + eleven + " 253 3 dm-3 1 2 10000000000 4 5 6 7 8 9 10 11\n",
			"sys/block/dm-0/dm/name": "vg-root\n", "sys/block/dm-1/dm/name": "cut", "sys/block/dm-3/dm/name": "vg-home\n"},
			"disk.dm.read hinv.map.dmname disk.dm.read_bytes hinv.ndisk", `disk.dm.read 0 "vg-root" 1 1 "vg-home" 1
disk.dm.read_bytes 0 "vg-root" 1 1 "vg-home" 5000000000
hinv.map.dmname 0 "vg-root" dm-0 1 "vg-home" dm-3
hinv.ndisk 0
`},
		{"64 bits", files{"proc/diskstats": " 9 0 md0 1 2 10000000000 4 5 6 20000000000 8 9 10 11\n"},
			"disk.md.read_bytes disk.md.write_bytes disk.md.total_bytes", `disk.md.read_bytes 0 "md0" 5000000000
disk.md.total_bytes 0 "md0" 15000000000
disk.md.write_bytes 0 "md0" 10000000000
`},
		{"arrays", files{"proc/diskstats": " 9 0 md0" + eleven + " 9 127 md127" + eleven + " 9 1 md1" + eleven,
			"dev/md/0": "->../md0", "dev/md/home": "->../md127", "dev/md/md1": "no link"},
			"disk.md.read hinv.map.mdname", `disk.md.read 0 "md0" 1 1 "home" 1 2 "md1" 1
hinv.map.mdname 0 "md0" md0 1 "home" md127 2 "md1" md1
`},
		{"sizes", files{"proc/diskstats": " 8 0 sda" + eleven + " 8 1 sda1" + eleven + " 8 16 sdb" + eleven + " 8 32 sdc" + eleven + " 8 48 sdd" + eleven,
			"proc/partitions": "major minor  #blocks  name\n\n 8 0 1000 sda\n 8 1 900 sda1\n 8 16 -5 sdb\n 8 32 99999999999999999999 sdc\n 8 48 10"},
			"disk.dev.capacity disk.partitions.capacity", "disk.dev.capacity 0 \"sda\" 1000\ndisk.partitions.capacity 0 \"sda1\" 900\n"},
		{"schedulers", files{"proc/diskstats": " 8 0 sda" + eleven + " 8 16 sdb" + eleven + " 8 32 sdc" + eleven + " 8 48 sdd" + eleven + " 8 49 cciss/c0d0" + eleven,
			"sys/block/sda/queue/scheduler": "none [mq-deadline] kyber\n", "sys/block/sdb/queue/scheduler": "none\n",
			"sys/block/sdc/queue/scheduler": "none [mq-dead", "sys/block/cciss!c0d0/queue/scheduler": "[none]\n"},
			"disk.dev.scheduler", `disk.dev.scheduler 0 "sda" mq-deadline 1 "sdb" unknown 3 "sdd" unknown 4 "cciss/c0d0" none` + "\n"},
		{"zram", files{"proc/diskstats": " 252 0 zram0" + eleven + " 252 1 zram1" + eleven + " 252 2 zram2" + eleven,
			"sys/block/zram0/disksize": "1048576\n", "sys/block/zram1/disksize": "104", "sys/block/zram2/disksize": "-1\n",
			"sys/block/zram0/mm_stat": " 5373952  5451  73728 0\n", "sys/block/zram1/mm_stat": "1024 x 3072\n", "sys/block/zram0/bd_stat": " 1 2 3\n"},
			"zram.capacity zram.mm_stat.data_size.original zram.mm_stat.data_size.compressed zram.mm_stat.mem.used_total zram.mm_stat.pages.huge zram.bd_stat.writes zram.io_stat.invalid",
			`zram.bd_stat.writes 0 "zram0" 12
zram.capacity 0 "zram0" 1024
zram.io_stat.invalid: ` + none + `
zram.mm_stat.data_size.compressed 0 "zram0" 5
zram.mm_stat.data_size.original 0 "zram0" 5248 1 "zram1" 1
zram.mm_stat.mem.used_total 0 "zram0" 72
zram.mm_stat.pages.huge: ` + none + "\n"},
		{"identifiers", files{"proc/diskstats": " 8 0 sda" + eleven + " 8 16 sdb" + eleven + " 8 32 sdc" + eleven + " 8 48 sdd" + eleven + " 8 49 sde" + eleven + " 8 50 sdf" + eleven,
			"sys/block/sda/device/wwid": "naa.5000c5\n", "sys/block/sdb/wwid": "eui.00253\n", "sys/block/sdc/device/wwid": "t10.ATA\n",
			"sys/block/sdd/device/wwid": "naa.5", "sys/block/sde/wwid": "uuid.1-2\n", "sys/block/sdf/device/wwid": ""},
			"hinv.map.scsi_id", `hinv.map.scsi_id 0 "sda" 35000c5 1 "sdb" 200253 2 "sdc" 1ATA 4 "sde" uuid.1-2 5 "sdf" unknown` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.tree.valuesOf(t, strings.Fields(tt.metrics)...)); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestDiskSameAsC compares the agents on small trees that the C agent understands.
func TestDiskSameAsC(t *testing.T) {
	lines := diskNames()
	sameOnTree(t, files{"proc/diskstats": lines + " 253 3 dm-3" + fifteen + " 253 4 dm-4" + fifteen,
		"proc/partitions":        "major minor  #blocks  name\n\n 8 0 1000 sda\n 8 1 900 sda12\n 253 3 77 dm-3\n 9 0 78 md0\n",
		"sys/block/dm-3/dm/name": "vg-root\n", "sys/block/dm-4/dm/name": "with space\n",
		"dev/md/0": "->../md0", "dev/md/home": "->/dev/md127p1", "dev/md/host:x": "->../mdx",
		"sys/block/sda/queue/scheduler": "noop deadline [cfq]\n", "sys/block/hda/queue/scheduler": "none\n",
		"sys/block/zram0/disksize": "10240\n", "sys/block/zram0/mm_stat": "4096 2 3 4 5 6 7 8\n", "sys/block/zram0/io_stat": "1 2 3 4\n",
		"sys/block/zram0/bd_stat": "1 2 3\n", "sys/block/zramx/disksize": "20480\n",
		"sys/block/sda/device/wwid": "naa.5000c5\n", "sys/block/nvme0n1/wwid": "eui.0025\n", "sys/block/sdaa/device/wwid": "",
	}.write(t))
}

// TestDisksReplaced checks that a mapped device has its current name, even if its number belonged
// to another one.
func TestDisksReplaced(t *testing.T) {
	root := files{"proc/diskstats": " 253 0 dm-0" + eleven, "sys/block/dm-0/dm/name": "old\n"}.write(t)
	our := ourAgent(t, root)
	for _, name := range []string{"old", "new", "newer"} {
		path := filepath.Join(root, "sys/block/dm-0/dm/name")
		if err := os.WriteFile(path, []byte(name+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("disk.dm.read %d %q 1\n", map[string]int{"old": 0, "new": 1, "newer": 2}[name], name)
		if diff := cmp.Diff(want, our.snapshot([]string{"disk.dm.read"}).String()); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	}
}

// steadyFetch returns a function that fetches metrics without a collector. It has been called once,
// for the allocations of a first fetch.
func steadyFetch(t testing.TB, root string, prefixes ...string) func() {
	t.Helper()
	a, err := pmdalinux.New(pmdalinux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	our := ourAgent(t, root)
	var ids []pdu.PMID
	for _, p := range prefixes {
		names, err := our.Traverse(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		some, err := our.Lookup(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, some...)
	}
	r, w, ctx := &pmda.Request{Client: &pmda.Client{}, Profile: new(pdu.Profile)}, new(pdu.ResultWriter), t.Context()
	fetch := func() {
		w.Reset()
		if err := a.Fetch(ctx, r, ids, w); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	return fetch
}

// manyDisks returns a tree with n disks, each with a partition.
func manyDisks(t testing.TB, n int) string {
	var stats, parts strings.Builder
	tree := files{}
	for i := range n {
		name := fmt.Sprintf("sd%c%c%c", 'a'+i/676%26, 'a'+i/26%26, 'a'+i%26)
		for _, name := range []string{name, name + "1"} {
			fmt.Fprintf(&stats, "%4d %7d %s%s", 8, i, name, fifteen)
			fmt.Fprintf(&parts, "%4d %8d %10d %s\n", 8, i, 1000, name)
		}
		tree["sys/block/"+name+"/queue/scheduler"] = "[none] mq-deadline\n"
	}
	for i := range n / 10 {
		fmt.Fprintf(&stats, "%4d %7d dm-%d%s", 253, i, i, fifteen)
		tree[fmt.Sprintf("sys/block/dm-%d/dm/name", i)] = fmt.Sprintf("vg-%d\n", i)
		fmt.Fprintf(&stats, "%4d %7d md%d%s", 9, i, i, fifteen)
		tree[fmt.Sprintf("dev/md/home%d", i)] = fmt.Sprintf("->../md%d", i)
	}
	tree["sys/block/sdaaa/device/wwid"], tree["sys/block/sdaab/device/wwid"] = "naa.5\n", "naa.5\n"
	tree["proc/diskstats"], tree["proc/partitions"] = stats.String(), parts.String()
	return tree.write(t)
}

// TestDisksAllocate checks that a fetch allocates nothing.
func TestDisksAllocate(t *testing.T) {
	fetch := steadyFetch(t, manyDisks(t, 20), "disk", "zram", "hinv.ndisk", "hinv.map.dmname", "hinv.map.mdname", "hinv.map.scsi_id", "hinv.ntape", "hinv.nfchost")
	if n := testing.AllocsPerRun(100, fetch); n != 0 && !raceEnabled {
		t.Errorf("a fetch allocates %v times", n)
	}
}

// TestManyDisksAllocate checks that each file beyond the limit of open files costs one allocation,
// for its path.
func TestManyDisksAllocate(t *testing.T) {
	const disks = 300 // each with a scheduler
	fetch := steadyFetch(t, manyDisks(t, disks), "disk.dev.scheduler")
	if n := testing.AllocsPerRun(10, fetch); n > disks && !raceEnabled {
		t.Errorf("a fetch of the schedulers of %d disks allocates %v times", disks, n)
	}
}

func BenchmarkDisks(b *testing.B) {
	for _, bb := range []struct{ name, prefix string }{{"all", "disk.all"}, {"each", "disk.dev.read"}, {"everything", "disk"}} {
		b.Run("disks=1000/"+bb.name, func(b *testing.B) {
			fetch := steadyFetch(b, manyDisks(b, 1000), bb.prefix)
			b.ReportAllocs()
			for b.Loop() {
				fetch()
			}
		})
	}
}
