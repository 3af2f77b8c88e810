package pmapi

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/cutoff"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
)

// A link is one connection to a collector. Whoever has the context's turn may use
// it; close may be called by anybody.
//
// Answers come in the order of the requests and have no numbers. A request that
// ended early leaves its answer owed: the next one sends what is left of it, reads
// the answer, and throws it away, before it asks.
type link struct {
	conn     net.Conn
	pdus     *pdu.Conn
	waiting  cutoff.Watch
	ear      *ear
	ctx      context.Context // of the present request
	timeout  time.Duration   // of each of its waits
	began    time.Time       // the present one
	limit    time.Time       // of that
	features pdu.Features
	pid      int32

	owed    int          // answers on their way
	news    pdu.Change   // changes in the collector that no fetch has reported yet
	profile *pdu.Profile // the one that the collector has; nil if it has none
	fetch   pdu.Fetch    // the latest
}

// newLink speaks first with the collector at the other end of a connection, which
// it closes if that fails. n is complete.
func newLink(ctx context.Context, conn net.Conn, n Dialer) (*link, error) {
	l := &link{conn: conn, ear: &ear{ReadWriter: rawconn.New(conn)}, pid: int32(os.Getpid())}
	l.pdus = pdu.NewConn(l.ear)
	l.waiting.Set = conn.SetDeadline
	l.pdus.MaxLen, l.pdus.Counters, l.pdus.Eager = n.MaxReply, n.Counters, true
	l.begin(ctx, 0)
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

// begin lets what follows end with ctx, or when an answer has not come in time.
func (l *link) begin(ctx context.Context, timeout time.Duration) {
	l.ctx, l.timeout = ctx, timeout
	l.wait()
}

// wait begins the wait for the next answer.
func (l *link) wait() {
	l.began, l.ear.heard = time.Now(), false
	l.limit = deadline(l.ctx, l.began, l.timeout)
	l.waiting.Begin(l.ctx, l.limit)
}

// deadline is when what begins now has to end: zero for never.
func deadline(ctx context.Context, now time.Time, limit time.Duration) time.Time {
	var t time.Time
	if limit > 0 {
		t = now.Add(limit)
	}
	if d, ok := ctx.Deadline(); ok && (t.IsZero() || d.Before(t)) {
		return d
	}
	return t
}

// An ear is a stream that notes whether anything comes.
type ear struct {
	io.ReadWriter
	heard  bool          // something, in the present wait
	silent time.Duration // how long the waits before took in which nothing came, since something did
}

func (e *ear) Read(b []byte) (int, error) {
	n, err := e.ReadWriter.Read(b)
	if n > 0 {
		e.heard, e.silent = true, 0
	}
	return n, err
}

// mostSilent is how many time-outs a collector may be silent while it is waited for.
const mostSilent = 3

// silent reports, of a wait that has ended early, whether nothing has come in this
// and others before it for so long that nothing will.
func (l *link) silent() bool {
	if !l.ear.heard {
		l.ear.silent += time.Since(l.began)
	}
	return l.timeout > 0 && l.ear.silent >= mostSilent*l.timeout
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

// send sends what is queued. What it leaves at a deadline goes with the next.
func (l *link) send() error { return broken(l.pdus.Flush()) }

// broken marks an error of the stream: one after which it cannot be used. That is
// any but a deadline.
func broken(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return lostError{err}
}

// exchange sends what is queued and has the answers read, all of them unless
// there is an error of the stream. Several requests are sent while answers are
// read: there may be more of them than fits between the two ends.
func (l *link) exchange(read func() error) error {
	if l.owed < 2 {
		if err := l.send(); err != nil {
			return err
		}
		return read()
	}
	sent := make(chan error, 1)
	go func() { sent <- l.send() }()
	err := read()
	if _, lost := errors.AsType[lostError](err); lost {
		l.close() // which ends the sending too
	}
	if unsent := <-sent; err == nil {
		err = unsent
	}
	return err
}

// drain reads the answers to requests that ended early.
func (l *link) drain() error {
	if l.owed == 0 {
		return nil
	}
	return l.exchange(func() error {
		for l.owed > 0 {
			if _, _, err := l.read(); err != nil {
				return err
			}
			l.wait()
		}
		return nil
	})
}

// read reads the next answer. What the collector tells of changes before it is
// noted.
func (l *link) read() (pdu.Header, []byte, error) {
	for {
		h, body, err := l.pdus.Read()
		if err != nil {
			return h, nil, broken(err)
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
	if err != nil {
		return nil, err
	}
	if h.Kind == pdu.KindError {
		var s pdu.Status
		if err := s.Decode(body); err != nil {
			return nil, lostError{err}
		}
		if s.Code < 0 {
			return nil, s.Code
		}
	}
	if h.Kind != want {
		return nil, lostError{&pdu.UnexpectedError{Want: want, Got: h.Kind}}
	}
	return body, nil
}

// answers sends what is queued, n requests, and hands each answer of the wanted
// kind, or the code in its place, to take. It returns the last error of take, or
// one of the stream.
func (l *link) answers(n int, want pdu.Kind, take func(i int, body []byte, err error) error) error {
	var failed error
	err := l.exchange(func() error {
		for i := range n {
			if i > 0 {
				l.wait()
			}
			body, err := l.answer(want)
			if _, said := err.(pdu.Error); err != nil && !said {
				return err
			}
			if err := take(i, body, err); err != nil {
				failed = err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return failed
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
