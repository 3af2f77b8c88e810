package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// cpuTimes are the times of one or more processors, from a line such as "cpu0 380353 0 183563
// 577294 792 0 28373 688 0 0".
type cpuTimes struct {
	ms       [10]uint64 // in the order of the line
	known    int        // number of columns in the line; old kernels have fewer
	complete bool       // the line is complete, so missing times are 0
}

// The columns of the line.
const (
	inUser = iota
	inNice
	inSys
	inIdle
	inWait
	inHardIRQ
	inSoftIRQ
	inSteal
	inGuest
	inGuestNice
)

// maxTicks is above the ticks of all processors of a large machine in a thousand years. A greater
// number is damaged and could overflow in sums.
const maxTicks = 1 << 48

// parseCPUTimes parses the part of a line after its name.
func parseCPUTimes(line []byte) cpuTimes {
	var t cpuTimes
	for t.known < len(t.ms) {
		field, rest := procfile.CutField(line)
		if len(field) == 0 {
			t.complete = true
			return t
		}
		ticks, ok := procfile.ParseUint(field)
		if !ok || ticks > maxTicks {
			return t
		}
		t.ms[t.known] = ticks * (1000 / hz)
		t.known++
		line = rest
	}
	t.complete = true
	return t
}

// add adds the times of another processor. The sum has the columns that both have.
func (t *cpuTimes) add(o *cpuTimes) {
	t.known, t.complete = min(t.known, o.known), t.complete && o.complete
	for i := range t.ms {
		t.ms[i] += o.ms[i]
	}
}

// column returns one of the times.
func (t *cpuTimes) column(i int) (uint64, bool) { return t.ms[i], i < t.known }

// without returns one of the times without its share for guests. A kernel that does not count
// guests has no guests.
func (t *cpuTimes) without(i, guests int) (uint64, bool) {
	own := t.ms[i] - min(t.ms[i], t.ms[guests]) // not counted at the same moment
	return own, i < t.known && (guests < t.known || t.complete)
}

// cpuTimeMetrics are the metrics of times, for all processors, each processor and each node.
var cpuTimeMetrics = []struct {
	all         string
	allItem     int
	percpu      string
	percpuItem  int
	pernode     string
	pernodeItem int
	text        string
	of          func(*cpuTimes) (uint64, bool)
}{
	{"kernel.all.cpu.user", 20, "kernel.percpu.cpu.user", 0, "kernel.pernode.cpu.user", 62, "in programs, guests included", timeIn(inUser)},
	{"kernel.all.cpu.nice", 21, "kernel.percpu.cpu.nice", 1, "kernel.pernode.cpu.nice", 63, "in programs of low priority (nice), guests included", timeIn(inNice)},
	{"kernel.all.cpu.sys", 22, "kernel.percpu.cpu.sys", 2, "kernel.pernode.cpu.sys", 64, "in the kernel, interrupts not included", timeIn(inSys)},
	{"kernel.all.cpu.idle", 23, "kernel.percpu.cpu.idle", 3, "kernel.pernode.cpu.idle", 65, "with nothing to do and no disk to wait for", timeIn(inIdle)},
	{"kernel.all.cpu.wait.total", 35, "kernel.percpu.cpu.wait.total", 30, "kernel.pernode.cpu.wait.total", 69, "with nothing to do while a disk was waited for", timeIn(inWait)},
	{"kernel.all.cpu.irq.hard", 54, "kernel.percpu.cpu.irq.hard", 57, "kernel.pernode.cpu.irq.hard", 71, "serving interrupts of devices", timeIn(inHardIRQ)},
	{"kernel.all.cpu.irq.soft", 53, "kernel.percpu.cpu.irq.soft", 56, "kernel.pernode.cpu.irq.soft", 70, "with work that interrupts left for later (soft interrupts)", timeIn(inSoftIRQ)},
	{"kernel.all.cpu.intr", 34, "kernel.percpu.cpu.intr", 31, "kernel.pernode.cpu.intr", 66, "with interrupts, hard and soft", func(t *cpuTimes) (uint64, bool) {
		return t.ms[inHardIRQ] + t.ms[inSoftIRQ], inSoftIRQ < t.known
	}},
	{"kernel.all.cpu.steal", 55, "kernel.percpu.cpu.steal", 58, "kernel.pernode.cpu.steal", 67, "ready to run while the host ran other guests", timeIn(inSteal)},
	{"kernel.all.cpu.guest", 60, "kernel.percpu.cpu.guest", 61, "kernel.pernode.cpu.guest", 68, "running virtual machines", timeIn(inGuest)},
	{"kernel.all.cpu.guest_nice", 81, "kernel.percpu.cpu.guest_nice", 83, "kernel.pernode.cpu.guest_nice", 85, "running virtual machines of low priority (nice)", timeIn(inGuestNice)},
	{"kernel.all.cpu.vuser", 78, "kernel.percpu.cpu.vuser", 76, "kernel.pernode.cpu.vuser", 77, "in programs, guests not included", func(t *cpuTimes) (uint64, bool) {
		return t.without(inUser, inGuest)
	}},
	{"kernel.all.cpu.vnice", 82, "kernel.percpu.cpu.vnice", 84, "kernel.pernode.cpu.vnice", 86, "in programs of low priority (nice), guests not included", func(t *cpuTimes) (uint64, bool) {
		return t.without(inNice, inGuestNice)
	}},
}

// timeIn returns one column.
func timeIn(i int) func(*cpuTimes) (uint64, bool) {
	return func(t *cpuTimes) (uint64, bool) { return t.column(i) }
}

// addCPUTimes adds the metrics of times.
func (l *linux) addCPUTimes(s *procStat, g *pmda.Group) {
	for _, m := range cpuTimeMetrics {
		metric := pmda.Metric[uint64]{Group: g, Sem: pdu.SemCounter, Units: pdu.TimeMSec}

		all := metric
		all.Name, all.ID = m.all, pmda.Item(0, m.allItem)
		all.Text = "Time that all processors together spent " + m.text
		all.Labels = `{"device_type":"cpu"}`
		all.Value = func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			v, ok := m.of(&s.all)
			if !ok {
				return 0, pmda.NoValue
			}
			return v, nil
		}
		pmda.Register(l.Agent, all)

		each := metric
		each.Name, each.ID, each.InDom = m.percpu, pmda.Item(0, m.percpuItem), l.cpus
		each.Text = "Time that the processor spent " + m.text
		each.Values = rowValues(&s.cpus, func(p *processor) (uint64, bool) { return m.of(&p.cpuTimes) })
		pmda.Register(l.Agent, each)

		of := metric
		of.Name, of.ID, of.InDom = m.pernode, pmda.Item(0, m.pernodeItem), l.nodes
		of.Text = "Time that the processors of the node spent " + m.text
		of.Labels = `{"device_type":["numa_node","cpu"]}`
		of.Values = func(_ context.Context, _ *pmda.Request, set *pmda.Values[uint64]) error {
			for at, n := range s.nodes.list {
				if v, ok := m.of(&s.nodeTimes[at]); ok {
					set.Put(n.id, v)
				}
			}
			return nil
		}
		pmda.Register(l.Agent, of)
	}
}
