package pmdalinux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReopenedFiles checks that a file that may be replaced, or would keep a file system mounted or
// a server running, is opened for each reading.
func TestReopenedFiles(t *testing.T) {
	const users, threads, debug = "kernel.all.nusers", "nfs.server.threads.total", "sysfs.kernel.debug.extfrag_unusable"
	root := files{
		"var/run/utmp":                            utmpRecord(7, "alice"),
		"proc/fs/nfsd/pool_threads":               "3\n",
		"proc/fs/nfsd/pool_stats":                 "# pool packets-arrived\n0 1\n",
		"sys/kernel/debug/extfrag/unusable_index": "Node 0, zone   Normal 0.500\n",
		"sys/devices/system/node/node0/cpu0/":     "",
	}.write(t)
	our := ourAgent(t, root)
	names := []string{users, threads, debug}
	compare := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, our.snapshot(names).String()); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	}
	compare(users + " 1\n" + threads + " 3\n" + debug + ` 0 "node0" 0.5` + "\n")
	write(t, root, "var/run/utmp.new", utmpRecord(7, "alice")+utmpRecord(7, "bob"))
	if err := os.Rename(filepath.Join(root, "var/run/utmp.new"), filepath.Join(root, "var/run/utmp")); err != nil {
		t.Fatal(err)
	}
	compare(users + " 2\n" + threads + " 3\n" + debug + ` 0 "node0" 0.5` + "\n")
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if path, _ := os.Readlink(fd); strings.HasPrefix(path, root) {
			t.Error(strings.TrimPrefix(path, root), "is open")
		}
	}
}
