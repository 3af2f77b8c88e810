package pmdaproc

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// States of processes, by the items of their metrics.
const (
	runnable = iota
	blocked
	sleeping
	stopped
	swapped
	defunct
	unknownState
	kernelState
	states
)

// A runQueue counts the processes of a reading by their states.
type runQueue struct {
	reading uint32
	counts  [states]int32
}

// addRunQueue adds the numbers of processes in each state.
func (p *proc) addRunQueue() {
	p.addState(runnable, "proc.runq.runnable", "Processes that run or could run")
	p.addState(blocked, "proc.runq.blocked", "Processes that wait for a disk or the like, and cannot be interrupted")
	p.addState(sleeping, "proc.runq.sleeping", "Processes that wait, and can be interrupted")
	p.addState(stopped, "proc.runq.stopped", "Processes that were stopped, or are traced")
	p.addState(swapped, "proc.runq.swapped", "Processes without memory of their own, such as those of the kernel")
	p.addState(defunct, "proc.runq.defunct", "Processes that have ended, and whose parents do not know yet")
	p.addState(unknownState, "proc.runq.unknown", "Processes in other states, or of which the state is not known")
	p.addState(kernelState, "proc.runq.kernel", "Always 0: processes of the kernel are among proc.runq.swapped")
}

// addState adds the number of processes in one state.
func (p *proc) addState(state int, name, text string) {
	t := p.processes
	pmda.Register(p.Agent, pmda.Metric[int32]{Name: name, ID: pmda.Item(13, state), Group: t.group, Units: pdu.UnitCount, Text: text,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return t.states()[state], nil }})
}

// states counts the processes of the list.
func (t *table) states() *[states]int32 {
	q := &t.runq
	if q.reading == t.n {
		return &q.counts
	}
	q.reading, q.counts = t.n, [states]int32{}
	for _, p := range t.list {
		s, err := statKind.of(t, p)
		if err != nil {
			q.counts[unknownState]++
		} else {
			q.counts[s.runState()]++
		}
	}
	return &q.counts
}

// runState returns the item that counts processes in the state of s. As in the C agent, a kernel
// process counts as swapped because it has no user memory.
func (s *stat) runState() int {
	switch {
	case s.state == 'Z':
		return defunct
	case s.n[statVsize] == 0:
		return swapped
	}
	switch s.state {
	case 'R':
		return runnable
	case 'S':
		return sleeping
	case 'T', 't':
		return stopped
	case 'D', 'P':
		return blocked
	}
	return unknownState
}
