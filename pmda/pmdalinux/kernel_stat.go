package pmdalinux

import (
	"bytes"
	"context"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux/internal/procfile"
)

// A stat is what /proc/stat tells: how the processors spent their time, and counts
// of the kernel.
type stat struct {
	topology *topology

	all    cpuTimes // of all processors
	cpus   instances[processor]
	whole  bool       // cpus are all that there are
	at     *nodes     // as of the last reading
	nodes  []cpuTimes // by their place in at
	counts [len(counts)]optional[uint64]
	boot   optional[int64]
}

// A processor is a line of /proc/stat.
type processor struct {
	cpuTimes
	node int // its place in the list of nodes
}

// counts are the lines with a number.
var counts = [...]struct {
	key, name string
	item      int
	sem       pdu.Sem
	units     pdu.Units
	text      string
}{
	{"intr", "kernel.all.intr", 12, pdu.SemCounter, pdu.UnitCount, "Interrupts that were served"},
	{"ctxt", "kernel.all.pswitch", 13, pdu.SemCounter, pdu.UnitCount, "Switches of a processor from one thread to another"},
	{"processes", "kernel.all.sysfork", 14, pdu.SemCounter, pdu.UnitCount, "Processes and threads that were made"},
	{"procs_running", "kernel.all.running", 15, pdu.SemInstant, pdu.NoUnits, "Threads that run or wait for a processor"},
	{"procs_blocked", "kernel.all.blocked", 16, pdu.SemInstant, pdu.NoUnits, "Threads that wait for a disk or the like"},
}

// addStat adds the metrics of /proc/stat, and the instance domain of the
// processors that there are in it.
func (l *linux) addStat() *stat {
	s := &stat{topology: l.addTopology()}
	g := l.fileGroup("proc/stat", s.parse)
	l.cpus = &pmda.InDom{
		Serial: pmda.InDomSerial(0), Name: "processor", Group: g,
		Text:           "Processors that are switched on",
		Labels:         `{"device_type":"cpu","indom_name":"per cpu"}`,
		InstanceLabels: func(i pdu.Instance) string { return pmda.LabelJSON(map[string]any{"cpu": int(i.ID)}) },
	}
	l.nodes = s.topology.indom
	s.cpus.indom = l.cpus
	s.cpus.id = func(name string) (pdu.InstID, bool) {
		n, ok := procfile.NumberAfter([]byte(name), "cpu")
		return pdu.InstID(n), ok
	}
	l.Attach(l.cpus)
	l.addCPUTimes(s, g)
	for i, c := range counts {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: c.name, ID: pmda.Item(0, c.item), Group: g, Sem: c.sem, Units: c.units, Text: c.text,
			Value: s.counts[i].value,
		})
	}
	pmda.Register(l.Agent, pmda.Metric[int64]{
		Name: "kernel.all.boottime", ID: pmda.Item(0, 17), Group: g, Sem: pdu.SemDiscrete, Units: pdu.TimeSec,
		Text:  "When the kernel was started, in seconds since 1970",
		Value: s.boot.value,
	})
	l.addProcessorMap(s, g)
	return s
}

// addProcessorMap adds what /proc/stat tells by having lines for processors.
func (l *linux) addProcessorMap(s *stat, g *pmda.Group) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.ncpu", ID: pmda.Item(0, 32), Group: g, Sem: pdu.SemDiscrete,
		Text: "Number of processors that are switched on",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			n := optional[uint32]{uint32(s.cpus.Len()), s.whole}
			return n.result()
		},
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.map.cpu_num", ID: pmda.Item(18, 6), InDom: l.cpus, Sem: pdu.SemDiscrete,
		Text:  "The kernel's number of the processor",
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) { return uint32(i.ID), nil },
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.map.cpu_node", ID: pmda.Item(18, 8), InDom: l.cpus, Sem: pdu.SemDiscrete,
		Text:   "The number of the node that the processor is at",
		Values: rowValues(&s.cpus, func(p *processor) (uint32, bool) { return s.at.list[p.node].number, true }),
	})
}

// parse reads the file. A line without an end is the rest of one that was longer.
func (s *stat) parse(text []byte) error {
	var err error
	if s.at, err = s.topology.nodes(); err != nil {
		return err
	}
	s.all, s.counts, s.boot = cpuTimes{}, [len(counts)]optional[uint64]{}, optional[int64]{}
	s.cpus.Begin()
	s.whole = false
	looked, damaged := false, false
	for line := range procfile.Lines(text) {
		key, values := procfile.CutField(line)
		switch cpu, ok := procfile.NumberAfter(key, "cpu"); {
		case string(key) == "cpu":
			s.all = parseCPUTimes(values)
		case bytes.HasPrefix(key, cpuPrefix) && !ok:
			damaged = true
		case !ok:
			s.whole = len(key) > 0 // the kernel has other lines after those of processors
			s.count(key, values)
		default:
			s.whole = false
			if !s.has(cpu) && !looked { // one look per reading is enough for all that are new
				looked = true
				if s.at, err = s.topology.read(); err != nil {
					return err
				}
			}
			if s.has(cpu) {
				s.cpus.Row(key).cpuTimes = parseCPUTimes(values)
			}
		}
	}
	s.whole = s.whole && !damaged && s.cpus.Len() > 0
	if err := s.cpus.end(); err != nil {
		return err
	}
	s.sum()
	return nil
}

var cpuPrefix = []byte("cpu")

// has is whether a processor is at a node. The C agent knows no others either.
func (s *stat) has(cpu uint32) bool {
	_, ok := s.at.of[cpu]
	return ok || s.at.of == nil
}

// count reads a line with a number, if it is one of those that are known.
func (s *stat) count(key, values []byte) {
	if string(key) == "btime" {
		v, _, ok := procfile.CutUint(values)
		s.boot = optional[int64]{int64(v), ok && v <= math.MaxInt64}
		return
	}
	for i := range counts {
		if counts[i].key == string(key) {
			s.counts[i].v, _, s.counts[i].ok = procfile.CutUint(values)
		}
	}
}

// sum adds the times of the processors up for their nodes.
func (s *stat) sum() {
	s.nodes = s.nodes[:0]
	for range s.at.list {
		s.nodes = append(s.nodes, cpuTimes{known: len(cpuTimes{}.ms), whole: true})
	}
	if !s.whole {
		clear(s.nodes) // who knows what is missing
		return
	}
	for at := range s.cpus.Vals {
		p := &s.cpus.Vals[at]
		p.node = s.at.of[uint32(s.cpus.ids[at])] // the first if all are there
		s.nodes[p.node].add(&p.cpuTimes)
	}
}
