package pmdago

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// The items of the metrics of the process.
const (
	itemPID = iota
	itemProgram
	itemCommandLine
	itemStart
	itemUptime
	itemUserTime
	itemSystemTime
	itemResident
	itemVirtual
	itemMaxResident
	itemOpenFiles
	itemMaxFiles
)

// addProcess adds the metrics of the process that the system supports.
func (a *agent) addProcess(commandLine bool) {
	pid := uint32(os.Getpid())
	addProcess(a, itemPID, "go.process.pid", "Number of the process", pdu.SemDiscrete, pdu.NoUnits, func() (uint32, error) { return pid, nil })
	a.addText("go.process.program", "Name of the program's file", pmda.Item(clusterProcess, itemProgram), programName())
	if commandLine {
		a.addText("go.process.cmdline", "The program and its arguments", pmda.Item(clusterProcess, itemCommandLine), strings.Join(os.Args, " "))
	}
	if began, err := startTime(); err == nil {
		addProcess(a, itemStart, "go.process.start", "Time at which the process began, since 1970", pdu.SemDiscrete, pdu.TimeSec,
			func() (float64, error) { return float64(began.UnixMilli()) / 1000, nil })
		addProcess(a, itemUptime, "go.process.uptime", "Time since the process began", pdu.SemInstant, pdu.TimeSec,
			func() (float64, error) { return a.now().Sub(began).Seconds(), nil })
	}
	addProcess(a, itemUserTime, "go.process.cpu.user", "Processor time in the program's own code", pdu.SemCounter, pdu.TimeUSec, func() (uint64, error) {
		user, _, err := processorTime()
		return uint64(user.Microseconds()), err
	})
	addProcess(a, itemSystemTime, "go.process.cpu.sys", "Processor time in the system", pdu.SemCounter, pdu.TimeUSec, func() (uint64, error) {
		_, system, err := processorTime()
		return uint64(system.Microseconds()), err
	})
	a.addMemory()
	addProcess(a, itemMaxResident, "go.process.memory.maxrss", "The most memory that was ever resident", pdu.SemInstant, pdu.SpaceByte, maxResident)
	addProcess(a, itemOpenFiles, "go.process.fd.open", "Open descriptors", pdu.SemInstant, pdu.UnitCount, openFiles)
	addProcess(a, itemMaxFiles, "go.process.fd.limit", "Descriptors that the process may have open", pdu.SemInstant, pdu.UnitCount, maxFiles)
}

// addProcess adds a metric, unless the system does not support it.
func addProcess[T pdu.Scalar](a *agent, item int, name, text string, sem pdu.Sem, units pdu.Units, value func() (T, error)) {
	if _, err := value(); errors.Is(err, errors.ErrUnsupported) {
		return
	}
	pmda.Register(a.Agent, pmda.Metric[T]{
		Name: a.named(name), Text: text, ID: pmda.Item(clusterProcess, item), Sem: sem, Units: units,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (T, error) { return value() },
	})
}

// addMemory adds the memory metrics, which one read provides.
func (a *agent) addMemory() {
	if _, _, err := memory(); errors.Is(err, errors.ErrUnsupported) {
		return
	}
	var resident, size uint64
	group := a.Group(func(context.Context, *pmda.Request) (err error) {
		resident, size, err = memory()
		return err
	})
	for _, m := range []struct {
		item       int
		name, text string
		value      *uint64
	}{
		{itemResident, "go.process.memory.rss", "Memory that is resident", &resident},
		{itemVirtual, "go.process.memory.virtual", "Address space in use", &size},
	} {
		pmda.Register(a.Agent, pmda.Metric[uint64]{
			Name: a.named(m.name), Text: m.text, ID: pmda.Item(clusterProcess, m.item), Units: pdu.SpaceByte, Group: group,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return *m.value, nil },
		})
	}
}
