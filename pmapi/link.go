package pmapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
)

// A link is one connection to a collector. It handles one request at a time. close may be called at
// any time.
//
// Replies come in the order of the requests and have no numbers. A request that ended early has a
// late reply. The next request first sends the rest of the earlier one, then reads and discards its
// reply.
type link struct {
	conn     net.Conn
	addr     string // for errors
	local    bool   // the collector is on this computer and knows the user of the process
	pdus     *pdu.Conn
	deadline ctxwait.Deadline
	stream   *watchedStream
	ctx      context.Context // of the present request
	timeout  time.Duration   // for each wait for a reply
	began    time.Time       // when the present wait began
	limit    time.Time       // when it ends; zero for never
	features pdu.Features
	pid      int32
	secured  *tls.Conn // nil without TLS
	unsent   bool      // TLS can send nothing more, because a deadline passed during a write

	pending int          // replies that have not been read
	changes pdu.Change   // in the collector, which no fetch has reported yet
	profile *pdu.Profile // the one that the collector has; nil if it has none
	fetch   pdu.Fetch    // the latest
}

// maxGreeting is the greatest length of a PDU in the handshake. A collector's messages of a login
// have less than 2048 bytes, all other PDUs 20.
const maxGreeting = 2048 + 16

// newLink does the handshake with the collector at the other end of a connection. It closes the
// connection if the handshake fails. d is complete.
func newLink(ctx context.Context, network string, conn net.Conn, d Dialer) (*link, error) {
	l := &link{conn: conn, local: network != "tcp", stream: &watchedStream{ReadWriter: rawconn.New(conn)}, pid: int32(os.Getpid())}
	l.pdus = pdu.NewConn(l.stream)
	l.deadline.Set = conn.SetDeadline
	l.pdus.MaxLen, l.pdus.Counters, l.pdus.Eager = maxGreeting, d.Counters, true
	l.pdus.Growth, l.pdus.Trace = 8, d.Trace
	l.begin(ctx, 0)
	defer l.deadline.Stop()
	if err := l.greet(&d); err != nil {
		l.close()
		return nil, greetingError(err)
	}
	l.pdus.MaxLen = d.MaxReply
	return l, nil
}

func (l *link) close() {
	l.deadline.Close()
	if l.secured != nil {
		l.secured.Close() // which says so to the collector first
		return
	}
	l.conn.Close()
}

// begin begins a request. It ends early with ctx, or if a reply does not come within timeout.
func (l *link) begin(ctx context.Context, timeout time.Duration) {
	l.ctx, l.timeout = ctx, timeout
	l.wait()
}

// wait begins the wait for the next reply.
func (l *link) wait() {
	l.began, l.stream.received = time.Now(), false
	l.limit = deadline(l.ctx, l.began, l.timeout)
	l.deadline.Start(l.ctx, l.limit)
}

// deadline returns when a wait that begins now has to end: zero for never.
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

// A watchedStream notes whether bytes are received.
type watchedStream struct {
	io.ReadWriter
	received bool          // in the present wait
	silent   time.Duration // the sum of the earlier waits in a row without any bytes
}

func (s *watchedStream) Read(b []byte) (int, error) {
	n, err := s.ReadWriter.Read(b)
	if n > 0 {
		s.received, s.silent = true, 0
	}
	return n, err
}

// mostSilent is the number of time-outs in a row that a collector may be silent.
const mostSilent = 3

// silent reports, after a wait that ended early, whether no bytes were received for mostSilent
// time-outs. The connection then counts as lost.
func (l *link) silent() bool {
	if !l.stream.received {
		l.stream.silent += time.Since(l.began)
	}
	return l.timeout > 0 && l.stream.silent >= mostSilent*l.timeout
}

// queue queues a request for send. A request that cannot be encoded is not sent.
func (l *link) queue(p pdu.PDU) error {
	if err := l.pdus.Queue(l.pid, p); err != nil {
		return err
	}
	l.pending++
	return nil
}

// send sends the queue. After a deadline the next send goes on with the rest, except with TLS,
// which sends nothing more.
func (l *link) send() error {
	err := broken(l.pdus.Flush())
	l.unsent = err != nil && l.secured != nil
	return err
}

// broken marks an error that leaves the stream unusable: any error except a deadline.
func broken(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return lostError{cause: err}
}

// exchange sends the queue and calls read, which reads all replies unless the stream has an error.
// It sends several requests while it reads, because the network may not hold all of them.
func (l *link) exchange(read func() error) error {
	if l.pending < 2 {
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

// discardLateReplies reads and discards the replies to requests that ended early.
func (l *link) discardLateReplies() error {
	if l.pending == 0 {
		return nil
	}
	return l.exchange(func() error {
		for l.pending > 0 {
			if _, _, err := l.read(); err != nil {
				return err
			}
			l.wait()
		}
		return nil
	})
}

// read reads the next reply, and notes the changes that the collector reports before
// it.
func (l *link) read() (pdu.Header, []byte, error) {
	for {
		h, body, err := l.pdus.Read()
		if errors.Is(err, pdu.ErrTooBig) {
			err = &LimitError{"bytes", h.Len, l.pdus.MaxLen}
		}
		if err != nil {
			return h, nil, broken(err)
		}
		if h.Kind == pdu.KindError {
			var s pdu.Status
			if err := s.Decode(body); err != nil {
				return h, nil, lostError{cause: err}
			}
			if s.Code > 0 {
				l.changes |= pdu.Change(s.Code)
				continue
			}
		}
		l.pending--
		return h, body, nil
	}
}

// readReply reads the reply to the next request, which has the kind want. If the collector replies
// with an error code instead, this is the error; for the kind ERROR, code 0 is success. A reply of
// another kind belongs to no request, so the connection is lost.
func (l *link) readReply(want pdu.Kind) ([]byte, error) {
	h, body, err := l.read()
	if err != nil {
		return nil, err
	}
	if h.Kind == pdu.KindError {
		var s pdu.Status
		if err := s.Decode(body); err != nil {
			return nil, lostError{cause: err}
		}
		if s.Code < 0 {
			return nil, s.Code
		}
	}
	if h.Kind != want {
		return nil, lostError{cause: h.Unexpected(want)}
	}
	return body, nil
}

// An inPlaceDecoder is a decoder that can keep a body instead of copying it.
type inPlaceDecoder interface {
	decoder
	DecodeInPlace(body []byte) error
}

// decode decodes the body of the latest reply. The decoder keeps a long body in place of a copy, so
// that memory holds it only once.
func (l *link) decode(d decoder, body []byte) error {
	if k, ok := d.(inPlaceDecoder); ok && l.pdus.Keep() {
		return k.DecodeInPlace(body)
	}
	return d.Decode(body)
}

// readReplies sends what is queued, n requests, and calls handle with each reply of the
// wanted kind, or the code in its place. It returns the last error of handle, or one of
// the stream.
func (l *link) readReplies(n int, want pdu.Kind, handle func(i int, body []byte, err error) error) error {
	var failed error
	err := l.exchange(func() error {
		for i := range n {
			if i > 0 {
				l.wait()
			}
			body, err := l.readReply(want)
			if _, isCode := err.(pdu.Error); err != nil && !isCode {
				return err
			}
			if err := handle(i, body, err); err != nil {
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

// roundTrip sends one request and reads its reply.
func (l *link) roundTrip(p pdu.PDU, want pdu.Kind) ([]byte, error) {
	if err := l.queue(p); err != nil {
		return nil, err
	}
	if err := l.send(); err != nil {
		return nil, err
	}
	return l.readReply(want)
}

// queueProfile queues the profile unless the collector has an equal one. PCP's pmcd gives its
// agents in shared objects a profile with a fetch. It frees this profile when another one comes,
// and uses the freed profile for the labels of instances. So an equal profile is not sent.
func (l *link) queueProfile(p *pdu.Profile) error {
	if l.profile == p || l.profile != nil && l.profile.Equal(p) {
		l.profile = p
		return nil
	}
	if err := l.pdus.Queue(l.pid, pdu.SetProfile{Profile: *p}); err != nil {
		return err
	}
	l.profile = p
	return nil
}
