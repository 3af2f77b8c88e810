package pmda

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// hooks are the functions of OnRequest and OnReply.
type hooks struct {
	request []func(context.Context, pdu.Kind, *Request) error
	reply   []func(pdu.Kind, *Request)
}

// OnRequest adds a function that is called before each request. The functions run in the order of
// the calls of OnRequest. kind is the kind of the request's PDU, such as pdu.KindFetch. If a
// function returns an error, the request fails with it, and no other function of the Agent is
// called. The functions must be safe for concurrent use.
//
// It is the check callback of pmdaSetCheckCallBack(3), which C agents also call for profiles,
// attributes and ends of clients.
func (a *Agent) OnRequest(f func(ctx context.Context, kind pdu.Kind, r *Request) error) {
	a.addHook(func(h *hooks) { h.request = append(slices.Clip(h.request), f) })
}

// OnReply adds a function that is called after each request, except those that a function of
// OnRequest has refused or that found the Agent not ready. Serve and Main call it after they have
// sent the reply, even if the reply is an error. In a collector's process it is called when the
// Agent has replied. The functions must be safe for concurrent use. It is the done callback of
// pmdaSetDoneCallBack(3), and for pdu.KindFetch the callback of pmdaSetResultCallBack(3).
func (a *Agent) OnReply(f func(kind pdu.Kind, r *Request)) {
	a.addHook(func(h *hooks) { h.reply = append(slices.Clip(h.reply), f) })
}

func (a *Agent) addHook(add func(h *hooks)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var h hooks
	if old := a.hooks.Load(); old != nil {
		h = *old
	}
	add(&h)
	a.hooks.Store(&h)
}

// begin is called before each request. If it returns an error, the request is refused.
func (a *Agent) begin(ctx context.Context, kind pdu.Kind, r *Request) error {
	if a == nil || a.hooks.Load() == nil && a.isReady() {
		return nil
	}
	return a.checkRequest(ctx, kind, r)
}

func (a *Agent) checkRequest(ctx context.Context, kind pdu.Kind, r *Request) error {
	if h := a.hooks.Load(); h != nil {
		for _, f := range h.request {
			if err := f(ctx, kind, r); err != nil {
				return err
			}
		}
	}
	if !a.isReady() { // checked last, because a function of OnRequest may have made it ready
		return pdu.ErrPMDANotReady
	}
	return nil
}

// end is called after each request that was not refused.
func (a *Agent) end(kind pdu.Kind, r *Request) {
	if a == nil {
		return
	}
	if h := a.hooks.Load(); h != nil && len(h.reply) > 0 {
		h.replied(kind, r)
	}
}

// replied calls the functions of OnReply, or leaves it to the session that sends the reply.
func (h *hooks) replied(kind pdu.Kind, r *Request) {
	call := func() {
		for _, f := range h.reply {
			f(kind, r)
		}
	}
	if r != nil && r.session != nil {
		r.session.afterReply = append(r.session.afterReply, call)
	} else {
		call()
	}
}
