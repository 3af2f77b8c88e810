package pmda

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Stream connects to an agent in another process: its pipes, or a socket.
// Closing it makes reads and writes in progress return.
type Stream interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// Defaults of RemoteConfig.
const (
	DefaultTimeout      = 5 * time.Second
	DefaultHelloTimeout = 3 * time.Second
)

// owedTimeouts is how many time-outs an agent gets for an answer that nobody
// waits for any more, before it is given up.
const owedTimeouts = 10

// RemoteConfig is the optional part of a Remote.
type RemoteConfig struct {
	// Timeout limits an exchange, from its turn on; 0 means DefaultTimeout, less
	// than 0 no limit.
	Timeout time.Duration
	// HelloTimeout limits the wait for the agent's first PDU; 0 means
	// DefaultHelloTimeout.
	HelloTimeout time.Duration
	// NotReady says that the agent will announce when it is ready.
	NotReady bool
	// Counters, if not nil, count the PDUs.
	Counters *pdu.Counters
	// Logger gets one line for every change of state; nil discards them.
	Logger *slog.Logger
	// Ready, if not nil, is called when the agent becomes ready.
	Ready func()
}

// A Remote is a Handler over a connection: a pipe or socket agent as a
// collector sees it. One exchange runs at a time; others wait for their turn,
// and one whose deadline passes meanwhile fails with pdu.ErrTimeout.
//
// After a time-out the agent owes an answer. Until that has come, requests fail
// with pdu.ErrAgain and nothing more is written, so that an answer is never taken
// for that of another request; then service resumes. The connection is given up
// when a request was written in part, an answer has the wrong kind or says
// something about something else, or the owed answer does not come within ten
// time-outs. From then on everything fails with pdu.ErrNoAgent, and Done is
// closed.
//
// Safe for concurrent use.
type Remote struct {
	info   Info
	cfg    RemoteConfig
	stream Stream
	conn   *pdu.Conn
	wants  pdu.Features // what the agent asked for in its hello

	turn chan struct{} // its one place is the right to use conn and what follows
	last struct {      // the profile that the agent has
		seq     uint64
		context int32
		profile *pdu.Profile
		sent    bool
	}
	result pdu.Result

	mu      sync.Mutex
	state   remoteState
	err     error             // why it is dead
	notices map[uint32]notice // what the agent is to be told before the next request, by slot
	known   map[uint32]bool   // slots that the agent has heard of
	done    chan struct{}
	wg      sync.WaitGroup
}

// A notice is what is to be told about a client's slot: that a client has left
// it, then the attributes of the one who has it now.
type notice struct {
	end   bool
	attrs *Client
}

type remoteState int

const (
	ready    remoteState = iota
	notReady             // it has said so; it will say when it is
	owing                // an answer that nobody waits for is on its way
	dead
)

// NewRemote begins a conversation with an agent: it waits for the agent's hello
// and answers it. On failure the stream is closed.
func NewRemote(info Info, s Stream, cfg RemoteConfig) (*Remote, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.HelloTimeout == 0 {
		cfg.HelloTimeout = DefaultHelloTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Remote{
		info: info, cfg: cfg, stream: s, conn: pdu.NewConn(s),
		turn: make(chan struct{}, 1), done: make(chan struct{}),
		notices: map[uint32]notice{}, known: map[uint32]bool{},
	}
	m.conn.Counters = cfg.Counters
	limit := time.Now().Add(cfg.HelloTimeout)
	s.SetReadDeadline(limit)
	s.SetWriteDeadline(limit)
	wants, err := pdu.HostHello(m.conn, int32(os.Getpid()))
	if err != nil {
		s.Close()
		return nil, err
	}
	s.SetReadDeadline(time.Time{})
	s.SetWriteDeadline(time.Time{})
	m.wants = wants
	if cfg.NotReady {
		m.turn <- struct{}{}
		m.state = notReady
		m.wg.Go(m.awaitReady)
	}
	return m, nil
}

// Info is what NewRemote was given.
func (m *Remote) Info() Info { return m.info }

// Done is closed when the connection has ended.
func (m *Remote) Done() <-chan struct{} { return m.done }

// Err is why the connection has ended, nil while it has not.
func (m *Remote) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// IsReady reports whether the agent answers requests: it is connected and has
// not said that it is not ready.
func (m *Remote) IsReady() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state == ready || m.state == owing
}

// Close ends the connection, which the agent sees as the end of its input, and
// waits for what the Remote has started.
func (m *Remote) Close() error {
	m.die(errClosed)
	m.wg.Wait()
	return nil
}

var errClosed = errors.New("closed by the collector")

// die ends the connection for a reason; the first counts.
func (m *Remote) die(err error) {
	m.mu.Lock()
	if m.state == dead {
		m.mu.Unlock()
		return
	}
	m.state, m.err = dead, err
	m.notices = nil
	m.mu.Unlock()
	m.stream.Close()
	close(m.done)
}

// enter waits for the turn. A limit of zero is none.
func (m *Remote) enter(ctx context.Context, limit time.Time) error {
	if err := m.refuses(); err != nil {
		return err
	}
	select {
	case m.turn <- struct{}{}:
	default:
		if err := m.wait(ctx, limit); err != nil {
			return err
		}
	}
	if err := m.refuses(); err != nil {
		<-m.turn
		return err
	}
	return nil
}

func (m *Remote) wait(ctx context.Context, limit time.Time) error {
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
		if err := m.refuses(); err != nil {
			return err
		}
		return pdu.ErrTimeout
	case <-m.done:
		return pdu.ErrNoAgent
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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

// leave gives the turn back; what was to be told meanwhile is told first.
func (m *Remote) leave() {
	<-m.turn
	m.tell()
}

// tell writes notices if nobody has the turn; whoever has it does so.
func (m *Remote) tell() {
	for m.hasNotices() {
		select {
		case m.turn <- struct{}{}:
		default:
			return
		}
		m.queueNotices()
		m.flush(m.limit(time.Time{}))
		<-m.turn
	}
}

func (m *Remote) hasNotices() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.notices) > 0 && m.state == ready
}

// limit is when an exchange that begins now has to end.
func (m *Remote) limit(deadline time.Time) time.Time {
	if m.cfg.Timeout < 0 {
		return deadline
	}
	l := time.Now().Add(m.cfg.Timeout)
	if !deadline.IsZero() && deadline.Before(l) {
		return deadline
	}
	return l
}

// queueNotices encodes what the agent is to be told. The caller has the turn.
func (m *Remote) queueNotices() {
	m.mu.Lock()
	notices := m.notices
	if len(notices) > 0 {
		m.notices = map[uint32]notice{}
	}
	m.mu.Unlock()
	if len(notices) == 0 {
		return
	}
	for _, slot := range slices.Sorted(maps.Keys(notices)) {
		n := notices[slot]
		if n.end {
			m.conn.Queue(int32(slot), pdu.Status{Code: pdu.ErrNotConn})
		}
		if n.attrs != nil {
			for _, a := range n.attrs.attributes() {
				m.conn.Queue(int32(slot), a)
			}
		}
	}
}

// attributes are what an agent is told of a client.
func (c *Client) attributes() []pdu.Attr {
	var attrs []pdu.Attr
	add := func(k pdu.Attribute, v string) {
		attrs = append(attrs, pdu.Attr{Attr: k, Value: append([]byte(v), 0)})
	}
	if c.PID >= 0 {
		add(pdu.AttrProcessID, strconv.Itoa(c.PID))
	}
	if c.GID >= 0 {
		add(pdu.AttrGroupID, strconv.Itoa(c.GID))
	}
	if c.UID >= 0 {
		add(pdu.AttrUserID, strconv.Itoa(c.UID))
	}
	if c.User != "" {
		add(pdu.AttrUsername, c.User)
	}
	if c.Container != "" {
		add(pdu.AttrContainer, c.Container)
	}
	return attrs
}

// flush sends what is queued. A request that is written in part cannot be taken
// back, so that a failure ends the connection.
func (m *Remote) flush(limit time.Time) error {
	m.stream.SetWriteDeadline(limit)
	if err := m.conn.Flush(); err != nil {
		m.die(err)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return pdu.ErrTimeout
		}
		return err
	}
	return nil
}

// exchange asks and hands the body of the answer to got. With profile, the agent
// is told the client's profile before, unless it is the last that it was told.
func (m *Remote) exchange(ctx context.Context, r *Request, profile bool, ask pdu.PDU, want pdu.Kind, got func(body []byte) error) error {
	if err := m.enter(ctx, m.limit(r.Deadline)); err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			m.leave()
		}
	}()
	limit := m.limit(r.Deadline)
	from := int32(r.Client.ID)
	m.queueNotices()
	if profile {
		m.queueProfile(r)
	}
	if err := m.conn.Queue(from, ask); err != nil {
		return err
	}
	m.mu.Lock()
	m.known[r.Client.ID] = true
	m.mu.Unlock()
	if err := m.flush(limit); err != nil {
		return err
	}
	m.stream.SetReadDeadline(limit)
	h, body, err := m.conn.Read()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		keep = m.owe(want)
		return pdu.ErrTimeout
	}
	if err == nil {
		err = m.answer(h, body, want, got)
	} else {
		m.die(err)
		return pdu.ErrIPC
	}
	if err == pdu.ErrPMDANotReady {
		keep = m.setNotReady()
		return pdu.ErrAgain
	}
	return err
}

// queueProfile encodes the client's profile if the agent has another.
func (m *Remote) queueProfile(r *Request) {
	l := &m.last
	if l.sent && l.seq == r.Client.Seq && l.context == r.Context && l.profile == r.Profile {
		return
	}
	p := pdu.SetProfile{Context: r.Context}
	if r.Profile != nil {
		p.Profile = *r.Profile
	}
	if err := m.conn.Queue(int32(r.Client.ID), p); err != nil {
		return
	}
	l.sent, l.seq, l.context, l.profile = true, r.Client.Seq, r.Context, r.Profile
}

// answer looks at a PDU that came. What breaks the protocol ends the connection.
func (m *Remote) answer(h pdu.Header, body []byte, want pdu.Kind, got func([]byte) error) error {
	if h.Kind == pdu.KindError {
		var s pdu.Status
		if err := s.Decode(body); err != nil {
			m.die(err)
			return pdu.ErrIPC
		}
		switch {
		case want == pdu.KindError:
			if s.Code > 0 {
				return pdu.ErrGeneric
			}
			if s.Code == 0 {
				return nil
			}
		case s.Code >= 0:
			return pdu.ErrGeneric
		}
		return s.Code
	}
	if h.Kind != want {
		m.die(&pdu.UnexpectedError{Want: want, Got: h.Kind})
		return pdu.ErrIPC
	}
	if err := got(body); err != nil {
		m.die(err)
		return pdu.ErrIPC
	}
	return nil
}

// owe keeps the turn until the answer has come that nobody waits for any more.
func (m *Remote) owe(want pdu.Kind) bool {
	if !m.setState(owing) {
		return false
	}
	m.cfg.Logger.Warn("agent timed out", m.attrs(slog.String("owes", want.String()))...)
	m.wg.Go(func() {
		if m.cfg.Timeout > 0 {
			m.stream.SetReadDeadline(time.Now().Add(owedTimeouts * m.cfg.Timeout))
		}
		got, body, err := m.conn.Read()
		switch {
		case err != nil:
			m.die(err)
		case got.Kind == pdu.KindError:
			var s pdu.Status
			if s.Decode(body) == nil && s.Code == pdu.ErrPMDANotReady {
				m.setState(notReady)
				m.awaitReady()
				return
			}
		case got.Kind != want:
			m.die(&pdu.UnexpectedError{Want: want, Got: got.Kind})
		}
		if m.setState(ready) {
			m.cfg.Logger.Info("agent answers again", m.attrs()...)
		}
		m.leave()
	})
	return true
}

// setNotReady keeps the turn until the agent says that it is ready.
func (m *Remote) setNotReady() bool {
	if !m.setState(notReady) {
		return false
	}
	m.cfg.Logger.Info("agent is not ready", m.attrs()...)
	m.wg.Go(m.awaitReady)
	return true
}

// awaitReady waits, with the turn, for the agent's unsolicited word.
func (m *Remote) awaitReady() {
	defer m.leave()
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
	case m.setState(ready):
		m.cfg.Logger.Info("agent is ready", m.attrs()...)
		if m.cfg.Ready != nil {
			m.cfg.Ready()
		}
	}
}

// setState changes the state, unless the connection has ended.
func (m *Remote) setState(s remoteState) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == dead {
		return false
	}
	m.state = s
	return true
}

func (m *Remote) attrs(more ...any) []any {
	return append([]any{slog.String("agent", m.info.Name), slog.Int("domain", int(m.info.Domain))}, more...)
}

// EndClient tells the agent that a client has gone, if it has heard of it. It
// does not wait: if the agent is busy, it is told before the next request.
func (m *Remote) EndClient(c *Client) {
	m.mu.Lock()
	if m.state == dead {
		m.mu.Unlock()
		return
	}
	if m.known[c.ID] {
		m.notices[c.ID] = notice{end: true}
		delete(m.known, c.ID)
	} else if n, ok := m.notices[c.ID]; ok {
		// It was to hear of this client but has not.
		if n.attrs = nil; n.end {
			m.notices[c.ID] = n
		} else {
			delete(m.notices, c.ID)
		}
	}
	m.mu.Unlock()
	m.tell()
}

// Attributes tells the agent what is known of a client, if it wanted to know.
func (m *Remote) Attributes(c *Client) {
	if m.wants&(pdu.FeatureAuth|pdu.FeatureContainer) == 0 || len(c.attributes()) == 0 {
		return
	}
	m.mu.Lock()
	if m.state != dead {
		n := m.notices[c.ID]
		n.attrs = c
		m.notices[c.ID] = n
		m.known[c.ID] = true
	}
	m.mu.Unlock()
	m.tell()
}
