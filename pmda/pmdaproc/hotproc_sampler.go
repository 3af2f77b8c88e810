package pmdaproc

import (
	"bytes"
	"os"
	"time"

	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A sampler reads the variables of conditions for all processes.
type sampler struct {
	p       *proc
	table   *table // its own table, read with the rights of the agent
	at      time.Time
	idle    uint64         // clock ticks of all processors, as of at
	samples map[pid]sample // as of at
	next    map[pid]sample // reused
}

// A sample has the counters of a process.
type sample struct {
	start                           uint64 // start time, to tell processes with the same ID apart
	cpu, switches, io, blkio, delay uint64
}

func newSampler(p *proc) *sampler {
	return &sampler{p: p, table: p.bareTable(), samples: map[pid]sample{}, next: map[pid]sample{}}
}

// evaluate evaluates a condition for all processes.
func (s *sampler) evaluate(c condition, now time.Time) (evaluation, error) {
	t := s.table
	t.startReading(&view{access: true})
	if err := t.find(t.view); err != nil {
		return evaluation{}, err
	}
	t.setList()
	e := evaluation{hot: map[pid]*hotProcess{}}
	dt := now.Sub(s.at).Seconds()
	clear(s.next)
	var hot, others float64
	for _, p := range t.list {
		v, now, ok := s.read(p)
		if !ok {
			continue
		}
		s.next[p.id] = now
		old, known := s.samples[p.id]
		known = known && old.start == now.start && dt > 0
		if known {
			s.rates(&v, old, now, dt)
		}
		if c.holds(&v) {
			e.hot[p.id] = &hotProcess{int(v.numbers[varUID]), p.inode, v}
			hot += v.numbers[varCPUBurn]
		} else {
			others += v.numbers[varCPUBurn]
		}
	}
	idle, processors := s.processors()
	if !s.at.IsZero() && dt > 0 {
		e.totals = newTotals(hot, others, float64(idle-min(idle, s.idle))/float64(s.p.hertz())/dt, float64(processors))
	}
	s.samples, s.next = s.next, s.samples
	s.at, s.idle = now, idle
	return e, nil
}

// newTotals returns the totals, given the use by hot processes and by others, the idle time, and
// the number of processors.
func newTotals(hot, others, idle, processors float64) totals {
	transient := max(0, processors-hot-others-idle)
	other := others + transient
	t := totals{idle: float32(idle), burn: float32(hot), transient: float32(transient), notBurn: float32(others), other: float32(other)}
	if other+hot > 0 {
		t.percent = float32(100 * other / (other + hot))
	}
	return t
}

// read reads the files of a process. It is not ok if the process has ended.
func (s *sampler) read(p *process) (v variables, now sample, ok bool) {
	t := s.table
	st, err := statKind.of(t, p)
	if err != nil {
		return v, now, false
	}
	status, err := statusKind.of(t, p)
	if err != nil {
		return v, now, false
	}
	now = sample{start: st.n[statStart], cpu: st.n[14] + st.n[15], blkio: st.n[42],
		switches: status.n[statusVoluntary] + status.n[statusInvoluntary]}
	if io, err := ioKind.of(t, p); err == nil {
		now.io = io[4] + io[5]
	}
	if sched, err := schedstatKind.of(t, p); err == nil {
		now.delay = sched[1]
	}
	v.numbers[varUID], v.numbers[varGID] = float64(status.uids[0]), float64(status.gids[0])
	v.numbers[varVirtualSize] = float64(st.n[statVsize] / 1024)
	v.numbers[varResidentSize] = float64(s.p.pages(st.n[statRSS]))
	v.texts[varUName], v.texts[varGName] = s.p.users.user(status.uids[0]), s.p.users.group(status.gids[0])
	v.texts[varFName], v.texts[varPSArgs] = st.comm, t.names(p).psargs
	return v, now, true
}

// rates sets the variables that are rates between two samples. dt is the time between them.
func (s *sampler) rates(v *variables, old, now sample, dt float64) {
	hz := float64(s.p.hertz())
	per := func(old, now uint64, unit float64) float64 { return float64(now-min(now, old)) / unit / dt }
	v.numbers[varCPUBurn] = per(old.cpu, now.cpu, hz)
	v.numbers[varCtxSwitch] = per(old.switches, now.switches, 1)
	v.numbers[varIODemand] = per(old.io, now.io, 1024)
	v.numbers[varIOWait] = per(old.blkio, now.blkio, hz)
	v.numbers[varSchedWait] = per(old.delay, now.delay, 1e9)
}

// processors reads the idle time of all processors, in clock ticks, and their number.
func (s *sampler) processors() (idle uint64, n int) {
	text, err := os.ReadFile(s.p.path("proc/stat"))
	if err != nil {
		return 0, 0
	}
	for line := range procfile.Lines(text) {
		name, rest := procfile.CutField(line)
		switch {
		case string(name) == "cpu":
			var times [4]uint64
			procfile.CutUints(rest, times[:])
			idle = times[3]
		case bytes.HasPrefix(name, []byte("cpu")):
			n++
		}
	}
	return idle, n
}
