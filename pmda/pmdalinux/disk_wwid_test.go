package pmdalinux_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wwidTree returns a tree with disks of several paths, and others.
func wwidTree() files {
	tree := files{"proc/diskstats": " 8 0 sda 1 2 3 4294967295 5 6 7 8 9 10 11\n 8 16 sdb" + eleven + " 8 17 sdb1" + eleven +
		" 8 32 sdc 1 2 3 4 5 6 8 8 9 10 11\n 8 48 sdd" + eleven + " 8 64 sde" + eleven + " 8 80 sdf" + fifteen,
		"proc/partitions": "major minor  #blocks  name\n\n 8 0 100 sda\n 8 32 100 sdc\n 8 16 7 sdb\n 8 80 9 sdf\n"}
	for disk, id := range map[string]string{"sda": "naa.5", "sdb": "t10.ATA  x", "sdc": "naa.5", "sde": "t10.ATA  y", "sdf": "eui.7"} {
		tree["sys/block/"+disk+"/device/wwid"] = id + "\n"
	}
	tree["sys/block/sda/queue/scheduler"] = "[none] bfq\n"
	tree["sys/block/sdc/queue/scheduler"] = "none [bfq]\n"
	return tree
}

// TestWWIDDisks checks that disks with the same identifier are added up.
func TestWWIDDisks(t *testing.T) {
	got := wwidTree().valuesOf(t, strings.Fields("disk.wwid.scsi_paths disk.wwid.total_bytes disk.wwid.read_rawactive disk.wwid.capacity disk.wwid.scheduler disk.wwid.discard disk.wwid.inflight")...)
	want := `disk.wwid.capacity 0 "35" 200 1 "1ATA  x" 7 2 "27" 9
disk.wwid.discard 2 "27" 12
disk.wwid.inflight 0 "35" 18 1 "1ATA  x" 9 2 "27" 9
disk.wwid.read_rawactive 0 "35" 3 1 "1ATA  x" 4 2 "27" 4
disk.wwid.scheduler 0 "35" bfq 1 "1ATA  x" unknown 2 "27" unknown
disk.wwid.scsi_paths 0 "35" sda sdc 1 "1ATA  x" sdb 2 "27" sdf
disk.wwid.total_bytes 0 "35" 10 1 "1ATA  x" 5 2 "27" 5
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestWWIDDisksSameAsC compares the sums with those of the C agent, except for unknown discards.
// The C agent has the sizes only if those of disk.dev are fetched too.
func TestWWIDDisksSameAsC(t *testing.T) {
	root := wwidTree().write(t)
	names := strings.Fields("disk.dev.capacity disk.wwid.read disk.wwid.total_bytes disk.wwid.read_rawactive disk.wwid.total_rawactive disk.wwid.capacity disk.wwid.scheduler disk.wwid.scsi_paths disk.wwid.inflight")
	want := cAgent(t, root).snapshot(names)
	for _, d := range differences(names, want, ourAgent(t, root).snapshot(names), want) {
		t.Error(d)
	}
}

// TestSCSI checks that device names are those of the C agent, which looks for block devices only in
// /sys of this machine.
func TestSCSI(t *testing.T) {
	tree := files{"proc/scsi/scsi": `Attached devices:
Host: scsi0 Channel: 00 Id: 00 Lun: 00
  Vendor: ATA      Model: ST3500630AS      Rev: 3.AA
  Type:   Direct-Access                    ANSI  SCSI revision: 05
Host: scsi12 Channel: 00 Id: 15 Lun: 02
  Vendor: TSSTcorp Model: CDDVDW SH-S223Q  Rev: SB03
  Type:   CD-ROM                           ANSI  SCSI revision: 05
Host: scsi4 Channel: 00 Id: 00 Lun: 00
  Vendor: X Model: Y Rev: SB03
  Type:   Processor                        ANSI  SCSI revision: 05
Host: scsi5 Channel: 00 Id: 00 Lun: 00
  Vendor: X Model: Y Rev: SB03
  Type:   Optical Device                   ANSI  SCSI revision: 05
Host: scsi6 Channel: 00 Id: x Lun: 00
  Type:   Direct-Access                    ANSI  SCSI revision: 05
Host: scsi-1 Channel: 00 Id: 00 Lun: 00
  Type:   Direct-Access                    ANSI  SCSI revision: 05
Host: scsi0 Channel: 00 Lun: 00
  Type:   Direct-Access                    ANSI  SCSI revision: 05
  Type:   Direct-Access                    ANSI  SCSI revision: 05
Host: scsi7 Channel: 00 Id: 00 Lun: 00
  Type:   Direct-Acc`,
		"sys/class/scsi_device/0:0:0:0/device/block/sda/size":   "1\n",
		"sys/class/scsi_device/12:0:15:2/device/block/sr0/size": "1\n",
		"sys/class/scsi_device/5:0:0:0/device/block/sdb/size":   "1\n",
		"sys/class/scsi_device/7:0:0:0/device/block/sdc/size":   "1\n",
	}
	root := tree.write(t)
	want := `hinv.map.scsi 0 "scsi0:0:0:0 Direct-Access" sda 1 "scsi12:0:15:2 CD-ROM" sr0 2 "scsi5:0:0:0 Optical" sdb` + "\n"
	if diff := cmp.Diff(want, ourAgent(t, root).snapshot([]string{"hinv.map.scsi"}).String()); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	if n := testing.AllocsPerRun(100, steadyFetch(t, root, "hinv.map.scsi")); n != 0 && !raceEnabled {
		t.Errorf("a fetch allocates %v times", n)
	}
}

// TestEntryCounts compares the numbers of tapes and Fibre Channel adapters.
func TestEntryCounts(t *testing.T) {
	tree := files{}
	for _, name := range strings.Fields("st0 st0l st0m st1 st10 nst0 nst1 st") {
		tree["sys/class/scsi_tape/"+name+"/stats/read_ns"] = "1\n"
	}
	for _, name := range strings.Fields("host0 host12") {
		tree["sys/class/fc_host/"+name+"/statistics/tx_frames"] = "0x1\n"
	}
	root := tree.write(t)
	names := []string{"hinv.ntape", "hinv.nfchost"}
	got := ourAgent(t, root).snapshot(names)
	if diff := cmp.Diff("hinv.nfchost 2\nhinv.ntape 3\n", got.String()); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	want := cAgent(t, root).snapshot(names)
	for _, d := range differences(names, want, got, want) {
		t.Error(d)
	}
}
