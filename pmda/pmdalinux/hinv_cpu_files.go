package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

const cpuDir, nodeDir = "sys/devices/system/cpu", "sys/devices/system/node"

// addCPUFiles adds the metrics of the files that each processor has.
func (l *linux) addCPUFiles(s *procStat) {
	l.addOnline("hinv.cpu.online", 0, nil, deviceFilesOf(l, &s.cpus, procfile.ParseNumber, cpuDir, "online"),
		"Whether the processor is switched on: 1, or 0 if not")
	nodes := newDeviceFiles(l, l.nodes, procfile.ParseNumber, nodeDir, "online")
	l.addOnline("hinv.node.online", 1, l.Group(nodes.refresh), nodes, "Whether the node is switched on: 1, or 0 if not")
	for _, m := range []struct {
		name, file string
		item       int
		units      pdu.Units
		text       string
	}{
		{"hinv.cpu.thermal_throttle.core.count", "core_throttle_count", 2, pdu.UnitCount,
			"How often the core was slowed down because it was too hot"},
		{"hinv.cpu.thermal_throttle.core.time", "core_throttle_total_time_ms", 3, pdu.TimeMSec,
			"Time that the core was slowed down because it was too hot"},
		{"hinv.cpu.thermal_throttle.package.count", "package_throttle_count", 4, pdu.UnitCount,
			"How often the package with the processor was slowed down because it was too hot"},
		// The unit is that of the C agent, although the value counts milliseconds.
		{"hinv.cpu.thermal_throttle.package.time", "package_throttle_total_time_ms", 5, pdu.UnitCount,
			"Milliseconds that the package with the processor was slowed down because it was too hot"},
	} {
		files := deviceFilesOf(l, &s.cpus, procfile.ParseNumber, cpuDir, "thermal_throttle/"+m.file)
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(55, m.item), InDom: l.cpus,
			Sem: pdu.SemCounter, Units: m.units, Text: m.text,
			Values: valuesByName(&s.cpus, func(cpu string) (uint64, bool) {
				f := files.get(cpu)
				return f.v, f.ok
			}),
		})
	}
}

// addOnline adds the metric of whether devices are switched on. A device without the file
// cannot be switched off.
func (l *linux) addOnline(name string, item int, g *pmda.Group, files *deviceFiles[uint64], text string) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: name, ID: pmda.Item(55, item), InDom: files.indom, Group: g, Text: text,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) {
			switch f := files.get(i.Name); {
			case f.absent:
				return 1, nil
			case f.ok && f.v <= 1:
				return uint32(f.v), nil
			}
			return 0, pmda.NoValue
		},
	})
}
