package pmdalinux_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// cpuFiles returns a tree with three processors and their files.
func cpuFiles(pairs ...string) files {
	const times = " 1 2 3 4 5 6 7 8 9 10\n"
	f := files{"proc/stat": "cpu " + times + "cpu0" + times + "cpu1" + times + "cpu2" + times + "intr 1\n"}
	for i := 0; i < len(pairs); i += 2 {
		f["sys/devices/system/cpu/"+pairs[i]] = pairs[i+1]
	}
	return f
}

// TestCPUFiles compares the values of good and damaged files.
func TestCPUFiles(t *testing.T) {
	for _, tt := range []struct {
		name, metrics string
		tree          files
		want          string
	}{
		{"online", "online", cpuFiles("cpu1/online", "0\n", "cpu2/online", "1\n"), `online 0 "cpu0" 1 1 "cpu1" 0 2 "cpu2" 1`},
		{"online damaged", "online", cpuFiles("cpu0/online", "x\n", "cpu1/online", "", "cpu2/online", "2\n"), "online"},
		{"throttled", "thermal_throttle.core.count thermal_throttle.core.time thermal_throttle.package.count thermal_throttle.package.time", cpuFiles(
			"cpu0/thermal_throttle/core_throttle_count", "5\n", "cpu0/thermal_throttle/core_throttle_total_time_ms", "6\n",
			"cpu1/thermal_throttle/package_throttle_count", "7\n", "cpu1/thermal_throttle/package_throttle_total_time_ms", "18446744073709551615\n"),
			`thermal_throttle.core.count 0 "cpu0" 5
thermal_throttle.core.time 0 "cpu0" 6
thermal_throttle.package.count 1 "cpu1" 7
thermal_throttle.package.time 1 "cpu1" 18446744073709551615`},
		{"throttled damaged", "thermal_throttle.core.count", cpuFiles(
			"cpu0/thermal_throttle/core_throttle_count", "-5\n", "cpu1/thermal_throttle/core_throttle_count", "5 6\n",
			"cpu2/thermal_throttle/core_throttle_count", "5\n"+strings.Repeat("\n", 5000)), "thermal_throttle.core.count"},
		{"frequencies", "frequency_scaling.count frequency_scaling.time frequency_scaling.min frequency_scaling.max", cpuFiles(
			"cpu0/cpufreq/stats/time_in_state", "1700000 7\n800999 100\n", "cpu0/cpufreq/scaling_cur_freq", "5\n",
			"cpu1/cpufreq/scaling_cur_freq", "2739999\n", "cpu1/cpufreq/cpuinfo_min_freq", "800000\n", "cpu1/cpufreq/cpuinfo_max_freq", "3800000\n"),
			`frequency_scaling.count 0 "cpu0" 91900 1 "cpu1" 2739
frequency_scaling.max 0 "cpu0" 1700 1 "cpu1" 3800
frequency_scaling.min 0 "cpu0" 800 1 "cpu1" 800
frequency_scaling.time 0 "cpu0" 107`},
		{"frequencies damaged", "frequency_scaling.count frequency_scaling.time frequency_scaling.min frequency_scaling.max", cpuFiles(
			"cpu0/cpufreq/stats/time_in_state", "800000 100\nx 5\n", "cpu0/cpufreq/scaling_cur_freq", "5000\n",
			"cpu1/cpufreq/stats/time_in_state", "18446744073709551615 18446744073709551615\n", "cpu1/cpufreq/cpuinfo_max_freq", "5000\n",
			"cpu2/cpufreq/scaling_cur_freq", "<unsupported>\n", "cpu2/cpufreq/cpuinfo_max_freq", "4294967296000\n"),
			`frequency_scaling.count
frequency_scaling.max
frequency_scaling.min
frequency_scaling.time`},
		{"clock of /proc/cpuinfo or cpufreq", "clock", func() files {
			f := cpuFiles("cpu0/cpufreq/scaling_cur_freq", "5000\n", "cpu1/cpufreq/scaling_cur_freq", "1500500\n", "cpu2/cpufreq/scaling_cur_freq", "<unsupported>\n")
			f["proc/cpuinfo"] = "processor : 0\ncpu MHz : 2000\n\nprocessor : 1\nBogoMIPS : 108.00\n\nprocessor : 2\n"
			return f
		}(), `clock 0 "cpu0" 2000 1 "cpu1" 1500.5`},
		{"frequencies overflow", "frequency_scaling.count frequency_scaling.time", cpuFiles(
			"cpu0/cpufreq/stats/time_in_state", "1000 18446744073709551615\n", "cpu1/cpufreq/stats/time_in_state", "1000 18446744073709551615\n1000 1\n",
			"cpu2/cpufreq/stats/time_in_state", ""),
			`frequency_scaling.count 0 "cpu0" 18446744073709551615
frequency_scaling.time 0 "cpu0" 18446744073709551615`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var names []string
			for n := range strings.FieldsSeq(tt.metrics) {
				names = append(names, "hinv.cpu."+n)
			}
			got := strings.TrimSuffix(strings.ReplaceAll(tt.tree.valuesOf(t, names...), "hinv.cpu.", ""), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
		})
	}
}

// TestCPUFilesComeAndGo checks that a removed file has no value, and a rewritten one its new value.
func TestCPUFilesComeAndGo(t *testing.T) {
	const count = "cpu0/thermal_throttle/core_throttle_count"
	root := cpuFiles(count, "5\n").write(t)
	our := ourAgent(t, root)
	for _, n := range []string{"5", "6", "7"} {
		write(t, root, "sys/devices/system/cpu/"+count, n+"\n")
		want := `hinv.cpu.thermal_throttle.core.count 0 "cpu0" ` + n + "\n"
		if diff := cmp.Diff(want, our.snapshot([]string{"hinv.cpu.thermal_throttle.core.count"}).String()); diff != "" {
			t.Error("(-want +got)\n", diff)
		}
	}
}

// TestProcessorsSameAsC compares both agents on machines that PCP's tests lack.
func TestProcessorsSameAsC(t *testing.T) {
	pcptest.Need(t, "pmcd")
	for _, tt := range []struct {
		name string
		tree files
	}{
		{"nodes", files{"proc/stat": twoNodes, "proc/uptime": "5.25 6.5\n"}.atNodes()},
		{"old kernel", files{"proc/stat": "cpu  10 2 3 4\ncpu0 10 2 3 4\nctxt 7\nbtime 8\n"}},
		{"one is off", files{"proc/stat": "cpu  10 2 3 4 5 6 7 8 90 1\ncpu1 10 2 3 4 5 6 7 8 90 1\nintr 6\n"}},
		{"frequencies", cpuFiles("cpu0/cpufreq/stats/time_in_state", "1700000 7\n800999 100\n", "cpu1/cpufreq/scaling_cur_freq", "2739999\n",
			"cpu2/cpufreq/cpuinfo_min_freq", "800999\n", "cpu2/online", "0\n", "cpu2/thermal_throttle/core_throttle_total_time_ms", "9\n")},
		{"Debian", files{"etc/debian_version": "12.11\n", "etc/lsb-release": "DISTRIB_ID=Debian\n"}},
		{"Fedora", files{"etc/fedora-release": "Fedora release 38 (Thirty Eight)\n", "etc/redhat-release": "x\n"}},
		{"LSB", files{"etc/lsb-release": "DISTRIB_ID = Some Linux \nDISTRIB_RELEASE=5\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) { sameOnTree(t, tt.tree.write(t)) })
	}
}
