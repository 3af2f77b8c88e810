package pmdalinux

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addSysctls adds metrics of numbers below /proc/sys.
func (l *linux) addSysctls() {
	for item, m := range []struct {
		name, file string
		sem        pdu.Sem
		text       string
	}{
		{"kernel.all.entropy.avail", "random/entropy_avail", pdu.SemInstant, "Randomness that the kernel has gathered, in bits"},
		{"kernel.all.entropy.poolsize", "random/poolsize", pdu.SemInstant, "The most randomness that the kernel gathers, in bits"},
		{"kernel.all.pid_max", "pid_max", pdu.SemDiscrete, "The process ID at which numbers start again from low ones"},
		{"kernel.all.nptys", "pty/nr", pdu.SemInstant, "Pseudo terminals in use"},
	} {
		addNumberFiles(l, numberMetric[uint32]{file: "proc/sys/kernel/" + m.file, Metric: pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(72, item), Sem: m.sem, Text: m.text,
		}})
	}
}
