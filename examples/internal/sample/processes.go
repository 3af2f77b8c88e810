package sample

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Items of the metrics of processes.
const (
	itemProcOrdinal = 156
	itemProcExec    = 157
	itemProcTime    = 158
	itemProcReset   = 159
)

const (
	processSlots    = 20
	steadyProcesses = 4   // which never end
	lastProcess     = 999 // after that, ordinals begin anew
	processChanges  = lcgRange * 75 / 1000
)

// processes are synthetic processes. With every fetch some end and others start, in an order that
// is the same after each reset.
type processes struct {
	indom   *pmda.InDom
	random  lcg
	slots   [processSlots]*fakeProcess
	running []*fakeProcess // those in slots, the youngest last
	last    int            // the ordinal that was given last
}

// A fakeProcess is an instance.
type fakeProcess struct {
	ordinal int
	name    string
	start   time.Time
}

func (s *sample) registerProcesses() {
	p := &s.dynamic.processes
	p.indom = s.attach(12, "process", nil)
	p.reset()
	add(s, itemProcOrdinal, pmda.Metric[uint32]{Name: "proc.ordinal", InDom: p.indom,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) { return uint32(i.ID), nil }})
	add(s, itemProcExec, pmda.Metric[string]{Name: "proc.exec", InDom: p.indom,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) {
			return path.Base(i.Name), nil
		}})
	add(s, itemProcTime, pmda.Metric[uint64]{Name: "proc.time", Sem: pdu.SemCounter, Units: pdu.TimeMSec, InDom: p.indom,
		Values: func(_ context.Context, _ *pmda.Request, v *pmda.Values[uint64]) error {
			now := time.Now()
			for _, f := range p.running {
				v.Put(pdu.InstID(f.ordinal), uint64(now.Sub(f.start)/time.Millisecond))
			}
			return nil
		}})
	add(s, itemProcReset, pmda.Metric[int32]{Name: "proc.reset", Value: constant(int32(0))})
	storeWord(s, itemProcReset, func(int32) error {
		p.reset()
		return nil
	})
}

// reset ends all processes. The initial processes start with the next fetch.
func (p *processes) reset() {
	*p = processes{indom: p.indom, random: 1}
	_, _ = p.indom.SetInstances()
}

// step ends and starts processes before a fetch.
func (p *processes) step() {
	if p.running == nil {
		for i := range steadyProcesses {
			p.start(i)
		}
	} else {
		for i := steadyProcesses; i < processSlots; i++ {
			if p.slots[i] != nil && p.random.next() < processChanges {
				p.running = slices.DeleteFunc(p.running, func(f *fakeProcess) bool { return f == p.slots[i] })
				p.slots[i] = nil
			}
		}
		for i := steadyProcesses; i < processSlots; i++ {
			if p.slots[i] == nil && p.random.next() < processChanges {
				p.start(i)
			}
		}
	}
	list := make([]pdu.Instance, len(p.running))
	for i, f := range p.running {
		list[i] = pdu.Instance{ID: pdu.InstID(f.ordinal), Name: f.name}
	}
	_, _ = p.indom.SetInstances(list...) // which have an ordinal each
}

// start starts a process in a slot.
func (p *processes) start(slot int) {
	for taken := true; taken; {
		p.last = p.last%lastProcess + 1
		taken = slices.ContainsFunc(p.running, func(f *fakeProcess) bool { return f.ordinal == p.last })
	}
	f := &fakeProcess{ordinal: p.last, name: processName(p.last), start: time.Now()}
	p.slots[slot] = f
	p.running = append(p.running, f)
}

// processName returns the name of the instance with an ordinal.
func processName(ordinal int) string {
	dirs := [...]string{"/etc", "/usr/bin", "/usr/local", "/usr/opt/bin"}
	programs := [...]string{"bozo", "bobo", "jester", "loko", "pierrot", "waldo", "yobo", "jojo", "koko", "lala"}
	if ordinal == 1 {
		return "0001 init"
	}
	i := ordinal - 2
	return fmt.Sprintf("%04d %s/%s", ordinal, dirs[i%len(dirs)], programs[i%len(programs)])
}
