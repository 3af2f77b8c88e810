package pmda

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/cutoff"
	"github.com/pcp-go/pcp/internal/rawconn"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A Stream connects to an agent in another process: its pipes, or a socket.
// Closing it makes reads and writes in progress return. A read or write whose
// deadline has passed fails with os.ErrDeadlineExceeded, and a read can be made
// again.
type Stream interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// Defaults of RemoteConfig.
const (
	DefaultTimeout      = 5 * time.Second
	DefaultHelloTimeout = 3 * time.Second
	DefaultPatience     = 30 * time.Second
)

// owedTimeouts is how many time-outs an agent gets for an answer that nobody
// waits for any more, before it is given up.
const owedTimeouts = 10

// RemoteConfig is the optional part of a Remote.
type RemoteConfig struct {
	// Timeout limits an exchange, from its turn on, and the wait for the turn; 0
	// means DefaultTimeout, less than 0 no limit.
	Timeout time.Duration
	// Patience is the least time that an agent gets for an answer that nobody waits
	// for any more, if ten times Timeout is less; 0 means DefaultPatience, less
	// than 0 nothing.
	Patience time.Duration
	// HelloTimeout limits the wait for the agent's first PDU; 0 means
	// DefaultHelloTimeout.
	HelloTimeout time.Duration
	// NotReady says that the agent will announce when it is ready.
	NotReady bool
	// Counters, if not nil, count the PDUs.
	Counters *pdu.Counters
	// Trace, if not nil, sees every PDU, as that of pdu.Conn does.
	Trace func(out bool, h pdu.Header, body []byte)
	// Logger gets one line for every change between ready, not ready and late; nil
	// discards them. Why the connection ended is for whoever waits for Done.
	Logger *slog.Logger
	// Ready, if not nil, is called when the agent becomes ready. It may make
	// requests, but not call Close.
	Ready func()
}

// A Remote is a Handler over a connection: a pipe or socket agent as a
// collector sees it. One exchange runs at a time, in the order of their coming;
// others wait for their turn. One whose deadline passes meanwhile fails with
// pdu.ErrTimeout, one whose context ends with its cause, and the agent never
// hears of them.
//
// An exchange that ends early, by its deadline, the time-out or its context,
// leaves an answer owed by the agent. Until that has come, requests fail with
// pdu.ErrAgain and nothing more is written, so that an answer is never taken for
// that of another request; then service resumes. So they do while the agent has
// said that it is not ready.
//
// The connection is given up when it fails, when the agent has not taken a whole
// request within a time-out, when it sends what it was not asked for (an answer
// of the wrong kind, malformed, or about something else: pdu.ErrIPC), or when an
// owed answer does not come within ten time-outs, at least Patience. From then
// on everything fails with pdu.ErrNoAgent, and Done is closed. Whether an agent
// has ended shows when it is asked something. Errors in answer to the end of a
// client, as C agents send whose check callback fails, are no breach; one may be
// taken for the answer to the next request.
//
// Safe for concurrent use.
type Remote struct {
	info    Info
	cfg     RemoteConfig
	stream  Stream
	conn    *pdu.Conn
	timeout atomic.Int64 // a time.Duration; less than 0 is no limit
	wants   pdu.Features // what the agent asked for in its hello
	done    chan struct{}
	reading cutoff.Watch

	// turn has one place: whoever has filled it may use conn and what follows,
	// provided that the state is ready. In the other states only one goroutine
	// reads, and nobody writes.
	turn    chan struct{}
	last    profileID // the profile that the agent has
	fetch   pdu.Fetch
	result  pdu.Result
	bogus   bool       // a bogus state change has been logged
	late    pdu.Change // what results told that nobody waited for any more
	strays  int        // errors that may come for ends of clients; see passOver
	suspect bool       // the last answer may have been one of them
	wanted  pdu.Kind   // the kind of the last answer

	mu      sync.Mutex
	state   remoteState
	err     error           // why it is dead
	wg      sync.WaitGroup  // added to with mu held, unless the state is dead
	slots   map[uint32]slot // what the agent knows of them
	news    map[uint32]news // what it is to be told before the next request
	telling bool            // a goroutine does so
}

type remoteState int

const (
	ready    remoteState = iota
	notReady             // it has said so; it will say when it is
	owing                // an answer that nobody waits for is on its way
	dead
)

// NewRemote begins a conversation with an agent: it waits for the agent's hello
// and answers it. On failure the stream is closed; the error is pdu.ErrTimeout
// if the hello did not come in time.
func NewRemote(info Info, s Stream, cfg RemoteConfig) (*Remote, error) {
	if cfg.Patience == 0 {
		cfg.Patience = DefaultPatience
	}
	if cfg.HelloTimeout == 0 {
		cfg.HelloTimeout = DefaultHelloTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Remote{
		info: info, cfg: cfg, stream: s, conn: pdu.NewConn(rawconn.New(s)),
		turn: make(chan struct{}, 1), done: make(chan struct{}),
		slots: map[uint32]slot{}, news: map[uint32]news{},
	}
	m.reading.Set = s.SetReadDeadline
	m.conn.Counters, m.conn.Trace, m.conn.Eager = cfg.Counters, cfg.Trace, true
	m.SetTimeout(cfg.Timeout)
	if err := m.hello(); err != nil {
		s.Close()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = pdu.ErrTimeout
		}
		return nil, fmt.Errorf("pmda: version exchange with agent %q: %w", info.Name, err)
	}
	if cfg.NotReady {
		m.become(notReady, m.awaitReady)
	}
	return m, nil
}

// SetTimeout changes the Timeout of the configuration for exchanges to come; 0
// and less mean the same as there.
func (m *Remote) SetTimeout(d time.Duration) {
	if d == 0 {
		d = DefaultTimeout
	}
	m.timeout.Store(int64(d))
}

func (m *Remote) hello() (err error) {
	limit := time.Now().Add(m.cfg.HelloTimeout)
	m.stream.SetReadDeadline(limit)
	m.stream.SetWriteDeadline(limit)
	m.wants, err = pdu.HostHello(m.conn, int32(os.Getpid()))
	return err
}

// Info is what NewRemote was given.
func (m *Remote) Info() Info { return m.info }

// Namespace is nil: a collector has the names of such agents from a PMNS file.
func (m *Remote) Namespace() *pmns.Tree { return nil }

// Done is closed when the connection has ended.
func (m *Remote) Done() <-chan struct{} { return m.done }

// Err is why the connection has ended, nil while it has not.
func (m *Remote) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Busy reports whether the agent is being asked something.
func (m *Remote) Busy() bool { return len(m.turn) > 0 }

// IsReady reports whether the agent answers requests: it is connected and has
// not said that it is not ready.
func (m *Remote) IsReady() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state == ready || m.state == owing
}

// Close ends the connection, which the agent sees as the end of its input, and
// waits for what the Remote has started. Requests in progress fail with
// pdu.ErrNoAgent.
func (m *Remote) Close() error {
	m.die(errClosed)
	<-m.done
	m.wg.Wait()
	return nil
}

var errClosed = errors.New("closed by the collector")

// die ends the connection for a reason; the first counts, and is told true.
func (m *Remote) die(err error) bool {
	m.mu.Lock()
	if m.state == dead {
		m.mu.Unlock()
		return false
	}
	m.state, m.err = dead, err
	m.slots, m.news = nil, nil
	m.mu.Unlock()
	m.reading.Close()
	m.stream.Close()
	close(m.done)
	return true
}

// lost ends the connection for a breach of the protocol, or because it has
// failed, and is the error for whoever has asked.
func (m *Remote) lost(err error) error {
	if !m.die(err) {
		return pdu.ErrNoAgent // somebody else has ended it
	}
	return pdu.ErrIPC
}

// refuses is why the agent cannot be asked in its present state.
func (m *Remote) refuses() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch m.state {
	case dead:
		return pdu.ErrNoAgent
	case notReady, owing:
		return pdu.ErrAgain
	}
	return nil
}

// become changes the state, unless the connection has ended, and runs what goes
// with it in a goroutine of its own.
func (m *Remote) become(s remoteState, run func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == dead {
		return false
	}
	m.state = s
	if run != nil {
		m.wg.Go(run)
	}
	m.startTelling()
	return true
}

// drain reads the answer that nobody waits for any more.
func (m *Remote) drain(want pdu.Kind) {
	var limit time.Time
	if t := time.Duration(m.timeout.Load()); t > 0 {
		limit = time.Now().Add(max(owedTimeouts*min(t, math.MaxInt64/owedTimeouts), m.cfg.Patience))
	}
	m.stream.SetReadDeadline(limit)
	h, body, err := m.conn.Read()
	if err != nil {
		m.die(err)
		return
	}
	if m.discard(h, body, want) != pdu.ErrPMDANotReady && m.become(ready, nil) {
		m.cfg.Logger.Info("agent answers again", m.attrs()...)
	}
}

// discard is answer for one that nobody waits for: what it says of labels and
// names is kept for the next, since the agent does not say it again.
func (m *Remote) discard(h pdu.Header, body []byte, want pdu.Kind) error {
	body, err := m.answer(h, body, want)
	var r pdu.Result
	if err == nil && want == pdu.KindResult && r.Decode(body) == nil {
		m.late |= m.change(&r)
	}
	return err
}

// awaitReady waits for the agent's word that it is ready, and for nothing else.
func (m *Remote) awaitReady() {
	m.stream.SetReadDeadline(time.Time{})
	h, body, err := m.conn.Read()
	var s pdu.Status
	switch {
	case err != nil:
		m.die(err)
	case h.Kind != pdu.KindError:
		m.die(&pdu.UnexpectedError{Want: pdu.KindError, Got: h.Kind})
	case s.Decode(body) != nil || s.Code != pdu.ErrPMDAReady:
		m.die(errors.New("agent that is not ready sent something else than that it is"))
	case m.become(ready, nil):
		m.cfg.Logger.Info("agent is ready", m.attrs()...)
		if m.cfg.Ready != nil {
			m.cfg.Ready()
		}
	}
}

func (m *Remote) attrs(more ...any) []any {
	return append([]any{slog.String("agent", m.info.Name), slog.Int("domain", int(m.info.Domain))}, more...)
}
