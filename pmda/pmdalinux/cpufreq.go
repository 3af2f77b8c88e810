package pmdalinux

import (
	"bytes"
	"context"
	"math"
	"math/bits"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// frequencies are what processors tell that change theirs. Some drivers tell how
// long a processor has had each frequency, others only what it has now, and within
// which limits.
type frequencies struct {
	reading       uint64 // counts fetches
	states        *sysFiles
	now, min, max *sysFiles // in kHz
	ofCPU         map[pdu.InstID]*cpuStates
}

// cpuStates are the frequencies that a processor has had.
type cpuStates struct {
	reading  uint64 // that found this
	file, ok bool   // there is such a file, and it is understood
	count    uint64 // MHz times time
	time     uint64
	min, max uint64 // MHz
}

// of reads, once per fetch, the frequencies that a processor has had.
func (f *frequencies) of(i pdu.Instance) *cpuStates {
	s := f.ofCPU[i.ID]
	if s == nil {
		s = new(cpuStates)
		f.ofCPU[i.ID] = s
	}
	if s.reading != f.reading {
		*s = cpuStates{reading: f.reading}
		var text []byte
		if text, s.file = f.states.file(i).read(f.states.buf); s.file {
			s.ok = s.parse(text)
		}
	}
	return s
}

// parse reads lines of a frequency in kHz and how long the processor has had it.
func (s *cpuStates) parse(text []byte) bool {
	s.min = math.MaxUint64
	for line, rest, ok := bytes.Cut(text, newline); ok; line, rest, ok = bytes.Cut(rest, newline) {
		kHz, more, ok1 := cutUint(line)
		ticks, _, ok2 := cutUint(more)
		high, low := bits.Mul64(kHz/1000, ticks)
		var carry [2]uint64
		s.count, carry[0] = bits.Add64(s.count, low, 0)
		s.time, carry[1] = bits.Add64(s.time, ticks, 0)
		if !ok1 || !ok2 || high != 0 || carry != [2]uint64{} {
			return false
		}
		s.min, s.max = min(s.min, kHz/1000), max(s.max, kHz/1000)
	}
	return s.min <= s.max
}

// known is what a metric of one file is if that file is there, else the number in
// another file, in MHz.
func (f *frequencies) known(i pdu.Instance, of func(*cpuStates) uint64, or *sysFiles) (uint64, bool) {
	if s := f.of(i); s.file {
		return of(s), s.ok
	}
	if or == nil {
		return 0, false
	}
	kHz, ok := or.uint(i)
	return kHz / 1000, ok
}

// addFrequencies adds how processors change their frequencies.
func (l *linux) addFrequencies() {
	f := &frequencies{
		states: l.sysFiles(cpuDir, "cpufreq/stats/time_in_state"),
		now:    l.sysFiles(cpuDir, "cpufreq/scaling_cur_freq"),
		min:    l.sysFiles(cpuDir, "cpufreq/cpuinfo_min_freq"),
		max:    l.sysFiles(cpuDir, "cpufreq/cpuinfo_max_freq"),
		ofCPU:  map[pdu.InstID]*cpuStates{},
	}
	g := l.Group(func(context.Context, *pmda.Request) error {
		f.reading++
		return nil
	})
	l.addFrequencyCounts(f, g)
	l.addFrequencyLimits(f, g)
}

// addFrequencyCounts adds the two counters, whose rates give an average.
func (l *linux) addFrequencyCounts(f *frequencies, g *pmda.Group) {
	for _, m := range []struct {
		name       string
		item       int
		units      pdu.Units
		text, help string
		of         func(*cpuStates) uint64
		or         *sysFiles
	}{
		{"count", 6, pdu.UnitCount, "Frequencies of the processor in MHz, each times how long it had it",
			"Its rate, divided by that of hinv.cpu.frequency_scaling.time, is the average frequency.\n" +
				"Where the kernel does not tell how long the processor had which, it is the\n" +
				"present frequency, and there is no time.", func(s *cpuStates) uint64 { return s.count }, f.now},
		{"time", 7, pdu.TimeUSec, "How long the processor had the frequencies that count adds up",
			"It is in ticks of kernel.all.hz, whatever the unit says: use it only with\n" +
				"hinv.cpu.frequency_scaling.count.", func(s *cpuStates) uint64 { return s.time }, nil},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: "hinv.cpu.frequency_scaling." + m.name, ID: pmda.Item(55, m.item), InDom: l.cpus, Group: g,
			Sem: pdu.SemCounter, Units: m.units, Text: m.text, Help: m.help,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
				v, ok := f.known(i, m.of, m.or)
				if !ok {
					return 0, pmda.NoValue
				}
				return v, nil
			},
		})
	}
}

// addFrequencyLimits adds between which frequencies a processor chooses.
func (l *linux) addFrequencyLimits(f *frequencies, g *pmda.Group) {
	for _, m := range []struct {
		name string
		item int
		text string
		of   func(*cpuStates) uint64
		or   *sysFiles
	}{
		{"max", 8, "Highest frequency of the processor in MHz", func(s *cpuStates) uint64 { return s.max }, f.max},
		{"min", 9, "Lowest frequency of the processor in MHz", func(s *cpuStates) uint64 { return s.min }, f.min},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: "hinv.cpu.frequency_scaling." + m.name, ID: pmda.Item(55, m.item), InDom: l.cpus, Group: g,
			Units: pdu.PerUSec, Text: m.text,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) {
				v, ok := f.known(i, m.of, m.or)
				if !ok || v > math.MaxUint32 {
					return 0, pmda.NoValue
				}
				return uint32(v), nil
			},
		})
	}
}
