package remote

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// This file has the replies that no request waits for: late ones, whose request has
// ended, and unsolicited ones, which no request expects.

// How long an agent gets for a late reply: lateReplyTimeouts times Config.Timeout, and
// no less than lateReplyLeast.
const (
	lateReplyTimeouts = 10
	lateReplyLeast    = 30 * time.Second
)

// abandonReply leaves the reply to a request, which has ended with err, to
// awaitLateReply. The request may be nil if it is not known. It returns the error for the
// request.
func (a *Agent) abandonReply(request pdu.PDU, want pdu.Kind, err error) error {
	attrs := append(a.attrs(slog.String("type", want.String())), a.subject(request)...)
	a.cfg.Logger.Warn("agent did not reply in time; requests fail until the late reply comes", attrs...)
	if !a.setState(replyLate, func() { a.awaitLateReply(want) }) {
		return pdu.ErrNoAgent
	}
	return err
}

// subject is the metrics, their names or the instance domain that a request is about, for the log.
func (a *Agent) subject(request pdu.PDU) []any {
	var metrics []pdu.PMID
	var indom pdu.InDom
	switch p := request.(type) {
	case *pdu.Fetch:
		metrics = p.PMIDs
	case stored:
		for _, s := range p.All() {
			metrics = append(metrics, s.PMID)
		}
	case pdu.NameList:
		return []any{slog.String("metrics", wording.List(len(p.Names), func(i int) string { return p.Names[i] }))}
	case pdu.LabelReq:
		switch p.Class {
		case pdu.LabelItem:
			metrics = []pdu.PMID{pdu.PMID(p.Ident)}
		case pdu.LabelInDom, pdu.LabelInstances:
			indom = pdu.InDom(p.Ident)
		}
	case pdu.DescReq:
		metrics = []pdu.PMID{p.PMID}
	case pdu.InstanceReq:
		indom = p.InDom
	case pdu.TextReq:
		if id, ok := p.Target().PMID(); ok {
			metrics = []pdu.PMID{id}
		} else {
			indom, _ = p.Target().InDom()
		}
	}
	switch {
	case len(metrics) > 0:
		return []any{slog.String("metrics", wording.List(len(metrics), func(i int) string { return a.cfg.NameOf(metrics[i]) }))}
	case indom != 0:
		return []any{slog.String("indom", indom.String())}
	}
	return nil
}

// awaitLateReply reads and discards a late reply of the type want. Afterwards requests can be sent
// again.
func (a *Agent) awaitLateReply(want pdu.Kind) {
	var limit time.Time
	if t := time.Duration(a.timeout.Load()); t > 0 {
		limit = time.Now().Add(max(lateReplyTimeouts*min(t, math.MaxInt64/lateReplyTimeouts), lateReplyLeast))
	}
	a.stream.SetReadDeadline(limit)
	h, start, err := a.conn.ReadStart()
	if err != nil {
		a.disconnect(err)
		return
	}
	if a.discardReply(h, start, want) != pdu.ErrPMDANotReady && a.setState(ready, nil) {
		a.cfg.Logger.Info("agent replies again", a.attrs()...)
	}
}

// discardReply is checkReply for a reply that no request waits for. start is the start of the body:
// all of an ERROR, and the time of a RESULT. discardReply keeps the reported changes of names and
// labels for the next fetch, because the agent reports each change only once.
func (a *Agent) discardReply(h pdu.Header, start []byte, want pdu.Kind) error {
	start, err := a.checkReply(h, start, want)
	const timeLen = 8
	if err == nil && want == pdu.KindResult && len(start) >= timeLen {
		var r pdu.Result
		if r.Decode(append(start[:timeLen], 0, 0, 0, 0)) == nil { // no sets
			a.lateChange |= a.change(&r)
		}
	}
	return err
}

// unsolicited counts the errors that an agent may send though no request expects
// them: an agent of the C library whose check callback fails replies with an error to
// the end of a client, too.
//
//	collector: ERROR PM_ERR_NOTCONN of client 3, then DESC_REQ of client 4
//	agent:     ERROR PM_ERR_PERMISSION, then DESC
//
// The error is taken for the reply to DESC_REQ. No request waits for the DESC that follows, and
// it must not be taken for the reply to the next request.
type unsolicited struct {
	possible  int           // how many may yet come
	ambiguous bool          // the last reply was an error that may have been one of them
	reply     pdu.Kind      // what the last request expected
	waited    time.Duration // for another reply, since the ambiguous one
}

// noneBefore notes that a reply has arrived, so everything sent before it has arrived, too.
func (u *unsolicited) noneBefore() { u.possible, u.ambiguous, u.waited = 0, false, 0 }

// sawStatus notes that an ERROR PDU has arrived. A status of success or more is not an error.
func (u *unsolicited) sawStatus(code pdu.Error) {
	if code >= 0 {
		u.possible = 0
	}
	u.ambiguous, u.waited = u.possible > 0, 0
}

// unsolicitedWait is how long to wait for the rest of what an agent has sent, or,
// after an ambiguous reply, for another: long enough for a busy agent, since what
// came later would be taken for the reply to another request.
const unsolicitedWait = 100 * time.Millisecond

// discardUnsolicited reads PDUs that the agent has sent since the last exchange, before the next
// one begins: unsolicited errors, and the reply to the last request if such an error was taken
// for it. Any other PDU ends the connection. It waits no longer than the context and deadline of
// the next request; the request after that waits for the rest of unsolicitedWait.
func (a *Agent) discardUnsolicited(ctx context.Context, deadline time.Time) error {
	u := &a.unsolicited
	for u.possible > 0 && (u.ambiguous || a.conn.Buffered()) {
		want := pdu.KindError
		if u.ambiguous {
			want = u.reply
		}
		begin := time.Now()
		limit := begin.Add(unsolicitedWait - u.waited)
		if !deadline.IsZero() && deadline.Before(limit) {
			limit = deadline
		}
		a.readDeadline.Start(ctx, limit)
		h, start, err := a.conn.ReadStart()
		a.readDeadline.Stop()
		expired := errors.Is(err, os.ErrDeadlineExceeded)
		if expired && !a.conn.Buffered() {
			if u.waited += time.Since(begin); u.waited >= unsolicitedWait {
				u.noneBefore() // the error was the reply
			}
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case !deadline.IsZero() && !time.Now().Before(deadline): // also if both end now: a reply would be late
				return pdu.ErrTimeout
			}
			continue
		}
		u.possible--
		switch {
		case expired: // in the middle of a PDU
			return a.abandonReply(nil, want, pdu.ErrAgain)
		case err != nil:
			return a.fail(err)
		}
		switch err = a.discardReply(h, start, want); {
		case err == pdu.ErrPMDANotReady:
			return pdu.ErrAgain
		case a.unavailable() != nil: // it was no reply
			return err
		}
	}
	if a.conn.Buffered() {
		return a.fail(errors.New("agent sent a PDU that no request expects"))
	}
	return nil
}
