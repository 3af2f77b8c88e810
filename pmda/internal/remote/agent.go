package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/internal/turns"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// A Stream connects to an agent in another process: its pipes, or a socket.
// Close makes reads and writes in progress return. A read or write whose
// deadline has passed fails with os.ErrDeadlineExceeded; a read can be repeated
// with a later deadline. The connections of package net are Streams.
type Stream interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// Defaults of Config.
const (
	DefaultTimeout      = 5 * time.Second
	DefaultHelloTimeout = 3 * time.Second
	DefaultMaxReply     = 16 << 20
)

// maxHello is the greatest length of an agent's CREDS.
const maxHello = 1 << 10

// Config is the optional part of what New is given.
type Config struct {
	// Timeout limits the wait of a request for its turn, and then its exchange; 0
	// means DefaultTimeout, less than 0 no limit.
	Timeout time.Duration
	// HelloTimeout limits the exchange of versions; 0 means DefaultHelloTimeout.
	HelloTimeout time.Duration
	// MaxReply is the greatest length of a reply in bytes; 0 means DefaultMaxReply. A
	// longer one is discarded as it arrives, and the request fails with pdu.ErrTooBig.
	MaxReply int
	// NotReady says that the agent is not ready until it sends PM_ERR_PMDAREADY, like
	// "notready" in pmcd.conf.
	NotReady bool
	// OnReady, if not nil, is called when the agent becomes ready. It may make
	// requests, but not call Close.
	OnReady func()
	// NameOf, if not nil, gives the names of metrics for the log, which else has their
	// PMIDs.
	NameOf func(id pdu.PMID) string
	// Counters, if not nil, count the PDUs.
	Counters *pdu.Counters
	// Trace, if not nil, is called with every PDU, like Trace of pdu.Conn.
	Trace func(out bool, h pdu.Header, body []byte)
	// Logger gets one line for every change between ready, not ready and waiting
	// for a late reply; nil means slog.Default(). Why the connection has ended is not logged: see
	// Done and Err.
	Logger *slog.Logger
}

// An Agent is a pmda.Handler that makes its requests of an agent in another process.
//
// One exchange, of a request and its reply, runs at a time. Other requests wait
// for their turn, which comes later the more of the agent's time their clients take. A
// fetch of many metrics is made in several exchanges, so that others come in between. A
// request that expires while it waits
// fails with pdu.ErrTimeout, one whose context ends with the context's cause, and
// the agent never sees them.
//
// An exchange can end before its reply has come: at the request's deadline, after
// Config.Timeout, or with the context. Its reply is late then. A reply does
// not say which request it belongs to, so until the late one has come and has been
// discarded, nothing more is sent and requests fail at once with pdu.ErrAgain. So
// they do while the agent has said that it is not ready.
//
// The connection ends when it fails; when the agent has not read a whole request
// within Config.Timeout; when it sends what does not belong to the request (a
// reply of the wrong type, malformed, or about something else), which fails with
// pdu.ErrIPC; or when a late reply has not come within ten times Config.Timeout,
// at least half a minute. From then on every request fails with pdu.ErrNoAgent, and
// Done is closed. That the agent has closed the connection is noticed with the next
// request.
//
// Some agents of the C library reply with an error to the end of a client, though no
// reply is expected. That does not end the connection, but such an error may be taken
// for the reply to the next request.
//
// An Agent is safe for concurrent use.
type Agent struct {
	info         pmda.Info
	cfg          Config
	stream       Stream
	conn         *pdu.Conn
	timeout      atomic.Int64 // a time.Duration; less than 0 is no limit
	wants        pdu.Features // what the agent asked for in its CREDS
	done         chan struct{}
	readDeadline ctxwait.Deadline // ends a read at its deadline or with its context

	// turns has one place. In the state ready, the goroutine that has it reads and writes conn. In
	// the other states nothing is written, and only the goroutine that setState has started reads.
	turns *turns.Queue

	// Only the goroutine that has the turn uses these.
	turn        *turns.Turn
	turnBegan   time.Time
	memory      pdu.Memory // for the reply of the exchange in progress; or nil
	fetch       pdu.Fetch
	result      pdu.Result
	profile     profileID // the profile that the agent has
	unsolicited unsolicited
	lateChange  pdu.Change // from results that came too late; for the next
	oddChange   bool       // an agent's odd state change has been logged

	mu      sync.Mutex // protects what follows
	state   state
	err     error          // why the connection has ended
	wg      sync.WaitGroup // added to with mu held, unless disconnected
	clients clientTable
	sending bool // the goroutine sendNotices runs
}

type state int

const (
	ready     state = iota
	notReady        // the agent has said so; awaitReady waits until it is
	replyLate       // awaitLateReply waits for the reply to a request that has ended
	disconnected
)

// New exchanges versions with an agent: it waits for the agent's CREDS and sends the
// collector's. ctx ends the wait; it does not matter later. On failure the stream is
// closed and the error is an *OpError, with pdu.ErrTimeout if the agent's CREDS have
// not come in time, or the cause of ctx.
func New(ctx context.Context, info pmda.Info, s Stream, cfg Config) (*Agent, error) {
	if cfg.HelloTimeout == 0 {
		cfg.HelloTimeout = DefaultHelloTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.NameOf == nil {
		cfg.NameOf = pdu.PMID.String
	}
	a := &Agent{
		info: info, cfg: cfg, stream: s, conn: pdu.NewConn(rawconn.New(s)),
		turns: turns.New(1), done: make(chan struct{}), clients: newClientTable(),
	}
	if a.cfg.MaxReply == 0 {
		a.cfg.MaxReply = DefaultMaxReply
	}
	a.readDeadline.Set = s.SetReadDeadline
	a.conn.Counters, a.conn.Trace, a.conn.Eager = cfg.Counters, cfg.Trace, true
	a.SetTimeout(cfg.Timeout)
	if err := a.exchangeHello(ctx); err != nil {
		s.Close()
		return nil, &OpError{Op: "version exchange", Agent: info.Name, Err: err}
	}
	if cfg.NotReady {
		a.setState(notReady, a.awaitReady)
	}
	return a, nil
}

// exchangeHello reads the agent's CREDS and sends the collector's.
func (a *Agent) exchangeHello(ctx context.Context) (err error) {
	stop := context.AfterFunc(ctx, func() { a.stream.Close() })
	limit := time.Now().Add(a.cfg.HelloTimeout)
	a.stream.SetReadDeadline(limit)
	a.stream.SetWriteDeadline(limit)
	a.conn.MaxLen = maxHello
	a.wants, err = pdu.AcceptAgent(a.conn, int32(os.Getpid()))
	a.conn.MaxLen, a.conn.Admit = 0, a.admit
	switch {
	case !stop():
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return pdu.ErrTimeout
	case errors.Is(err, pdu.ErrTooBig):
		return fmt.Errorf("the agent sent something longer than its version: %w", pdu.ErrTooBig)
	}
	return err
}

// SetTimeout changes Config.Timeout for exchanges to come; 0 and less than 0
// mean the same as there.
func (a *Agent) SetTimeout(d time.Duration) {
	if d == 0 {
		d = DefaultTimeout
	}
	a.timeout.Store(int64(d))
}

// Info is what New was given.
func (a *Agent) Info() pmda.Info { return a.info }

// Features returns the features that the agent has requested: pdu.FeatureAuth for the attributes
// of its clients, pdu.FeatureContainer for their containers.
func (a *Agent) Features() pdu.Features { return a.wants }

// Namespace is nil: the collector has the agent's names from a PMNS file.
func (a *Agent) Namespace() *pmns.Tree { return nil }

// Done is closed when the connection has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

// Err is why the connection has ended, nil while it has not. A collector refuses a
// Handler with an error.
func (a *Agent) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Busy reports whether an exchange is in progress. If so, a collector that sees the
// agent's process end leaves it to that exchange to report the error.
func (a *Agent) Busy() bool { return a.turns.Len() > 0 }

// Ready reports whether the agent is connected and has not said that it is not
// ready. An agent with a late reply is ready.
func (a *Agent) Ready() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state == ready || a.state == replyLate
}

// Close ends the connection, which the agent sees as the end of its input, and
// waits for the goroutines of the Agent. Requests in progress fail with
// pdu.ErrNoAgent.
func (a *Agent) Close() error {
	a.disconnect(errClosed)
	<-a.done
	a.wg.Wait()
	return nil
}

var errClosed = errors.New("closed by the collector")

// disconnect ends the connection because of err. It returns false if the
// connection has already ended, for another reason.
func (a *Agent) disconnect(err error) bool {
	a.mu.Lock()
	if a.state == disconnected {
		a.mu.Unlock()
		return false
	}
	a.state, a.err, a.clients = disconnected, err, clientTable{}
	a.mu.Unlock()
	a.readDeadline.Close()
	a.stream.Close()
	close(a.done)
	return true
}

// fail ends the connection because it has failed, or the agent has broken the
// protocol. It returns the error for the request.
func (a *Agent) fail(err error) error {
	if !a.disconnect(err) {
		return pdu.ErrNoAgent
	}
	return pdu.ErrIPC
}

// unavailable is why a request cannot be sent in the present state, nil if it
// can.
func (a *Agent) unavailable() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch a.state {
	case disconnected:
		return pdu.ErrNoAgent
	case notReady, replyLate:
		return pdu.ErrAgain
	}
	return nil
}

// setState changes the state and starts the goroutine that reads in it, if run is
// not nil. It returns false if the connection has ended.
func (a *Agent) setState(s state, run func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == disconnected {
		return false
	}
	a.state = s
	if run != nil {
		a.wg.Go(run)
	}
	a.startNotices()
	return true
}

// awaitReady waits until the agent says that it is ready. Nothing else may come.
func (a *Agent) awaitReady() {
	a.stream.SetReadDeadline(time.Time{})
	h, body, err := a.conn.ReadStart()
	var s pdu.Status
	switch {
	case err != nil:
		a.disconnect(err)
	case h.Kind != pdu.KindError:
		a.disconnect(h.Unexpected(pdu.KindError))
	case s.Decode(body) != nil || s.Code != pdu.ErrPMDAReady:
		a.disconnect(errors.New("agent that is not ready sent something else than PM_ERR_PMDAREADY"))
	case a.setState(ready, nil):
		a.cfg.Logger.Info("agent is ready", a.attrs()...)
		if a.cfg.OnReady != nil {
			a.cfg.OnReady()
		}
	}
}

// attrs are the attributes of a log line about the agent.
func (a *Agent) attrs(more ...any) []any {
	return append([]any{slog.String("agent", a.info.Name), slog.Int("domain", int(a.info.Domain))}, more...)
}
