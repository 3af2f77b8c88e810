package pmdalinux

import (
	"bytes"
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A pressure is a line of a file below /proc/pressure.
type pressure struct {
	average [3]float32 // percent, over 10, 60 and 300 seconds
	total   uint64     // microseconds
	ok      bool
}

// pressureMetrics are pairs of metrics. Each pair is from one line of a file.
var pressureMetrics = []struct {
	avg, total string
	file, line string // "some" or "full"
	cluster    int
	item       int
	text, help string // the text follows "Share of time" and "Time"
}{
	{"kernel.all.pressure.cpu.some.avg", "kernel.all.pressure.cpu.some.total", "cpu", "some", 83, 0, "that some thread waited for a processor", ""},
	{"kernel.all.pressure.memory.some.avg", "kernel.all.pressure.memory.some.total", "memory", "some", 84, 0, "that some thread waited for memory", "It waits while it reclaims, or for what has been swapped out or reclaimed too soon."},
	{"kernel.all.pressure.memory.full.avg", "kernel.all.pressure.memory.full.total", "memory", "full", 84, 2, "that all threads with work to do waited for memory", "Nothing useful is done meanwhile."},
	{"kernel.all.pressure.io.some.avg", "kernel.all.pressure.io.some.total", "io", "some", 85, 0, "that some thread waited for input or output", ""},
	{"kernel.all.pressure.io.full.avg", "kernel.all.pressure.io.full.total", "io", "full", 85, 2, "that all threads with work to do waited for input or output", "Nothing useful is done meanwhile, but for processors that are idle."},
	{"kernel.all.pressure.irq.full.avg", "kernel.all.pressure.irq.full.total", "irq", "full", 93, 0, "that processors served interrupts while threads waited for them", ""},
}

// addPressure adds the metrics of how long threads wait for resources: Linux's pressure stall
// information (PSI).
func (l *linux) addPressure() {
	spans := &pmda.InDom{Serial: pmda.InDomSerial(37), Name: "pressure average", Text: "Spans of time that pressure is averaged over: 10 seconds, 1 and 5 minutes"}
	ids := [3]pdu.InstID{10, 60, 300}
	spans.SetInstances(pdu.Instance{ID: 10, Name: "10 second"}, pdu.Instance{ID: 60, Name: "1 minute"}, pdu.Instance{ID: 300, Name: "5 minute"})
	l.Attach(spans)
	type state struct {
		g          *pmda.Group
		some, full pressure
	}
	states := map[string]*state{}
	for _, m := range pressureMetrics {
		s := states[m.file]
		if s == nil {
			s = new(state)
			states[m.file] = s
			s.g = l.optionalFileGroup("proc/pressure/"+m.file, func(text []byte) error {
				s.some.parse(text, "some")
				s.full.parse(text, "full")
				return nil
			})
		}
		now := &s.some
		if m.line == "full" {
			now = &s.full
		}
		pmda.Register(l.Agent, pmda.Metric[float32]{
			Name: m.avg, ID: pmda.Item(m.cluster, m.item), Group: s.g, InDom: spans,
			Text: "Share of time, in percent, " + m.text, Help: m.help,
			Values: func(_ context.Context, _ *pmda.Request, set *pmda.Values[float32]) error {
				for i, id := range ids {
					if now.ok {
						set.Put(id, now.average[i])
					}
				}
				return nil
			},
		})
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: m.total, ID: pmda.Item(m.cluster, m.item+1), Group: s.g, Sem: pdu.SemCounter, Units: pdu.TimeUSec,
			Text: "Time " + m.text, Help: m.help,
			Value: number(func() (uint64, bool) { return now.total, now.ok }).value,
		})
	}
}

// parse parses the line that begins with word, such as "some avg10=1.35 avg60=0.89 avg300=3.80
// total=3661676251".
func (p *pressure) parse(text []byte, word string) {
	*p = pressure{}
	for line := range procfile.Lines(text) {
		if field, after := procfile.CutField(line); string(field) == word {
			p.parseNumbers(after)
			return
		}
	}
}

// parseNumbers parses the numbers of a line.
func (p *pressure) parseNumbers(line []byte) {
	for i, name := range [...]string{"avg10=", "avg60=", "avg300=", "total="} {
		var field []byte
		field, line = procfile.CutField(line)
		text, ok := bytes.CutPrefix(field, []byte(name))
		if !ok {
			return
		}
		if i == len(p.average) {
			p.total, p.ok = procfile.ParseUint(text)
			return
		}
		v, ok := procfile.ParseFloat(text)
		if !ok || !(v >= 0 && v <= 100) { // also rejects NaN
			return
		}
		p.average[i] = float32(v)
	}
}
