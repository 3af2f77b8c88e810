package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// offered has the optional features of the protocol that the collector supports.
const offered = pdu.FeatureLabels | pdu.FeatureHighRes | pdu.FeatureDescs

// A client is a client of the Server, with its connection.
type client struct {
	s     *Server
	conn  net.Conn
	pdus  *pdu.Conn
	since time.Time                   // when it connected
	info  atomic.Pointer[pmda.Client] // nil until it has a slot

	// Owned by the goroutine that serves the client; see call.
	hasCreds      atomic.Bool // its CREDS have arrived
	credsBy       time.Time   // deadline of the CREDS; zero for no limit
	writeDeadline time.Time
	profiles      map[int32]profile
	requestMemory int  // bytes that admitRequest has charged
	wide          bool // the last result was long
	seen          seenChanges
	failedLogins  int
	rates         rates
	ctx           *callContext // of calls of agents; renewed after one is abandoned
	secured       *tls.Conn    // nil without TLS
	tlsMemory     int          // bytes charged for TLS

	memory        account
	profileMemory account      // of its profiles alone
	unread        atomic.Int64 // start of the write of a long reply, on Server.clock; or 0

	admission admission
	denied    atomic.Uint32        // access.Ops
	inline    atomic.Pointer[call] // the request's latest inline call, for the watchdog

	mu        sync.Mutex
	endCalls  context.CancelFunc // ends ctx
	noCalls   bool               // cancelCalls was called
	busy      bool               // a request is in progress
	requests  uint64             // that have arrived
	closing   bool               // no further request is accepted
	closeCode pdu.Error          // the last error sent to the client; 0 for none

	closed atomic.Bool // the connection
	gone   bool        // removeClient was called; guarded by Server.mu
}

func newClient(s *Server, conn net.Conn) *client {
	c := &client{s: s, conn: conn, since: time.Now()}
	if _, local := conn.(inProcess); local {
		c.pdus = pdu.NewConn(conn)
	} else {
		c.pdus = pdu.NewConn(rawconn.NewWatched(conn, s.waits.Add))
	}
	c.memory.ledger, c.profileMemory.ledger = s.ledger, s.profiles
	c.newContext()
	c.pdus.Admit = c.admitRequest
	c.pdus.MaxLen = s.limits.pdu
	c.pdus.Counters = &s.counters
	c.pdus.Partial = c.partial
	trace := s.tracePDU(conn)
	c.pdus.Trace = func(out bool, h pdu.Header, body []byte) {
		if out {
			c.rates.moved += h.Len
		}
		trace(out, h, body)
	}
	s.changes.since(&c.seen) // earlier changes are not reported to the client
	return c
}

// newContext creates the context of later calls.
func (c *client) newContext() {
	ctx, cancel := context.WithCancel(context.Background())
	c.ctx, c.endCalls = &callContext{Context: ctx, started: c.s.started}, cancel
}

// renewContext cancels the context of the calls so far, including abandoned ones, and creates the
// context of later calls.
func (c *client) renewContext() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endCalls()
	if !c.noCalls {
		c.newContext()
	}
}

// cancelCalls cancels the context of all calls, including later ones.
func (c *client) cancelCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noCalls = true
	c.endCalls()
}

// peer returns the process at the other end of a connection, and -1 for each unknown value.
func peer(c net.Conn) (pid, uid, gid int) {
	if local, ok := c.(inProcess); ok && !local.anonymous {
		return os.Getpid(), os.Getuid(), os.Getgid()
	}
	return peerOf(c)
}

// partial limits the wait for the rest of a PDU.
func (c *client) partial(waiting bool) {
	if t := c.s.limits.timeout; waiting && t > 0 {
		c.readBy(time.Now().Add(t))
	} else {
		c.readBy(time.Time{})
	}
}

// longAgo is a deadline that makes reads fail.
var longAgo = time.Unix(1, 0)

// readBy limits the wait for the rest of a PDU. The zero time removes this limit, but not those
// for the client's CREDS and for the end of the client.
func (c *client) readBy(limit time.Time) {
	if !c.hasCreds.Load() && !c.credsBy.IsZero() && (limit.IsZero() || c.credsBy.Before(limit)) {
		limit = c.credsBy
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		limit = longAgo
	}
	c.conn.SetReadDeadline(limit)
}

// disconnect disconnects an idle client at once and a busy one after its reply. Before that it
// sends the client code, unless that is 0.
func (c *client) disconnect(code pdu.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.closing, c.closeCode = true, code
	}
	if !c.busy {
		c.conn.SetReadDeadline(longAgo)
	}
}

// requestStarts records that a request has arrived. It returns false if the client may send no
// more requests.
func (c *client) requestStarts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = !c.closing
	c.requests++
	return c.busy
}

// requestEnded records that the client waits for no reply.
func (c *client) requestEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	if c.closing {
		c.conn.SetReadDeadline(longAgo)
	}
}

// sendCloseCode sends the reason to a client that is being disconnected. It reports whether the
// client is being disconnected.
func (c *client) sendCloseCode() bool {
	c.mu.Lock()
	closing, code := c.closing, c.closeCode
	c.mu.Unlock()
	if closing && code != 0 {
		c.conn.SetWriteDeadline(time.Now().Add(refuseTimeout))
		c.pdus.Write(0, pdu.Status{Code: code})
	}
	return closing
}

// refuse refuses a connection with an error.
func (c *client) refuse(code pdu.Error, why string) {
	c.s.log.LogAttrs(context.Background(), slog.LevelWarn, "client refused", slog.Any("addr", c.conn.RemoteAddr()), slog.String("err", why))
	c.conn.SetWriteDeadline(time.Now().Add(refuseTimeout))
	c.pdus.Write(0, pdu.Challenge{Code: code})
	c.conn.Close()
	c.cancelCalls()
}

// refuseTimeout is how long a refused client may take to read the reason.
const refuseTimeout = time.Second

// limitWrite gives the client WriteTimeout from now to read the next data, and up to a quarter
// more: a comparison is cheaper than setting a new deadline.
func (c *client) limitWrite(now time.Time) {
	t := c.s.limits.write
	if t <= 0 {
		return
	}
	if least := now.Add(t); c.writeDeadline.Before(least) {
		c.writeDeadline = least.Add(t / 4)
		c.conn.SetWriteDeadline(c.writeDeadline)
	}
}

// serve serves a client until it disconnects, breaks the protocol, or the Server ends. It may end
// its goroutine instead of returning; see call.
func (c *client) serve() {
	c.s.traceClient(c, true, nil)
	err := c.admit()
	switch err {
	case nil:
		err = c.serveRequests()
	case errGone:
		err = nil
	}
	c.closeConn(err)
}

// closeConn ends the connection of a client. err is nil if the client has closed it.
func (c *client) closeConn(err error) {
	wanted, fd := c.sendCloseCode(), -1
	refused, ok := errors.AsType[*refusal](err)
	if ok {
		fd = rawconn.Descriptor(c.conn)
	}
	c.s.traceFailure(c.conn, err)
	c.s.traceClient(c, false, err)
	c.closeTLS(err == nil && !wanted)
	c.closed.Store(true)
	c.conn.Close()
	c.cancelCalls()
	c.releaseMemory()
	c.s.removeClient(c)
	if w, ok := errors.AsType[*pdu.OpError](err); ok && w.Op == "write" && errors.Is(err, os.ErrDeadlineExceeded) {
		c.s.slow.Add(1)
	}
	switch {
	case refused != nil:
		c.s.log.LogAttrs(context.Background(), slog.LevelInfo, "client refused", slog.Any("addr", c.conn.RemoteAddr()), slog.String("host", peerName(c.conn)),
			slog.Uint64("client", c.info.Load().Seq), slog.Int("slot", int(c.info.Load().ID)), slog.Int("fd", fd), slog.Any("err", refused.error))
	case err != nil && !wanted:
		c.s.log.LogAttrs(context.Background(), slog.LevelInfo, "client closed", slog.Any("addr", c.conn.RemoteAddr()),
			slog.Uint64("client", c.info.Load().Seq), slog.Any("err", err))
	}
}

// serveRequests replies to requests. It returns nil if the client closed the
// connection between PDUs.
func (c *client) serveRequests() error {
	_, local := c.conn.(inProcess)
	for {
		if local {
			// The client's goroutine is about to read the reply. If it runs first, its next
			// request has often arrived already, and this goroutine need not wait for it.
			runtime.Gosched()
		}
		h, body, err := c.pdus.Read()
		if short, ok := errors.AsType[*shortage](err); ok { // only the request has failed
			if !c.requestStarts() {
				return errClosed
			}
			if err := c.newRequest(h.Kind).fail(short); err != nil {
				return err
			}
			continue
		}
		if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return nil // C clients reset the connection: their sockets do not linger
		}
		if err != nil {
			return err
		}
		if !c.requestStarts() {
			return errClosed
		}
		refused := c.charge(h)
		if r := c.newRequest(h.Kind); refused != nil {
			err = r.fail(refused)
		} else {
			err = r.run(body)
		}
		if err != nil {
			return err
		}
	}
}

// requestCost is the memory that a long request takes for each of its bytes: the PDU, the decoded
// request, and the planned calls.
const requestCost = 6

// admitRequest charges the client for a long request whose header has arrived. It does not charge
// for a PROFILE yet, because a PROFILE has no reply that could report the refusal.
func (c *client) admitRequest(h pdu.Header) error {
	if h.Kind == pdu.KindProfile {
		return nil
	}
	n := h.Len * requestCost
	if err := c.reserve("request", n); err != nil {
		return err
	}
	c.requestMemory = n
	return nil
}

// releaseRequest releases what admitRequest charged.
func (c *client) releaseRequest() {
	if n := c.requestMemory; n > 0 {
		c.requestMemory = 0
		c.release(n)
	}
}

// releaseMemory releases the memory of a client that disconnects, except for that of abandoned
// calls.
func (c *client) releaseMemory() {
	c.releaseRequest()
	c.memory.release(int64(c.tlsMemory))
	for id := range c.profiles {
		c.dropProfile(id)
	}
	c.s.noteRelease()
}

// errGone ends a connection whose client closed it before the challenge, such as a port probe.
var errGone = errors.New("client gone before the challenge")

// A refusal ends the connection of a client that the access rules refuse.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// admit checks the peer and sends the challenge.
func (c *client) admit() error {
	refused := c.checkHost()
	c.limitWrite(time.Now())
	p := pdu.Challenge{Version: pdu.ProtocolVersion, Features: offered | c.s.secure.Load().features() | c.s.authFeatures()}
	if refused != nil {
		p = pdu.Challenge{Code: pdu.FromError(refused)}
	}
	err := c.pdus.Write(0, p)
	switch {
	case refused != nil:
		return &refusal{refused}
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrClosedPipe):
		return errGone
	case err != nil:
		return err
	}
	if t := c.s.limits.hello; t > 0 {
		c.credsBy = time.Now().Add(t)
	}
	c.readBy(time.Time{}) // also if the client was disconnected before
	return nil
}
