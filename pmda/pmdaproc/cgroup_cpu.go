package pmdaproc

import (
	"bytes"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addCPUSets adds the metrics of the processors and nodes that groups may use.
func (c *cgroups) addCPUSets() {
	d := c.addInDom(20, "cpu", "Control groups with sets of processors and of nodes of memory", cgroupList{controller: "cpuset", either: true})
	row := func(index, item int, file, text string) {
		addCgroupRows(d, 39, &groupFile[string]{index, file, file, parseFirstLine},
			cgroupRow[string, string]{item, file, pdu.SemInstant, 0, text, func(s *string) (string, bool) { return *s, true }})
	}
	row(0, 0, "cpuset.cpus", "Processors that the group may use, such as 0-3,8")
	row(1, 1, "cpuset.mems", "Nodes of memory that the group may use, such as 0-1")
	d.addContainerID("cpuset", 39, 2)
}

// parseFirstLine sets a string to the first line of a text.
func parseFirstLine(to *string, text []byte) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	setString(to, line)
}

// A cpuacctStat is the contents of the file cpuacct.stat, in clock ticks.
type cpuacctStat struct{ user, system cgroupNumber }

func (s *cpuacctStat) parse(text []byte) {
	*s = cpuacctStat{}
	for line := range procfile.Lines(text) {
		key, rest := procfile.CutField(line)
		v, _, ok := procfile.CutUint(rest)
		switch string(key) {
		case "user":
			s.user = cgroupNumber{v, ok}
		case "system":
			s.system = cgroupNumber{v, ok}
		}
	}
}

// addCPUAccounting adds the metrics of the CPU time of groups of version 1.
func (c *cgroups) addCPUAccounting() {
	list := cgroupList{controller: "cpuacct"}
	d := c.addInDom(21, "cpu", "Control groups whose use of processors is counted", list)
	stat := &groupFile[cpuacctStat]{0, "cpuacct.stat", "", (*cpuacctStat).parse}
	addCgroupRows(d, 41, stat,
		cgroupRow[cpuacctStat, uint64]{0, "cpuacct.stat.user", pdu.SemCounter, pdu.TimeMSec, "Time of processors that the programs of the group had", func(s *cpuacctStat) (uint64, bool) { return s.user.v * 1000 / c.p.hertz(), s.user.ok }},
		cgroupRow[cpuacctStat, uint64]{1, "cpuacct.stat.system", pdu.SemCounter, pdu.TimeMSec, "Time of processors that the kernel has spent for the group", func(s *cpuacctStat) (uint64, bool) { return s.system.v * 1000 / c.p.hertz(), s.system.ok }},
	)
	addCgroupRows(d, 41, cgroupNumberFile(1, "cpuacct.usage", ""),
		cgroupRow[cgroupNumber, uint64]{2, "cpuacct.usage", pdu.SemCounter, pdu.TimeNSec, "Time of processors that the group had", (*cgroupNumber).get})
	d.addContainerID("cpuacct", 41, 4)

	var cpus []string
	each := addCgroupPairs(c, 22, "processor", "cpu", "Control groups, with each processor", "cpu", list, func() {}, func(d *cgroupPairs[uint64], g *cgroup) {
		text, _ := d.read(g, "cpuacct.usage_percpu")
		line, _, _ := procfile.CutLine(text)
		for cpu := 0; d.rows.Len() < maxCgroupPairs; cpu++ {
			v, rest, ok := procfile.CutUint(line)
			if !ok {
				return
			}
			if line = rest; cpu == len(cpus) {
				cpus = append(cpus, strconv.Itoa(cpu))
			}
			*d.row(g, "cpu", cpus[cpu]) = v
		}
	})
	each.addMetric(pmda.Metric[uint64]{Name: "cgroup.cpuacct.usage_percpu", ID: pmda.Item(41, 3), Sem: pdu.SemCounter, Units: pdu.TimeNSec,
		Text: "Time that the group had of each processor"}, func(v *uint64) (uint64, bool) { return *v, true })
}

// A throttling is the contents of the file cpu.stat of version 1.
type throttling struct{ periods, throttled, time cgroupNumber }

func (s *throttling) parse(text []byte) {
	*s = throttling{}
	for line := range procfile.Lines(text) {
		key, rest := procfile.CutField(line)
		v, _, ok := procfile.CutUint(rest)
		switch string(key) {
		case "nr_periods":
			s.periods = cgroupNumber{v, ok}
		case "nr_throttled":
			s.throttled = cgroupNumber{v, ok}
		case "throttled_time":
			s.time = cgroupNumber{v, ok}
		}
	}
}

// addCPUScheduler adds the metrics of the shares of CPU time of groups of version 1.
func (c *cgroups) addCPUScheduler() {
	d := c.addInDom(23, "cpu", "Control groups to which time of processors is shared out", cgroupList{controller: "cpu"})
	addCgroupRows(d, 43, cgroupNumberFile(0, "cpu.shares", ""),
		cgroupRow[cgroupNumber, uint64]{0, "cpusched.shares", pdu.SemInstant, 0, "Weight of the group when processors are busy", (*cgroupNumber).get})
	addCgroupRows(d, 43, &groupFile[throttling]{1, "cpu.stat", "", (*throttling).parse},
		cgroupRow[throttling, uint64]{1, "cpusched.periods", pdu.SemInstant, 0, "Periods in which the group has run, if it has a quota", func(s *throttling) (uint64, bool) { return s.periods.get() }},
		cgroupRow[throttling, uint64]{2, "cpusched.throttled", pdu.SemInstant, 0, "Periods in which the group has used up its quota", func(s *throttling) (uint64, bool) { return s.throttled.get() }},
		cgroupRow[throttling, uint64]{3, "cpusched.throttled_time", pdu.SemCounter, pdu.TimeNSec, "Time for which the group had to wait for the next period", func(s *throttling) (uint64, bool) { return s.time.get() }},
	)
	addCgroupRows(d, 43, cgroupNumberFile(2, "cpu.cfs_period_us", ""),
		cgroupRow[cgroupNumber, uint64]{4, "cpusched.cfs_period", pdu.SemInstant, pdu.TimeUSec, "Length of the periods that quotas are for", (*cgroupNumber).get})
	addCgroupRows(d, 43, cgroupNumberFile(3, "cpu.cfs_quota_us", ""),
		cgroupRow[cgroupNumber, int64]{5, "cpusched.cfs_quota", pdu.SemInstant, pdu.TimeUSec, "Time that the group may have in a period, no value if it has no quota",
			func(n *cgroupNumber) (int64, bool) { return int64(n.v), n.ok }})
	d.addContainerID("cpusched", 43, 6)
}

// addNetClass adds the metrics of groups' packet classes.
func (c *cgroups) addNetClass() {
	d := c.addInDom(25, "interface", "Control groups whose packets have a class", cgroupList{controller: "net_cls"})
	addCgroupRows(d, 47, cgroupNumberFile(0, "net_cls.classid", ""),
		cgroupRow[cgroupNumber, uint64]{0, "netclass.classid", pdu.SemInstant, 0, "Class of the packets that the processes of the group send", (*cgroupNumber).get})
	d.addContainerID("netclass", 47, 1)
}
