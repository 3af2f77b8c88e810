package pmdalinux

import (
	"context"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// hz is how many ticks of the clock make a second in what the kernel tells
// programs (USER_HZ): this many on every architecture that Go runs on.
const hz = 100

// addProcessors adds the metrics of what there is per processor, and of the
// machine: first /proc/stat, which the instances come from.
func (l *linux) addProcessors() {
	s := l.addStat()
	l.addCPUInfo()
	l.addCPUFiles(s)
	l.addUptime()
	l.addNames()
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "kernel.all.hz", ID: pmda.Item(0, 48), Sem: pdu.SemDiscrete,
		Units: pdu.UnitCount | pdu.PerSec,
		Text:  "Ticks per second of the clock that times of processors are counted with",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return hz, nil },
	})
}

// addUptime adds the metrics of /proc/uptime.
func (l *linux) addUptime() {
	var up, idle optional[float64]
	g := l.source("proc/uptime", func(text []byte) error {
		line, _, whole := wholeLine(text)
		up.v, line, up.ok = cutDecimal(line)
		// Of a line that does not end, nobody knows what the last number was to be.
		up.ok = up.ok && (whole || len(line) > 0)
		idle.v, _, idle.ok = cutDecimal(line)
		idle.ok = idle.ok && whole
		return nil
	})
	pmda.Register(l.Agent, pmda.Metric[float64]{
		Name: "kernel.all.uptime", ID: pmda.Item(26, 0), Group: g, Units: pdu.TimeSec,
		Text:  "Time since the kernel was started",
		Value: up.value,
	})
	pmda.Register(l.Agent, pmda.Metric[float64]{
		Name: "kernel.all.idletime", ID: pmda.Item(26, 1), Group: g, Units: pdu.TimeSec,
		Text:  "Time that processors had nothing to do since the kernel was started",
		Help:  "The times of all processors are added, so that it may be more than kernel.all.uptime.",
		Value: idle.value,
	})
}

// An optional value is one that the last reading may not have found.
type optional[T pdu.Scalar] struct {
	v  T
	ok bool
}

// result is the value, or that there is none, as a Value of a metric returns it.
func (o *optional[T]) result() (T, error) {
	if !o.ok {
		return o.v, pmda.NoValue
	}
	return o.v, nil
}

// value is the Value of a metric.
func (o *optional[T]) value(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return o.result()
}

// cutDecimal is cutField for a number like 2596.138: no sign, no exponent, and none
// of the other forms that parseFloat takes.
func cutDecimal(line []byte) (v float64, rest []byte, ok bool) {
	field, rest := cutField(line)
	for _, c := range field {
		if (c < '0' || c > '9') && c != '.' {
			return 0, rest, false
		}
	}
	v, ok = parseFloat(field)
	return v, rest, ok && !math.IsInf(v, 0)
}

// numbered is the number at the end of a name such as cpu12, if the name has this
// form and no other: the number is that of an instance, and no two names have it.
func numbered(name []byte, prefix string) (uint32, bool) {
	if len(name) <= len(prefix) || string(name[:len(prefix)]) != prefix {
		return 0, false
	}
	digits := name[len(prefix):]
	n, ok := parseUint32(digits)
	return n, ok && n <= math.MaxInt32 && (digits[0] != '0' || len(digits) == 1)
}
