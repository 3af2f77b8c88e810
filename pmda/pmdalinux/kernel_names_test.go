package pmdalinux_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// liveProcessors are metrics of the machine that come from system calls, not from a tree,
// with the reason.
var liveProcessors = map[string]string{
	"hinv.machine":          "the C agent calls uname(2)",
	"kernel.uname.machine":  "the C agent calls uname(2)",
	"kernel.uname.nodename": "the C agent calls uname(2)",
	"kernel.uname.release":  "the C agent calls uname(2)",
	"kernel.uname.sysname":  "the C agent calls uname(2)",
	"kernel.uname.version":  "the C agent calls uname(2)",
	"pmda.uname":            "the C agent calls uname(2)",
}

// TestUptime compares the values of good and damaged files.
func TestUptime(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"good", "12008.78 11382.09\n", "kernel.all.idletime 11382.09\nkernel.all.uptime 12008.78\n"},
		{"truncated", "12008.78 113", "kernel.all.idletime\nkernel.all.uptime 12008.78\n"},
		{"truncated uptime", "12008", "kernel.all.idletime\nkernel.all.uptime\n"},
		{"no idle time", "12008.78\n", "kernel.all.idletime\nkernel.all.uptime 12008.78\n"},
		{"empty", "", "kernel.all.idletime\nkernel.all.uptime\n"},
		{"words", "up inf\n", "kernel.all.idletime\nkernel.all.uptime\n"},
		{"negative", "-5 -6\n", "kernel.all.idletime\nkernel.all.uptime\n"},
		{"huge", strings.Repeat("9", 400) + " 1e5\n", "kernel.all.idletime\nkernel.all.uptime\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := files{"proc/uptime": tt.text}.valuesOf(t, "kernel.all.uptime", "kernel.all.idletime")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestNames compares the values of good and damaged files.
func TestNames(t *testing.T) {
	const (
		none = ": Metric not supported by this version of monitored application"
		bad  = ": Generic error, already reported above"
	)
	for _, tt := range []struct {
		name, metrics string
		tree          files
		want          string
	}{
		{"good", "kernel.uname.release kernel.uname.version kernel.uname.sysname kernel.uname.nodename kernel.uname.machine hinv.machine pmda.uname", files{
			"proc/sys/kernel/osrelease": "6.1.0\n", "proc/sys/kernel/version": "#1 SMP\n", "proc/sys/kernel/ostype": "Linux\n",
			"proc/sys/kernel/hostname": "web1\n", "proc/sys/kernel/arch": "riscv64\n",
		}, `hinv.machine riscv64
kernel.uname.machine riscv64
kernel.uname.nodename web1
kernel.uname.release 6.1.0
kernel.uname.sysname Linux
kernel.uname.version #1 SMP
pmda.uname Linux web1 6.1.0 #1 SMP riscv64`},
		{"none", "kernel.uname.release hinv.machine kernel.uname.distro pmda.uname", files{},
			"hinv.machine" + none + "\nkernel.uname.distro" + none + "\nkernel.uname.release" + none + "\npmda.uname" + none},
		{"no architecture", "pmda.uname", files{
			"proc/sys/kernel/osrelease": "6.1.0\n", "proc/sys/kernel/version": "#1 SMP\n", "proc/sys/kernel/ostype": "Linux\n",
			"proc/sys/kernel/hostname": "web1\n",
		}, "pmda.uname" + none},
		{"damaged", "kernel.uname.release kernel.uname.version kernel.uname.sysname kernel.uname.nodename", files{
			"proc/sys/kernel/osrelease": "6.1.0", "proc/sys/kernel/version": "#1\nSMP\n", "proc/sys/kernel/ostype": "Lin\x00ux\n",
			"proc/sys/kernel/hostname": strings.Repeat("x", 1000) + "\n",
		}, "kernel.uname.nodename" + bad + "\nkernel.uname.release" + bad + "\nkernel.uname.sysname" + bad + "\nkernel.uname.version" + bad},
		{"Debian", "kernel.uname.distro", files{"etc/debian_version": "12.11\n", "etc/redhat-release": "x\n"}, "kernel.uname.distro Debian 12.11"},
		{"Amazon", "kernel.uname.distro", files{"etc/amazon-linux-release": "Amazon Linux release 2023 (Amazon Linux)\n", "etc/os-release": "PRETTY_NAME=x\n"},
			"kernel.uname.distro Amazon Linux release 2023 (Amazon Linux)"},
		{"os-release", "kernel.uname.distro", files{"etc/os-release": "NAME=\"Alpine Linux\"\nPRETTY_NAME=\"Alpine Linux v3.20\"\nID=alpine\n"},
			"kernel.uname.distro Alpine Linux v3.20"},
		{"os-release without a name", "kernel.uname.distro", files{"etc/os-release": "ID=x\n"}, "kernel.uname.distro" + none},
		{"damaged and good", "kernel.uname.distro", files{"etc/debian_version": "\n", "etc/oracle-release": "x\x00y\n",
			"etc/redhat-release": strings.Repeat("x", 9999), "etc/lsb-release": "DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=22.04\n"}, "kernel.uname.distro Ubuntu"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.TrimSuffix(tt.tree.valuesOf(t, strings.Fields(tt.metrics)...), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// processorMetrics are the prefixes of all metrics of this subject.
var processorMetrics = []string{
	"kernel.all.cpu", "kernel.percpu.cpu", "kernel.pernode", "kernel.all.intr", "kernel.all.pswitch", "kernel.all.sysfork",
	"kernel.all.running", "kernel.all.blocked", "kernel.all.boottime", "kernel.all.hz", "kernel.all.idletime", "kernel.all.uptime",
	"kernel.uname", "pmda.uname", "hinv.ncpu", "hinv.machine", "hinv.nnode", "hinv.node", "hinv.map.cpu_num", "hinv.map.cpu_node", "hinv.cpu",
}

// refetch returns a function that fetches the metrics with the given prefixes, and their number.
func refetch(t testing.TB, root string, names ...string) (fetch func(), n int) {
	t.Helper()
	a, err := pmdalinux.New(pmdalinux.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	var ids []pdu.PMID
	for name, id := range a.Namespace().All() {
		for _, begin := range names {
			if name == begin || strings.HasPrefix(name, begin+".") {
				ids = append(ids, id)
			}
		}
	}
	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
	var w pdu.ResultWriter
	return func() {
		w.Reset()
		if err := a.Fetch(t.Context(), r, ids, &w); err != nil {
			t.Fatal(err)
		}
	}, len(ids)
}

// manyProcessors returns a machine with n processors in nodes of 16. With all it has all files of
// processors.
func manyProcessors(n int, all bool) files {
	f := files{
		"proc/loadavg": "0.83 1.22 1.44 3/109 5128\n", "proc/uptime": "5 6\n", "etc/debian_version": "12\n", "proc/sys/kernel/arch": "x\n", "proc/sys/kernel/hostname": "x\n",
		"proc/sys/kernel/osrelease": "x\n", "proc/sys/kernel/ostype": "x\n", "proc/sys/kernel/version": "x\n",
	}
	var stat, info strings.Builder
	stat.WriteString("cpu  774779 0 368196 1138209 3028 0 56677 1347 0 0\n")
	for i := range n {
		fmt.Fprintf(&stat, "cpu%d 380353 0 183563 577294 792 0 28373 688 0 0\n", i)
		fmt.Fprintf(&info, "processor\t: %d\nvendor_id\t: x\nmodel\t\t: 5\ncpu MHz\t\t: 2000.5\nflags\t\t: a b c\n\n", i)
		f[fmt.Sprintf("sys/devices/system/node/node%d/cpu%d/x", i/16, i)] = ""
		if !all {
			continue
		}
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", i)
		f[dir+"online"] = "1\n"
		for _, kind := range []string{"core_throttle_count", "core_throttle_total_time_ms", "package_throttle_count", "package_throttle_total_time_ms"} {
			f[dir+"thermal_throttle/"+kind] = "5\n"
		}
		f[dir+"cpufreq/stats/time_in_state"] = "2000000 5\n1000000 4\n"
	}
	stat.WriteString("intr 75813282" + strings.Repeat(" 0", 500) + "\nctxt 1\nbtime 2\nprocesses 3\nprocs_running 4\nprocs_blocked 5\n")
	f["proc/stat"], f["proc/cpuinfo"] = stat.String(), info.String()
	return f
}

// TestProcessorsAllocate checks that fetching all metrics of this subject allocates nothing, with
// or without files of processors.
func TestProcessorsAllocate(t *testing.T) {
	for _, all := range []bool{true, false} {
		t.Run(fmt.Sprint("all files ", all), func(t *testing.T) {
			fetch, n := refetch(t, manyProcessors(20, all).write(t), processorMetrics...)
			if n != 79 {
				t.Errorf("there are %d metrics, want 79", n)
			}
			if n := testing.AllocsPerRun(100, fetch); n != 0 && !raceEnabled {
				t.Errorf("a fetch allocates %v times", n)
			}
		})
	}
}

// BenchmarkProcessors fetches the metrics of a typical display of system load.
func BenchmarkProcessors(b *testing.B) {
	all := slices.DeleteFunc(slices.Clone(processorMetrics), func(n string) bool { return !strings.HasPrefix(n, "kernel.all.") })
	all = append(all, "kernel.all.load", "kernel.all.nprocs", "kernel.all.runnable", "kernel.all.lastpid")
	for _, n := range []int{8, 256} {
		root := manyProcessors(n, false).write(b)
		for _, bb := range []struct {
			name  string
			names []string
		}{
			{"all", all},
			{"percpu", []string{"kernel.percpu.cpu"}},
			{"both", append(slices.Clone(all), "kernel.percpu.cpu")},
		} {
			b.Run(fmt.Sprintf("processors=%d/%s", n, bb.name), func(b *testing.B) {
				fetch, _ := refetch(b, root, bb.names...)
				fetch()
				b.ReportAllocs()
				for b.Loop() {
					fetch()
				}
			})
		}
	}
}
