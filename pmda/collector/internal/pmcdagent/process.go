package pmcdagent

import (
	"context"
	"os"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// addSize registers pmcd.datasize.
func (p *pmcd) addSize() {
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.datasize", ID: pmda.Item(0, 1), Units: pdu.SpaceKByte,
		Text: "Memory for data of the collector's process",
		Help: `The memory that the Go run-time system has from the operating system, less
what it has given back.`,
		Value: always(dataSize),
	})
}

// dataSize returns the size in KByte.
func dataSize() uint32 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return uint32((s[0].Value.Uint64() - s[1].Value.Uint64()) / 1024)
}

// addBuffers registers pmcd.buf. The values are always 0, because the metrics count buffers of
// fixed sizes, which this implementation does not have.
func (p *pmcd) addBuffers() {
	for item, m := range []struct{ name, text string }{
		{"pmcd.buf.alloc", "Buffers of fixed sizes that were allocated"},
		{"pmcd.buf.free", "Buffers of fixed sizes that are free"},
	} {
		register(p, pmda.Metric[int32]{
			Name: m.name, ID: pmda.Item(0, 18+item), Units: pdu.UnitCount, InDom: p.buffers, Text: m.text,
			Help: `Always 0: this collector's buffers grow with what they hold and are freed by
the garbage collector.`,
			Value: always(func() int32 { return 0 }),
		})
	}
}

// addCPU registers pmcd.cputime.
func (p *pmcd) addCPU() {
	register(p, pmda.Metric[uint64]{
		Name: "pmcd.cputime.total", ID: pmda.Item(7, 0), Sem: pdu.SemCounter, Units: pdu.TimeMSec,
		Text: "Processor time of the collector",
		Help: "User and system time of the collector's process.",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			t, err := cpuTime()
			return uint64(t.Milliseconds()), err
		},
	})
	register(p, pmda.Metric[float64]{
		Name: "pmcd.cputime.per_pdu_in", ID: pmda.Item(7, 1), Units: pdu.TimeUSec | pdu.PerCount,
		Text: "Processor time of the collector for each PDU received",
		Help: `User and system time of the collector's process divided by the number of PDUs
that it has received, both since this client's last fetch of this metric or,
at the first one, since the collector began.`,
		Value: p.cpuPerPDU,
	})
}

// A cpuMark is the starting point of the next value of pmcd.cputime.per_pdu_in.
type cpuMark struct {
	time time.Duration
	pdus uint64
}

func (p *pmcd) cpuPerPDU(_ context.Context, r *pmda.Request, _ pdu.Instance) (float64, error) {
	now := cpuMark{}
	now.pdus, _ = p.Counters.Total()
	var err error
	if now.time, err = cpuTime(); err != nil {
		return 0, err
	}
	var last cpuMark
	p.updateNote(r.Client, func(n *clientNote) { last, n.cpu = n.cpu, now })
	if now.pdus <= last.pdus || now.time <= last.time {
		return 0, nil
	}
	return float64(now.time-last.time) / float64(time.Microsecond) / float64(now.pdus-last.pdus), nil
}

// addProcess registers the metrics that come last in the name space.
func (p *pmcd) addProcess() {
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.sighups", ID: pmda.Item(0, 22), Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Text:  "Resets of the collector",
		Help:  "How often the collector was reset, by SIGHUP or by pmcd.control.sighup.",
		Value: always(p.Collector.Resets),
	})
	pid := uint64(os.Getpid()) // once: it is a system call
	register(p, pmda.Metric[uint64]{
		Name: "pmcd.pid", ID: pmda.Item(0, 23), Sem: pdu.SemDiscrete,
		Text:  "Process identifier of the collector",
		Help:  "The identifier of the process that the collector runs in.",
		Value: always(func() uint64 { return pid }),
	})
	register(p, pmda.Metric[uint32]{
		Name: "pmcd.seqnum", ID: pmda.Item(0, 24), Sem: pdu.SemDiscrete,
		Text: "Configuration number",
		Help: `2 at first, after the start of this agent; it grows by one when another
agent starts, and when any value is stored here. A client that sees it change
does well to look again at what metrics there are. Everybody who may store may
store here.`,
		Value: always(p.Collector.SeqNum),
	})
	p.storable(0, 24, setter{anyUser: true, set: setEach(func(pdu.InstID, uint32) error {
		p.Collector.IncSeqNum()
		return nil
	})})
	register(p, pmda.Metric[string]{
		Name: "pmcd.labels", ID: pmda.Item(0, 25),
		Text: "Labels of the collector",
		Help: `The labels that the collector was configured to give to all metrics, as a
JSON object; empty if there are none.`,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) {
			return p.Collector.Labels()
		},
	})
}

// openFDs returns the highest number of a file descriptor so far.
func (p *pmcd) openFDs(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
	names, err := fdNames()
	if err != nil {
		return 0, pdu.ErrAppVersion
	}
	for _, n := range names {
		fd, err := strconv.ParseInt(n, 10, 32)
		for err == nil {
			high := p.highestFD.Load()
			if fd <= high || p.highestFD.CompareAndSwap(high, fd) {
				break
			}
		}
	}
	return uint32(p.highestFD.Load()), nil
}

// fdNames lists the file descriptors of this process.
func fdNames() ([]string, error) {
	d, err := os.Open("/proc/self/fd")
	if err != nil {
		if d, err = os.Open("/dev/fd"); err != nil {
			return nil, err
		}
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
