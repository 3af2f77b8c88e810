package collector

import (
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// A fetch is what a request for values has beside the others.
type fetch struct {
	req    pdu.Fetch
	calls  []*fetchCall // one for each domain
	spare  []*fetchCall // of earlier requests
	order  []int        // which call gets it, for each of the client's PMIDs
	merged pdu.ResultWriter
}

// A fetchCall gets the values of one domain.
type fetchCall struct {
	call
	domain pdu.Domain
	ids    []pdu.PMID
	w      pdu.ResultWriter
	copied int // sets that are in the merged result already
}

// A request whose memory is kept for the next one holds at most keepMetrics PMIDs
// and keepBytes bytes of a result.
const (
	keepMetrics = 1 << 12
	keepBytes   = 1 << 20
)

// reset empties f for another request, and reports whether its memory is to be
// kept.
func (f *fetch) reset() (keep bool) {
	size := f.merged.Size()
	for _, k := range f.calls {
		size += k.w.Size()
	}
	keep = size <= keepBytes && cap(f.req.PMIDs) <= keepMetrics
	for _, k := range f.calls {
		k.agent, k.handler, k.request, k.ctx, k.done = nil, nil, nil, nil, nil
		k.agentRequest.Client, k.agentRequest.Profile = nil, nil
	}
	f.spare = append(f.spare, f.calls...)
	clear(f.calls)
	f.calls = f.calls[:0]
	return keep
}

// planFetch is for FETCH and HIGHRES_FETCH.
func (r *request) planFetch(body []byte) error {
	f := &r.fetch
	f.req.HighRes = r.kind == pdu.KindHighResFetch
	if err := f.req.Decode(body); err != nil {
		return err
	}
	r.agentRequest.ContextID = f.req.Context
	r.agentRequest.Profile = r.client.profiles[f.req.Context]
	switch {
	case r.agentRequest.Profile == nil:
		return pdu.ErrNoProfile
	case len(f.req.PMIDs) > r.client.s.limits.metrics:
		return pdu.ErrTooBig
	}
	r.splitFetch()
	r.finish = (*request).finishFetch
	return nil
}

// splitFetch plans a call for each domain. One without an agent is done.
func (r *request) splitFetch() {
	f := &r.fetch
	s := r.client.s
	agents := s.agents.Load()
	f.order = f.order[:0]
	for _, id := range f.req.PMIDs {
		d := id.Domain()
		at := len(f.calls) - 1
		for at >= 0 && f.calls[at].domain != d {
			at--
		}
		if at < 0 {
			at = len(f.calls)
			k := f.newCall(d)
			k.w.Limit = s.limits.reply
			if k.agent = agents.get(d); k.agent != nil {
				r.add(&k.call)
			} else {
				k.err = pdu.ErrNoAgent
				k.state.Store(callDone)
			}
		}
		f.calls[at].ids = append(f.calls[at].ids, id)
		f.order = append(f.order, at)
	}
}

// newCall adds a call, of those of earlier requests if there are any.
func (f *fetch) newCall(d pdu.Domain) *fetchCall {
	var k *fetchCall
	if n := len(f.spare); n > 0 {
		k, f.spare = f.spare[n-1], f.spare[:n-1]
		k.ids, k.copied, k.err = k.ids[:0], 0, nil
		k.state.Store(callQueued)
		k.w.Reset()
	} else {
		k = newFetchCall()
	}
	k.domain = d
	f.calls = append(f.calls, k)
	return k
}

func newFetchCall() *fetchCall {
	k := new(fetchCall)
	k.method, k.name, k.writer = k, "fetch", &k.w
	return k
}

func (k *fetchCall) invoke() error { return k.handler.Fetch(k.ctx, &k.agentRequest, k.ids, &k.w) }

// finishFetch sends the result.
func (r *request) finishFetch() error {
	f := &r.fetch
	for i, k := range f.calls {
		err, done := k.outcome()
		if !done {
			// Its memory is the agent's, which reads the ids.
			theirs := k
			k = newFetchCall()
			k.domain, k.ids = theirs.domain, slices.Clone(theirs.ids)
			f.calls[i] = k
		}
		k.completeSets(err)
	}
	w := f.merge()
	w.Time = r.now
	return r.replyResult(w)
}

// completeSets makes sure that there is one set per PMID, whatever the agent has
// done.
func (k *fetchCall) completeSets(err error) {
	if err == nil && k.w.HasSets(k.ids) {
		return
	}
	code := pdu.ErrPMID // other sets than requested
	if err != nil {
		code = pdu.FromError(err)
	}
	k.w.Reset()
	for _, id := range k.ids {
		k.w.Begin(id)
		k.w.Fail(code)
	}
}

// merge puts the values of all agents in the client's order. Those of one agent
// alone are the result.
func (f *fetch) merge() *pdu.ResultWriter {
	if len(f.calls) == 1 {
		return &f.calls[0].w
	}
	f.merged.Reset()
	for i := 0; i < len(f.order); {
		at, n := f.order[i], 1
		for i+n < len(f.order) && f.order[i+n] == at {
			n++
		}
		k := f.calls[at]
		f.merged.CopySets(&k.w, k.copied, k.copied+n)
		k.copied += n
		i += n
	}
	return &f.merged
}

// replyResult sends what has changed, and the result. Large results in memory at
// one time are limited: the client of one too many has to send its request again.
func (r *request) replyResult(w *pdu.ResultWriter) error {
	c := r.client
	size := int64(w.Size())
	if size > int64(c.s.limits.reply) {
		return pdu.ErrTooBig
	}
	if size > keepBytes {
		defer c.s.largeReplies.Add(-size)
		if c.s.largeReplies.Add(size) > int64(c.s.limits.inFlight) {
			return pdu.ErrAgain
		}
	}
	if ch := c.s.changes.since(&c.seen); ch != 0 {
		if err := c.pdus.Queue(0, pdu.Status{Code: pdu.Error(ch)}); err != nil {
			return err
		}
	}
	f := pdu.FormatLowRes
	if r.fetch.req.HighRes {
		f = pdu.FormatHighRes
	}
	return r.reply(w.PDU(f))
}
