package collector

import (
	"errors"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// A request is one PDU of a client, from its arrival to the reply. It has three steps:
//
//   - plan decodes the PDU and plans the calls of agents. There is at most one call of each
//     agent, so all of them share one deadline.
//   - callAgents makes the calls.
//   - finish, which plan has chosen, makes the reply from the results of the calls, and sends it.
//
// One goroutine at a time owns a request. Its fields hold all of its state, so that another
// goroutine can continue it (see call).
type request struct {
	client   *client
	kind     pdu.Kind
	arrived  time.Time
	now      time.Time // when the clock was read last
	since    int64     // arrived on Server.clock
	deadline time.Time // of its calls; zero for none

	ctx          *callContext // of the calls
	agentRequest pmda.Request // what agents get; prepareCall adds the deadline
	calls        []*call
	next         int                    // index of the next call to make
	abandoned    bool                   // a call was abandoned
	reserved     int                    // bytes charged to the client, without those of calls
	finish       func(r *request) error // sends the reply; nil if there is none

	fetch fetch // of FETCH and HIGHRES_FETCH
}

// extraTime is the time for agents that were not called before the deadline, because other calls
// had used it up.
const extraTime = 50 * time.Millisecond

// newRequest returns a request that arrives now.
func (c *client) newRequest(k pdu.Kind) *request {
	r := c.s.usedRequest(c.wide)
	now := time.Now()
	r.client, r.kind, r.ctx = c, k, c.ctx
	r.arrived, r.now, r.since, r.deadline = now, now, c.s.sinceStart(now), c.s.deadline(now)
	r.agentRequest = pmda.Request{Client: c.info.Load()}
	return r
}

// usedRequest returns a request whose memory can be reused. For a client whose last result was
// long, it prefers one with much memory.
func (s *Server) usedRequest(wide bool) *request {
	if wide {
		select {
		case r := <-s.wideRequests:
			return r
		default:
		}
	}
	return s.requests.Get().(*request)
}

// wideRequests is how many requests with more than keepBytes of memory are kept.
const wideRequests = 8

// release keeps the memory of a request for the next request of any client, unless it is large.
// The memory of abandoned calls is no longer part of it.
func (r *request) release() {
	r.client.inline.Store(nil)
	r.releaseMemory()
	s := r.client.s
	clear(r.calls)
	r.calls, r.next, r.abandoned, r.finish = r.calls[:0], 0, false, nil
	r.client, r.ctx, r.agentRequest = nil, nil, pmda.Request{}
	switch size := r.fetch.reset(); {
	case size <= keepBytes:
		s.requests.Put(r)
	case size <= keepWide:
		select {
		case s.wideRequests <- r:
		default:
		}
	}
}

// reserve charges the client for n bytes until the request ends.
func (r *request) reserve(what string, n int) error {
	if n <= freeReserve {
		return nil
	}
	if err := r.client.reserve(what, n); err != nil {
		return err
	}
	r.reserved += n
	return nil
}

// releaseMemory releases the memory that the client was charged for, except for that of abandoned
// calls.
func (r *request) releaseMemory() {
	for _, k := range r.calls {
		if k.reserved.Load() != 0 && k.state.Load() != callAbandoned {
			k.releaseMemory()
		}
	}
	if r.reserved > 0 {
		r.client.release(r.reserved)
		r.reserved = 0
	}
	r.client.releaseRequest()
}

// run executes a request that has arrived, and ends it. An error ends the connection.
func (r *request) run(body []byte) error {
	err := r.plan(body)
	if err == nil {
		err = r.complete()
	}
	return r.end(err)
}

// fail ends a request that was refused before all of it had arrived.
func (r *request) fail(err error) error {
	if !r.client.hasCreds.Load() {
		err = errNoCreds
	}
	return r.end(err)
}

// resume continues a request after an inline call was abandoned. It runs on a new goroutine,
// which owns the client from then on.
func (r *request) resume() {
	c := r.client
	r.now = time.Now()
	err := r.end(r.complete())
	if err == nil {
		err = c.serveRequests()
	}
	c.closeConn(err)
}

// An operation defines how a kind of PDU is handled, and which permissions it requires.
type operation struct {
	needs   access.Ops
	prepare func(r *request, body []byte) error // plans the calls
}

var operations = map[pdu.Kind]operation{
	pdu.KindCreds:        {0, (*request).setCreds},
	pdu.KindProfile:      {access.OpFetch, (*request).setProfile},
	pdu.KindFetch:        {access.OpFetch, (*request).planFetch},
	pdu.KindHighResFetch: {access.OpFetch, (*request).planFetch},
	pdu.KindResult:       {access.OpStore, (*request).planStore}, // a store
	pdu.KindDescReq:      {access.OpFetch, (*request).planDesc},
	pdu.KindDescIDs:      {access.OpFetch, (*request).planDescs},
	pdu.KindInstanceReq:  {access.OpFetch, (*request).planInstances},
	pdu.KindTextReq:      {access.OpFetch, (*request).planText},
	pdu.KindLabelReq:     {access.OpFetch, (*request).planLabels},
	pdu.KindPMNSNames:    {access.OpFetch, (*request).planLookup},
	pdu.KindPMNSIDs:      {access.OpFetch, (*request).planNames},
	pdu.KindPMNSChild:    {access.OpFetch, (*request).planChildren},
	pdu.KindPMNSTraverse: {access.OpFetch, (*request).planTraverse},
}

// errNoCreds ends a connection whose client has sent a request before its CREDS.
var errNoCreds = errors.New("request before credentials")

// plan decodes a PDU and plans its calls, or returns why it cannot.
func (r *request) plan(body []byte) error {
	if !r.client.hasCreds.Load() && r.kind != pdu.KindCreds {
		return errNoCreds
	}
	op, ok := operations[r.kind]
	switch {
	case !ok:
		return pdu.ErrIPC
	case op.needs&access.Ops(r.client.denied.Load()) != 0:
		return pdu.ErrPermission
	}
	return op.prepare(r, body)
}

// complete makes the remaining calls, and the reply.
func (r *request) complete() error {
	r.callAgents()
	if r.finish == nil {
		return nil
	}
	return r.finish(r)
}

// end ends a request. The reply to a failed request is the error's code. The error that end
// returns ends the connection.
func (r *request) end(err error) error {
	_, broken := errors.AsType[*handshakeError](err)
	if err != nil && err != errNoCreds && !broken {
		// Unsent parts of the result release their memory before the client gets the error.
		r.releaseMemory()
		r.fetch.drop()
		if w, ok := errors.AsType[*pdu.OpError](err); !ok || w.Op != "write" {
			err = r.reply(pdu.Status{Code: failure(err)})
		}
	}
	c := r.client
	r.release()
	c.requestEnded()
	return err
}

// reply sends a PDU to the client, and charges the client for it until it has read it.
func (r *request) reply(p pdu.PDU) error {
	n := replySize(p)
	if err := r.reserve("reply", n); err != nil {
		return err
	}
	return r.write(p, n)
}

// write sends a PDU of about n bytes. n may be 0 for a short PDU.
func (r *request) write(p pdu.PDU, n int) error {
	c := r.client
	c.limitWrite(r.now)
	if n > unreadLen {
		c.unread.Store(c.s.sinceStart(r.now))
		defer c.unread.Store(0)
	}
	return c.pdus.Write(0, p)
}

// unreadLen is the minimum length of an unread reply that makes it worthwhile to drop the client.
const unreadLen = 32 << 10

// replySize returns about how many bytes a long reply takes, including the data that it is
// encoded from.
func replySize(p pdu.PDU) int {
	const each = 24 // with the header of a string
	n := 0
	switch p := p.(type) {
	case pdu.NameList:
		for _, name := range p.Names {
			n += each + len(name)
		}
	case pdu.InstanceReply:
		for _, i := range p.Instances {
			n += each + len(i.Name)
		}
	case pdu.LabelReply:
		for _, set := range p.Sets {
			n += 4*each + 2*len(set.JSON) + len(set.Labels)*each
		}
	case pdu.TextReply:
		n = len(p.Text)
	case pdu.PMIDList:
		n = 8 * len(p.PMIDs)
	case pdu.DescsReply:
		n = 2 * each * len(p.Descs)
	}
	return n
}

// add plans a call, whose agent and method must be set.
func (r *request) add(k *call) { r.calls = append(r.calls, k) }

// expired reports whether the deadline has passed.
func (r *request) expired() bool { return !r.deadline.IsZero() && !r.now.Before(r.deadline) }

// callAgents makes the calls that were not made before, and waits for all of them. Calls of slow
// agents are side calls, so that they overlap. If an inline call uses up the time, the remaining
// calls become side calls, with some extra time.
func (r *request) callAgents() {
	if r.next == 0 {
		r.startSideCalls()
	}
	for r.next < len(r.calls) && !r.abandoned && !r.expired() {
		k := r.calls[r.next]
		r.next++ // first, because resume continues here if the call is abandoned
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

// startSideCalls starts side calls of slow agents and of agents in other processes. If these are
// all of the agents, the last one is called inline, because the client's goroutine would only wait
// for it. Otherwise a fast agent that does not return would leave that agent only the extra time.
// An agent in another process could time out in that time and block other clients.
func (r *request) startSideCalls() {
	var last *call
	others := false
	for _, k := range r.calls {
		if k.agent.local != nil && k.agent.calls.lastDuration.Load() <= int64(slowCall) {
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

// extend gives the agents that have not been called yet some extra time. Earlier calls keep their
// deadline.
func (r *request) extend() {
	r.deadline = r.now.Add(extraTime)
	r.ctx = &callContext{Context: r.ctx.Context, started: r.ctx.started}
}

// prepareCall sets what a call passes to the agent.
func (r *request) prepareCall(k *call) {
	r.ctx.setDeadline(r.deadline)
	k.ctx = r.ctx
	k.agentRequest = r.agentRequest
	k.agentRequest.Deadline = r.deadline
	k.client, k.agentRequest.Memory = r.client, k
}

// requestable has all features that a client may request in its CREDS.
const requestable = pdu.FeatureSecure | pdu.FeatureCompress | pdu.FeatureAuth | pdu.FeatureCredsRequired |
	pdu.FeatureSecureAck | pdu.FeatureContainer | pdu.FeatureCertRequired

// errTryAgain is Linux's EAGAIN.
const errTryAgain pdu.Error = -11

// setCreds handles the client's reply to the challenge, or a later change of it.
func (r *request) setCreds(body []byte) error {
	var p pdu.Creds
	err := p.Decode(body)
	if err == nil && p.Version == 0 {
		return nil // no request: the client still has to send its first CREDS, and a failure stays
	}
	if err == nil {
		err = r.takeCreds(&p)
	}
	r.client.noteCreds(err != nil)
	return err
}

func (r *request) takeCreds(p *pdu.Creds) error {
	c := r.client
	if !c.hasCreds.Load() {
		c.hasCreds.Store(true)
		c.readBy(time.Time{})
	}
	// This comes first, so that a client with wrong features does not evade the rules.
	err := c.checkAccount()
	if p.Features&^requestable != 0 {
		return pdu.ErrIPC
	}
	if err := r.secure(p.Features); err != nil {
		return err
	}
	if p.Features&pdu.FeatureCompress != 0 {
		return pdu.ErrUnsupported
	}
	return r.identify(p.Features, err)
}

// setProfile replaces the profile of a context.
func (r *request) setProfile(body []byte) error {
	c := r.client
	var p pdu.SetProfile
	if err := p.Decode(body); err != nil {
		return err
	}
	if _, known := c.profiles[p.Context]; !known && c.tooManyContexts() {
		return errTryAgain
	}
	if c.profiles == nil {
		c.profiles = make(map[int32]profile, 1)
	}
	c.keepProfile(p.Context, &p.Profile)
	return nil
}
