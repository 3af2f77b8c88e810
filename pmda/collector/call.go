package collector

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/turns"
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A call is one call of an agent's method, for a request. An inline call runs on the goroutine that
// serves the client, because a switch to another goroutine costs more than most calls. If the agent
// is slow, a side call runs on a separate goroutine. A call has these states:
//
//	queued ────> running ────> done
//	   │            │
//	   └────────────┴────────> abandoned
//
//	queued     The call waits for one of the agent's slots.
//	running    The agent's method runs. The call and what it was given belong to the
//	           goroutine that makes the call.
//	done       The method has returned, or could not be called. The call belongs
//	           to the request again, which may read err and what was written.
//	abandoned  The deadline has passed. The call belongs to its goroutine until
//	           that ends, and its result is pdu.ErrTimeout.
//
// Each transition is one compare-and-swap of state, so that only one of two concurrent transitions
// succeeds. The goroutine that makes the call makes all transitions except those to abandoned. Its
// waiter makes these:
//
//   - request.await abandons a side call on the client's goroutine, which continues with the
//     request.
//   - An inline call keeps the client's goroutine in the agent. The watchdog abandons it. A new
//     goroutine then owns the request and the client: it completes the request and serves the
//     client (request.resume). When the agent returns, the old goroutine owns only the call, and
//     ends in callInline (runtime.Goexit). So code after an inline call always runs on the owner of
//     the client. For that reason, the only deferred function between the start of a client's
//     goroutine and callInline is the one that notes the end of the goroutine.
//
// Calls of agents in other processes are not abandoned, because remote.Agent returns at the
// deadline.
type call struct {
	state   atomic.Int64 // callQueued, callDone, callAbandoned, or the start if it is running
	request *request     // of an inline call; for the watchdog
	agent   *agent
	method  interface{ invoke() error } // the typedCall or fetchCall that embeds this call
	name    string                      // of the method, for the log
	metrics []pdu.PMID                  // its metrics, for the log; a fetchCall has ids instead
	indom   pdu.InDom                   // its instance domain, for the log; 0 for none
	store   bool                        // a store, which a fence does not block
	writer  *pdu.ResultWriter           // of a fetch, which may report changes; or nil

	// The agent's method and its arguments, for invoke.
	handler      pmda.Handler
	ctx          *callContext
	agentRequest pmda.Request

	client   *client      // is charged for the memory of the reply
	reserved atomic.Int64 // bytes charged
	refused  error        // why memory was refused; valid when the call is done

	turn *turns.Turn // the agent's slot that the call holds, or nil

	err  error         // why it failed; valid when it is done
	done chan struct{} // closed when the goroutine of a side call returns; nil for an inline call
}

// The states that are not "running".
const (
	callQueued    int64 = 0
	callDone      int64 = -1
	callAbandoned int64 = -2
)

// runningAside is the state of a running call that the watchdog must not abandon.
const runningAside int64 = math.MaxInt64

// slowCall is the duration of an agent's latest call above which the agent counts as slow.
const slowCall = time.Millisecond

// panicPause is how long an agent that has panicked is fenced, so that an agent that always panics
// cannot fill the log.
const panicPause = time.Second

// lateCall is the age of a request above which an inline call wakes the watchdog. Otherwise the
// watchdog could be late by that age.
const lateCall = 10 * time.Millisecond

// agentCalls holds the state of the calls of an agent in this process.
type agentCalls struct {
	slots        *turns.Queue // limits the calls in progress
	abandoned    atomic.Int32 // calls in progress that were abandoned
	lastDuration atomic.Int64 // nanoseconds of the latest call
	pausedUntil  atomic.Int64 // end of the pause after a panic, on Server.clock
}

// acquireSlot waits for a slot of the agent until the deadline. If abandoned calls hold all
// slots, the agent is fenced until one of them returns. waited reports whether the call had to
// wait, so that the caller must read the clock again.
func (k *call) acquireSlot(s *Server) (waited bool, err error) {
	calls := &k.agent.calls
	if t := calls.pausedUntil.Load(); t != 0 && s.clock() < t {
		return false, pdu.ErrPMDAFenced
	}
	client := k.agentRequest.Client.Seq
	if k.turn = calls.slots.Try(client); k.turn != nil {
		return false, k.checkNotRemoved()
	}
	if int(calls.abandoned.Load()) >= calls.slots.Cap() {
		return false, pdu.ErrPMDAFenced
	}
	var expired <-chan time.Time
	deadline := k.agentRequest.Deadline
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		expired = t.C
	}
	turn := calls.slots.Wait(client)
	select {
	case <-turn.Ready():
		k.turn = turn
		if expired != nil && !time.Now().Before(deadline) {
			k.releaseSlot(0) // without time left, the agent must not be called
			return true, pdu.ErrTimeout
		}
		return true, k.checkNotRemoved()
	case <-expired:
		err = pdu.ErrTimeout
	case <-k.ctx.Done():
		err = context.Cause(k.ctx)
	}
	calls.slots.End(turn, 0)
	return true, err
}

// releaseSlot releases the agent's slot after the call has used it for some time.
func (k *call) releaseSlot(used time.Duration) {
	turn := k.turn
	k.turn = nil
	k.agent.calls.slots.End(turn, used)
}

// checkNotRemoved releases the slot and fails if the agent was removed before the call got it.
func (k *call) checkNotRemoved() error {
	if !k.agent.removed.Load() {
		return nil
	}
	k.releaseSlot(0)
	return pdu.ErrNoAgent
}

// giveWay lets other clients use the agent in the middle of a long call: it releases the slot and
// waits for another one. began is when the finished part of the call began. Without an error the
// call has a slot again.
func (k *call) giveWay(began time.Time) error {
	k.releaseSlot(time.Since(began))
	runtime.Gosched()
	if _, err := k.acquireSlot(k.client.s); err != nil {
		return err
	}
	if k.state.Load() == callAbandoned {
		return pdu.ErrTimeout
	}
	return nil
}

// run makes the call on this goroutine. running is the state during the call, and start is the
// current time. run returns when the call ended, and whether it is done or was abandoned.
func (k *call) run(s *Server, running int64, start time.Time) (end time.Time, done bool) {
	k.handler, k.err = k.agent.handlerFor(k.store)
	local := k.agent.local != nil
	if k.err == nil && local {
		var waited bool
		if waited, k.err = k.acquireSlot(s); waited {
			start = time.Now()
		}
	}
	if k.err != nil {
		return start, k.state.CompareAndSwap(callQueued, callDone)
	}
	if !k.state.CompareAndSwap(callQueued, running) {
		if local {
			k.releaseSlot(0)
		}
		return start, false
	}
	if running != runningAside && s.sinceStart(start)-running > int64(lateCall) {
		s.wakeWatchdog()
	}
	k.err = k.invoke(s)
	end = time.Now()
	k.agent.latencies.Add(end.Sub(start))
	if w := k.writer; w != nil {
		// This applies even to an abandoned call, because the agent reports a change only once.
		s.noteAgentChanges(w.Changed)
		w.Changed = 0
	}
	if local {
		k.agent.calls.lastDuration.Store(int64(end.Sub(start)))
	}
	done = k.state.CompareAndSwap(running, callDone)
	if !done {
		k.releaseMemory() // the reply will not be read
		k.agent.calls.abandoned.Add(-1)
		s.log.Info("agent returned from an overdue request",
			k.agent.attrs(append(s.subject(k), slog.Duration("after", end.Sub(start)))...)...)
	}
	if k.turn != nil {
		k.releaseSlot(end.Sub(start))
	}
	return end, done
}

// Reserve charges the client for memory of the reply. It makes the call a pdu.Memory.
func (k *call) Reserve(n int) error {
	if err := k.client.reserve("an agent's reply", n); err != nil {
		k.refused = err
		return err
	}
	k.reserved.Add(int64(n))
	return nil
}

// releaseMemory releases the memory that Reserve has charged.
func (k *call) releaseMemory() {
	if n := k.reserved.Swap(0); n > 0 {
		k.client.release(int(n))
	}
}

// invoke calls the method, and turns a panic into an error.
func (k *call) invoke(s *Server) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(k.agent, k.handler, k.name, p)
			err = pdu.ErrGeneric
		}
	}()
	return k.method.invoke()
}

// callInline makes a call on the client's goroutine. It only returns on the goroutine that owns
// the request.
func (r *request) callInline(k *call) {
	r.prepareCall(k)
	running := r.since
	if k.agent.local == nil {
		running = runningAside // the watchdog must not abandon it
	} else {
		k.request = r
		r.client.inline.Store(k)
	}
	end, done := k.run(r.client.s, running, r.now)
	if !done {
		runtime.Goexit()
	}
	r.now = end
}

// callAside makes a call on a separate goroutine.
func (r *request) callAside(k *call) {
	r.prepareCall(k)
	k.done = make(chan struct{})
	s := r.client.s
	s.wg.Go(func() {
		defer close(k.done)
		k.run(s, runningAside, time.Now())
	})
}

// await waits for a side call until the deadline, and abandons it then.
func (r *request) await(k *call) {
	if k.agent.local == nil || r.deadline.IsZero() {
		<-k.done
		return
	}
	t := time.NewTimer(time.Until(r.deadline))
	defer t.Stop()
	select {
	case <-k.done:
		return
	case <-t.C:
	}
	switch {
	case k.state.CompareAndSwap(callQueued, callAbandoned):
		r.abandoned = true
	case k.state.CompareAndSwap(runningAside, callAbandoned):
		r.abandoned = true
		r.client.s.logAbandoned(r.client, k)
	default:
		<-k.done // its goroutine is about to return
	}
}

// outcome returns the error of a finished call, and whether the call is done. The results of an
// abandoned call must not be read.
func (k *call) outcome() (err error, done bool) {
	if k.state.Load() != callDone {
		return pdu.ErrTimeout, false
	}
	return k.err, true
}

// protect calls a function of an agent outside of a request, and logs a panic. A panic also
// fences the agent, unless a is nil.
func (s *Server) protect(a *agent, h pmda.Handler, method string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(a, h, method, p)
		}
	}()
	f()
}

// logPanic logs a panic of an agent, and fences the agent for a while. If a is nil, it only logs.
func (s *Server) logPanic(a *agent, h pmda.Handler, method string, p any) {
	if a != nil {
		now := s.clock()
		if now < a.calls.pausedUntil.Load() {
			return // a fenced agent is still called for its names, at each of which it may panic
		}
		a.calls.pausedUntil.Store(now + int64(panicPause))
	}
	i := h.Info()
	s.log.Error("agent panicked", slog.String("agent", i.Name), slog.Int("domain", int(i.Domain)),
		slog.String("request", method), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}

// logAbandoned counts and logs an abandoned call.
func (s *Server) logAbandoned(c *client, k *call) {
	a := k.agent
	attrs := append(a.attrs(slog.Uint64("client", c.info.Load().Seq)), s.subject(k)...)
	if n := a.calls.abandoned.Add(1); int(n) == a.calls.slots.Cap() {
		s.log.Error("agent timed out; it is fenced until a call returns", append(attrs, slog.Int("calls", int(n)))...)
	} else {
		s.log.Warn("agent timed out", attrs...)
	}
}

// subject returns the attributes of a call for the log. The call may be abandoned, because its
// arguments no longer change.
func (s *Server) subject(k *call) []any {
	attrs := []any{slog.String("request", k.name)}
	metrics := k.metrics
	if f, ok := k.method.(*fetchCall); ok {
		metrics = f.ids
	}
	if len(metrics) > 0 {
		attrs = append(attrs, slog.String("metrics", wording.List(len(metrics), func(i int) string { return s.nameOf(metrics[i]) })))
	}
	if k.indom != 0 {
		attrs = append(attrs, slog.String("indom", k.indom.String()))
	}
	return attrs
}

// nameOf returns a name of a metric for the log, or its PMID if no name is known.
func (s *Server) nameOf(id pdu.PMID) string {
	if n := s.names.Load(); n != nil { // the merged names: no agent is called
		if names := n.tree.Names(id); len(names) > 0 {
			return names[0]
		}
	}
	return id.String()
}

// A callContext is the context of the calls for a client. Its deadline is that of the current
// request. It ends when a call is abandoned or the client disconnects. The client's next request
// reuses it, so that a call allocates no memory. Only an abandoned call keeps its context, and
// the client gets a new one.
type callContext struct {
	context.Context
	deadline atomic.Int64 // when the request expires, on Server.clock; 0 for never
	started  time.Time    // Server.started
}

// Deadline returns the deadline of the current request.
func (c *callContext) Deadline() (time.Time, bool) {
	d := c.deadline.Load()
	if d == 0 {
		return time.Time{}, false
	}
	return c.started.Add(time.Duration(d)), true
}

// setDeadline sets the deadline for a request. The zero time means no deadline.
func (c *callContext) setDeadline(t time.Time) {
	if t.IsZero() {
		c.deadline.Store(0)
	} else {
		c.deadline.Store(int64(t.Sub(c.started)))
	}
}
