package pmdalinux

import (
	"context"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addInterrupts adds the metrics of interrupts, of pressure and of users.
func (l *linux) addInterrupts() {
	l.addHardInterrupts()
	l.addSoftInterrupts()
	l.addPressure()
	l.addSysctls()
	l.addUsers()
}

// addHardInterrupts adds the metrics of /proc/interrupts.
func (l *linux) addHardInterrupts() {
	var failed, missed optional[uint32]
	t := &cpuTable{
		single: func(name, rest []byte) bool {
			switch string(name) {
			case "ERR", "Err", "BAD":
				failed = firstNumber(rest)
			case "MIS":
				missed = firstNumber(rest)
			default:
				return false
			}
			return true
		},
	}
	g := l.fileGroup("proc/interrupts", func(text []byte) error {
		failed.ok, missed.ok = false, false
		return t.parse(text)
	})
	l.addCPUTable(t, g, cpuMetrics{
		kinds: &pmda.InDom{Serial: pmda.InDomSerial(4), Name: "interrupt", Text: "Interrupts, by number or name",
			Labels: `{"device_type":"irq","indom_name":"per irq"}`,
			InstanceLabels: func(i pdu.Instance) string {
				return pmda.LabelJSON(map[string]any{"irq": i.Name, "irqtext": t.text(i.Name)})
			}},
		cells: &pmda.InDom{Serial: pmda.InDomSerial(40), Name: "interrupt on a processor", Text: "Interrupts, by number or name and processor",
			Labels: `{"device_type":["irq","cpu"],"indom_name":"per cpu, per irq"}`,
			InstanceLabels: func(i pdu.Instance) string {
				kind, cpu := cutCPU(i.Name)
				return pmda.LabelJSON(map[string]any{"cpu": cpu, "irq": kind, "irqtext": t.text(kind)})
			}},
		total: "kernel.all.interrupts.total", totalID: pmda.Item(4, 0), totalText: "Interrupts of a kind on all processors",
		cell: "kernel.percpu.interrupts", cellID: pmda.Item(4, 1), cellText: "Interrupts of a kind on a processor",
		sum: "kernel.percpu.intr", sumID: pmda.Item(4, 4), sumText: "Interrupts on a processor, of all kinds",
	})
	for i, m := range []struct {
		name, text string
		of         *optional[uint32]
	}{
		{"kernel.all.interrupts.missed", "Interrupts that came while the controller took the line for a level, which it is not", &missed},
		{"kernel.all.interrupts.errors", "Interrupts that the controller says went wrong, or that nobody expected", &failed},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(4, 2+i), Group: g, Sem: pdu.SemCounter, Units: pdu.UnitCount,
			Text: m.text,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
				if !m.of.ok {
					return 0, pdu.ErrAppVersion
				}
				return m.of.v, nil
			},
		})
	}
}

// addSoftInterrupts adds the metrics of /proc/softirqs.
func (l *linux) addSoftInterrupts() {
	t := new(cpuTable)
	g := l.fileGroup("proc/softirqs", t.parse)
	l.addCPUTable(t, g, cpuMetrics{
		kinds: &pmda.InDom{Serial: pmda.InDomSerial(36), Name: "soft interrupt", Text: "Kinds of soft interrupts: the work that interrupts leave for later",
			Labels: `{"indom_name":"per softirq"}`},
		cells: &pmda.InDom{Serial: pmda.InDomSerial(41), Name: "soft interrupt on a processor", Text: "Kinds of soft interrupts, by processor",
			Labels: `{"device_type":"cpu","indom_name":"per cpu, per softirq"}`,
			InstanceLabels: func(i pdu.Instance) string {
				kind, cpu := cutCPU(i.Name)
				return pmda.LabelJSON(map[string]any{"cpu": cpu, "softirq": kind})
			}},
		total: "kernel.all.softirqs.total", totalID: pmda.Item(82, 0), totalText: "Soft interrupts of a kind on all processors",
		cell: "kernel.percpu.softirqs", cellID: pmda.Item(63, 0), cellText: "Soft interrupts of a kind on a processor",
		sum: "kernel.percpu.sirq", sumID: pmda.Item(63, 1), sumText: "Soft interrupts on a processor, of all kinds",
	})
}

// cutCPU splits the name of an instance into the kind and the processor.
func cutCPU(name string) (kind string, cpu int) {
	at := strings.LastIndex(name, "::cpu")
	cpu, _ = strconv.Atoi(name[at+len("::cpu"):])
	return name[:at], cpu
}

// cpuMetrics are the metrics of a cpuTable and the instance domains of two of them.
type cpuMetrics struct {
	kinds, cells                 *pmda.InDom
	total, cell, sum             string
	totalID, cellID, sumID       pmda.ItemID
	totalText, cellText, sumText string
}

// addCPUTable adds the metrics of a table.
func (l *linux) addCPUTable(t *cpuTable, g *pmda.Group, m cpuMetrics) {
	t.kinds.indom, t.cellDomain = m.kinds, m.cells
	t.kinds.indom.Group, t.cellDomain.Group, t.cellDomain.Refresh = g, g, t.useCells
	l.Attach(t.kinds.indom)
	l.Attach(t.cellDomain)
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: m.total, ID: m.totalID, InDom: t.kinds.indom, Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Text: m.totalText, Values: rowValues(&t.kinds, func(k *cpuKind) (uint64, bool) { return k.total, true }),
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: m.cell, ID: m.cellID, InDom: t.cellDomain, Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Text: m.cellText, Values: t.cellValues,
	})
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: m.sum, ID: m.sumID, InDom: l.cpus, Group: g, Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Text: m.sumText, Value: t.sum,
	})
}

// firstNumber returns the number at the start of a line.
func firstNumber(line []byte) (n optional[uint32]) {
	field, _ := procfile.CutField(line)
	n.v, n.ok = procfile.ParseUint32(field)
	return n
}
