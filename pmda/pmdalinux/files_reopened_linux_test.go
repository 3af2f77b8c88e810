package pmdalinux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBriefFiles: what may be replaced by another file is opened again, and what
// would keep somebody from ending or unmounting something is not kept open.
func TestBriefFiles(t *testing.T) {
	const users, threads, debug = "kernel.all.nusers", "nfs.server.threads.total", "sysfs.kernel.debug.extfrag_unusable"
	root := files{
		"var/run/utmp":                            utmp(7, "alice"),
		"proc/fs/nfsd/pool_threads":               "3\n",
		"proc/fs/nfsd/pool_stats":                 "# pool packets-arrived\n0 1\n",
		"sys/kernel/debug/extfrag/unusable_index": "Node 0, zone   Normal 0.500\n",
		"sys/devices/system/node/node0/cpu0/":     "",
	}.write(t)
	our := ours(t, root)
	names := []string{users, threads, debug}
	look := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, our.look(names).String()); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	}
	look(users + " 1\n" + threads + " 3\n" + debug + ` 0 "node0" 0.5` + "\n")
	write(t, root, "var/run/utmp.new", utmp(7, "alice")+utmp(7, "bob"))
	if err := os.Rename(filepath.Join(root, "var/run/utmp.new"), filepath.Join(root, "var/run/utmp")); err != nil {
		t.Fatal(err)
	}
	look(users + " 2\n" + threads + " 3\n" + debug + ` 0 "node0" 0.5` + "\n")
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
