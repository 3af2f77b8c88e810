package pmapi

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/cutoff"
	"github.com/pcp-go/pcp/pdu"
)

// A link is one connection to a collector. Whoever has the context's turn may use
// it; close may be called by anybody.
//
// Answers come in the order of the requests and have no numbers. A request that
// ended early leaves its answer owed: the next one reads that, and throws it away,
// before it asks.
type link struct {
	conn     net.Conn
	pdus     *pdu.Conn
	waiting  cutoff.Watch
	features pdu.Features
	pid      int32

	owed    int          // answers on their way
	news    pdu.Change   // changes in the collector that no fetch has reported yet
	profile *pdu.Profile // the one that the collector has; nil if it has none
	fetch   pdu.Fetch    // the latest
}

// newLink speaks first with the collector at the other end of a connection, which
// it closes if that fails.
func newLink(ctx context.Context, conn net.Conn, limit time.Time, maxReply int) (*link, error) {
	l := &link{conn: conn, pdus: pdu.NewConn(conn), pid: int32(os.Getpid())}
	l.waiting.Set = conn.SetDeadline
	l.pdus.MaxLen = maxReply
	l.waiting.Begin(ctx, limit)
	defer l.waiting.End()
	var err error
	if l.features, err = pdu.ClientHello(l.pdus, l.pid, 0); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *link) close() {
	l.waiting.Close()
	l.conn.Close()
}

// queue adds a request to those that send sends. A request that cannot be
// encoded is not sent.
func (l *link) queue(p pdu.PDU) error {
	if err := l.pdus.Queue(l.pid, p); err != nil {
		return err
	}
	l.owed++
	return nil
}

// send sends what is queued.
func (l *link) send() error {
	if err := l.pdus.Flush(); err != nil {
		return lostError{err}
	}
	return nil
}

// drain reads the answers to requests that ended early.
func (l *link) drain() error {
	for l.owed > 0 {
		if _, _, err := l.read(); err != nil {
			return err
		}
	}
	return nil
}

// read reads the next answer. What the collector tells of changes before it is
// noted.
func (l *link) read() (pdu.Header, []byte, error) {
	for {
		h, body, err := l.pdus.Read()
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return h, nil, err
			}
			return h, nil, lostError{err}
		}
		if h.Kind == pdu.KindError {
			var s pdu.Status
			if err := s.Decode(body); err != nil {
				return h, nil, lostError{err}
			}
			if s.Code > 0 {
				l.news |= pdu.Change(s.Code)
				continue
			}
		}
		l.owed--
		return h, body, nil
	}
}

// answer reads the answer to the request that is next in turn, of the wanted kind.
// A code in its place is the error, and of kind ERROR 0 is a success. An answer of
// another kind belongs to no request of ours: the connection is lost.
func (l *link) answer(want pdu.Kind) ([]byte, error) {
	h, body, err := l.read()
	switch {
	case err != nil:
		return nil, err
	case h.Kind == pdu.KindError:
		var s pdu.Status
		if err := s.Decode(body); err != nil {
			return nil, lostError{err}
		}
		if s.Code < 0 {
			return nil, s.Code
		}
		if want != pdu.KindError {
			return nil, lostError{&pdu.UnexpectedError{Want: want, Got: h.Kind}}
		}
	case h.Kind != want:
		return nil, lostError{&pdu.UnexpectedError{Want: want, Got: h.Kind}}
	}
	return body, nil
}

// ask sends one request and reads its answer.
func (l *link) ask(p pdu.PDU, want pdu.Kind) ([]byte, error) {
	if err := l.queue(p); err != nil {
		return nil, err
	}
	if err := l.send(); err != nil {
		return nil, err
	}
	return l.answer(want)
}

// tellProfile queues the profile, unless it is the one that the collector has.
func (l *link) tellProfile(p *pdu.Profile) error {
	if l.profile == p {
		return nil
	}
	if err := l.pdus.Queue(l.pid, pdu.SetProfile{Profile: *p}); err != nil {
		return err
	}
	l.profile = p
	return nil
}
