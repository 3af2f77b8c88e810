package collector

import (
	"cmp"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A fetch holds the additional state of a request for values.
type fetch struct {
	req    pdu.Fetch
	calls  []*fetchCall // one for each domain
	spare  []*fetchCall // of earlier requests
	order  []uint16     // for each of the client's PMIDs, the index of its call
	merged pdu.ResultWriter
}

// A fetchCall gets the values of one domain.
type fetchCall struct {
	call
	domain pdu.Domain
	ids    []pdu.PMID
	w      pdu.ResultWriter
	sent   int // sets that the result has already
}

// Requests with up to keepBytes of memory are reused, and a few of those with up to keepWide.
const (
	keepBytes = 256 << 10
	keepWide  = 1 << 20
)

// reset empties f for another request, and returns how much memory it has.
func (f *fetch) reset() (size int) {
	for _, k := range f.calls {
		k.agent, k.handler, k.request, k.ctx, k.done = nil, nil, nil, nil, nil
		k.agentRequest, k.client, k.refused = pmda.Request{}, nil, nil
	}
	f.spare = append(f.spare, f.calls...)
	clear(f.calls)
	f.calls = f.calls[:0]
	size = f.merged.Cap() + 4*cap(f.req.PMIDs) + 2*cap(f.order)
	for _, k := range f.spare {
		size += k.w.Cap() + 4*cap(k.ids)
	}
	return size
}

// drop frees the memory of a long result that will not be sent.
func (f *fetch) drop() {
	for _, k := range f.calls {
		if k.w.Cap() > freeReserve {
			k.w = pdu.ResultWriter{}
		}
	}
}

// planFetch plans FETCH and HIGHRES_FETCH.
func (r *request) planFetch(body []byte) error {
	f := &r.fetch
	f.req.HighRes = r.kind == pdu.KindHighResFetch
	if err := f.req.Decode(body); err != nil {
		return err
	}
	r.agentRequest.ContextID = f.req.Context
	p := r.client.profiles[f.req.Context]
	r.agentRequest.Profile = p.Profile
	switch {
	case p.refused != nil:
		return p.refused
	case p.Profile == nil:
		return pdu.ErrNoProfile
	case len(f.req.PMIDs) > r.client.s.limits.metrics:
		return pdu.ErrTooBig
	}
	r.splitFetch()
	r.finish = (*request).finishFetch
	return nil
}

// splitFetch plans a call for each domain. The call of a domain without an agent is already done.
func (r *request) splitFetch() {
	f := &r.fetch
	s := r.client.s
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
			k.w.Limit, k.w.Memory = s.limits.reply, &k.call
			if k.agent = r.agentOf(d); k.agent != nil {
				r.add(&k.call)
			} else {
				k.err = pdu.ErrNoAgent
				k.state.Store(callDone)
			}
		}
		f.calls[at].ids = append(f.calls[at].ids, id)
		f.order = append(f.order, uint16(at))
	}
}

// newCall adds a call. It reuses one of an earlier request if possible.
func (f *fetch) newCall(d pdu.Domain) *fetchCall {
	var k *fetchCall
	if n := len(f.spare); n > 0 {
		k, f.spare = f.spare[n-1], f.spare[:n-1]
		k.ids, k.err = k.ids[:0], nil
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

// A fetch of more than wholeFetch metrics from an agent in this process is made in parts of
// partFetch metrics. Between the parts other clients may use the agent, which may hold locks
// while a part runs.
const (
	wholeFetch = 1024
	partFetch  = 256
)

func (k *fetchCall) invoke() error {
	if len(k.ids) <= wholeFetch || k.agent.local == nil {
		return k.handler.Fetch(k.ctx, &k.agentRequest, k.ids, &k.w)
	}
	for from := 0; from < len(k.ids); from += partFetch {
		began := time.Now()
		part := k.ids[from:min(from+partFetch, len(k.ids))]
		if err := k.handler.Fetch(k.ctx, &k.agentRequest, part, &k.w); err != nil {
			return err
		}
		if from+partFetch < len(k.ids) {
			if err := k.giveWay(began); err != nil {
				return err
			}
		}
	}
	return nil
}

// finishFetch sends the result.
func (r *request) finishFetch() error {
	f := &r.fetch
	var refused error
	for i, k := range f.calls {
		err, done := k.outcome()
		if done {
			refused = cmp.Or(refused, k.refused, k.w.Err())
		} else {
			// The agent still uses the call and its ids.
			theirs := k
			k = newFetchCall()
			k.domain, k.ids = theirs.domain, slices.Clone(theirs.ids)
			f.calls[i] = k
		}
		k.completeSets(err)
	}
	if refused != nil {
		return refused
	}
	return r.replyResult()
}

// completeSets ensures that the result has one set per PMID, even if the agent failed or returned
// other sets.
func (k *fetchCall) completeSets(err error) {
	if err == nil && k.w.HasSets(k.ids) {
		return
	}
	code := pdu.ErrPMID // the sets are not those requested
	if err != nil {
		code = failure(err)
	}
	k.w.Reset()
	for _, id := range k.ids {
		k.w.Begin(id)
		k.w.Fail(code)
	}
}

// merge puts the values of all agents in the client's order. If there is only one call, its
// values are the result.
func (f *fetch) merge() *pdu.ResultWriter {
	if len(f.calls) == 1 {
		return &f.calls[0].w
	}
	f.merged.Reset()
	for p := range f.parts {
		f.merged.CopySets(p.Writer, p.From, p.To)
	}
	return &f.merged
}

// parts yields the values of all agents in the client's order.
func (f *fetch) parts(yield func(pdu.ResultPart) bool) {
	for _, k := range f.calls {
		k.sent = 0
	}
	for i := 0; i < len(f.order); {
		at, n := f.order[i], 1
		for i+n < len(f.order) && f.order[i+n] == at {
			n++
		}
		k := f.calls[at]
		if !yield(pdu.ResultPart{Writer: &k.w, From: k.sent, To: k.sent + n}) {
			return
		}
		k.sent += n
		i += n
	}
}

// resultHeadLen is the maximum length of a result PDU before its sets.
const resultHeadLen = 32

// replyResult sends the state changes and the result. It sends a long result in parts, which
// takes no additional memory.
func (r *request) replyResult() error {
	c, f := r.client, &r.fetch
	size := 0
	for _, k := range f.calls {
		size += k.w.Size()
	}
	long := size > keepBytes
	c.wide = long
	switch {
	case size+resultHeadLen > c.s.limits.reply:
		return pdu.ErrTooBig
	case !long:
		if err := r.reserve("result", 2*size); err != nil { // merged and encoded
			return err
		}
	}
	if ch := c.s.changes.since(&c.seen); ch != 0 {
		if err := c.pdus.Queue(0, pdu.Status{Code: pdu.Error(ch)}); err != nil {
			return err
		}
	}
	format := pdu.FormatLowRes
	if f.req.HighRes {
		format = pdu.FormatHighRes
	}
	if !long {
		w := f.merge()
		w.Time = r.now
		return r.write(w.PDU(format), size)
	}
	c.limitWrite(r.now)
	c.unread.Store(c.s.sinceStart(r.now))
	defer c.unread.Store(0)
	return c.pdus.WriteParts(0, r.now, format, f.parts)
}
