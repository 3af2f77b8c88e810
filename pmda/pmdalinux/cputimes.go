package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// cpuTimes are how a processor, or several, spent their time, from a line such as
// "cpu0 380353 0 183563 577294 792 0 28373 688 0 0".
type cpuTimes struct {
	ms    [10]uint64 // in the order of the line
	known int        // how many of them are; old kernels have fewer
	whole bool       // the line had no more, so that what is not known is nothing
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

// maxTicks is more ticks than all processors of a large machine have in a thousand
// years. What is above is damaged, and would overflow in sums.
const maxTicks = 1 << 48

// parseCPUTimes reads what a line has after its name.
func parseCPUTimes(line []byte) cpuTimes {
	var t cpuTimes
	for t.known < len(t.ms) {
		field, rest := cutField(line)
		if len(field) == 0 {
			t.whole = true
			return t
		}
		ticks, ok := parseUint(field)
		if !ok || ticks > maxTicks {
			return t
		}
		t.ms[t.known] = ticks * (1000 / hz)
		t.known++
		line = rest
	}
	t.whole = true
	return t
}

// add adds the times of another processor; what one of them lacks, the sum lacks.
func (t *cpuTimes) add(o *cpuTimes) {
	t.known, t.whole = min(t.known, o.known), t.whole && o.whole
	for i := range t.ms {
		t.ms[i] += o.ms[i]
	}
}

// column is one of the times.
func (t *cpuTimes) column(i int) (uint64, bool) { return t.ms[i], i < t.known }

// without is one of the times less the part of it that guests had. A kernel that
// does not count guests has none.
func (t *cpuTimes) without(i, guests int) (uint64, bool) {
	own := t.ms[i] - min(t.ms[i], t.ms[guests]) // they are not counted at the same moment
	return own, i < t.known && (guests < t.known || t.whole)
}

// cpuTimeMetrics are the metrics of times: their names after kernel.all.cpu,
// kernel.percpu.cpu and kernel.pernode.cpu, and their items in the same order.
var cpuTimeMetrics = []struct {
	name  string
	items [3]int
	text  string
	of    func(*cpuTimes) (uint64, bool)
}{
	{"user", [3]int{20, 0, 62}, "in programs, guests included", timeIn(inUser)},
	{"nice", [3]int{21, 1, 63}, "in programs of low priority (nice), guests included", timeIn(inNice)},
	{"sys", [3]int{22, 2, 64}, "in the kernel, interrupts not included", timeIn(inSys)},
	{"idle", [3]int{23, 3, 65}, "with nothing to do and no disk to wait for", timeIn(inIdle)},
	{"wait.total", [3]int{35, 30, 69}, "with nothing to do while a disk was waited for", timeIn(inWait)},
	{"irq.hard", [3]int{54, 57, 71}, "serving interrupts of devices", timeIn(inHardIRQ)},
	{"irq.soft", [3]int{53, 56, 70}, "with work that interrupts left for later (soft interrupts)", timeIn(inSoftIRQ)},
	{"intr", [3]int{34, 31, 66}, "with interrupts, hard and soft", func(t *cpuTimes) (uint64, bool) {
		return t.ms[inHardIRQ] + t.ms[inSoftIRQ], inSoftIRQ < t.known
	}},
	{"steal", [3]int{55, 58, 67}, "ready to run while the host ran other guests", timeIn(inSteal)},
	{"guest", [3]int{60, 61, 68}, "running virtual machines", timeIn(inGuest)},
	{"guest_nice", [3]int{81, 83, 85}, "running virtual machines of low priority (nice)", timeIn(inGuestNice)},
	{"vuser", [3]int{78, 76, 77}, "in programs, guests not included", func(t *cpuTimes) (uint64, bool) {
		return t.without(inUser, inGuest)
	}},
	{"vnice", [3]int{82, 84, 86}, "in programs of low priority (nice), guests not included", func(t *cpuTimes) (uint64, bool) {
		return t.without(inNice, inGuestNice)
	}},
}

// timeIn is one column.
func timeIn(i int) func(*cpuTimes) (uint64, bool) {
	return func(t *cpuTimes) (uint64, bool) { return t.column(i) }
}

// addCPUTimes adds the times of all processors, of each, and of those of a node.
func (l *linux) addCPUTimes(s *stat, g *pmda.Group) {
	for _, m := range cpuTimeMetrics {
		metric := pmda.Metric[uint64]{Group: g, Sem: pdu.SemCounter, Units: pdu.TimeMSec}

		all := metric
		all.Name, all.ID = "kernel.all.cpu."+m.name, pmda.Item(0, m.items[0])
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
		each.Name, each.ID, each.InDom = "kernel.percpu.cpu."+m.name, pmda.Item(0, m.items[1]), l.cpus
		each.Text = "Time that the processor spent " + m.text
		each.Values = column(&s.cpus, func(p *processor) (uint64, bool) { return m.of(&p.cpuTimes) })
		pmda.Register(l.Agent, each)

		of := metric
		of.Name, of.ID, of.InDom = "kernel.pernode.cpu."+m.name, pmda.Item(0, m.items[2]), l.nodes
		of.Text = "Time that the processors of the node spent " + m.text
		of.Labels = `{"device_type":["numa_node","cpu"]}`
		of.Values = func(_ context.Context, _ *pmda.Request, set *pmda.Values[uint64]) error {
			for at, n := range s.at.list {
				if v, ok := m.of(&s.nodes[at]); ok {
					set.Put(n.id, v)
				}
			}
			return nil
		}
		pmda.Register(l.Agent, of)
	}
}
