package pmdalinux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// twoNodes is the stat file of a machine with the nodes 2 and 10, see atNodes.
const twoNodes = `cpu  100 20 30 40 50 60 70 80 40 10
cpu0 10 2 3 4 5 6 7 8 4 1
cpu1 20 4 6 8 10 12 14 16 8 2
cpu10 70 14 21 28 35 42 49 56 28 7
intr 5000 1 2 3
ctxt 6000
btime 1700000000
processes 700
procs_running 2
procs_blocked 1
`

// atNodes adds two nodes for the processors of twoNodes.
func (f files) atNodes() files {
	for _, name := range []string{"node10/cpu10/x", "node2/cpu0/x", "node2/cpu1/x", "node2/cpulist"} {
		f["sys/devices/system/node/"+name] = ""
	}
	return f
}

// TestStat compares the values of good and damaged files.
func TestStat(t *testing.T) {
	stat := func(text string) files { return files{"proc/stat": text} }
	const none = ": Metric not supported by this version of monitored application\n"
	for _, tt := range []struct {
		name, names string // of metrics, after kernel. or hinv.
		tree        files
		want        string
	}{
		{"times of all", "all.cpu.user all.cpu.vuser all.cpu.nice all.cpu.vnice all.cpu.sys all.cpu.idle all.cpu.wait.total all.cpu.irq.hard all.cpu.irq.soft all.cpu.intr all.cpu.steal all.cpu.guest all.cpu.guest_nice",
			stat(twoNodes), `
all.cpu.guest 400
all.cpu.guest_nice 100
all.cpu.idle 400
all.cpu.intr 1300
all.cpu.irq.hard 600
all.cpu.irq.soft 700
all.cpu.nice 200
all.cpu.steal 800
all.cpu.sys 300
all.cpu.user 1000
all.cpu.vnice 100
all.cpu.vuser 600
all.cpu.wait.total 500
`},
		{"counts", "all.intr all.pswitch all.boottime all.sysfork all.running all.blocked all.hz hinv.ncpu hinv.nnode", stat(twoNodes), `
hinv.ncpu 3
hinv.nnode 1
all.blocked 1
all.boottime 1700000000
all.hz 100
all.intr 5000
all.pswitch 6000
all.running 2
all.sysfork 700
`},
		{"nodes", "percpu.cpu.user pernode.cpu.user pernode.cpu.vuser pernode.cpu.intr hinv.nnode hinv.map.cpu_node hinv.map.cpu_num hinv.node.online hinv.ncpu",
			stat(twoNodes).atNodes(), `
hinv.map.cpu_node 0 "cpu0" 2 1 "cpu1" 2 10 "cpu10" 10
hinv.map.cpu_num 0 "cpu0" 0 1 "cpu1" 1 10 "cpu10" 10
hinv.ncpu 3
hinv.nnode 2
hinv.node.online 0 "node2" 1 1 "node10" 1
percpu.cpu.user 0 "cpu0" 100 1 "cpu1" 200 10 "cpu10" 700
pernode.cpu.intr 0 "node2" 390 1 "node10" 910
pernode.cpu.user 0 "node2" 300 1 "node10" 700
pernode.cpu.vuser 0 "node2" 180 1 "node10" 420
`},
		{"at no node", "percpu.cpu.user pernode.cpu.user hinv.ncpu", stat("cpu3 1 2 3 4 5 6 7 8 9 1\n" + twoNodes).atNodes(), `
hinv.ncpu 3
percpu.cpu.user 0 "cpu0" 100 1 "cpu1" 200 10 "cpu10" 700
pernode.cpu.user 0 "node2" 300 1 "node10" 700
`},
		{"no nodes", "hinv.nnode hinv.map.cpu_node", files{
			"proc/stat": "cpu0 1\nintr 1\n", "sys/devices/system/node/node0/cpu0/x": "", "sys/devices/system/node/nodes/cpu0/x": "",
			"sys/devices/system/node/node03/cpu0/x": "", "sys/devices/system/node/node-1/cpu0/x": "",
		}, "\nhinv.map.cpu_node 0 \"cpu0\" 0\nhinv.nnode 1\n"},
		{"no file", "all.cpu.user percpu.cpu.user pernode.cpu.user all.intr all.hz hinv.ncpu hinv.nnode hinv.node.online", files{},
			"\nhinv.ncpu" + none + "hinv.nnode 1\nhinv.node.online 0 \"node0\" 1\nall.cpu.user" + none + "all.hz 100\nall.intr" + none + "percpu.cpu.user" + none + "pernode.cpu.user" + none},
		{"empty", "all.cpu.user percpu.cpu.user all.intr hinv.ncpu", stat(""), `
hinv.ncpu
all.cpu.user
all.intr
percpu.cpu.user
`},
		{"old kernel", "all.cpu.idle all.cpu.wait.total all.cpu.intr all.cpu.vuser percpu.cpu.steal pernode.cpu.user pernode.cpu.vuser pernode.cpu.guest", stat("cpu  10 2 3 4\ncpu0 10 2 3 4\nintr 1\n"), `
all.cpu.idle 40
all.cpu.intr
all.cpu.vuser 100
all.cpu.wait.total
percpu.cpu.steal
pernode.cpu.guest
pernode.cpu.user 0 "node0" 100
pernode.cpu.vuser 0 "node0" 100
`},
		{"more guests than user", "all.cpu.vuser all.cpu.vnice", stat("cpu  10 2 3 4 5 6 7 8 20 3\n"), "\nall.cpu.vnice 0\nall.cpu.vuser 0\n"},
		{"words for numbers", "all.cpu.irq.hard all.cpu.irq.soft all.cpu.steal all.cpu.vuser percpu.cpu.user percpu.cpu.nice pernode.cpu.user pernode.cpu.nice all.intr all.pswitch all.boottime",
			stat("cpu  10 2 3 4 5 6 x 8 9 1\ncpu0 10 x 3\ncpu1 10 2 3\nintr x\nctxt -5\nbtime 99999999999999999999\n"), `
all.boottime
all.cpu.irq.hard 60
all.cpu.irq.soft
all.cpu.steal
all.cpu.vuser
all.intr
all.pswitch
percpu.cpu.nice 1 "cpu1" 20
percpu.cpu.user 0 "cpu0" 100 1 "cpu1" 100
pernode.cpu.nice
pernode.cpu.user 0 "node0" 200
`},
		{"huge", "all.cpu.user percpu.cpu.user pernode.cpu.user all.boottime all.intr",
			stat("cpu  18446744073709551615 1\ncpu0 281474976710656\ncpu1 281474976710657\nbtime 9223372036854775808\nintr 18446744073709551615\n"), `
all.boottime
all.cpu.user
all.intr 18446744073709551615
percpu.cpu.user 0 "cpu0" 2814749767106560
pernode.cpu.user
`},
		{"truncated", "all.intr all.pswitch percpu.cpu.user", stat("cpu0 1 2 3\nintr 50\nctxt 60"), "\nall.intr 50\nall.pswitch\npercpu.cpu.user 0 \"cpu0\" 10\n"},
		{"truncated processor", "hinv.ncpu percpu.cpu.user", stat("cpu  1 2 3\ncpu0 1 2 3\ncpu1"), "\nhinv.ncpu\npercpu.cpu.user 0 \"cpu0\" 10\n"},
		{"truncated after a processor", "hinv.ncpu percpu.cpu.user pernode.cpu.user", stat("cpu  1 2 3\ncpu0 1 2 3\n"), "\nhinv.ncpu\npercpu.cpu.user 0 \"cpu0\" 10\npernode.cpu.user\n"},
		{"damaged name", "hinv.ncpu percpu.cpu.user pernode.cpu.user", stat("cpu0 1 2 3\ncpux 1 2 3\nintr 1\n"), "\nhinv.ncpu\npercpu.cpu.user 0 \"cpu0\" 10\npernode.cpu.user\n"},
		{"no processors", "hinv.ncpu percpu.cpu.user all.cpu.user",
			stat("cpux 1 2\ncpu-1 1\ncpu01 1\ncpu4294967296 1\ncpu2147483648 1\nCPU0 1\n cpu0\xff 1\ncpu0\x00 1\n\n\n"), "\nhinv.ncpu\nall.cpu.user\npercpu.cpu.user\n"},
		{"one twice", "hinv.ncpu percpu.cpu.user pernode.cpu.user", stat("cpu0 1\ncpu1 2\ncpu0 4\nintr 1\n"), `
hinv.ncpu 2
percpu.cpu.user 0 "cpu0" 10 1 "cpu1" 20
pernode.cpu.user 0 "node0" 30
`},
		{"renamed", "all.intr all.running", stat("intrs 5\nxintr 6\nprocs 7\nprocs_running_now 8\n"), "\nall.intr\nall.running\n"},
		{"endless line", "all.intr all.pswitch", stat("intr 5 " + strings.Repeat("0 ", 1<<20) + "\nctxt 6\n"), "\nall.intr 5\nall.pswitch 6\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			names := strings.Fields(tt.names)
			for i, n := range names {
				if !strings.HasPrefix(n, "hinv.") {
					names[i] = "kernel." + n
				}
			}
			got := "\n" + strings.ReplaceAll(tt.tree.valuesOf(t, names...), "kernel.", "")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestProcessorsChange switches processors off and on, and adds one on a new node.
func TestProcessorsChange(t *testing.T) {
	root := t.TempDir()
	for name, text := range (files{}.atNodes()) {
		write(t, root, name, text)
	}
	our := ourAgent(t, root)
	names := []string{"hinv.nnode", "hinv.map.cpu_node", "kernel.percpu.cpu.user", "kernel.pernode.cpu.user"}
	for _, tt := range []struct {
		name, stat string
		plug       func()
		want       string
	}{
		{"all", "cpu0 1\ncpu1 2\ncpu10 3\n", nil, `hinv.map.cpu_node 0 "cpu0" 2 1 "cpu1" 2 10 "cpu10" 10
hinv.nnode 2
kernel.percpu.cpu.user 0 "cpu0" 10 1 "cpu1" 20 10 "cpu10" 30
kernel.pernode.cpu.user 0 "node2" 30 1 "node10" 30
`},
		{"one off", "cpu0 1\ncpu10 3\n", nil, `hinv.map.cpu_node 0 "cpu0" 2 10 "cpu10" 10
hinv.nnode 2
kernel.percpu.cpu.user 0 "cpu0" 10 10 "cpu10" 30
kernel.pernode.cpu.user 0 "node2" 10 1 "node10" 30
`},
		{"new node", "cpu0 1\ncpu2 4\ncpu10 3\n", func() {
			write(t, root, "sys/devices/system/node/node3/cpu2/x", "")
		}, `hinv.map.cpu_node 0 "cpu0" 2 2 "cpu2" 3 10 "cpu10" 10
hinv.nnode 3
kernel.percpu.cpu.user 0 "cpu0" 10 2 "cpu2" 40 10 "cpu10" 30
kernel.pernode.cpu.user 0 "node2" 10 1 "node10" 30 2 "node3" 40
`},
		{"on again", "cpu1 5\n", nil, `hinv.map.cpu_node 1 "cpu1" 2
hinv.nnode 3
kernel.percpu.cpu.user 1 "cpu1" 50
kernel.pernode.cpu.user 0 "node2" 50 1 "node10" 0 2 "node3" 0
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.plug != nil {
				tt.plug()
			}
			write(t, root, "proc/stat", tt.stat+"intr 1\n")
			if diff := cmp.Diff(tt.want, our.snapshot(names).String()); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestUnreadable checks that an unreadable file is not treated as missing.
func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc", "stat"), 0o777); err != nil { // a directory
		t.Fatal(err)
	}
	got := ourAgent(t, root).snapshot([]string{"kernel.all.intr", "kernel.percpu.cpu.user"}).String()
	want := "kernel.all.intr: Is a directory\nkernel.percpu.cpu.user: Is a directory\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}
