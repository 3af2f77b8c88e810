//go:build unix

package collector

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// A fault is an error that an agent of a chaos run makes, or an event that affects it. Its budget
// lists the errors that clients may see.
type fault struct {
	domain   pdu.Domain
	kind     faultKind
	from, to time.Time
}

type faultKind string

const (
	faultDelay    faultKind = "delay"           // a call of a local agent returns at to
	faultBusy     faultKind = "all calls taken" // of an agent in this process
	faultStall    faultKind = "stall"           // a remote agent does not reply until to
	faultNotReady faultKind = "not ready"       // until to
	faultError    faultKind = "error reply"
	faultReply    faultKind = "wrong reply"
	faultPanic    faultKind = "panic"
	faultFence    faultKind = "fence" // of an agent that has panicked
	faultBroken   faultKind = "broken connection"
	faultGone     faultKind = "removed"
	faultMachine  faultKind = "slow machine"
)

// A budget lists the error codes that a fault may cause. If oneRequest is set, one request may
// get one of them. Otherwise any request whose reply arrives during the fault may get them.
type budget struct {
	oneRequest bool
	codes      []pdu.Error
}

var budgets = map[faultKind]budget{
	faultDelay:    {true, []pdu.Error{pdu.ErrTimeout}},
	faultBusy:     {false, []pdu.Error{pdu.ErrTimeout, pdu.ErrPMDAFenced}},
	faultStall:    {false, []pdu.Error{pdu.ErrTimeout, pdu.ErrAgain}},
	faultNotReady: {false, []pdu.Error{pdu.ErrAgain}},
	faultError:    {true, []pdu.Error{pdu.ErrAppVersion}},
	faultReply:    {true, []pdu.Error{pdu.ErrIPC, pdu.ErrGeneric, pdu.ErrPMID, pdu.ErrTooBig}},
	faultPanic:    {true, []pdu.Error{pdu.ErrGeneric}},
	faultFence:    {false, []pdu.Error{pdu.ErrPMDAFenced}},
	faultBroken: {false, []pdu.Error{pdu.ErrIPC, pdu.ErrNoAgent, pdu.ErrTimeout, pdu.ErrAgain, pdu.ErrGeneric,
		-pdu.Error(syscall.EPIPE)}},
	faultGone:    {false, []pdu.Error{pdu.ErrNoAgent, pdu.ErrPMID, pdu.ErrInDom, pdu.ErrName}},
	faultMachine: {false, []pdu.Error{pdu.ErrTimeout, pdu.ErrAgain}},
}

// lost is the code for a missing part of a reply, such as one descriptor or name of several. The
// reply does not say why, so any fault explains it.
const lost pdu.Error = -1

func (f *fault) allows(code pdu.Error) bool {
	return code == lost || slices.Contains(budgets[f.kind].codes, code)
}

// A failed is a request whose reply showed the client an error.
type failed struct {
	domains  []pdu.Domain // whose agents may have caused it
	code     pdu.Error
	from, to time.Time // the request and its reply
	what     string
	causedBy []*fault // faults of single requests that may have caused it
}

// unsolicitedWait is how much longer a collector may wait for an unsolicited reply before its
// next request to an agent that was late.
const unsolicitedWait = 100 * time.Millisecond

// A faultLog holds the faults of a run and the errors that clients have seen.
type faultLog struct {
	mu       sync.Mutex
	faults   []*fault
	failures []failed
	starts   map[pdu.Domain][]time.Time // of agents in other processes
}

func (l *faultLog) addFault(d pdu.Domain, kind faultKind, from time.Time, lasts time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, &fault{domain: d, kind: kind, from: from, to: from.Add(lasts)})
}

func (l *faultLog) addFailure(f failed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, f)
}

func (l *faultLog) addStart(d pdu.Domain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.starts == nil {
		l.starts = map[pdu.Domain][]time.Time{}
	}
	l.starts[d] = append(l.starts[d], time.Now())
}

// complete completes the faults at the end of a run. A broken connection lasts until the agent is
// restarted. A panic fences its agent. When as many delays as calls overlap, the agent has no
// free call. All faults are extended by tolerance.
func (l *faultLog) complete(calls int, tolerance time.Duration) {
	delays := map[pdu.Domain][]*fault{}
	for _, f := range slices.Clone(l.faults) {
		switch f.kind {
		case faultBroken:
			f.to = f.from.Add(time.Hour)
			for _, s := range l.starts[f.domain] {
				if s.After(f.from) {
					f.to = s
					break
				}
			}
		case faultPanic:
			if _, remote := l.starts[f.domain]; !remote {
				l.faults = append(l.faults, &fault{domain: f.domain, kind: faultFence, from: f.from, to: f.from.Add(panicPause)})
			}
		case faultDelay:
			delays[f.domain] = append(delays[f.domain], f)
		}
	}
	for d, list := range delays {
		slices.SortFunc(list, func(a, b *fault) int { return a.from.Compare(b.from) })
		var ends []time.Time // of the delays that last
		for _, f := range list {
			ends = slices.DeleteFunc(ends, func(t time.Time) bool { return !t.After(f.from) })
			ends = append(ends, f.to)
			slices.SortFunc(ends, time.Time.Compare)
			if free := len(ends) - calls; free >= 0 { // at ends[free] fewer than calls last
				l.faults = append(l.faults, &fault{domain: d, kind: faultBusy, from: f.from, to: ends[free]})
			}
		}
	}
	for _, f := range l.faults {
		if f.kind == faultStall {
			f.to = f.to.Add(unsolicitedWait)
		}
		f.to = f.to.Add(tolerance)
	}
	slices.SortFunc(l.faults, func(a, b *fault) int { return a.to.Compare(b.to) })
}

// unexplained assigns faults to the errors, within the budgets, and returns the unexplained
// errors.
func (l *faultLog) unexplained() (over []failed) {
	byDomain := map[pdu.Domain][]*fault{}
	for _, f := range l.faults { // sorted by their ends
		byDomain[f.domain] = append(byDomain[f.domain], f)
	}
	assigned := map[*fault]*failed{}
	for i := range l.failures {
		e := &l.failures[i]
		lasting, single := e.causes(byDomain)
		if e.causedBy = single; !lasting && !e.assign(assigned, map[*fault]bool{}) {
			over = append(over, *e)
		}
	}
	return over
}

// causes returns the possible causes of an error: whether a lasting fault may have caused it, and
// the faults of single requests that may have.
func (e *failed) causes(byDomain map[pdu.Domain][]*fault) (lasting bool, single []*fault) {
	for _, d := range e.domains {
		list := byDomain[d]
		first, _ := slices.BinarySearchFunc(list, e.from, func(f *fault, t time.Time) int { return f.to.Compare(t) })
		for _, f := range list[first:] {
			switch {
			case f.from.After(e.to) || !f.allows(e.code):
			case budgets[f.kind].oneRequest:
				single = append(single, f)
			default:
				return true, nil
			}
		}
	}
	return false, single
}

// assign finds an unassigned fault of a single request. If necessary, it assigns other errors to
// other faults.
func (e *failed) assign(assigned map[*fault]*failed, tried map[*fault]bool) bool {
	for _, f := range e.causedBy {
		if tried[f] {
			continue
		}
		tried[f] = true
		if other := assigned[f]; other == nil || other.assign(assigned, tried) {
			assigned[f] = e
			return true
		}
	}
	return false
}

// summary counts the faults by kind and the errors by code.
func (l *faultLog) summary() string {
	faults, errors := map[faultKind]int{}, map[pdu.Error]int{}
	for _, f := range l.faults {
		faults[f.kind]++
	}
	for _, e := range l.failures {
		errors[e.code]++
	}
	var b strings.Builder
	b.WriteString("faults:")
	for _, k := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(&b, "\n%8d %s", faults[k], k)
	}
	b.WriteString("\nerrors seen:")
	for _, c := range slices.Sorted(maps.Keys(errors)) {
		may := 0 // of this code, besides what lasting faults allow
		for _, f := range l.faults {
			if budgets[f.kind].oneRequest && f.allows(c) {
				may++
			}
		}
		fmt.Fprintf(&b, "\n%8d %v (the faults of single requests allow %d)", errors[c], c, may)
	}
	return b.String()
}

// A chance makes the random decisions at one point in time. They depend only on the seed of the
// run, the time and the reasons, not on other decisions.
type chance struct{ *rand.Rand }

func chanceAt(seed uint64, now time.Time, reasons ...uint64) chance {
	h := uint64(now.UnixNano())
	for _, r := range reasons {
		h = collectortest.Mix(h ^ r)
	}
	return chance{rand.New(rand.NewPCG(seed, h))}
}

// upTo returns a random time of at most t, in steps, so that many events happen at the same time.
func (c chance) upTo(t time.Duration) time.Duration {
	const step = time.Millisecond
	return time.Duration(c.Int64N(int64(t/step)+1)) * step
}

// around returns t, one nanosecond less or more, or, half of the time, a random time up to most.
func (c chance) around(t, most time.Duration) time.Duration {
	switch c.IntN(6) {
	case 0:
		return t
	case 1:
		return t - 1
	case 2:
		return t + 1
	}
	return c.upTo(most)
}
