package pmlc

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// A Dialer has the options of connections to loggers. Its zero value is ready for use.
type Dialer struct {
	// Timeout is how long to wait for a connection, and for each reply; 0 means as long as the
	// context lets.
	Timeout time.Duration
	// MaxReply is the length of the longest reply that is read; 0 means MaxReply.
	MaxReply int
}

// MaxReply is the length of the longest reply that is read unless a Dialer says otherwise. It has
// room for the states of eight million instances.
const MaxReply = 64 << 20

// Dial connects to a logger with the zero Dialer.
func Dial(ctx context.Context, network, address string) (*Client, error) {
	return (&Dialer{}).Dial(ctx, network, address)
}

// Dial connects to the logger that listens on an address: of a network "tcp" and its port, or
// "unix" and the path of its socket. The error of a logger that refuses is a pdu.Error: that of
// EADDRINUSE if it has another client already, or pdu.ErrPermission.
func (d *Dialer) Dial(ctx context.Context, network, address string) (*Client, error) {
	conn, err := (&net.Dialer{Timeout: d.Timeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("pmlc: connect to logger: %w", err)
	}
	c := &Client{conn: conn, pdus: pdu.NewConn(conn), timeout: d.Timeout}
	c.deadline.Set = conn.SetDeadline
	c.pdus.MaxLen = cmp.Or(d.MaxReply, MaxReply)
	if err := c.wait(ctx, c.hello); err != nil {
		c.Close()
		return nil, fmt.Errorf("pmlc: connect to logger: %w", err)
	}
	return c, nil
}

// A Client is connected to a logger. One goroutine at a time may use it.
//
// Methods return either an error of the logger, a pdu.Error, or an error of the connection. The
// Client stays usable after the former. The latter closes the Client, and all methods then return
// the same error.
type Client struct {
	conn     net.Conn
	pdus     *pdu.Conn
	deadline ctxwait.Deadline
	timeout  time.Duration
	pid      int
	version  int
	err      error // of the connection
}

// wait calls f, which reads and writes, and ends that when the time is over.
func (c *Client) wait(ctx context.Context, f func() error) error {
	var limit time.Time
	if c.timeout > 0 {
		limit = time.Now().Add(c.timeout)
	}
	c.deadline.Start(ctx, limit)
	defer c.deadline.Stop()
	err := f()
	if ctxwait.TimedOut(err) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// hello agrees on a version. One below the versions that this package knows is pdu.ErrIPC.
func (c *Client) hello() error {
	h, body, err := c.pdus.Read()
	if err != nil {
		return err
	}
	if h.Kind != pdu.KindError {
		return h.Unexpected(pdu.KindError)
	}
	var s pdu.Status
	if err := s.Decode(body); err != nil {
		return err
	}
	if s.Code < 0 {
		return s.Code
	}
	if s.Code < Version2 {
		return fmt.Errorf("version %d: %w", int32(s.Code), pdu.ErrIPC)
	}
	c.pid, c.version = int(h.From), min(int(s.Code), Version3)
	return c.pdus.Write(int32(os.Getpid()), pdu.Creds{Version: uint8(c.version)})
}

// PID is the logger's process.
func (c *Client) PID() int { return c.pid }

// Version is the version of the protocol that the Client and the logger have agreed on: Version2 or
// Version3.
func (c *Client) Version() int { return c.version }

// RemoteAddr is the logger's address.
func (c *Client) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// Close closes the connection.
func (c *Client) Close() error {
	c.deadline.Close()
	if c.err == nil {
		c.err = net.ErrClosed
	}
	return c.conn.Close()
}

// Status is what the logger says about itself.
func (c *Client) Status(ctx context.Context) (Status, error) {
	s := Status{Version: c.version}
	err := c.exchange(ctx, RequestStatus, s.Kind(), s.Decode)
	return s, err
}

// NewVolume makes the logger begin a new volume, and returns its number.
func (c *Client) NewVolume(ctx context.Context) (int, error) { return c.request(ctx, RequestNewVolume) }

// Sync makes the logger write what it has buffered.
func (c *Client) Sync(ctx context.Context) error {
	_, err := c.request(ctx, RequestSync)
	return err
}

// request makes a request whose reply is a number.
func (c *Client) request(ctx context.Context, r Request) (int, error) {
	var s pdu.Status
	if err := c.exchange(ctx, r, pdu.KindError, s.Decode); err != nil {
		return 0, err
	}
	return int(s.Code), nil
}

// QA makes the logger misbehave, for tests of clients; n selects how, and 0 stops it. Do not use it
// on production loggers.
func (c *Client) QA(ctx context.Context, n int) error {
	_, err := c.request(ctx, RequestQA+Request(n))
	return err
}

// Control changes whether and how often metrics are recorded, and returns their new recording
// state. A request that has no effect, because others have precedence, is no error.
func (c *Client) Control(ctx context.Context, control logger.Control, state logger.State, interval time.Duration, targets []logger.Target) ([]logger.MetricState, error) {
	return c.control(ctx, &ControlReq{Control: control, State: state, Interval: interval, Targets: targets})
}

// Enquire returns the recording state of metrics, in the order of targets. A target without
// instances stands for all instances that exist or have existed.
func (c *Client) Enquire(ctx context.Context, targets []logger.Target) ([]logger.MetricState, error) {
	return c.control(ctx, &ControlReq{Enquire: true, Targets: targets})
}

func (c *Client) control(ctx context.Context, p *ControlReq) (states []logger.MetricState, err error) {
	err = c.exchange(ctx, p, pdu.KindResult, func(body []byte) (err error) {
		states, err = decodeStates(body)
		return err
	})
	return states, err
}

// exchange sends a request and decodes the reply, if it is of a kind; an error of the logger is
// returned.
func (c *Client) exchange(ctx context.Context, p pdu.PDU, want pdu.Kind, decode func(body []byte) error) error {
	if c.err != nil {
		return c.err
	}
	if err := c.pdus.Queue(0, p); err != nil {
		return err
	}
	err := c.wait(ctx, func() error { return c.roundTrip(want, decode) })
	if _, ok := err.(pdu.Error); err == nil || ok {
		return err
	}
	c.err = fmt.Errorf("pmlc: %w", err)
	c.Close()
	return c.err
}

func (c *Client) roundTrip(want pdu.Kind, decode func(body []byte) error) error {
	if err := c.pdus.Flush(); err != nil {
		return err
	}
	h, body, err := c.pdus.Read()
	if err != nil {
		return err
	}
	if h.Kind == pdu.KindError {
		var s pdu.Status
		if err := s.Decode(body); err != nil {
			return err
		}
		if s.Code < 0 {
			return s.Code
		}
	}
	if h.Kind != want {
		return h.Unexpected(want)
	}
	return decode(body)
}
