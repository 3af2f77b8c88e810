package timecontrol

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A Server steps programs through time together: through an archive, where a step is an interval of
// the archive's time, or, for programs on collectors, as time passes. It is what pmtime is, without
// a window. Its zero value steps through the whole archive of its first client, forward and as fast
// as the clients do it. The fields are not changed once Serve is called.
type Server struct {
	// Source is SourceArchive or SourceHost, the default. Clients of the other are not accepted.
	Source Source
	// Window selects the part of the archive of the first client to step through. An empty Window
	// selects all of it from the client's position on, and one step beyond, which shows programs
	// that the archive has ended. Align matters only together with the other texts.
	Window pmapi.WindowSpec
	// Delta is the interval of the steps; 0 means that of the first client.
	Delta time.Duration
	// Speed is how many seconds of an archive pass in a second; 0 means that a step comes once all
	// clients have done the one before. Steps of SourceHost are always as fast as time.
	Speed float64
	// Backward has the steps go from the end to the beginning.
	Backward bool
	// Clients is how many clients the first step waits for; 0 means one.
	Clients int
	// Stay keeps the server at the end of the archive until its clients have gone. Otherwise it
	// ends, and they with it.
	Stay bool
	// AckTimeout is how long a step waits for clients that have not done the one before; they miss
	// it then, and all that come before they have. 0 means DefaultAckTimeout.
	AckTimeout time.Duration
	// Logger receives a record of each client that breaks the protocol; nil means slog.Default().
	Logger *slog.Logger
}

const (
	// DefaultAckTimeout is the AckTimeout of a Server without.
	DefaultAckTimeout = time.Minute
	// MaxClients is the maximum number of clients at a time. If it is reached, a new connection
	// replaces one that has not sent its first message.
	MaxClients = 256
	// setTimeout is how long a connection may take to send its first message.
	setTimeout = 10 * time.Second
	// defaultDelta is the interval of steps where no client has one.
	defaultDelta = time.Second
)

// Serve serves clients that connect, and steps them. It closes ln. It returns nil when the last
// client has gone, without Stay at the end of the archive, and when ctx ends; and what Accept
// reports. The error of a Window that does not fit the first client is that of
// pmapi.WindowSpec.Window.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{Server: s, arrived: make(chan *client), received: make(chan received), accepted: make(chan error, 1)}
	r.logger = s.Logger
	if r.logger == nil {
		r.logger = slog.Default()
	}
	var wg sync.WaitGroup
	wg.Go(func() { r.accept(ctx, ln, &wg) })
	err := r.loop(ctx)
	cancel()
	ln.Close()
	for _, c := range r.clients {
		c.conn.Close()
	}
	wg.Wait()
	return err
}

// A run is a Server while it serves. Its fields below the channels belong to the loop.
type run struct {
	*Server
	logger   *slog.Logger
	arrived  chan *client  // clients that have connected
	received chan received // what they have sent
	accepted chan error    // why no more are accepted

	clients  []*client
	had      bool // there has been a client
	open     bool // the first step may come: there have been enough clients
	begin    time.Time
	end      time.Time
	position time.Time // of the next step
	delta    time.Duration
	due      time.Time // when the next step is to be
	stepped  time.Time // when the latest step was; zero if there was none
	beyond   bool      // the latest step was beyond the end of the clients, which tells them that it is one
	atEnd    bool      // there are no more steps
}

// A client is one connection.
type client struct {
	conn  *Conn
	known bool      // it has said what it is, and had its answer
	ready bool      // it has gone on: PCP's clients take more than the answer, if there is more, for a wrong one
	busy  bool      // it has not done the latest step
	at    time.Time // the position of that
}

// received is what a client has sent, or why it has gone.
type received struct {
	from *client
	m    Message
	err  error
}

// accept accepts clients. Each has a goroutine that receives from it.
func (r *run) accept(ctx context.Context, ln net.Listener, wg *sync.WaitGroup) {
	for {
		nc, err := ln.Accept()
		if err != nil {
			r.accepted <- err
			return
		}
		c := &client{conn: newConn(nc)}
		select {
		case r.arrived <- c:
			wg.Go(func() { r.receive(ctx, c) })
		case <-ctx.Done():
			nc.Close()
		}
	}
}

func (r *run) receive(ctx context.Context, c *client) {
	for first := true; ; first = false {
		receive, cancel := ctx, context.CancelFunc(func() {})
		if first {
			receive, cancel = context.WithTimeout(ctx, setTimeout)
		}
		m, err := c.conn.Receive(receive)
		cancel()
		select {
		case r.received <- received{c, m, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// loop serves until there is nothing left to do.
func (r *run) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if r.had && r.readyClients() == 0 || r.atEnd && !r.Stay && !r.anyBusy() {
			return nil
		}
		wait, ok := r.untilStep()
		if ok && wait <= 0 {
			r.step()
			continue
		}
		var timeout <-chan time.Time
		if ok {
			timer.Reset(wait)
			timeout = timer.C
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.accepted:
			return err
		case c := <-r.arrived:
			r.add(c)
		case m := <-r.received:
			if err := r.handle(m); err != nil {
				return err
			}
		case <-timeout:
		}
	}
}

// add adds a client that has connected.
func (r *run) add(c *client) {
	r.clients = append(r.clients, c)
	if len(r.clients) <= MaxClients {
		return
	}
	if i := slices.IndexFunc(r.clients, func(c *client) bool { return !c.known }); i >= 0 {
		c = r.clients[i]
	}
	r.remove(c)
}

func (r *run) remove(c *client) {
	c.conn.Close()
	for i := range r.clients {
		if r.clients[i] == c {
			r.clients = append(r.clients[:i], r.clients[i+1:]...)
			r.had = r.had || c.known
			return
		}
	}
}

// handle executes a client's request.
func (r *run) handle(in received) error {
	c := in.from
	if in.err != nil {
		if errors.Is(in.err, pdu.ErrIPC) {
			r.logger.Warn("time control client lost", "error", in.err)
		}
		r.remove(c)
		return nil
	}
	if in.m.Command == CommandSet {
		return r.handleSet(c, in.m)
	}
	if !c.known {
		r.logger.Warn("time control client refused", "first message", int(in.m.Command))
		r.remove(c)
		return nil
	}
	if !c.ready {
		c.ready = true
		r.open = r.open || r.readyClients() >= max(1, r.Clients)
	}
	switch {
	case in.m.Command == CommandAck && c.busy && !in.m.Position.Equal(c.at):
		// of a step before
	default:
		c.busy = false
	}
	return nil
}

// handleSet answers a client that says what it is. The first one says how the steps go, unless the
// Server does; others widen the window.
func (r *run) handleSet(c *client, m Message) error {
	accepted, wider := m.Source == r.Source, false
	switch {
	case !accepted:
		r.logger.Warn("time control client refused", "source", int(m.Source))
		m.Source = r.Source // which tells it
	case r.delta == 0:
		if err := r.setWindow(m); err != nil {
			return err
		}
	default:
		wider = r.widen(m)
	}
	m.Command, m.State, m.Mode = CommandAck, r.state(), r.mode()
	m.Delta, m.Position, m.Start, m.End = r.delta, r.position, r.begin, r.end
	var err error
	if c.conn.out, err = m.append(c.conn.out[:0], true); err == nil {
		err = c.conn.write()
	}
	if err != nil || !accepted {
		r.remove(c)
		return nil
	}
	if wider {
		r.sendAll(Message{Command: CommandBounds})
	}
	c.known = true
	return nil
}

func (r *run) readyClients() (n int) {
	for _, c := range r.clients {
		if c.ready {
			n++
		}
	}
	return n
}

// setWindow sets where the steps begin and end.
func (r *run) setWindow(m Message) error {
	r.delta = cmp.Or(max(r.Delta, 0), max(m.Delta, 0), defaultDelta)
	r.begin, r.end, r.position = m.Start, m.End, m.Position
	if r.Source == SourceHost {
		return nil
	}
	if r.hasWindow() {
		window, err := r.Window.Window(m.Start, m.End)
		if err != nil && !errors.Is(err, pmapi.ErrAlignment) {
			return err
		}
		r.begin, r.end, r.position = window.Start, window.End, window.Origin
	}
	if r.Backward {
		r.position = r.end
	}
	return nil
}

// widen makes the window that of another client too, unless the Server has one. It reports whether
// the window has changed.
func (r *run) widen(m Message) (changed bool) {
	if r.Source == SourceHost || r.hasWindow() {
		return false
	}
	if !m.Start.IsZero() && m.Start.Before(r.begin) {
		r.begin, changed = m.Start, true
	}
	if m.End.After(r.end) {
		r.end, changed = m.End, true
		if !r.Backward {
			r.beyond, r.atEnd = false, false
		}
	}
	return changed
}

func (r *run) state() State {
	switch {
	case r.atEnd:
		return Stopped
	case r.Backward:
		return Backward
	}
	return Forward
}

func (r *run) mode() Mode {
	if r.Source == SourceHost || r.Speed == 1 {
		return ModeNormal
	}
	return ModeFast
}

// pace is the time between steps.
func (r *run) pace() time.Duration {
	switch {
	case r.Source == SourceHost:
		return r.delta
	case r.Speed > 0:
		return time.Duration(min(float64(r.delta)/r.Speed, float64(maxPace)))
	}
	return 0
}

// maxPace is the longest time between steps.
const maxPace = 100 * 365 * 24 * time.Hour

// anyBusy reports whether the next step waits for a client that has not done the latest one.
func (r *run) anyBusy() bool {
	if time.Since(r.stepped) >= cmp.Or(r.AckTimeout, DefaultAckTimeout) {
		return false
	}
	for _, c := range r.clients {
		if c.busy {
			return true
		}
	}
	return false
}

// untilStep is how long to wait for the next step, or for the clients that hold it up. ok is false
// if that needs a client first.
func (r *run) untilStep() (wait time.Duration, ok bool) {
	switch {
	case !r.open || r.atEnd && r.Stay:
		return 0, false
	case r.anyBusy():
		return time.Until(r.stepped.Add(cmp.Or(r.AckTimeout, DefaultAckTimeout))), true
	case r.atEnd:
		return 0, false
	}
	return max(0, time.Until(r.due)), true
}

// step sends a step to all clients that have done the one before, and moves on.
func (r *run) step() {
	now := time.Now()
	if r.Source == SourceHost {
		r.position = now
	} else if r.beyond || r.outside() && r.hasWindow() {
		r.atEnd = true
		r.sendAll(Message{Command: CommandMode})
		return
	}
	r.sendAll(Message{Command: CommandStep})
	if r.due = r.due.Add(r.pace()); r.due.Before(now) {
		r.due = now.Add(r.pace())
	}
	r.stepped = now
	switch {
	case r.Source == SourceHost:
	case r.Backward:
		r.beyond, r.position = r.outside(), r.position.Add(-r.delta)
	default:
		r.beyond, r.position = r.outside(), r.position.Add(r.delta)
	}
}

// outside reports whether the position is beyond the end of the steps.
func (r *run) outside() bool {
	if r.Backward {
		return r.position.Before(r.begin)
	}
	return r.position.After(r.end)
}

// hasWindow reports whether the window is that of the Server, and not that of its clients.
func (r *run) hasWindow() bool {
	return r.Window.Start != "" || r.Window.Finish != "" || r.Window.Origin != ""
}

// sendAll sends a message, with what all messages have, to all clients that are not busy.
func (r *run) sendAll(m Message) {
	m.Source, m.State, m.Mode = r.Source, r.state(), r.mode()
	m.Delta, m.Position, m.Start, m.End = r.delta, r.position, r.begin, r.end
	for i := len(r.clients) - 1; i >= 0; i-- {
		c := r.clients[i]
		if !c.ready || c.busy {
			continue
		}
		if err := c.conn.send(&m); err != nil {
			r.remove(c)
			continue
		}
		if m.Command == CommandStep {
			c.busy, c.at = true, m.Position.Truncate(time.Microsecond)
		}
	}
}
