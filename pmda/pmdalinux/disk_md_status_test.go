package pmdalinux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// arrayTree returns a tree with an array that has these files, and disks in its slots with these
// states.
func arrayTree(md string, slots ...string) files {
	f := files{"proc/diskstats": " 9 0 md0" + eleven}
	for pair := range strings.FieldsSeq(md) {
		name, text, _ := strings.Cut(pair, "=")
		f["sys/block/md0/md/"+name] = strings.ReplaceAll(text, "_", " ") + "\n"
	}
	for i, state := range slots {
		if state != "" {
			f[fmt.Sprintf("sys/block/md0/md/rd%d/state", i)] = state + "\n"
		}
	}
	return f
}

// TestArrayStatus checks the status of arrays with missing or failed disks.
func TestArrayStatus(t *testing.T) {
	const in = "in_sync"
	for _, tt := range []struct {
		name string
		tree files
		want string
	}{
		{"nothing known", arrayTree(""), ""},
		{"works", arrayTree("array_state=clean level=raid1 raid_disks=2 degraded=0"), "0"},
		{"never lacks any", arrayTree("array_state=active level=raid0 raid_disks=2"), "0"},
		{"broken", arrayTree("array_state=broken level=raid0 raid_disks=2"), "512"},
		{"stopped", arrayTree("array_state=clear"), "1024"},
		{"incomplete", arrayTree("array_state=inactive metadata_version=1.2"), "512"},
		{"container", arrayTree("array_state=inactive metadata_version=external:imsm"), ""},
		{"in a container", arrayTree("array_state=inactive metadata_version=external:/md127/0"), "512"},
		{"mirror", arrayTree("array_state=active level=raid1 raid_disks=2 degraded=1"), "256"},
		{"no mirror", arrayTree("array_state=active level=raid1 raid_disks=2 degraded=2"), "512"},
		{"while it grows", arrayTree("array_state=active level=raid1 raid_disks=3_(2) degraded=2"), "256"},
		{"raid4", arrayTree("array_state=active-idle level=raid4 raid_disks=3 degraded=1"), "256"},
		{"raid5", arrayTree("array_state=readonly level=raid5 raid_disks=4 degraded=2"), "512"},
		{"raid6", arrayTree("array_state=clean level=raid6 raid_disks=4 degraded=2"), "256"},
		{"raid6 without three", arrayTree("array_state=clean level=raid6 raid_disks=4 degraded=3"), "512"},
		{"raid10", arrayTree("array_state=clean level=raid10 raid_disks=4 layout=258 degraded=1", in, "", in, in), "256"},
		{"raid10, one of each", arrayTree("array_state=clean level=raid10 raid_disks=4 layout=258 degraded=2", in, "spare", "", in+",write_mostly"), "256"},
		{"raid10, both of one", arrayTree("array_state=clean level=raid10 raid_disks=4 layout=258 degraded=2", in, in, "", "faulty"), "512"},
		{"raid10, odd", arrayTree("array_state=clean level=raid10 raid_disks=3 layout=258 degraded=2", "", in, ""), "512"},
		{"raid10, far copies", arrayTree("array_state=clean level=raid10 raid_disks=4 layout=513 degraded=2", in, "", in, ""), "256"},
		{"raid10, far copies of neighbours", arrayTree("array_state=clean level=raid10 raid_disks=4 layout=513 degraded=2", in, "", "", in), "512"},
		{"raid10, layout not known", arrayTree("array_state=clean level=raid10 raid_disks=4 degraded=1", in, in, in), ""},
		{"raid10, layout wrong", arrayTree("array_state=clean level=raid10 raid_disks=4 layout=0 degraded=1", in, in, in), ""},
		{"raid10, too many disks", arrayTree("array_state=clean level=raid10 raid_disks=99999999 layout=258 degraded=2"), ""},
		{"raid10, disk not known", arrayTree("array_state=clean level=raid10 raid_disks=4 layout=258 degraded=2", in, "\n"), ""},
		{"unknown level", arrayTree("array_state=clean level=raid9 raid_disks=4 degraded=1"), ""},
		{"damaged", arrayTree("array_state=clean level=raid5 raid_disks=4 degraded=x"), ""},
		{"more damaged", arrayTree("array_state=clean level=raid5 raid_disks=x degraded=1"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := "disk.md.status\n"
			if tt.want != "" {
				want = `disk.md.status 0 "md0" ` + tt.want + "\n"
			}
			if diff := cmp.Diff(want, tt.tree.valuesOf(t, "disk.md.status")); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestArrayStatusSameAsC compares the status with the C agent, given an mdadm that follows its
// manual.
func TestArrayStatusSameAsC(t *testing.T) {
	tree := files{"proc/diskstats": " 9 0 md0" + eleven + " 9 1 md1" + eleven + " 9 2 md2" + eleven + " 9 127 md127" + eleven, "dev/md/home": "->../md127"}
	for file, text := range map[string]string{"md0/md/array_state": "active", "md1/md/array_state": "active", "md1/md/level": "raid1", "md1/md/raid_disks": "2", "md1/md/degraded": "1",
		"md2/md/array_state": "broken", "md127/md/array_state": "clear"} {
		tree["sys/block/"+file] = text + "\n"
	}
	root := tree.write(t)
	mdadm := filepath.Join(t.TempDir(), "mdadm")
	const script = "#!/bin/sh\ncase \"$*\" in\n'--detail --test /dev/md0') exit 0;;\n'--detail --test /dev/md1') exit 1;;\n'--detail --test /dev/md2') exit 2;;\nesac\nexit 4\n"
	if err := os.WriteFile(mdadm, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	metrics := []string{"disk.md.status", "disk.md.read"} // the C agent finds no arrays if the first is fetched alone
	want := cAgent(t, root, "LINUX_MDADM="+mdadm).snapshot(metrics).String()
	if diff := cmp.Diff(want, ourAgent(t, root).snapshot(metrics).String()); diff != "" || !strings.Contains(want, "1024") {
		t.Error(want, "(-theirs +ours)\n", diff)
	}
}
