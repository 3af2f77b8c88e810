package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// offered is what the collector can do beyond the basic protocol.
const offered = pdu.FeatureLabels | pdu.FeatureHighRes | pdu.FeatureDescs

// askable are the features that a client may ask for in its CREDS at all.
const askable = pdu.FeatureSecure | pdu.FeatureCompress | pdu.FeatureAuth | pdu.FeatureCredsRequired |
	pdu.FeatureSecureAck | pdu.FeatureContainer | pdu.FeatureCertRequired

// errNotSupported is -EOPNOTSUPP.
const errNotSupported pdu.Error = -95

// A client is a connection and the goroutine that serves it.
type client struct {
	s     *Server
	conn  net.Conn
	pdus  *pdu.Conn
	since time.Time
	info  atomic.Pointer[pmda.Client] // nil until it has a slot
	ctx   context.Context
	end   context.CancelFunc

	greeted  bool          // its CREDS were accepted
	denied   atomic.Uint32 // Ops
	host     admission     // guarded by mu, as the next
	account  admission
	profiles map[int32]*pdu.Profile
	seen     seen
	whoami   atomic.Pointer[string]

	// The call of an agent that is in progress; see call.go.
	inCall   atomic.Int64 // its number, which is when it began; 0 if there is none
	last     int64        // the number of the latest
	asked    int64        // when its request came, on Server.clock
	deadline time.Time    // when nobody waits for the answer any more
	callee   *agent
	current  *exchange // the fetch that it is part of, nil for other requests

	mu       sync.Mutex
	busy     bool // a request is being answered
	finished bool // no further request is to be answered
	cpu      cpuMark
}

func newClient(s *Server, conn net.Conn) *client {
	c := &client{s: s, conn: conn, pdus: pdu.NewConn(conn), since: time.Now()}
	c.ctx, c.end = context.WithCancel(context.Background())
	c.pdus.MaxLen = s.MaxPDU
	c.pdus.Counters = &s.counters
	c.pdus.Partial = c.partial
	c.pdus.Trace = s.tracePDU(conn, conn)
	return c
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
	if t := c.s.Timeout; !waiting {
		c.conn.SetReadDeadline(time.Time{})
	} else if t > 0 {
		c.conn.SetReadDeadline(time.Now().Add(t))
	}
	if !waiting {
		c.interrupted()
	}
}

// interrupted sees to it that a client that is to finish does not wait again.
func (c *client) interrupted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished && !c.busy {
		c.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// finish ends an idle client at once and a busy one after its answer.
func (c *client) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	if !c.busy {
		c.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// begin marks that a request is being answered; false if none is to be any more.
func (c *client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return false
	}
	c.busy = true
	return true
}

func (c *client) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
}

// refuse answers a connection that is not to be served.
func (c *client) refuse(code pdu.Error, why string) {
	c.s.Logger.Warn("client refused", slog.Any("addr", c.conn.RemoteAddr()), slog.String("why", why))
	c.limitWrite()
	c.pdus.Write(0, pdu.Challenge{Code: code})
	c.conn.Close()
	c.end()
}

func (c *client) limitWrite() {
	if t := c.s.WriteTimeout; t > 0 {
		c.conn.SetWriteDeadline(time.Now().Add(t))
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
	c.s.traceFailure(c.conn, err)
	c.s.traceClient(c, false, err)
	c.conn.Close()
	c.end()
	c.s.leave(c)
	c.mu.Lock()
	wanted := c.finished
	c.mu.Unlock()
	if err != nil && !wanted {
		c.s.Logger.Info("client closed", slog.Any("addr", c.conn.RemoteAddr()),
			slog.Uint64("client", c.info.Load().Seq), slog.Any("err", err))
	}
}

// converse returns nil if the client closed the connection between PDUs.
func (c *client) converse() error {
	if err := c.admit(); err != nil {
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			return nil // somebody who looked whether anybody is there
		}
		return err
	}
	if t := c.s.HelloTimeout; t > 0 {
		c.conn.SetReadDeadline(time.Now().Add(t))
	}
	c.interrupted() // finish may have come before the deadline was set
	return c.loop()
}

// loop answers requests.
func (c *client) loop() error {
	for {
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
			err = c.reply(pdu.Status{Code: pdu.FromError(err)})
		}
	}
	c.done()
	c.interrupted()
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

// An admission is what the access rules say of a client's host or account, and
// the place in their limits that it takes.
type admission struct {
	denied  Ops
	release func() // nil if it takes none
}

// checkHost asks the access rules about the client's host. One in this process
// counts as one on a unix socket.
func (c *client) checkHost() error {
	addr := c.conn.RemoteAddr()
	if _, ok := c.conn.(inProcess); ok {
		addr = &net.UnixAddr{Net: "unix"}
	}
	c.admitted(&c.host, admission{})
	denied, release, err := c.s.access.Load().CheckHost(addr)
	c.admitted(&c.host, admission{denied, release})
	return err
}

// checkAccount asks the access rules about the client's user.
func (c *client) checkAccount() error {
	info := c.info.Load()
	c.admitted(&c.account, admission{denied: OpAll})
	denied, release, err := c.s.access.Load().CheckAccount(info.UID, info.GID)
	c.admitted(&c.account, admission{denied, release})
	return err
}

// admitted replaces an admission and gives the place of the old one back.
func (c *client) admitted(which *admission, now admission) {
	c.mu.Lock()
	old := *which
	*which = now
	c.denied.Store(uint32(c.host.denied | c.account.denied))
	c.mu.Unlock()
	if old.release != nil {
		old.release()
	}
}

// recheck applies new access rules; a client whom they refuse is told and cut
// off.
func (c *client) recheck() {
	err := c.checkHost()
	if err == nil {
		err = c.checkAccount()
	}
	if err != nil {
		c.s.Logger.Warn("client refused", slog.Any("addr", c.conn.RemoteAddr()), slog.Any("err", err))
		c.finish()
	}
}

// An operation is how a kind of PDU is answered, and what it takes to be allowed
// to ask.
type operation struct {
	needs  Ops
	answer func(c *client, h pdu.Header, body []byte) error
}

var operations = map[pdu.Kind]operation{
	pdu.KindCreds:        {0, (*client).creds},
	pdu.KindProfile:      {OpFetch, (*client).profile},
	pdu.KindFetch:        {OpFetch, (*client).fetch},
	pdu.KindHighResFetch: {OpFetch, (*client).fetch},
	pdu.KindResult:       {OpStore, (*client).store},
	pdu.KindDescReq:      {OpFetch, (*client).desc},
	pdu.KindDescIDs:      {OpFetch, (*client).descs},
	pdu.KindInstanceReq:  {OpFetch, (*client).instances},
	pdu.KindTextReq:      {OpFetch, (*client).text},
	pdu.KindLabelReq:     {OpFetch, (*client).labels},
	pdu.KindPMNSNames:    {OpFetch, (*client).lookup},
	pdu.KindPMNSIDs:      {OpFetch, (*client).reverse},
	pdu.KindPMNSChild:    {OpFetch, (*client).children},
	pdu.KindPMNSTraverse: {OpFetch, (*client).traverse},
}

// errUngreeted ends a connection whose client has not introduced itself.
var errUngreeted = errors.New("request before credentials")

// handle answers one PDU, or returns why not.
func (c *client) handle(h pdu.Header, body []byte) error {
	if !c.greeted && h.Kind != pdu.KindCreds {
		return errUngreeted
	}
	op, ok := operations[h.Kind]
	switch {
	case !ok:
		return pdu.ErrIPC
	case op.needs&Ops(c.denied.Load()) != 0:
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
		c.conn.SetReadDeadline(time.Time{})
		c.interrupted()
	}
	c.greeted = true
	switch {
	case p.Features&^askable != 0:
		return pdu.ErrIPC
	case p.Features&(pdu.FeatureSecure|pdu.FeatureSecureAck) != 0:
		return pdu.ErrNotConn
	case p.Features&(pdu.FeatureCompress|pdu.FeatureAuth|pdu.FeatureContainer) != 0:
		return errNotSupported
	}
	if err := c.checkAccount(); err != nil {
		return err
	}
	if info := c.info.Load(); c.known(info) {
		c.s.announce(info)
	}
	return nil
}

// known reports whether agents may want to hear of the client.
func (c *client) known(info *pmda.Client) bool { return info.UID >= 0 || info.GID >= 0 }

// profile replaces the profile of a context.
func (c *client) profile(_ pdu.Header, body []byte) error {
	var p pdu.SetProfile
	if err := p.Decode(body); err != nil {
		return err
	}
	if int(p.Context) >= c.s.MaxContexts {
		return pdu.Error(-11) // EAGAIN
	}
	if c.profiles == nil {
		c.profiles = make(map[int32]*pdu.Profile, 1)
	}
	c.profiles[p.Context] = &p.Profile
	return nil
}

// request is what agents are told about a question of the client.
func (c *client) request() *pmda.Request {
	c.deadline = c.s.deadline()
	return &pmda.Request{Client: c.info.Load(), Deadline: c.deadline}
}

// A clientTable numbers clients: by slots, the lowest free one first, and by a
// sequence number that never comes again.
type clientTable struct {
	slots []*client
	n     int
	seq   uint64
}

func (t *clientTable) len() int { return t.n }

// all yields the clients by slot.
func (t *clientTable) all() iter.Seq[*client] {
	return func(yield func(*client) bool) {
		for _, c := range t.slots {
			if c != nil && !yield(c) {
				return
			}
		}
	}
}

// enter gives a client its numbers.
func (t *clientTable) enter(c *client) {
	slot := len(t.slots)
	if t.n < len(t.slots) {
		for i, o := range t.slots {
			if o == nil {
				slot = i
				break
			}
		}
		t.slots[slot] = c
	} else {
		t.slots = append(t.slots, c)
	}
	info := pmda.NewClient(uint32(slot), t.seq)
	info.PID, info.UID, info.GID = peer(c.conn)
	c.info.Store(info)
	t.n++
	t.seq++
}

// leave takes a client out. Every agent is told before its slot can be used
// again.
func (s *Server) leave(c *client) {
	info := c.info.Load()
	for _, a := range s.agents.Load().list {
		if h := a.current(); h != nil {
			s.endClient(h, info)
		}
	}
	c.admitted(&c.host, admission{})
	c.admitted(&c.account, admission{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients.slots[info.ID] = nil
	s.clients.n--
}

func (s *Server) endClient(h pmda.Handler, info *pmda.Client) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked(nil, h, "end of client", p)
		}
	}()
	h.EndClient(info)
}

// announce tells all agents that want to know about the client's attributes.
func (s *Server) announce(info *pmda.Client) {
	for _, a := range s.agents.Load().list {
		h := a.current()
		if w, ok := h.(pmda.Watcher); ok {
			func() {
				defer func() {
					if p := recover(); p != nil {
						s.panicked(nil, h, "attributes", p)
					}
				}()
				w.Attributes(info)
			}()
		}
	}
}
