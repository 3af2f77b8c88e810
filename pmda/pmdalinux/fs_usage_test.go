package pmdalinux_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// liveFilesystems are metrics of file systems that come from system calls, not from a tree,
// with the reason.
var liveFilesystems = func() map[string]string {
	all := map[string]string{}
	for _, name := range strings.Fields(`capacity used free maxfiles usedfiles freefiles full`) {
		all["filesys."+name] = "statfs"
		all["tmpfs."+name] = "statfs"
	}
	for _, name := range strings.Fields(`blocksize avail readonly mountdir`) {
		all["filesys."+name] = "statfs, which the C agent calls for the mount points that are not below the tree"
	}
	return all
}()

// TestFilesystems compares the values of lists of mounts.
func TestFilesystems(t *testing.T) {
	const noInst = "Unknown or illegal instance identifier"
	for _, tt := range []struct {
		name, mounts, want string
	}{
		{"no file", "", "filesys.mountdir: " + none + "\nfilesys.readonly: " + none + "\nhinv.nfilesys: " + none + "\n"},
		{"nothing mounted", "proc /proc proc rw 0 0\n", "filesys.mountdir\nfilesys.readonly\nhinv.nfilesys 0\n"},
		{"kinds", `rootfs / rootfs rw 0 0
proc /mnt proc rw 0 0
/dev/sda1 /mnt ext4 ro,relatime 0 0
tmpfs /mnt tmpfs rw 0 0
server:/export /mnt nfs4 rw 0 0
/dev/loop0 /mnt squashfs ro 0 0
sshfs@x:/ /mnt fuse.sshfs rw 0 0
/dev/sdb /mnt nfs rw 0 0
/devices /mnt xfs rw,errors=remount-ro 0 0
`, `filesys.mountdir 0 "rootfs" / 1 "/dev/sda1" /mnt 2 "/devices" /mnt
filesys.readonly 0 "rootfs" 0 1 "/dev/sda1" 1 2 "/devices" 0
hinv.nfilesys 3
`},
		{"mounted twice", "/dev/sda1 / ext4 rw 0 0\n/dev/sda1 /mnt ext4 ro 0 0\n/dev/sdb /mnt xfs ro 0 0\n",
			"filesys.mountdir 0 \"/dev/sda1\" / 1 \"/dev/sdb\" /mnt\nfilesys.readonly 0 \"/dev/sda1\" 0 1 \"/dev/sdb\" 1\nhinv.nfilesys 2\n"},
		{"escaped", `/dev/sda\0401 /with\040space\134 ext4 rw 0 0` + "\n",
			`filesys.mountdir 0 "/dev/sda\\0401" /with space\` + "\n" + `filesys.readonly 0 "/dev/sda\\0401" 0` + "\nhinv.nfilesys 1\n"},
		{"not there", "/dev/sda1 /gone ext4 rw 0 0\n", "filesys.mountdir: " + noInst + "\nfilesys.readonly: " + noInst + "\nhinv.nfilesys 1\n"},
		{"no device", " /mnt ext4 rw 0 0\n / ext4 rw 0 0\n/dev/sdb /mnt ext4 rw 0 0\n",
			"filesys.mountdir 0 \"/dev/sdb\" /mnt\nfilesys.readonly 0 \"/dev/sdb\" 0\nhinv.nfilesys 1\n"},
		{"one is not there", "/dev/sda1 /gone ext4 rw 0 0\n/dev/sdb /mnt ext4 rw 0 0\n",
			"filesys.mountdir 1 \"/dev/sdb\" /mnt\nfilesys.readonly 1 \"/dev/sdb\" 0\nhinv.nfilesys 2\n"},
		{"damaged", "/dev/sda\n/dev/sdb /mnt\n/dev/sdc /mnt ext4\n\n/dev/s\x00d /mnt ext4 rw 0 0\n/dev/sde /mnt ext4 rw 0 0\n" +
			"/dev/sdf /\x00 ext4 rw 0 0\n/dev/sdg /" + strings.Repeat("x", 5000) + " ext4 rw 0 0\n/dev/sdh /mnt ext4 rw",
			"filesys.mountdir 0 \"/dev/sde\" /mnt\nfilesys.readonly 0 \"/dev/sde\" 0\nhinv.nfilesys\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := files{"mnt/x": "", `with space\/x`: ""}
			if tt.mounts != "" {
				tree["proc/self/mounts"] = tt.mounts
			}
			if diff := cmp.Diff(tt.want, tree.valuesOf(t, "filesys.mountdir", "filesys.readonly", "hinv.nfilesys")); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestFilesystemsUsage checks that sizes add up, and that the percentage in use is that of df(1).
func TestFilesystemsUsage(t *testing.T) {
	root := files{"proc/self/mounts": "/dev/sda1 / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\ntmpfs /run tmpfs rw 0 0\n", "run/x": ""}.write(t)
	got := ourAgent(t, root).snapshot(strings.Fields("filesys.capacity filesys.free filesys.used filesys.full filesys.avail filesys.maxfiles filesys.usedfiles filesys.freefiles tmpfs.capacity tmpfs.full"))
	of := func(name string) float64 {
		inst := `0 "/dev/sda1"`
		if strings.HasPrefix(name, "tmpfs") {
			inst = `0 "/run"`
		}
		v, ok := number(got.values[name][inst])
		if !ok || len(got.values[name]) != 1 {
			t.Fatalf("%s: no value: %v", name, got)
		}
		return v
	}
	if c := of("filesys.capacity"); c <= 0 || c != of("filesys.used")+of("filesys.free") || c != of("tmpfs.capacity") {
		t.Error("space does not add up:", got)
	}
	if of("filesys.maxfiles") != of("filesys.usedfiles")+of("filesys.freefiles") {
		t.Error("inodes do not add up:", got)
	}
	want := 100 * of("filesys.used") / (of("filesys.used") + of("filesys.avail"))
	if f := of("filesys.full"); f < want-0.001 || f > want+0.001 {
		t.Errorf("%v%% full, want %v%%", f, want)
	}
}

// TestFilesystemsSameAsC compares the agents on mounts that both find.
func TestFilesystemsSameAsC(t *testing.T) {
	root := files{"proc/self/mounts": sharedMounts, "tmp/x": "", "usr/x": ""}.write(t)
	names := []string{"filesys.mountdir", "filesys.readonly", "hinv.nfilesys"}
	want := cAgent(t, root).snapshot(names)
	for _, d := range differences(names, want, ourAgent(t, root).snapshot(names), want) {
		t.Error(d)
	}
}

const sharedMounts = `rootfs / rootfs rw 0 0
/dev/sda1 / ext4 rw,relatime 0 0
/dev/sda1 /bind ext4 ro,relatime 0 0
/dev/sdb /tmp xfs ro,noatime 0 0
/dev/sdc /gone xfs ro,noatime 0 0
server:/export /tmp nfs rw 0 0
/dev/mapper/vg-root /usr btrfs rw 0 0
/dev/disk\040x /usr ext3 errors=remount-ro,rw 0 0
overlay /tmp overlay rw,lowerdir=/a 0 0
/dev/loop0 /tmp squashfs ro 0 0
/dev/sdd /usr autofs rw 0 0
/dev/sde /usr cgroup2 rw 0 0
/dev/sdf /usr devtmpfs rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/sdg /tmp fuseblk rw 0 0
`

// TestFilesystemsAllocate checks that a fetch allocates nothing, even if mounts are listed twice.
func TestFilesystemsAllocate(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "/dev/sda%d / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n", i/2)
	}
	fetch := steadyFetch(t, files{"proc/self/mounts": b.String(), "run/x": ""}.write(t), "filesys", "tmpfs", "hinv.nfilesys")
	if n := testing.AllocsPerRun(100, fetch); n != 0 && !raceEnabled && strconv.IntSize == 64 { // statfs copies paths on 32-bit machines
		t.Errorf("a fetch allocates %v times", n)
	}
}
