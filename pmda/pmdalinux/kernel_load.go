package pmdalinux

import (
	"bytes"
	"context"
	"errors"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A load is the contents of /proc/loadavg.
type load struct {
	average          [3]float32 // of 1, 5 and 15 minutes
	runnable, nprocs uint32
	lastpid          uint32
}

// addLoad adds the metrics of /proc/loadavg.
func (l *linux) addLoad() {
	now := new(load)
	g := l.fileGroup("proc/loadavg", now.parse)
	minutes := &pmda.InDom{Serial: pmda.InDomSerial(2), Name: "load average",
		Text: "Minutes that the load is averaged over: 1, 5 and 15"}
	minutes.SetInstances(pdu.Instance{ID: 1, Name: "1 minute"}, pdu.Instance{ID: 5, Name: "5 minute"}, pdu.Instance{ID: 15, Name: "15 minute"})
	l.Attach(minutes)
	pmda.Register(l.Agent, pmda.Metric[float32]{
		Name: "kernel.all.load", ID: pmda.Item(2, 0), InDom: minutes, Group: g,
		Text: "Threads that run or wait to, on average over 1, 5 and 15 minutes",
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[float32]) error {
			for i, id := range []pdu.InstID{1, 5, 15} {
				s.Put(id, now.average[i])
			}
			return nil
		},
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "kernel.all.lastpid", ID: pmda.Item(2, 1), Group: g,
		Text:  "The process ID given last",
		Value: valueOf(&now.lastpid),
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "kernel.all.runnable", ID: pmda.Item(2, 2), Group: g,
		Text:  "Threads that run or could",
		Value: valueOf(&now.runnable),
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "kernel.all.nprocs", ID: pmda.Item(2, 3), Group: g,
		Text:  "Threads that there are",
		Value: valueOf(&now.nprocs),
	})
}

// parse parses a line like "0.83 1.22 1.44 3/109 5128".
func (n *load) parse(text []byte) error {
	line, _, whole := procfile.CutLine(text)
	if !whole {
		return errors.New("/proc/loadavg: incomplete line")
	}
	var now load
	for i := range now.average {
		field, rest := procfile.CutField(line)
		v, ok := procfile.ParseFloat(field)
		if !ok {
			return errors.New("/proc/loadavg: no load average")
		}
		now.average[i], line = float32(v), rest
	}
	field, rest := procfile.CutField(line)
	runnable, nprocs, _ := bytes.Cut(field, []byte("/"))
	var ok [3]bool
	now.runnable, ok[0] = procfile.ParseUint32(runnable)
	now.nprocs, ok[1] = procfile.ParseUint32(nprocs)
	field, _ = procfile.CutField(rest)
	now.lastpid, ok[2] = procfile.ParseUint32(field)
	if ok != [3]bool{true, true, true} {
		return errors.New("/proc/loadavg: no numbers of threads")
	}
	*n = now
	return nil
}
