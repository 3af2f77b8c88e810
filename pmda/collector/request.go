package collector

import (
	"errors"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A request is one PDU of a client, from its arrival to the reply. It is carried
// out in three steps:
//
//   - plan decodes the PDU and says which calls of agents it takes: at most one of
//     each agent, so that all of them share one deadline.
//   - callAgents makes the calls.
//   - finish, which plan has chosen, makes the reply of what the calls have
//     brought, and sends it.
//
// A request is owned by one goroutine at a time. Nothing outside its fields says
// how far it has come, so that another goroutine can go on with it (see call).
type request struct {
	client   *client
	kind     pdu.Kind
	arrived  time.Time
	now      time.Time // when the clock was read last
	since    int64     // arrived on Server.clock
	deadline time.Time // of its calls; zero for none

	ctx       *callContext // of the calls
	about     pmda.Request // what agents are given, without the deadline
	calls     []*call
	next      int                    // index of the next call to make
	abandoned bool                   // a call was abandoned
	finish    func(r *request) error // sends the reply; nil if there is none

	fetch fetch // of FETCH and HIGHRES_FETCH
}

// extraTime is how long the agents may take that could not be called before the
// deadline, because others have taken all the time.
const extraTime = 50 * time.Millisecond

// newRequest is a request that arrives now.
func (c *client) newRequest(k pdu.Kind) *request {
	r := c.s.requests.Get().(*request)
	now := time.Now()
	r.client, r.kind, r.ctx = c, k, c.ctx
	r.arrived, r.now, r.since, r.deadline = now, now, c.s.sinceStart(now), c.s.deadline(now)
	r.about = pmda.Request{Client: c.info.Load()}
	return r
}

// release keeps the memory of a request for the next one of any client, unless it
// is large. What belongs to abandoned calls is not in it any more.
func (r *request) release() {
	r.client.inline.Store(nil)
	s := r.client.s
	clear(r.calls)
	r.calls, r.next, r.abandoned, r.finish = r.calls[:0], 0, false, nil
	r.client, r.ctx, r.about = nil, nil, pmda.Request{}
	if r.fetch.reset() {
		s.requests.Put(r)
	}
}

// run carries out a request that has arrived, and ends it. An error ends the
// connection.
func (r *request) run(body []byte) error {
	err := r.plan(body)
	if err == nil {
		err = r.complete()
	}
	return r.end(err)
}

// resume goes on with a request of which an inline call was abandoned, on a
// goroutine that owns the client from now on.
func (r *request) resume() {
	c := r.client
	r.now = time.Now()
	err := r.end(r.complete())
	if err == nil {
		err = c.serveRequests()
	}
	c.closeConn(err)
}

// complete makes the calls that are left, and the reply.
func (r *request) complete() error {
	r.callAgents()
	if r.finish == nil {
		return nil
	}
	return r.finish(r)
}

// end ends a request: one that failed is replied to with the error's code. The
// error that it returns ends the connection.
func (r *request) end(err error) error {
	if err != nil && err != errNoCreds {
		if w, ok := errors.AsType[*pdu.OpError](err); !ok || w.Op != "write" {
			err = r.reply(pdu.Status{Code: failure(err)})
		}
	}
	c := r.client
	r.release()
	c.requestEnded()
	return err
}

// reply sends a PDU to the client.
func (r *request) reply(p pdu.PDU) error {
	r.client.limitWrite(r.now)
	return r.client.pdus.Write(0, p)
}

// add plans a call, of which agent, method and invoke are given.
func (r *request) add(k *call) { r.calls = append(r.calls, k) }

// expired reports whether the deadline has passed.
func (r *request) expired() bool { return !r.deadline.IsZero() && !r.now.Before(r.deadline) }

// callAgents makes the calls that were not made before, and waits for all. Those
// of agents that take time are side calls, so that they overlap. When an inline
// call takes all the time, those that are left become side calls, with some extra
// time.
func (r *request) callAgents() {
	if r.next == 0 {
		r.startSideCalls()
	}
	for r.next < len(r.calls) && !r.abandoned && !r.expired() {
		k := r.calls[r.next]
		r.next++ // now, since the request goes on after a call that is abandoned
		if k.done == nil {
			r.callInline(k)
		}
	}
	if len(r.calls) == 0 {
		return
	}
	if r.abandoned || r.expired() {
		r.extend()
	}
	for ; r.next < len(r.calls); r.next++ {
		if k := r.calls[r.next]; k.done == nil {
			r.callAside(k)
		}
	}
	waited := false
	for _, k := range r.calls {
		if k.done != nil {
			r.await(k)
			waited = true
		}
	}
	if waited {
		r.now = time.Now()
	}
	if r.abandoned {
		r.client.renewContext()
	}
}

// startSideCalls makes side calls of agents that take time, in this process and in
// others. The last of them is inline, since the client's goroutine would only wait
// for it; but not if other agents are called inline too: the one that comes first
// would hold up the others and, if it does not return, take their time. So an agent
// in another process never has the extra time alone, in which it might get to owe a
// reply, to the harm of other clients.
func (r *request) startSideCalls() {
	var last *call
	others := false
	for _, k := range r.calls {
		if k.agent.handler != nil && k.agent.calls.lastDuration.Load() <= int64(slowCall) {
			others = true
			continue
		}
		if last != nil {
			r.callAside(last)
		}
		last = k
	}
	if last != nil && others {
		r.callAside(last)
	}
}

// extend gives the agents that have not been called yet some extra time. What was
// given to the others keeps the deadline that it has.
func (r *request) extend() {
	r.deadline = r.now.Add(extraTime)
	r.ctx = &callContext{Context: r.ctx.Context, started: r.ctx.started}
}

// prepareCall gives a call what the agent gets.
func (r *request) prepareCall(k *call) {
	r.ctx.setDeadline(r.deadline)
	k.ctx = r.ctx
	k.about = r.about
	k.about.Deadline = r.deadline
}
