package pmdaproc

import (
	"bytes"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// The files of a group of version 2 with metrics in the instance domain of such groups.
const (
	unifiedCPUStat = iota
	unifiedCPUPressure
	unifiedIOPressure
	unifiedMemoryPressure
	unifiedIRQPressure
)

// addUnified adds the metrics of groups of version 2.
func (c *cgroups) addUnified() {
	d := c.addInDom(16, "", "Control groups of version 2", cgroupList{})
	addCgroupRows(d, 67, &groupFile[cpuStat]{unifiedCPUStat, "", "cpu.stat", (*cpuStat).parse},
		cgroupRow[cpuStat, uint64]{0, "cpu.stat.user", pdu.SemCounter, pdu.TimeUSec, "Time of processors that the programs of the group had", func(s *cpuStat) (uint64, bool) { return s.user.get() }},
		cgroupRow[cpuStat, uint64]{1, "cpu.stat.system", pdu.SemCounter, pdu.TimeUSec, "Time of processors that the kernel has spent for the group", func(s *cpuStat) (uint64, bool) { return s.system.get() }},
		cgroupRow[cpuStat, uint64]{2, "cpu.stat.usage", pdu.SemCounter, pdu.TimeUSec, "Time of processors that the group had in all", func(s *cpuStat) (uint64, bool) { return s.usage.get() }},
	)
	const some, full = "Some processes of the group", "All processes of the group that had something to do"
	d.addPressure(64, 0, unifiedCPUPressure, "cpu", "some", some+" waited for a processor", somePressure)
	d.addPressure(65, 0, unifiedIOPressure, "io", "some", some+" waited for disks", somePressure)
	d.addPressure(65, 4, unifiedIOPressure, "io", "full", full+" waited for disks", fullPressure)
	d.addPressure(66, 0, unifiedMemoryPressure, "memory", "some", some+" waited for memory", somePressure)
	d.addPressure(66, 4, unifiedMemoryPressure, "memory", "full", full+" waited for memory", fullPressure)
	d.addPressure(76, 0, unifiedIRQPressure, "irq", "full", full+" waited for the handling of interrupts", fullPressure)
}

// A cpuStat is the contents of the file cpu.stat of version 2.
type cpuStat struct{ user, system, usage cgroupNumber }

// parse parses lines such as "usage_usec 12".
func (s *cpuStat) parse(text []byte) {
	*s = cpuStat{}
	for line := range procfile.Lines(text) {
		key, rest := procfile.CutField(line)
		v, _, ok := procfile.CutUint(rest)
		switch string(key) {
		case "user_usec":
			s.user = cgroupNumber{v, ok}
		case "system_usec":
			s.system = cgroupNumber{v, ok}
		case "usage_usec":
			s.usage = cgroupNumber{v, ok}
		}
	}
}

// A pressure is the contents of a file of stalls, which has a line for stalls of some processes and
// one for stalls of all.
type pressure [2]stalls

const somePressure, fullPressure = 0, 1

// stalls are the percentages of time over recent periods, and the total time.
type stalls struct {
	ok       bool
	averages [3]float32
	total    uint64
}

var pressureKeys = [3][]byte{[]byte("avg10="), []byte("avg60="), []byte("avg300=")}

// parse parses lines such as "some avg10=0.00 avg60=0.12 avg300=1.00 total=12".
func (p *pressure) parse(text []byte) {
	*p = pressure{}
	for line := range procfile.Lines(text) {
		of, rest := procfile.CutField(line)
		switch string(of) {
		case "some":
			p[somePressure].parse(rest)
		case "full":
			p[fullPressure].parse(rest)
		}
	}
}

func (s *stalls) parse(line []byte) {
	for i, key := range pressureKeys {
		field, rest := procfile.CutField(line)
		line = rest
		number, ok := bytes.CutPrefix(field, key)
		v, _, isNumber := procfile.CutDecimal(number)
		if !ok || !isNumber {
			return
		}
		s.averages[i] = float32(v)
	}
	field, _ := procfile.CutField(line)
	if number, ok := bytes.CutPrefix(field, []byte("total=")); ok {
		s.total, s.ok = procfile.ParseUint(number)
	}
}

// addPressure adds the metrics of a line of a pressure file.
func (d *cgroupInDom) addPressure(cluster, item, index int, of, who, text string, line int) {
	k := &groupFile[pressure]{index, "", of + ".pressure", (*pressure).parse}
	prefix := "pressure." + of + "." + who + "."
	for i, span := range []struct{ name, text string }{{"avg10sec", "10 seconds"}, {"avg1min", "minute"}, {"avg5min", "5 minutes"}} {
		addCgroupRows(d, cluster, k, cgroupRow[pressure, float32]{item + i, prefix + span.name, pdu.SemInstant, 0, text + ": percentage of the last " + span.text,
			func(p *pressure) (float32, bool) { return p[line].averages[i], p[line].ok }})
	}
	addCgroupRows(d, cluster, k, cgroupRow[pressure, uint64]{item + 3, prefix + "total", pdu.SemInstant, pdu.TimeUSec, text + ": time in all",
		func(p *pressure) (uint64, bool) { return p[line].total, p[line].ok }})
}
