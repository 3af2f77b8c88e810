package pmtop

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A sampler reads the values of the view from a context.
type sampler struct {
	pc       *pmapi.Context
	group    *pmapi.Group
	specs    []pmapi.MetricSpec // that the user has asked for
	archive  bool
	lost     bool          // there is no connection any longer
	changed  bool          // names may stand for other metrics than the chosen ones
	interval time.Duration // of an archive, between samples

	host          string
	systemName    *pmapi.Set[string]
	release       *pmapi.Set[string]
	machine       *pmapi.Set[string]
	load          *pmapi.Set[float64]
	uptime        *pmapi.Set[float64]
	processors    [timeKinds][]*pmapi.Set[float64] // each
	allProcessors [timeKinds][]*pmapi.Set[float64] // together
	memory        [memoryKinds]*pmapi.Set[float64]
	tables        []*table
	chosen        []*chosen
}

// Kinds of processor time.
const (
	timeUser = iota
	timeSystem
	timeWait
	timeStolen
	timeIdle
	timeKinds
)

// processorTimes are the last parts of the names of metrics of processor time, by kind.
var processorTimes = [timeKinds][]string{
	timeUser:   {"user", "nice"},
	timeSystem: {"sys", "intr"},
	timeWait:   {"wait.total"},
	timeStolen: {"steal"},
	timeIdle:   {"idle"},
}

// Kinds of memory.
const (
	memoryTotal = iota
	memoryFree
	memoryBuffers
	memoryCached
	memorySlab
	memoryAvailable
	swapTotal
	swapFree
	memoryKinds
)

var memoryMetrics = [memoryKinds]string{
	memoryTotal:     "mem.physmem",
	memoryFree:      "mem.util.free",
	memoryBuffers:   "mem.util.bufmem",
	memoryCached:    "mem.util.cached",
	memorySlab:      "mem.util.slabReclaimable",
	memoryAvailable: "mem.util.available",
	swapTotal:       "mem.util.swapTotal",
	swapFree:        "mem.util.swapFree",
}

// A sample is the values that were read at one time.
type sample struct {
	at     time.Time
	host   string
	system string
	uptime time.Duration // 0 if it is not known
	load   []float64
	all    *shares              // of all processors; nil if they are not known
	each   []shares             // of each processor
	memory [memoryKinds]float64 // bytes, NaN for what is not known
	tables []tableRows
	chosen []valueRow
}

// shares are the shares of a processor's time by kind, in percent.
type shares [timeKinds]float64

type tableRows struct {
	*tableSpec
	rows []row
}

// newSampler makes the sampler of a context with the metrics that the user has selected.
func newSampler(ctx context.Context, pc *pmapi.Context, specs []pmapi.MetricSpec, withProcesses bool, interval time.Duration) (*sampler, error) {
	g := pc.Group()
	s := &sampler{pc: pc, group: g, specs: specs, changed: true, archive: pcptool.IsArchive(pc), interval: interval, host: terminal.EscapeName(pc.HostName(ctx))}
	s.systemName = pmapi.AddSet[string](g, "kernel.uname.sysname")
	s.release = pmapi.AddSet[string](g, "kernel.uname.release")
	s.machine = pmapi.AddSet[string](g, "kernel.uname.machine")
	s.load = pmapi.AddSet[float64](g, "kernel.all.load")
	s.uptime = pmapi.AddSet[float64](g, "kernel.all.uptime", pmapi.Scale("sec"))
	for kind, names := range processorTimes {
		for _, name := range names {
			s.processors[kind] = append(s.processors[kind], pmapi.AddSet[float64](g, "kernel.percpu.cpu."+name, pmapi.Scale("%")))
			s.allProcessors[kind] = append(s.allProcessors[kind], pmapi.AddSet[float64](g, "kernel.all.cpu."+name, pmapi.Scale("%")))
		}
	}
	for kind, name := range memoryMetrics {
		s.memory[kind] = pmapi.AddSet[float64](g, name, pmapi.Scale("byte"))
	}
	s.tables = []*table{disks.add(g), interfaces.add(g)}
	if withProcesses {
		s.tables = append(s.tables, processes.add(g))
	}
	if err := s.choose(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// next reads the next sample. After an error that has ended the connection, it reconnects first.
func (s *sampler) next(ctx context.Context) (*sample, error) {
	v, err := s.fetch(ctx)
	if err != nil {
		s.changed = true
		s.lost = !s.archive && pdu.FromError(err) == pdu.ErrIPC
	}
	return v, err
}

// fetch reads the next sample. After names have changed it selects metrics again, whose values come
// with the next sample.
func (s *sampler) fetch(ctx context.Context) (*sample, error) {
	if s.lost {
		if err := s.pc.Reconnect(ctx); err != nil {
			return nil, err
		}
		s.lost = false
	}
	if err := s.choose(ctx); err != nil {
		return nil, err
	}
	at, err := s.group.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	s.changed = s.group.Changed().AffectsNames()
	if err := s.choose(ctx); err != nil {
		return nil, err
	}
	return s.read(at), nil
}

// seek reads the sample of an archive at a time. It also reads the previous one, because counters
// need it for rates.
func (s *sampler) seek(ctx context.Context, at time.Time) (*sample, error) {
	if err := s.pc.SetMode(ctx, pmapi.ModeInterp, at.Add(-s.interval), s.interval); err != nil {
		return nil, err
	}
	if _, err := s.group.Fetch(ctx); errors.Is(err, pdu.ErrEOL) { // before the start of the archive, or behind its end
		if err := s.pc.SetMode(ctx, pmapi.ModeInterp, at, s.interval); err != nil {
			return nil, err
		}
	}
	return s.next(ctx)
}

// read makes a sample of the values that the group has fetched.
func (s *sampler) read(at time.Time) *sample {
	v := &sample{at: at, host: s.host}
	v.system = strings.TrimSpace(first(s.systemName) + " " + first(s.release) + " " + first(s.machine))
	if up := number(s.uptime); !math.IsNaN(up) {
		v.uptime = time.Duration(up) * time.Second
	}
	for i := range s.load.Len() {
		if _, load, err := s.load.At(i); err == nil {
			v.load = append(v.load, load)
		}
	}
	for kind, set := range s.memory {
		v.memory[kind] = number(set)
	}
	v.each = readShares(&s.processors)
	if all := readShares(&s.allProcessors); len(all) == 1 {
		v.all = &all[0]
	}
	for _, t := range s.tables {
		v.tables = append(v.tables, tableRows{t.tableSpec, t.read()})
	}
	for _, c := range s.chosen {
		v.chosen = append(v.chosen, c.read()...)
	}
	return v
}

// readShares returns the shares of the processors with at least one known time.
func readShares(times *[timeKinds][]*pmapi.Set[float64]) []shares {
	byInst := map[pdu.InstID]*shares{}
	var order []*shares
	for kind, sets := range times {
		for _, set := range sets {
			for i := range set.Len() {
				inst, v, err := set.At(i)
				if err != nil {
					continue
				}
				if byInst[inst.ID] == nil {
					byInst[inst.ID] = new(shares)
					order = append(order, byInst[inst.ID])
				}
				byInst[inst.ID][kind] += v
			}
		}
	}
	var list []shares
	for _, s := range order {
		sum := 0.0
		for _, v := range s {
			sum += v
		}
		if sum == 0 {
			continue
		}
		for kind := range s {
			s[kind] *= 100 / sum
		}
		list = append(list, *s)
	}
	return list
}

// unknown is the value of unknown numbers.
var unknown = math.NaN()

// first returns the first value of a set of texts.
func first(s *pmapi.Set[string]) string {
	if s.Len() == 0 {
		return ""
	}
	_, v, _ := s.At(0)
	return terminal.EscapeName(v)
}

// number returns the value of a singular metric, NaN if it has no value.
func number(s *pmapi.Set[float64]) float64 {
	if s.Len() == 0 {
		return unknown
	}
	_, v, err := s.At(0)
	if err != nil {
		return unknown
	}
	return v
}
