package pmdaproc_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// process returns the directory of a process. All numbers in it differ.
func process(id int, comm, state string, status ...string) files {
	n := 1000 * id
	next := func() int { n++; return n }
	numbers := func(count int) string {
		var b strings.Builder
		for range count {
			fmt.Fprintf(&b, " %d", next())
		}
		return b.String()
	}
	dir := fmt.Sprintf("proc/%d/", id)
	stat := fmt.Sprintf("%d (%s) %s 1 2 3 34816 -1%s 25 5 %d 0%s 1%s\n", id, comm, state, numbers(9), id%7, numbers(19), numbers(11))
	lines := []string{"Name:\t" + comm, "Umask:\t0022", "State:\t" + state + " (x)", fmt.Sprintf("Tgid:\t%d", id), "Ngid:\t7", fmt.Sprintf("Pid:\t%d", id), "PPid:\t1",
		"TracerPid:\t0", "Uid:\t0\t1\t2\t3", "Gid:\t4\t3\t2\t1", "FDSize:\t64", "Groups:\t0 1 ",
		fmt.Sprintf("NStgid:\t%d\t5", id), fmt.Sprintf("NSpid:\t%d\t6", id), fmt.Sprintf("NSpgid:\t%d\t7", id), fmt.Sprintf("NSsid:\t%d\t8", id)}
	for _, vm := range []string{"VmPeak", "VmSize", "VmLck", "VmPin", "VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmData", "VmStk", "VmExe", "VmLib", "VmPTE", "VmSwap"} {
		lines = append(lines, fmt.Sprintf("%s:\t%8d kB", vm, next()))
	}
	lines = append(lines, fmt.Sprintf("Threads:\t%d", next()), "SigQ:\t0/7", "SigPnd:\t0000000000000001", "ShdPnd:\t0000000000000000", "SigBlk:\t0000000000000002",
		"SigIgn:\t0000000000000003", "SigCgt:\t0000000000000004", "Cpus_allowed:\t3", "Cpus_allowed_list:\t0-1",
		fmt.Sprintf("voluntary_ctxt_switches:\t%d", next()), fmt.Sprintf("nonvoluntary_ctxt_switches:\t%d", next()))
	lines = append(lines, status...)
	smaps := "55e0-7ffc ---p 00000000 00:00 0                    [rollup]\n"
	for _, key := range []string{"Rss", "Pss", "Pss_Dirty", "Pss_Anon", "Pss_File", "Pss_Shmem", "Shared_Clean", "Shared_Dirty", "Private_Clean", "Private_Dirty", "Referenced", "Anonymous",
		"KSM", "LazyFree", "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped", "Shared_Hugetlb", "Private_Hugetlb", "Swap", "SwapPss", "Locked"} {
		smaps += fmt.Sprintf("%s: %12d kB\n", key, next())
	}
	io := ""
	for _, key := range []string{"rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"} {
		io += fmt.Sprintf("%s: %d\n", key, next())
	}
	return files{
		dir + "stat": stat, dir + "status": strings.Join(lines, "\n") + "\n", dir + "smaps_rollup": smaps, dir + "io": io,
		dir + "statm": strings.TrimSpace(numbers(7)) + "\n", dir + "schedstat": strings.TrimSpace(numbers(3)) + "\n",
		dir + "cmdline": fmt.Sprintf("/bin/%s\x00-x\x00%d\x00", comm, id), dir + "environ": "A=1\x00B=2\x00", dir + "wchan": "do_wait",
		dir + "cgroup": "3:cpuset:/docker/x\n2:cpu,cpuacct:/foo\n1:name=systemd:/bar\n0::/baz\n", dir + "oom_score": fmt.Sprintf("%d\n", next()),
		dir + "autogroup": fmt.Sprintf("/autogroup-%d nice 5\n", next()), dir + "attr/current": "label\n", dir + "maps": "00400000-00452000 r-xp\nline\n",
		dir + "fd/0": "", dir + "fd/1": "", dir + "exe": "->/bin/" + comm, dir + "cwd": "->/somewhere",
	}
}

// machine returns a tree with some processes.
func machine() files {
	tree := files{
		"proc/sys/kernel/sched_autogroup_enabled": "1\n",
		"proc/tty/drivers":                        "pty_slave            /dev/pts      136 0-1048575 pty:slave\n",
		"proc/mounts":                             "", "proc/cgroups": "", "proc/stat": "cpu  1 2 3 4 5\n", "proc/diskstats": "",
	}
	maps.Copy(tree, process(1, "init", "S"))
	maps.Copy(tree, process(20, "run ner", "R", "envID:\t12"))
	maps.Copy(tree, process(300, "a) S (b", "D"))
	maps.Copy(tree, process(4000, "stopped", "T"))
	maps.Copy(tree, process(50000, "idle", "I"))
	maps.Copy(tree, process(1234567, "late", "Z"))
	tree["proc/300/cmdline"] = "" // like a kernel thread
	tree["proc/4000/cgroup"] = "4:cpuset:/docker-" + strings.Repeat("ab", 32) + ".scope\n"
	return tree
}

// mended maps metrics with wrong values in the C agent to the reason.
var mended = map[string]string{
	"proc.psinfo.priority":             "D1: the next field",
	"proc.psinfo.rt_priority":          "D1: the next field",
	"proc.psinfo.policy":               "D1: the next field",
	"proc.psinfo.policy_s":             "D1: the next field",
	"proc.psinfo.delayacct_blkio_time": "D1: the next field",
	"proc.psinfo.guest_time":           "D1: the next field",
	"proc.psinfo.cguest_time":          "D1: the next field",
	"proc.id.gid":                      "D2: the user ID",
	"proc.id.container":                "D19: none for most forms",
	"proc.psinfo.ngid":                 "D3: the index of a text",
}

// TestInteropTree compares the values of a valid tree with the C agent.
func TestInteropTree(t *testing.T) {
	pcptest.Need(t, "pmcd")
	root := machine().write(t)
	c, our := cAgent(t, root), ourAgent(t, root)
	names := c.names("proc")
	want, got := c.values(names), our.values(names)
	for _, name := range names {
		if mended[name] != "" {
			if want[name] == got[name] {
				t.Errorf("%s: the C agent has it right", name)
			}
			continue
		}
		if diff := cmp.Diff(strings.Split(want[name], "\n"), strings.Split(got[name], "\n")); diff != "" {
			t.Errorf("%s (-C +ours)\n%s", name, diff)
		}
	}
	if len(names) < 150 || !slices.Contains(names, "proc.smaps.rss") {
		t.Errorf("%d metrics", len(names))
	}
}
