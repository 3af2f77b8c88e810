package remote

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/turns"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// An exchange is a request to the agent and the reply that belongs to it.
type exchange struct {
	ctx     context.Context
	from    *pmda.Request // the request of the client
	request pdu.PDU
	reply   pdu.Kind // the type of the reply, unless that is an ERROR
}

// runExchange waits for the turn of an exchange, sends the request and gives the
// body of the reply to decode. An error of decode means that the agent has broken
// the protocol.
func (a *Agent) runExchange(x exchange, decode func(body []byte) error) error {
	if err := a.acquireTurn(x.ctx, x.from); err != nil {
		return err
	}
	defer a.endTurn()
	return a.runInTurn(x, decode)
}

// runInTurn is runExchange for a caller that has the turn.
func (a *Agent) runInTurn(x exchange, decode func(body []byte) error) error {
	body, err := a.roundTrip(x)
	if err != nil {
		return err
	}
	err = decode(body)
	if len(body) > keepResult {
		a.conn.Release()
	}
	if err != nil {
		return a.fail(err)
	}
	return nil
}

// A refusedReply reports why a reply is discarded as it arrives.
type refusedReply struct{ err error }

func (r refusedReply) Error() string { return r.err.Error() }

// admit decides whether to keep a reply, once its header has arrived. It refuses a reply that is
// too long, or that does not fit into the memory together with its decoded form. Values are
// copied to a ResultWriter, which reserves its own memory. The strings of other replies take more
// memory than in the reply.
func (a *Agent) admit(h pdu.Header) error {
	n := h.Len
	if h.Kind != pdu.KindResult {
		n *= stringCost
	}
	switch {
	case h.Len > a.cfg.MaxReply:
		a.cfg.Logger.Warn("agent's reply is too long; it is discarded", a.attrs(slog.String("type", h.Kind.String()),
			slog.Int("bytes", h.Len), slog.Int("limit", a.cfg.MaxReply))...)
		return refusedReply{pdu.ErrTooBig}
	case a.memory == nil:
		return nil
	}
	if err := a.memory.Reserve(n); err != nil {
		return refusedReply{err}
	}
	return nil
}

// stringCost is the memory in bytes for each byte of a reply with short strings, including its
// decoded form.
const stringCost = 6

// acquireTurn waits until r may use the connection.
func (a *Agent) acquireTurn(ctx context.Context, r *pmda.Request) error {
	if err := a.unavailable(); err != nil {
		return err
	}
	turn := a.turns.Try(r.Client.Seq)
	if turn == nil {
		var err error
		if turn, err = a.waitForTurn(ctx, r.Client.Seq, a.deadline(r.Deadline)); err != nil {
			return err
		}
	}
	a.beginTurn(turn)
	err := a.unavailable() // now that the one before has ended
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !r.Deadline.IsZero() && !a.turnBegan.Before(r.Deadline):
		err = pdu.ErrTimeout
	default:
		err = a.discardUnsolicited(ctx, r.Deadline)
	}
	if err != nil {
		a.endTurn()
	}
	return err
}

func (a *Agent) beginTurn(t *turns.Turn) { a.turn, a.turnBegan = t, time.Now() }

func (a *Agent) endTurn() { a.turns.End(a.turn, time.Since(a.turnBegan)) }

func (a *Agent) waitForTurn(ctx context.Context, client uint64, limit time.Time) (turn *turns.Turn, err error) {
	var expired <-chan time.Time
	if !limit.IsZero() {
		t := time.NewTimer(time.Until(limit))
		defer t.Stop()
		expired = t.C
	}
	turn = a.turns.Wait(client)
	select {
	case <-turn.Ready():
		return turn, nil
	case <-expired:
		err = pdu.ErrTimeout
	case <-a.done:
		err = pdu.ErrNoAgent
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	a.turns.End(turn, 0)
	return nil, err
}

// deadline returns the time when an operation that begins now must end: Timeout from now, or the
// request's own deadline if that is sooner. Zero means no deadline.
func (a *Agent) deadline(own time.Time) time.Time {
	t := time.Duration(a.timeout.Load())
	if t < 0 {
		return own
	}
	l := time.Now().Add(t)
	if !own.IsZero() && own.Before(l) {
		return own
	}
	return l
}

// roundTrip sends a request and returns the body of its reply, nil for the
// success that an ERROR PDU says.
func (a *Agent) roundTrip(x exchange) ([]byte, error) {
	limit := a.deadline(x.from.Deadline)
	if err := a.send(x); err != nil {
		return nil, err
	}
	a.unsolicited.reply = x.reply
	a.readDeadline.Start(x.ctx, limit)
	a.memory = x.from.Memory
	h, body, err := a.conn.Read()
	a.memory = nil
	a.readDeadline.Stop()
	if refused, ok := errors.AsType[refusedReply](err); ok {
		if err := a.discardReply(h, body, x.reply); err != nil {
			return nil, err
		}
		return nil, refused.err
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = pdu.ErrTimeout
		if x.ctx.Err() != nil {
			err = context.Cause(x.ctx)
		}
		return nil, a.abandonReply(x.request, x.reply, err)
	case err != nil:
		return nil, a.fail(err)
	}
	body, err = a.checkReply(h, body, x.reply)
	if err == pdu.ErrPMDANotReady {
		err = pdu.ErrAgain
	}
	return body, err
}

// send writes a request. In the same write it first sends the notices about clients and the
// client's profile.
func (a *Agent) send(x exchange) error {
	a.queueNotices(x.from.Client)
	var err error
	switch x.request.Kind() {
	case pdu.KindFetch, pdu.KindLabelReq: // their reply depends on the profile
		err = a.queueProfile(x.from)
	}
	if err == nil {
		err = a.conn.Queue(int32(x.from.Client.ID), x.request)
	}
	if err := a.flush(x.from.Deadline); err != nil { // the notices, even if the request cannot be encoded
		return err
	}
	return err
}

// A profileID says which profile an agent has. The pointer keeps the profile from
// being freed, so that no other can have its address.
type profileID struct {
	sent    bool
	seq     uint64 // of the client
	context int32
	profile *pdu.Profile
}

// queueProfile encodes the client's profile, unless it is the one that the agent
// was sent last.
func (a *Agent) queueProfile(r *pmda.Request) error {
	id := profileID{true, r.Client.Seq, r.ContextID, r.Profile}
	if a.profile == id {
		return nil
	}
	p := pdu.SetProfile{Context: r.ContextID}
	if r.Profile != nil {
		p.Profile = *r.Profile
	}
	if err := a.conn.Queue(int32(r.Client.ID), p); err != nil {
		return err
	}
	a.profile = id
	return nil
}

// flush writes the queued PDUs. The agent gets a whole Timeout to read them, even if the request
// expires sooner: half a request cannot be taken back, so a failure ends the connection. own
// limits the write if there is no Timeout.
func (a *Agent) flush(own time.Time) error {
	limit := a.deadline(time.Time{})
	if limit.IsZero() {
		limit = own
	}
	a.stream.SetWriteDeadline(limit)
	err := a.conn.Flush()
	switch {
	case err == nil:
		return nil
	case !a.disconnect(err):
		return pdu.ErrNoAgent
	case errors.Is(err, os.ErrDeadlineExceeded):
		return pdu.ErrTimeout
	}
	return err
}

// checkReply returns the body of a reply, or the error that the reply reports.
// pdu.ErrPMDANotReady changes the state of the Agent. A PDU that cannot be a reply of the wanted
// type ends the connection.
func (a *Agent) checkReply(h pdu.Header, body []byte, want pdu.Kind) ([]byte, error) {
	if h.Kind != pdu.KindError {
		if h.Kind != want {
			return nil, a.fail(h.Unexpected(want))
		}
		a.unsolicited.noneBefore()
		return body, nil
	}
	var s pdu.Status
	if err := s.Decode(body); err != nil {
		return nil, a.fail(err)
	}
	a.unsolicited.sawStatus(s.Code)
	switch {
	case s.Code == pdu.ErrPMDANotReady:
		if !a.setState(notReady, a.awaitReady) {
			return nil, pdu.ErrNoAgent
		}
		a.cfg.Logger.Info("agent is not ready", a.attrs()...)
	case s.Code == pdu.ErrPMDAReady:
		return nil, a.fail(errors.New("agent that is ready sent PM_ERR_PMDAREADY in place of a reply: its line in pmcd.conf may lack the word notready"))
	case s.Code == 0 && want == pdu.KindError:
		return nil, nil
	case s.Code >= 0:
		return nil, pdu.ErrGeneric
	}
	return nil, s.Code
}
