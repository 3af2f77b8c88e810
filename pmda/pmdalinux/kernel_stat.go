package pmdalinux

import (
	"bytes"
	"context"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A procStat is the contents of /proc/stat: the times of the processors, and counts of the kernel.
type procStat struct {
	topology *topology

	all       cpuTimes // of all processors
	cpus      instances[processor]
	complete  bool       // cpus has all processors
	nodes     *nodes     // of the last reading
	nodeTimes []cpuTimes // by their place in nodes
	counts    [len(statCounts)]optional[uint64]
	boot      optional[int64]
}

// A processor is a line of /proc/stat.
type processor struct {
	cpuTimes
	node int // its place in the list of nodes
}

// statCounts are the lines with one number.
var statCounts = [...]struct {
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

// addStat adds the metrics of /proc/stat and the instance domain of the processors in it.
func (l *linux) addStat() *procStat {
	s := &procStat{topology: l.addTopology()}
	g := l.fileGroup("proc/stat", s.parse)
	l.cpus = &pmda.InDom{
		Serial: pmda.InDomSerial(0), Name: "processor", Group: g,
		Text:           "Processors that are switched on",
		Labels:         `{"device_type":"cpu","indom_name":"per cpu"}`,
		InstanceLabels: func(i pdu.Instance) string { return pmda.LabelJSON(map[string]any{"cpu": int(i.ID)}) },
	}
	l.nodes = s.topology.indom
	s.cpus.indom = l.cpus
	s.cpus.idsOf = func(names []string) ([]pdu.InstID, error) {
		ids := make([]pdu.InstID, len(names))
		for i, name := range names {
			ids[i] = pdu.NoInst
			if n, ok := procfile.NumberAfter([]byte(name), "cpu"); ok {
				ids[i] = pdu.InstID(n)
			}
		}
		return ids, nil
	}
	l.Attach(l.cpus)
	l.addCPUTimes(s, g)
	for i, c := range statCounts {
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

// addProcessorMap adds the metrics that tell which processors /proc/stat lists.
func (l *linux) addProcessorMap(s *procStat, g *pmda.Group) {
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.ncpu", ID: pmda.Item(0, 32), Group: g, Sem: pdu.SemDiscrete,
		Text: "Number of processors that are switched on",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			n := optional[uint32]{uint32(s.cpus.Len()), s.complete}
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
		Values: rowValues(&s.cpus, func(p *processor) (uint32, bool) { return s.nodes.list[p.node].number, true }),
	})
}

// parse parses the file.
func (s *procStat) parse(text []byte) error {
	var err error
	if s.nodes, err = s.topology.nodes(); err != nil {
		return err
	}
	s.all, s.counts, s.boot = cpuTimes{}, [len(statCounts)]optional[uint64]{}, optional[int64]{}
	s.cpus.Begin()
	s.complete = false
	reread, damaged := false, false
	for line := range procfile.Lines(text) {
		key, values := procfile.CutField(line)
		switch cpu, ok := procfile.NumberAfter(key, "cpu"); {
		case string(key) == "cpu":
			s.all = parseCPUTimes(values)
		case bytes.HasPrefix(key, cpuPrefix) && !ok:
			damaged = true
		case !ok:
			s.complete = len(key) > 0 // the kernel has other lines after those of processors
			s.parseCount(key, values)
		default:
			s.complete = false
			if !s.has(cpu) && !reread { // once per reading is enough
				reread = true
				if s.nodes, err = s.topology.read(); err != nil {
					return err
				}
			}
			if s.has(cpu) {
				s.cpus.Row(key).cpuTimes = parseCPUTimes(values)
			}
		}
	}
	s.complete = s.complete && !damaged && s.cpus.Len() > 0
	if err := s.cpus.End(); err != nil {
		return err
	}
	s.sumNodes()
	return nil
}

var cpuPrefix = []byte("cpu")

// has reports whether a processor belongs to a node. The C agent knows no other processors either.
func (s *procStat) has(cpu uint32) bool {
	_, ok := s.nodes.of[cpu]
	return ok || s.nodes.of == nil
}

// parseCount parses a line with a number if it is btime or one of statCounts.
func (s *procStat) parseCount(key, values []byte) {
	if string(key) == "btime" {
		v, _, ok := procfile.CutUint(values)
		s.boot = optional[int64]{int64(v), ok && v <= math.MaxInt64}
		return
	}
	for i := range statCounts {
		if statCounts[i].key == string(key) {
			s.counts[i].v, _, s.counts[i].ok = procfile.CutUint(values)
		}
	}
}

// sumNodes adds up the times of the processors of each node.
func (s *procStat) sumNodes() {
	s.nodeTimes = s.nodeTimes[:0]
	for range s.nodes.list {
		s.nodeTimes = append(s.nodeTimes, cpuTimes{known: len(cpuTimes{}.ms), complete: true})
	}
	if !s.complete {
		clear(s.nodeTimes) // processors may be missing
		return
	}
	for at := range s.cpus.Vals {
		p := &s.cpus.Vals[at]
		p.node = s.nodes.of[uint32(s.cpus.ids[at])] // the first node in a kernel without nodes
		s.nodeTimes[p.node].add(&p.cpuTimes)
	}
}
