package pmdalinux

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addKSM adds the metrics of kernel samepage merging.
func (l *linux) addKSM() {
	for item, m := range []struct {
		name, file string
		units      pdu.Units
		text       string
	}{
		{"full_scans", "", pdu.UnitCount, "Times that all memory that may be merged has been looked through"},
		{"merge_across_nodes", "", pdu.NoUnits, "Whether pages of different nodes are merged: 1 if so, else 0"},
		{"pages_shared", "", pdu.NoUnits, "Pages that stand for several equal ones"},
		{"pages_sharing", "", pdu.NoUnits, "Pages saved, since shared ones stand for them"},
		{"pages_to_scan", "", pdu.NoUnits, "Pages to look at before each rest"},
		{"pages_unshared", "", pdu.UnitCount, "Pages that have no equal, but are looked at for one again and again"},
		{"pages_volatile", "", pdu.NoUnits, "Pages that change too often to be merged"},
		{"run_state", "run", pdu.NoUnits, "Whether pages are merged: 0 no, 1 yes, 2 no and those merged are parted"},
		{"sleep_time", "sleep_millisecs", pdu.TimeMSec, "The rest after each pages_to_scan pages"},
	} {
		if m.file == "" {
			m.file = m.name
		}
		addNumbers(l, numberMetric[uint64]{file: "sys/kernel/mm/ksm/" + m.file, Metric: pmda.Metric[uint64]{
			Name: "mem.ksm." + m.name, ID: pmda.Item(69, item), Units: m.units, Text: m.text,
		}})
	}
}

// addSysctls adds metrics of numbers below /proc/sys.
func (l *linux) addSysctls() {
	for item, m := range []struct {
		name, file string
		sem        pdu.Sem
		text       string
	}{
		{"entropy.avail", "random/entropy_avail", pdu.SemInstant, "Randomness that the kernel has gathered, in bits"},
		{"entropy.poolsize", "random/poolsize", pdu.SemInstant, "The most randomness that the kernel gathers, in bits"},
		{"pid_max", "pid_max", pdu.SemDiscrete, "The process ID at which numbers start again from low ones"},
		{"nptys", "pty/nr", pdu.SemInstant, "Pseudo terminals in use"},
	} {
		addNumbers(l, numberMetric[uint32]{file: "proc/sys/kernel/" + m.file, Metric: pmda.Metric[uint32]{
			Name: "kernel.all." + m.name, ID: pmda.Item(72, item), Sem: m.sem, Text: m.text,
		}})
	}
}
