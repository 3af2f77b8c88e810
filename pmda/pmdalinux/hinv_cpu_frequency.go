package pmdalinux

import (
	"context"
	"math"
	"math/bits"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// frequencies are the files of processors with variable frequency. Some drivers have a file with
// the time spent at each frequency, others only the current frequency and the limits.
type frequencies struct {
	cpus          *instances[processor]
	states        *deviceFiles[cpuStates]
	now, min, max *deviceFiles[uint64] // in kHz
}

// cpuStates are the past frequencies of a processor.
type cpuStates struct {
	count    uint64 // MHz times time
	time     uint64
	min, max uint64 // MHz
}

// parseStates parses lines with a frequency in kHz and the time spent at it.
func parseStates(text []byte, s *cpuStates) bool {
	*s = cpuStates{min: math.MaxUint64}
	for line := range procfile.Lines(text) {
		kHz, more, ok1 := procfile.CutUint(line)
		ticks, _, ok2 := procfile.CutUint(more)
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

// frequencyValues makes the Values of a metric in MHz. The value comes from the file of states if
// the processor has one, otherwise from the file or, which is in kHz.
func frequencyValues[T uint32 | uint64](f *frequencies, of func(*cpuStates) uint64, or *deviceFiles[uint64]) func(context.Context, *pmda.Request, *pmda.Values[T]) error {
	return valuesByName(f.cpus, func(cpu string) (T, bool) {
		var v uint64
		var ok bool
		if s := f.states.get(cpu); !s.absent {
			v, ok = of(&s.v), s.ok
		} else if or != nil {
			now := or.get(cpu)
			v, ok = now.v/1000, now.ok
		}
		return T(v), ok && uint64(T(v)) == v
	})
}

// newFrequencies returns the files of the processors of s.
func (l *linux) newFrequencies(s *procStat) *frequencies {
	kHz := func(name string) *deviceFiles[uint64] {
		return deviceFilesOf(l, &s.cpus, procfile.ParseNumber, cpuDir, "cpufreq/"+name)
	}
	return &frequencies{
		cpus:   &s.cpus,
		states: deviceFilesOf(l, &s.cpus, parseStates, cpuDir, "cpufreq/stats/time_in_state"),
		now:    kHz("scaling_cur_freq"), min: kHz("cpuinfo_min_freq"), max: kHz("cpuinfo_max_freq"),
	}
}

// present returns the current frequency of a processor in MHz.
func (f *frequencies) present(cpu string) optional[float32] {
	now := f.now.get(cpu)
	return optional[float32]{float32(float64(now.v) / 1000), now.ok}
}

// addFrequencyCounts adds the two counters, whose rates give an average.
func (l *linux) addFrequencyCounts(f *frequencies) {
	for _, m := range []struct {
		name       string
		item       int
		units      pdu.Units
		text, help string
		of         func(*cpuStates) uint64
		or         *deviceFiles[uint64]
	}{
		{"hinv.cpu.frequency_scaling.count", 6, pdu.UnitCount, "Frequencies of the processor in MHz, each times how long it had it",
			"Its rate, divided by that of hinv.cpu.frequency_scaling.time, is the average frequency.\n" +
				"Where the kernel does not tell how long the processor had which, it is the\n" +
				"present frequency, and there is no time.", func(s *cpuStates) uint64 { return s.count }, f.now},
		{"hinv.cpu.frequency_scaling.time", 7, pdu.TimeUSec, "How long the processor had the frequencies that count adds up",
			"It is in ticks of kernel.all.hz, whatever the unit says: use it only with\n" +
				"hinv.cpu.frequency_scaling.count.", func(s *cpuStates) uint64 { return s.time }, nil},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(55, m.item), InDom: l.cpus,
			Sem: pdu.SemCounter, Units: m.units, Text: m.text, Help: m.help,
			Values: frequencyValues[uint64](f, m.of, m.or),
		})
	}
}

// addFrequencyLimits adds the metrics of the minimum and maximum frequency.
func (l *linux) addFrequencyLimits(f *frequencies) {
	for _, m := range []struct {
		name string
		item int
		text string
		of   func(*cpuStates) uint64
		or   *deviceFiles[uint64]
	}{
		{"hinv.cpu.frequency_scaling.max", 8, "Highest frequency of the processor in MHz", func(s *cpuStates) uint64 { return s.max }, f.max},
		{"hinv.cpu.frequency_scaling.min", 9, "Lowest frequency of the processor in MHz", func(s *cpuStates) uint64 { return s.min }, f.min},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(55, m.item), InDom: l.cpus,
			Units: pdu.PerUSec, Text: m.text,
			Values: frequencyValues[uint32](f, m.of, m.or),
		})
	}
}
