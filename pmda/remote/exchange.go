package remote

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A profileID says which profile an agent was told last. The pointer keeps the
// profile, so that no other has its address.
type profileID struct {
	sent    bool
	seq     uint64
	context int32
	profile *pdu.Profile
}

// exchange asks and hands the body of the answer to decode, whose error is the
// agent's breach of the protocol. With profile, the agent is told the client's
// profile before, unless it is the last that it was told.
func (m *Agent) exchange(ctx context.Context, r *pmda.Request, profile bool, p pdu.PDU, want pdu.Kind, decode func(body []byte) error) error {
	if err := m.enter(ctx, r); err != nil {
		return err
	}
	defer m.leave()
	body, err := m.ask(ctx, r, profile, p, want)
	if err != nil {
		return err
	}
	if err := decode(body); err != nil {
		return m.lost(err)
	}
	return nil
}

// enter waits for the turn.
func (m *Agent) enter(ctx context.Context, r *pmda.Request) error {
	if err := m.refuses(); err != nil {
		return err
	}
	select {
	case m.turn <- struct{}{}:
	default:
		if err := m.wait(ctx, m.limit(r.Deadline)); err != nil {
			return err
		}
	}
	err := m.refuses()
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !r.Deadline.IsZero() && !time.Now().Before(r.Deadline):
		err = pdu.ErrTimeout
	default:
		err = m.passOver()
	}
	if err != nil {
		m.leave()
	}
	return err
}

// strayWait is how long to wait for what has come already, if it comes: long
// enough for a busy agent, since what came later would pass for the answer to
// another request.
const strayWait = 100 * time.Millisecond

// passOver takes what has come since the last answer. C agents whose check
// callback fails answer the end of a client with an error, for which nobody
// waits. If it came in place of an answer, the agent's next PDU is that answer,
// and as little wanted. Anything else ends the connection.
func (m *Agent) passOver() error {
	for m.strays > 0 && (m.suspect || m.conn.Buffered()) {
		want := pdu.KindError
		if m.suspect {
			want = m.wanted
		}
		m.stream.SetReadDeadline(time.Now().Add(strayWait))
		h, body, err := m.conn.Read()
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if late && !m.conn.Buffered() {
			m.strays, m.suspect = 0, false // it was the answer
			return nil
		}
		m.strays--
		switch {
		case late: // the rest of it
			return m.owe(want, pdu.ErrAgain)
		case err != nil:
			return m.lost(err)
		}
		if err = m.discard(h, body, want); m.refuses() != nil {
			if err == pdu.ErrPMDANotReady {
				err = pdu.ErrAgain
			}
			return err
		}
	}
	if m.conn.Buffered() {
		return m.lost(errors.New("agent sent something that it was not asked for"))
	}
	return nil
}

// leave gives the turn back.
func (m *Agent) leave() { <-m.turn }

func (m *Agent) wait(ctx context.Context, limit time.Time) error {
	var expired <-chan time.Time
	if !limit.IsZero() {
		t := time.NewTimer(time.Until(limit))
		defer t.Stop()
		expired = t.C
	}
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-expired:
		return pdu.ErrTimeout
	case <-m.done:
		return pdu.ErrNoAgent
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// limit is when an exchange that begins now has to end.
func (m *Agent) limit(deadline time.Time) time.Time {
	t := time.Duration(m.timeout.Load())
	if t < 0 {
		return deadline
	}
	l := time.Now().Add(t)
	if !deadline.IsZero() && deadline.Before(l) {
		return deadline
	}
	return l
}

// ask sends a request and reads the answer, of which it returns the body, nil
// for a success in an ERROR PDU. The caller has the turn.
func (m *Agent) ask(ctx context.Context, r *pmda.Request, profile bool, p pdu.PDU, want pdu.Kind) ([]byte, error) {
	limit := m.limit(r.Deadline)
	if err := m.send(r, profile, p); err != nil {
		return nil, err
	}
	m.wanted = want
	m.reading.Begin(ctx, limit)
	h, body, err := m.conn.Read()
	m.reading.End()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = pdu.ErrTimeout
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, m.owe(want, err)
	}
	if err != nil {
		return nil, m.lost(err)
	}
	body, err = m.answer(h, body, want)
	if err == pdu.ErrPMDANotReady {
		err = pdu.ErrAgain
	}
	return body, err
}

// owe waits in the background for an answer that nobody waits for any more, and
// returns err, unless the connection has ended.
func (m *Agent) owe(want pdu.Kind, err error) error {
	m.cfg.Logger.Warn("agent owes an answer", m.attrs(slog.String("type", want.String()))...)
	if !m.become(owing, func() { m.drain(want) }) {
		return pdu.ErrNoAgent
	}
	return err
}

// send writes a request, and before it what the agent has to know.
func (m *Agent) send(r *pmda.Request, profile bool, p pdu.PDU) error {
	m.queueNews(r.Client)
	var err error
	if profile {
		err = m.queueProfile(r)
	}
	if err == nil {
		err = m.conn.Queue(int32(r.Client.ID), p)
	}
	if err := m.flush(r.Deadline); err != nil { // the rest, if the request cannot be encoded
		return err
	}
	return err
}

// queueProfile encodes the client's profile if the agent has another.
func (m *Agent) queueProfile(r *pmda.Request) error {
	id := profileID{true, r.Client.Seq, r.Context, r.Profile}
	if m.last == id {
		return nil
	}
	p := pdu.SetProfile{Context: r.Context}
	if r.Profile != nil {
		p.Profile = *r.Profile
	}
	if err := m.conn.Queue(int32(r.Client.ID), p); err != nil {
		return err
	}
	m.last = id
	return nil
}

// flush sends what is queued. The agent gets a whole time-out to take it,
// however little the request has left: what was written in part cannot be taken
// back, so that a failure ends the connection.
func (m *Agent) flush(deadline time.Time) error {
	limit := m.limit(time.Time{})
	if limit.IsZero() {
		limit = deadline
	}
	m.stream.SetWriteDeadline(limit)
	err := m.conn.Flush()
	switch {
	case err == nil:
		return nil
	case !m.die(err):
		return pdu.ErrNoAgent
	case errors.Is(err, os.ErrDeadlineExceeded):
		return pdu.ErrTimeout
	}
	return err
}

// answer looks at a PDU that came as an answer, and returns its body or its
// error; pdu.ErrPMDANotReady says that the state is so now. What breaks the
// protocol ends the connection.
func (m *Agent) answer(h pdu.Header, body []byte, want pdu.Kind) ([]byte, error) {
	if h.Kind != pdu.KindError {
		if h.Kind != want {
			return nil, m.lost(&pdu.UnexpectedError{Want: want, Got: h.Kind})
		}
		m.strays, m.suspect = 0, false // they come before
		return body, nil
	}
	var s pdu.Status
	if err := s.Decode(body); err != nil {
		return nil, m.lost(err)
	}
	if s.Code >= 0 {
		m.strays = 0
	}
	m.suspect = m.strays > 0
	switch {
	case s.Code == pdu.ErrPMDANotReady:
		if !m.become(notReady, m.awaitReady) {
			return nil, pdu.ErrNoAgent
		}
		m.cfg.Logger.Info("agent is not ready", m.attrs()...)
	case s.Code == pdu.ErrPMDAReady:
		return nil, m.lost(errors.New("agent that is ready said so in place of an answer"))
	case s.Code == 0 && want == pdu.KindError:
		return nil, nil
	case s.Code >= 0:
		return nil, pdu.ErrGeneric
	}
	return nil, s.Code
}
