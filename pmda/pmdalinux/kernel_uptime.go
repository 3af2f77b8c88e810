package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// hz is the number of ticks per second of the clock in the kernel's files (USER_HZ). It is the same
// on every architecture that Go supports.
const hz = 100

// addProcessors adds the metrics of processors and of the machine as a whole. Those of /proc/stat
// come first because it has the instances.
func (l *linux) addProcessors() {
	s := l.addStat()
	f := l.newFrequencies(s)
	l.addCPUInfo(f)
	l.addCPUFiles(s)
	l.addFrequencyCounts(f)
	l.addFrequencyLimits(f)
	l.addUptime()
	l.addNames()
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "kernel.all.hz", ID: pmda.Item(0, 48), Sem: pdu.SemDiscrete,
		Units: pdu.UnitCount | pdu.PerSec,
		Text:  "Ticks per second of the clock that times of processors are counted with",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return hz, nil },
	})
}

// addUptime adds the metrics of /proc/uptime.
func (l *linux) addUptime() {
	var up, idle optional[float64]
	g := l.fileGroup("proc/uptime", func(text []byte) error {
		line, _, whole := procfile.CutLine(text)
		up.v, line, up.ok = procfile.CutDecimal(line)
		// The last number of a line without a newline may have been cut short.
		up.ok = up.ok && (whole || len(line) > 0)
		idle.v, _, idle.ok = procfile.CutDecimal(line)
		idle.ok = idle.ok && whole
		return nil
	})
	pmda.Register(l.Agent, pmda.Metric[float64]{
		Name: "kernel.all.uptime", ID: pmda.Item(26, 0), Group: g, Units: pdu.TimeSec,
		Text:  "Time since the kernel was started",
		Value: up.value,
	})
	pmda.Register(l.Agent, pmda.Metric[float64]{
		Name: "kernel.all.idletime", ID: pmda.Item(26, 1), Group: g, Units: pdu.TimeSec,
		Text:  "Time that processors had nothing to do since the kernel was started",
		Help:  "The times of all processors are added, so that it may be more than kernel.all.uptime.",
		Value: idle.value,
	})
}
