package pmdalinux_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vfsFiles has a file of each kind, with different numbers.
var vfsFiles = files{
	"proc/sys/fs/file-nr":      "1500\t7\t200000\n",
	"proc/sys/fs/inode-state":  "100\t8\t0\t0\t0\t0\t0\n",
	"proc/sys/fs/dentry-state": "300\t70\t45\t0\t5\t0\n",
	"proc/sys/fs/aio-nr":       "5\n",
	"proc/sys/fs/aio-max-nr":   "65536\n",
	"proc/locks": `1: POSIX  ADVISORY  WRITE 1 00:06:1028 0 EOF
1: -> POSIX  ADVISORY  WRITE 2 00:06:1028 0 EOF
2: LEASE  ACTIVE    READ  1 00:06:1028 0 EOF
3: LEASE  BREAKING  READ  1 00:06:1028 0 EOF
4: LEASE  BREAKER   WRITE 1 00:06:1028 0 EOF
5: DELEG  ACTIVE    READ  1 00:06:1028 0 EOF
6: FLOCK  MSNFS     READ  1 00:06:1028 0 EOF
7: FLOCK  ADVISORY  RW    1 00:06:1028 0 EOF
8: POSIX  MANDATORY NONE 1 00:06:1028 0 EOF
8: OFDLCK ADVISORY  READ -1 00:06:1028 0 EOF
9: POSIX  *NOINODE* WRITE 1 <none>:0 0 EOF
`,
}

// samePrefixAsC compares the metrics with a prefix with those of the C agent on a tree.
func samePrefixAsC(t *testing.T, f files, prefix string) {
	t.Helper()
	root := f.write(t)
	their, our := cAgent(t, root), ourAgent(t, root)
	var names []string
	for _, name := range commonMetrics(t, our, their) {
		if strings.HasPrefix(name, prefix) && live[name] == "" {
			names = append(names, name)
		}
	}
	want := their.snapshot(names)
	for _, d := range differences(names, want, our.snapshot(names), want) {
		t.Error(d)
	}
}

func TestVFSSameAsC(t *testing.T) { samePrefixAsC(t, vfsFiles, "vfs.") }

// TestVFS compares the values of damaged files.
func TestVFS(t *testing.T) {
	const none = "Metric not supported by this version of monitored application"
	got := files{
		"proc/sys/fs/file-nr":      "1500\t7\t9223372036854775807\n",
		"proc/sys/fs/inode-state":  "x 8\n",
		"proc/sys/fs/dentry-state": "300 70",
		"proc/sys/fs/aio-nr":       "",
	}.valuesOf(t, "vfs.files.count", "vfs.files.max", "vfs.inodes.count", "vfs.inodes.free", "vfs.dentry.count", "vfs.aio.count", "vfs.aio.max")
	want := `vfs.aio.count
vfs.aio.max: ` + none + `
vfs.dentry.count
vfs.files.count 1500
vfs.files.max
vfs.inodes.count
vfs.inodes.free 8
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestLocks checks that a list with a malformed line has no values.
func TestLocks(t *testing.T) {
	const lock = "1: FLOCK  ADVISORY  READ 1 00:06:1028 0 EOF\n"
	const bad = ": Generic error, already reported above"
	for _, tt := range []struct{ name, locks, want string }{
		{"good", lock + lock, " 2"},
		{"none", "", " 0"},
		{"cut", lock + lock[:len(lock)-1], bad},
		{"missing", lock + "2: FLOCK ADVISORY READ\n", bad},
		{"no number", lock + "FLOCK ADVISORY READ 1 2 3\n", bad},
		{"zeros", lock + "\x00\x00\n", bad},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := files{"proc/locks": tt.locks}.valuesOf(t, "vfs.locks.flock.read")
			if diff := cmp.Diff("vfs.locks.flock.read"+tt.want+"\n", got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

func TestVFSAllocs(t *testing.T) {
	allocatesNothing(t, vfsFiles.write(t), "vfs.files.count", "vfs.inodes.count", "vfs.aio.max", "vfs.locks.flock.read")
}
