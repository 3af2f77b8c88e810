package pmdalinux

import (
	"context"
	"errors"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// softnetColumns are the columns of /proc/net/softnet_stat that are metrics.
var softnetColumns = [...]struct {
	at                int
	all, percpu, text string
}{
	{0, "network.softnet.processed", "network.softnet.percpu.processed", "Packets that processors took from the queue of received ones"},
	{1, "network.softnet.dropped", "network.softnet.percpu.dropped", "Received packets dropped because a processor's queue was full"},
	{2, "network.softnet.time_squeeze", "network.softnet.percpu.time_squeeze", "Times that a processor left packets in its queue, having spent its time"},
	{8, "network.softnet.cpu_collision", "network.softnet.percpu.cpu_collision", "Times that a processor found an interface busy when it had a packet to send"},
	{9, "network.softnet.received_rps", "network.softnet.percpu.received_rps", "Times that another processor woke one to take received packets over"},
	{10, "network.softnet.flow_limit_count", "network.softnet.percpu.flow_limit_count", "Packets dropped because their flow took too much of the queue"},
}

// softnet is the contents of /proc/net/softnet_stat, which has a line for each processor.
type softnet struct {
	lines   []softnetLine
	columns int // that all lines have
}

type softnetLine struct {
	cpu  pdu.InstID
	vals [len(softnetColumns)]uint64
}

// parse parses lines of hexadecimal numbers. In recent kernels the thirteenth is the number of the
// processor. In others the lines are in the order of the processors.
func (n *softnet) parse(text []byte) error {
	n.lines, n.columns = n.lines[:0], 0
	if !procfile.HasCompleteLines(text) {
		return errors.New("/proc/net/softnet_stat is cut short")
	}
	for line := range procfile.Lines(text) {
		l := softnetLine{cpu: pdu.InstID(len(n.lines))}
		at := 0
		for field, line := procfile.CutField(line); len(field) > 0; field, line = procfile.CutField(line) {
			v, ok := procfile.ParseHex(field)
			if !ok || v > 1<<32-1 {
				return errors.New("/proc/net/softnet_stat: malformed number")
			}
			for i, c := range softnetColumns {
				if c.at == at {
					l.vals[i] = v
				}
			}
			if at == 12 {
				l.cpu = pdu.InstID(v)
			}
			at++
		}
		if len(n.lines) == 0 {
			n.columns = at
		} else if at != n.columns {
			return errors.New("/proc/net/softnet_stat: the lines differ in length")
		}
		n.lines = append(n.lines, l)
	}
	return nil
}

// addSoftnet adds the metrics of how processors handle received packets.
func (l *linux) addSoftnet() {
	n := new(softnet)
	g := l.fileGroup("proc/net/softnet_stat", n.parse)
	for i, c := range softnetColumns {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: c.all, ID: pmda.Item(57, i), Group: g,
			Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: c.text,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (sum uint64, err error) {
				if n.columns <= c.at {
					return 0, pdu.ErrAppVersion
				}
				for _, line := range n.lines {
					sum += line.vals[i]
				}
				return sum, nil
			},
		})
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: c.percpu, ID: pmda.Item(57, len(softnetColumns)+i), InDom: l.cpus, Group: g,
			Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: c.text + ", by processor",
			Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
				if n.columns <= c.at {
					return pdu.ErrAppVersion
				}
				// The lines are in the order of processors. Some processors have no line.
				lines := n.lines
				for inst := range s.Instances() {
					for len(lines) > 0 && lines[0].cpu < inst.ID {
						lines = lines[1:]
					}
					if len(lines) > 0 && lines[0].cpu == inst.ID {
						s.Put(inst.ID, lines[0].vals[i])
					}
				}
				return nil
			},
		})
	}
}
