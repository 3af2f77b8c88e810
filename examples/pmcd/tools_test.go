package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// Patterns of the lines of several tools.
const (
	words  = `[a-z]{2}`                                            // headings, in tables of numbers and units
	memory = `^ +\d+\.\d+ +(\S+) +(\S+) +(\S+) +(\S+) `            // swpd free buff cache, after the load
	last5  = ` +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$`                // us sy id wa st
	first5 = `^ *(\d+) +(\d+) +(\d+) +(\d+) +(\d+) *[|:]`          // usr sys idl wai stl
	busy   = `^TIME\s+\S+\s` + `+([\d.]+)\s+([\d.]+)\s+([\d.]+)` + // %usr %nice %sys
		`\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$`
)

// views are what PCP's tools show of a machine.
var views = []view{
	{tool: "pmstat -h HOST -s 3 -t 0.5", same: []string{"loadavg", "1 min"}, near: []string{memory}},
	{tool: "pmclient -h HOST -s 2 -t 0.5", same: []string{"^Host: ", words}, near: []string{`^ \S+ +\d+ +\S+ +(\d\S*) `}},
	{tool: "pmrep -h HOST -s 3 -t 0.5 :vmstat", same: []string{"swpd"},
		near: []string{`^ +\d+ +\d+ +(\d+) +(\d+) +(\d+) +(?:\d+|xxx) `}, full: []string{last5}}, // a page cache of 10 GB does not fit
	{tool: "pcp -h HOST free", same: []string{"total", `^Mem: +(\d+)`, `^Swap +(\d+)`},
		near: []string{`^Mem: +\d+ +\d+ +(\d+) +\d+ +(\d+) +(\d+)$`}},
	{tool: "pcp -h HOST uptime", same: []string{`(up .* users?),`}},
	{tool: "pcp -h HOST mpstat -t 1 -s 2", same: []string{"^Linux", "^Timestamp"}, full: []string{busy}},
	{tool: "pcp -h HOST mpstat -P ALL -t 1 -s 2", same: []string{"^Linux", "^Timestamp"}, full: []string{busy}},
	{tool: "pcp -h HOST mpstat -I SUM -t 1 -s 2", same: []string{"^Linux", "^Timestamp"}},
	{tool: "pcp -h HOST mpstat -A -t 1 -s 2", same: []string{"^Linux", "^Timestamp"}, full: []string{busy}},
	{tool: "pcp -h HOST iostat -t 1 -s 2", same: []string{"^#"}},
	{tool: "pcp -h HOST iostat -x dm -t 1 -s 2", same: []string{"^#"}},
	{tool: "pcp -h HOST iostat -x t -t 1 -s 2", same: []string{"^#"}},
	{tool: "pcp -h HOST vmstat 1 2", same: []string{"loadavg", "1 min"}, near: []string{memory}, full: []string{last5}},
	{tool: "pcp -h HOST dstat --nocolor --nomissed 1 2", same: []string{words}, full: []string{first5}},
	{tool: "pcp -h HOST dstat --nocolor --nomissed --full 1 2", same: []string{words}, full: []string{first5}},
	{tool: "pcp -h HOST dstat --nocolor --nomissed --vmstat 1 2", same: []string{words}, near: []string{`\| *(\d\S*) +(\S+) +(\S+) +(\S+)\|`}},
	{tool: "pcp -h HOST dstat --nocolor --nomissed --cpu --disk --net --mem --swap --load --proc --sys --page --io 1 2",
		same: []string{words}, full: []string{first5}},
	{tool: "pcp -h HOST dstat --nocolor --nomissed --int --ipc --lock --fs --aio --vm --vm-adv --tcp --udp --raw --socket --unix 1 2",
		same: []string{words}},
	{tool: "pcp -h HOST numastat", same: []string{"node0"}, near: []string{`^(?:numa_hit|local_node) +(\d+)`}},
	{tool: "pcp -h HOST", same: []string{"^ platform: .", "^ hardware: .", "^ timezone: ."}, others: []string{"services:", "pmcd:", "pmda:"}},
}

// TestTools compares what PCP's tools show of our collector, as it is without
// arguments, with what they show of C pmcd with the Linux agent.
func TestTools(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmstat", "pmclient", "pmrep", "pcp", "pcp-free", "pcp-uptime", "pcp-mpstat", "pcp-iostat",
		"pcp-vmstat", "pcp-dstat", "pcp-numastat", "pcp-summary")
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux"}})
	_, host, _ := start(t, nil)
	look := func(views []view) []pcptest.Output {
		var all [][]string
		for _, v := range views {
			for _, h := range []string{c.Host(), host} {
				all = append(all, strings.Fields(strings.ReplaceAll(v.tool, "HOST", h)))
			}
		}
		return pcptest.RunAll(t, toolEnv(), all...)
	}
	const atOnce = 10 // they are to see the same, not each other
	for some := range slices.Chunk(views, atOnce) {
		outputs := look(some)
		for i, v := range some {
			t.Run(v.tool, func(t *testing.T) {
				both := outputs[2*i : 2*i+2]
				pcptest.Retry(t, func() string {
					if both == nil {
						both = look([]view{v})
					}
					want, got := both[0], both[1]
					both = nil
					if d := v.differences(want, got); len(d) > 0 {
						return fmt.Sprintf("%s\nC pmcd:\n%s\nours:\n%s", strings.Join(d, "\n"), want.Stdout, got.Stdout)
					}
					return ""
				})
			})
		}
	}
}

// toolEnv is for tools in Python, which are made for the system's, and use PCP's
// derived metrics.
func toolEnv() []string {
	return []string{
		"PATH=/usr/bin:" + os.Getenv("PATH"),
		"PCP_DERIVED_CONFIG=" + filepath.Join(pcptest.Conf("PCP_SYSCONF_DIR"), "derived"),
	}
}

// pcp7Descriptors are the metrics whose descriptors PCP 7 changed.
var pcp7Descriptors = []string{
	"disk.dm.read_bytes", "disk.dm.write_bytes", "disk.dm.total_bytes", // 64 bits
	"disk.md.read_bytes", "disk.md.write_bytes", "disk.md.total_bytes",
	"mem.vmstat.nr_free_cma", // instant
}

// TestLinuxDescriptors compares the metrics of our Linux agent with those of the C agent.
func TestLinuxDescriptors(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	c := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux"}})
	_, host, _ := start(t, nil)
	var want []string
	pcptest.Retry(t, func() string { // the kernel may name another interrupt
		want = metricsOf(t, c.Host(), "linux")
		got := metricsOf(t, host, "linux")
		slices.Sort(want)
		slices.Sort(got)
		return cmp.Diff(want, got)
	})
	want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(pcp7Descriptors, name) })
	compare(t, c.Host(), host, append([]string{"-dm"}, want...))
}
