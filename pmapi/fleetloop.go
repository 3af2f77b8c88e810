package pmapi

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// A fleetLoop is a loop over Fleet.Every. Each of its hosts has a goroutine, which connects and
// fetches; the goroutine of the loop begins ticks and waits for their replies. Fleet.mu guards what
// both use.
type fleetLoop[T any] struct {
	f           *Fleet[T]
	ctx         context.Context // ends with the loop
	cancel      context.CancelFunc
	wg          sync.WaitGroup
	connections chan struct{} // one element for each that is being made
	wake        chan struct{} // the tick may be complete
	interval    time.Duration
	wait        time.Duration // Fleet.Wait
	tick        FleetTick[T]
	fast        bool // the present tick follows the one before without a pause

	// Fleet.mu guards these.
	hosts      []*fleetHost[T]
	number     uint64          // of the tick, from 1
	began      time.Time       // when the tick began
	collecting bool            // whether the tick waits for replies
	queue      []*fleetHost[T] // that fetch in this tick
	queued     int             // how many hosts of queue have begun to fetch
	requests   int             // that count against MaxRequests
	waiting    [3]int          // for how many hosts the tick waits, by patience
}

// A patience is how long a tick waits for a host.
type patience uint8

const (
	noWait    patience = iota
	shortWait          // for a host that was late
	fullWait
)

// shortPart divides Fleet.Wait for hosts that were late. If other requests must wait, a request
// counts against MaxRequests only for the same time.
const shortPart = 10

// begin begins a loop.
func (f *Fleet[T]) begin(ctx context.Context, interval time.Duration) *fleetLoop[T] {
	if f.Items == nil {
		panic("pmapi: the Fleet has no Items")
	}
	l := &fleetLoop[T]{f: f, interval: interval, wait: f.wait(interval), wake: make(chan struct{}, 1),
		connections: make(chan struct{}, cmp.Or(f.MaxConnecting, defaultFleetConnecting))}
	l.ctx, l.cancel = context.WithCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loops == nil {
		f.loops = map[*fleetLoop[T]]bool{}
	}
	f.loops[l] = true
	for _, m := range f.hosts {
		l.add(m)
	}
	return l
}

// end closes all connections and waits for all goroutines.
func (l *fleetLoop[T]) end() {
	l.f.mu.Lock()
	delete(l.f.loops, l) // no goroutine is started any longer
	l.f.mu.Unlock()
	l.cancel()
	l.wg.Wait()
}

// add starts the goroutine of a host. The caller has the lock.
func (l *fleetLoop[T]) add(m fleetMember) {
	h := &fleetHost[T]{fleetMember: m, l: l, start: make(chan struct{}, 1), first: true}
	h.ctx, h.cancel = context.WithCancel(l.ctx)
	h.status.Since = time.Now()
	l.hosts = append(l.hosts, h)
	l.wg.Go(h.run)
}

// remove ends the goroutine of a host. The caller has the lock.
func (l *fleetLoop[T]) remove(name string) {
	for i, h := range l.hosts {
		if h.name == name {
			h.cancel()
			h.removed = true
			l.settle(h)
			l.hosts = slices.Delete(l.hosts, i, i+1)
			return
		}
	}
}

// collect makes a tick. It reports false if the loop has ended.
func (l *fleetLoop[T]) collect(at time.Time) bool {
	l.beginTick()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l.f.mu.Lock()
		pause, done := l.left(time.Since(l.began))
		l.f.mu.Unlock()
		if done {
			break
		}
		timer.Reset(pause)
		select {
		case <-l.ctx.Done():
			return false
		case <-l.wake:
		case <-timer.C:
		}
	}
	return l.endTick(at) && l.ctx.Err() == nil
}

// beginTick starts the fetches of all connected hosts, first of those that were in time before.
func (l *fleetLoop[T]) beginTick() {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	l.number++
	l.began, l.collecting = time.Now(), true
	clear(l.queue)
	l.queue, l.queued, l.requests = l.queue[:0], 0, 0
	l.waiting = [3]int{}
	select {
	case <-l.wake:
	default:
	}
	for _, inTime := range []bool{true, false} {
		for _, h := range l.hosts {
			if h.inTime != inTime {
				continue
			}
			h.counted, h.waits = false, noWait
			switch {
			case h.phase == hostReady && inTime:
				l.enqueue(h, fullWait)
			case h.phase == hostReady:
				l.enqueue(h, shortWait)
			case h.phase == hostConnects && l.number == 1:
				l.setWaits(h, fullWait)
			}
		}
	}
	l.startQueued()
}

func (l *fleetLoop[T]) setWaits(h *fleetHost[T], p patience) {
	h.waits = p
	l.waiting[p]++
}

func (l *fleetLoop[T]) enqueue(h *fleetHost[T], p patience) {
	l.setWaits(h, p)
	l.queue = append(l.queue, h)
}

// startQueued makes as many hosts fetch as MaxRequests allows. The caller has the lock.
func (l *fleetLoop[T]) startQueued() {
	now := time.Now()
	for most := cmp.Or(l.f.MaxRequests, defaultFleetRequests); l.queued < len(l.queue) && l.requests < most; l.queued++ {
		h := l.queue[l.queued]
		if h.removed || h.phase != hostReady {
			continue
		}
		h.phase, h.fetched, h.began, h.counted = hostFetches, l.number, now, true
		l.requests++
		h.start <- struct{}{}
	}
}

// left returns how long to wait before it must be called again, or that the tick is complete. The
// caller has the lock.
func (l *fleetLoop[T]) left(passed time.Duration) (pause time.Duration, done bool) {
	short := l.wait / shortPart
	if (l.interval <= 0 || l.fast) && len(l.queue) == 0 && l.connecting() { // otherwise ticks without values would follow each other at once
		return max(short-passed, 0), passed >= short
	}
	if passed >= l.wait || l.waiting[fullWait] == 0 && (l.waiting[shortWait] == 0 || passed >= short) {
		return 0, true
	}
	pause = l.wait - passed
	if l.waiting[fullWait] == 0 {
		pause = short - passed
	}
	if l.queued < len(l.queue) {
		pause = min(pause, l.letGo(short))
	}
	return max(pause, time.Millisecond), false
}

// connecting reports whether some host may have values later. The caller has the lock.
func (l *fleetLoop[T]) connecting() bool {
	return slices.ContainsFunc(l.hosts, func(h *fleetHost[T]) bool { return h.phase == hostConnects })
}

// onlyArchives reports whether there are archives with further rows, and no other hosts.
func (l *fleetLoop[T]) onlyArchives() bool {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	some := false
	for _, h := range l.hosts {
		switch {
		case h.phase == hostHasEnded, h.phase == hostConnects && isPath(h.name):
		case h.phase == hostConnects, !h.isArchive:
			return false
		default:
			some = true
		}
	}
	return some
}

// letGo stops counting requests that have been in progress for longer than after, and starts others
// in their place. It returns how long to wait before the next call.
func (l *fleetLoop[T]) letGo(after time.Duration) (pause time.Duration) {
	pause = after
	for _, h := range l.queue[:l.queued] {
		if !h.counted {
			continue
		}
		if rest := after - time.Since(h.began); rest > 0 {
			pause = min(pause, rest)
			continue
		}
		h.counted = false
		l.requests--
	}
	l.startQueued()
	return pause
}

// settle ends the wait of the tick for a host. The caller has the lock.
func (l *fleetLoop[T]) settle(h *fleetHost[T]) {
	if h.counted {
		h.counted = false
		l.requests--
	}
	if h.waits != noWait {
		l.waiting[h.waits]--
		h.waits = noWait
	}
	if !l.collecting {
		return
	}
	l.startQueued()
	if l.waiting[fullWait] == 0 {
		l.wakeUp()
	}
}

// wakeUp has the loop look at the tick again.
func (l *fleetLoop[T]) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// endTick makes the rows. It reports false if all hosts have ended and the rows of earlier ticks
// have shown their errors.
func (l *fleetLoop[T]) endTick(at time.Time) bool {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	l.collecting = false
	t := &l.tick
	t.Time = at
	was := t.Rows
	t.Rows = t.Rows[:0]
	ended := 0
	for _, h := range l.hosts {
		t.Rows = append(t.Rows, h.row())
		if h.status.State == HostEnded {
			if h.status.Err == nil || h.shown {
				ended++
			}
			h.shown = true
		}
	}
	if len(t.Rows) < len(was) {
		clear(was[len(t.Rows):])
	}
	return ended == 0 || ended < len(l.hosts)
}
