package collector

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// offered is what the collector can do beyond the basic protocol.
const offered = pdu.FeatureLabels | pdu.FeatureHighRes | pdu.FeatureDescs

// askable are the features that a client may ask for in its CREDS at all.
const askable = pdu.FeatureSecure | pdu.FeatureCompress | pdu.FeatureAuth | pdu.FeatureCredsRequired |
	pdu.FeatureSecureAck | pdu.FeatureContainer | pdu.FeatureCertRequired

// Negated numbers of Linux.
const (
	errTryAgain     pdu.Error = -11 // EAGAIN
	errNotSupported pdu.Error = -95 // EOPNOTSUPP
)

// A client is a connection and the goroutine that serves it.
type client struct {
	s     *Server
	conn  net.Conn
	pdus  *pdu.Conn
	since time.Time
	info  atomic.Pointer[pmda.Client] // nil until it has a slot
	ctx   context.Context             // of the calls of agents until one is overdue; then there is another
	end   context.CancelFunc

	greeted  bool      // its CREDS have come
	helloBy  time.Time // when they have to; zero for no limit
	writeBy  time.Time // the deadline for writing
	admitted admission
	denied   atomic.Uint32 // pmcdconf.Ops
	profiles map[int32]*pdu.Profile
	seen     seen

	// The call of an agent that is in progress; see call.go.
	inCall   atomic.Int64 // its number, which is when it began; 0 if there is none
	last     int64        // the number of the latest
	chatty   bool
	arrived  time.Time // when the request came
	now      time.Time // the latest that was looked at for the request
	asked    int64     // when its request came, on Server.clock; 0 if no agent was asked yet
	deadline time.Time // when nobody waits for the answer any more
	extended bool      // deadline is not the first one
	callee   *agent
	current  *exchange    // the fetch that it is part of, nil for other requests
	rest     func() error // goes on with the store that it is part of, nil for other requests

	mu       sync.Mutex // also of end
	cut      bool       // no further call of an agent is wanted
	busy     bool       // a request is being answered
	finished bool       // no further request is to be answered
	farewell pdu.Error  // what to say at the end, if it is not 0

	leaving bool // agents are being told that it has gone; guarded by Server.mu
}

func newClient(s *Server, conn net.Conn) *client {
	now := time.Now()
	c := &client{s: s, conn: conn, pdus: pdu.NewConn(rawconn.New(conn)), since: now, now: now}
	c.ctx, c.end = context.WithCancel(context.Background())
	c.pdus.MaxLen = s.MaxPDU
	c.pdus.Counters = &s.counters
	c.pdus.Partial = c.partial
	c.pdus.Trace = s.tracePDU(conn, conn)
	s.changes.since(&c.seen) // what was before it came is no news
	return c
}

// renew ends the context of the calls for a request, whose answers are no longer
// wanted, and begins that of later ones.
func (c *client) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	if !c.cut {
		c.ctx, c.end = context.WithCancel(context.Background())
	}
}

// cutOff ends the contexts of calls, also of later ones.
func (c *client) cutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	c.end()
}

// peer is the process at the other end as far as it is known, -1 where it is
// not.
func peer(c net.Conn) (pid, uid, gid int) {
	if _, ok := c.(inProcess); ok {
		return os.Getpid(), os.Getuid(), os.Getgid()
	}
	return peerOf(c)
}

// partial limits the wait for the rest of a PDU.
func (c *client) partial(waiting bool) {
	if t := c.s.Timeout; waiting && t > 0 {
		c.readBy(time.Now().Add(t))
	} else {
		c.readBy(time.Time{})
	}
}

// longAgo is a deadline that makes reads fail.
var longAgo = time.Unix(1, 0)

// readBy limits the next wait: zero for no limit but those that the client has
// anyway, for its credentials and when it is to finish.
func (c *client) readBy(limit time.Time) {
	if !c.greeted && !c.helloBy.IsZero() && (limit.IsZero() || c.helloBy.Before(limit)) {
		limit = c.helloBy
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		limit = longAgo
	}
	c.conn.SetReadDeadline(limit)
}

// finish ends an idle client at once and a busy one after its answer.
func (c *client) finish() { c.dismiss(0) }

// dismiss is finish for a client that is told why, unless that is 0.
func (c *client) dismiss(why pdu.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.finished {
		c.finished, c.farewell = true, why
	}
	if !c.busy {
		c.conn.SetReadDeadline(longAgo)
	}
}

// begin marks that a request is being answered; false if none is to be any more.
func (c *client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = !c.finished
	return c.busy
}

func (c *client) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	if c.finished {
		c.conn.SetReadDeadline(longAgo)
	}
}

// sayFarewell tells a client that is to finish why, and reports whether it was to.
func (c *client) sayFarewell() bool {
	c.mu.Lock()
	finished, why := c.finished, c.farewell
	c.mu.Unlock()
	if finished && why != 0 {
		c.conn.SetWriteDeadline(time.Now().Add(refuseDelay))
		c.pdus.Write(0, pdu.Status{Code: why})
	}
	return finished
}

// refuse answers a connection that is not to be served.
func (c *client) refuse(code pdu.Error, why string) {
	c.s.Logger.Warn("client refused", slog.Any("addr", c.conn.RemoteAddr()), slog.String("err", why))
	c.conn.SetWriteDeadline(time.Now().Add(refuseDelay))
	c.pdus.Write(0, pdu.Challenge{Code: code})
	c.conn.Close()
	c.cutOff()
}

// refuseDelay is how long a client that is not to be served may take to hear so.
const refuseDelay = time.Second

// limitWrite gives the client WriteTimeout for what is written next, and up to a
// quarter more: to set a deadline costs more than to compare.
func (c *client) limitWrite() {
	t := c.s.WriteTimeout
	if t <= 0 {
		return
	}
	if least := c.now.Add(t); c.writeBy.Before(least) {
		c.writeBy = least.Add(t / 4)
		c.conn.SetWriteDeadline(c.writeBy)
	}
}

// serve answers a client until it goes, breaks the protocol, or the Server ends.
// A goroutine that loses the client to another leaves all the rest to that.
func (c *client) serve() {
	c.s.traceClient(c, true, nil)
	c.conclude(c.converse())
}

// conclude takes leave of a client, unless it is another goroutine's.
func (c *client) conclude(err error) {
	if err == errLost {
		return
	}
	c.chats(false)
	wanted := c.sayFarewell()
	c.s.traceFailure(c.conn, err)
	c.s.traceClient(c, false, err)
	c.conn.Close()
	c.cutOff()
	c.s.leave(c)
	if err != nil && !wanted {
		c.s.Logger.Info("client closed", slog.Any("addr", c.conn.RemoteAddr()),
			slog.Uint64("client", c.info.Load().Seq), slog.Any("err", err))
	}
}

// converse returns nil if the client closed the connection between PDUs.
func (c *client) converse() error {
	if err := c.admit(); err != nil {
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrClosedPipe) {
			return nil // somebody who looked whether anybody is there
		}
		return err
	}
	if t := c.s.HelloTimeout; t > 0 {
		c.helloBy = time.Now().Add(t)
	}
	c.readBy(time.Time{}) // also if finish has come already
	return c.loop()
}

// A client that asks in such intervals, and is answered so quickly, is busy with
// nothing but to ask: it chats.
const (
	chatter = time.Millisecond
	quick   = 5 * time.Microsecond
)

// chats notes whether the client chats, and reports whether it is one of few who
// do. Many would always have each other to serve first, while who does not chat
// waits to be seen at all.
func (c *client) chats(yes bool) bool {
	if yes != c.chatty {
		c.chatty = yes
		if yes {
			c.s.chatting.Add(1)
		} else {
			c.s.chatting.Add(-1)
		}
	}
	return yes && c.s.chatting.Load() <= c.s.few
}

// loop answers requests.
func (c *client) loop() error {
	var before time.Time // when the request before came
	for {
		if c.chats(c.arrived.Sub(before) < chatter && c.now.Sub(c.arrived) < quick) {
			// The next request is near: with others first, it will be there and need not be
			// waited for, which would cost more than all else here.
			runtime.Gosched()
		}
		before = c.arrived
		h, body, err := c.pdus.Read()
		if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return nil // as C clients go: their sockets linger for no time
		}
		if err != nil {
			return err
		}
		if !c.begin() {
			return errClosed
		}
		if err := c.settle(c.handle(h, body)); err != nil {
			return err
		}
	}
}

// settle ends a request: what merely failed is answered with its code. An error
// ends the connection.
func (c *client) settle(err error) error {
	switch {
	case err == errLost:
		return err
	case err == nil || err == errUngreeted:
	default:
		if w, ok := errors.AsType[*pdu.OpError](err); !ok || w.Op != "write" {
			err = c.reply(pdu.Status{Code: failure(err)})
		}
	}
	c.done()
	return err
}

// admit checks the peer and sends the challenge.
func (c *client) admit() error {
	err := c.checkHost()
	c.limitWrite()
	if err != nil {
		c.pdus.Write(0, pdu.Challenge{Code: pdu.FromError(err)})
		return fmt.Errorf("refused: %w", err)
	}
	return c.pdus.Write(0, pdu.Challenge{Version: pdu.ProtocolVersion, Features: offered})
}

// An operation is how a kind of PDU is answered, and what it takes to be allowed
// to ask.
type operation struct {
	needs  pmcdconf.Ops
	answer func(c *client, h pdu.Header, body []byte) error
}

var operations = map[pdu.Kind]operation{
	pdu.KindCreds:        {0, (*client).creds},
	pdu.KindProfile:      {pmcdconf.OpFetch, (*client).profile},
	pdu.KindFetch:        {pmcdconf.OpFetch, (*client).fetch},
	pdu.KindHighResFetch: {pmcdconf.OpFetch, (*client).fetch},
	pdu.KindResult:       {pmcdconf.OpStore, (*client).store},
	pdu.KindDescReq:      {pmcdconf.OpFetch, (*client).desc},
	pdu.KindDescIDs:      {pmcdconf.OpFetch, (*client).descs},
	pdu.KindInstanceReq:  {pmcdconf.OpFetch, (*client).instances},
	pdu.KindTextReq:      {pmcdconf.OpFetch, (*client).text},
	pdu.KindLabelReq:     {pmcdconf.OpFetch, (*client).labels},
	pdu.KindPMNSNames:    {pmcdconf.OpFetch, (*client).lookup},
	pdu.KindPMNSIDs:      {pmcdconf.OpFetch, (*client).reverse},
	pdu.KindPMNSChild:    {pmcdconf.OpFetch, (*client).children},
	pdu.KindPMNSTraverse: {pmcdconf.OpFetch, (*client).traverse},
}

// errUngreeted ends a connection whose client has not introduced itself.
var errUngreeted = errors.New("request before credentials")

// handle answers one PDU, or returns why not.
func (c *client) handle(h pdu.Header, body []byte) error {
	c.now = time.Now()
	c.arrived, c.asked, c.extended = c.now, 0, false
	if !c.greeted && h.Kind != pdu.KindCreds {
		return errUngreeted
	}
	op, ok := operations[h.Kind]
	switch {
	case !ok:
		return pdu.ErrIPC
	case op.needs&pmcdconf.Ops(c.denied.Load()) != 0:
		return pdu.ErrPermission
	}
	return op.answer(c, h, body)
}

// reply sends an answer.
func (c *client) reply(p pdu.PDU) error {
	c.limitWrite()
	return c.pdus.Write(0, p)
}

// creds takes the client's answer to the challenge, or a later change of it.
func (c *client) creds(_ pdu.Header, body []byte) error {
	var p pdu.Creds
	if err := p.Decode(body); err != nil {
		return err
	}
	if p.Version == 0 {
		return nil // the next PDU, if not other credentials, ends the connection
	}
	if !c.greeted {
		c.greeted = true
		c.readBy(time.Time{})
	}
	// First, so that no other error lets the client by the rules.
	err := c.checkAccount()
	info := c.info.Load()
	switch {
	case p.Features&^askable != 0:
		return pdu.ErrIPC
	case p.Features&pdu.FeatureSecure != 0:
		return pdu.ErrNotConn
	case p.Features&(pdu.FeatureCompress|pdu.FeatureAuth|pdu.FeatureContainer) != 0,
		p.Features&pdu.FeatureCredsRequired != 0 && info.UID < 0:
		return errNotSupported
	case err != nil:
		return err
	}
	if known(info) {
		c.s.announce(info)
	}
	return nil
}

// profile replaces the profile of a context.
func (c *client) profile(_ pdu.Header, body []byte) error {
	var p pdu.SetProfile
	if err := p.Decode(body); err != nil {
		return err
	}
	if int(p.Context) >= c.s.MaxContexts {
		return errTryAgain
	}
	if c.profiles == nil {
		c.profiles = make(map[int32]*pdu.Profile, 1)
	}
	c.profiles[p.Context] = &p.Profile
	return nil
}

// request is what agents are told about a question of the client.
//
// All that one question of the client asks of agents has one deadline. When an
// agent has taken all the time, there is a little more for the others in this
// process, once.
func (c *client) request() *pmda.Request {
	r := &pmda.Request{Client: c.info.Load()}
	switch {
	case c.asked == 0:
		c.asked, c.deadline = c.s.since(c.now), c.s.deadline(c.now)
	case c.late() && !c.extended:
		c.extend(r)
	}
	r.Deadline = c.deadline
	return r
}

// late reports whether the deadline has passed.
func (c *client) late() bool { return !c.deadline.IsZero() && !c.now.Before(c.deadline) }
