package pmdaroot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// timeout limits an exchange, even if its context does not.
const timeout = 3 * time.Second

// stuckTime is how long requests for a container fail at once after pmdaroot has not answered one
// in time.
const stuckTime = 10 * time.Second

// mostStuck is of how many such requests is remembered.
const mostStuck = 256

// A Client asks pmdaroot for containers. It connects when it has something to ask, or before with
// Connect, and again when the connection has broken or pmdaroot does not answer on it. No call
// takes longer than some seconds. Safe for concurrent use.
type Client struct {
	socket string

	turn   ctxwait.Mutex // guards what follows
	conn   *Conn         // nil if there is none
	closed bool

	mu    sync.Mutex
	stuck map[containerRequest]time.Time // until when requests fail
}

// A containerRequest is a client's request for information about a container.
type containerRequest struct {
	kind      Kind
	container string
}

// NewClient makes a Client for a socket, which is root.socket in the directory pmcd of
// $PCP_VAR_DIR.
func NewClient(socket string) *Client {
	return &Client{socket: socket, turn: ctxwait.NewMutex(), stuck: map[containerRequest]time.Time{}}
}

// Connect connects, for a program that cannot do so later since it gives up root's privileges.
func (c *Client) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := c.connection(ctx)
	return err
}

// Close closes the connection permanently.
func (c *Client) Close() {
	c.turn.Lock(context.Background())
	defer c.turn.Unlock()
	c.closed = true
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// Hostname is the name that a container has as a host. Errors: [pdu.ErrNoContainer] for one that is
// not known, [pdu.ErrNotConn] without pmdaroot, others of the system.
func (c *Client) Hostname(ctx context.Context, container string) (string, error) {
	_, name, err := c.ask(ctx, Hostname, container)
	return name, err
}

// ProcessID is the first process of a container, -1 if it does not run. The errors are those of
// Hostname.
func (c *Client) ProcessID(ctx context.Context, container string) (int, error) {
	pid, _, err := c.ask(ctx, ProcessID, container)
	return int(pid), err
}

// CgroupName is the name of the control group of a container, without the first slash. The errors
// are those of Hostname.
func (c *Client) CgroupName(ctx context.Context, container string) (string, error) {
	_, name, err := c.ask(ctx, CgroupName, container)
	return name, err
}

// ask makes a request about a container. If the connection has broken since the last one, it
// connects again. A request that pmdaroot has not answered fails at once for some time.
func (c *Client) ask(ctx context.Context, kind Kind, container string) (int32, string, error) {
	body, err := containerBody(container)
	if err != nil {
		return 0, "", err
	}
	r := containerRequest{kind, container}
	if c.isStuck(r) {
		return 0, "", errStuck
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for again := true; ; again = false {
		conn, err := c.readyConnection(ctx)
		if err != nil {
			return 0, "", err
		}
		reply, files, err := conn.Exchange(ctx, kind, body, containerLen)
		CloseFiles(files)
		c.release(conn)
		switch {
		case err == nil:
			return parseContainer(reply)
		case isTimeout(err) && !errors.Is(err, errEarlier) && time.Since(start) >= timeout:
			c.setStuck(r)
			return 0, "", errStuck
		case !errors.Is(err, errBroken):
			return 0, "", err
		}
		c.drop(conn)
		if !again {
			return 0, "", err
		}
	}
}

// errEarlier is the error of a request that has not been made, since an earlier one has no reply
// yet.
var errEarlier = errors.New("pmdaroot has not answered an earlier request")

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// errStuck is no pdu.ErrTimeout: a collector would take that for a fault of the agent that asks.
var errStuck = fmt.Errorf("pmdaroot has not answered this request in time: %w", pdu.ErrAgain)

// isStuck reports whether a request fails at once.
func (c *Client) isStuck(r containerRequest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.stuck[r])
}

// setStuck has a request fail at once for some time.
func (c *Client) setStuck(r containerRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if len(c.stuck) >= mostStuck {
		maps.DeleteFunc(c.stuck, func(_ containerRequest, until time.Time) bool { return !now.Before(until) })
	}
	if len(c.stuck) < mostStuck {
		c.stuck[r] = now.Add(stuckTime)
	}
}

// readyConnection returns a connection that need not wait for an answer to another request, if the
// program can make one. Otherwise it waits.
func (c *Client) readyConnection(ctx context.Context) (*Conn, error) {
	conn, err := c.connection(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", pdu.ErrNotConn, err)
	}
	if conn.isReady() {
		return conn, nil
	}
	other, err := Dial(ctx, c.socket)
	if err != nil {
		return conn, nil
	}
	if err := c.turn.Lock(ctx); err != nil {
		other.Close()
		return nil, err
	}
	defer c.turn.Unlock()
	if c.closed {
		other.Close()
		return nil, errBroken
	}
	before := c.conn
	c.conn = other
	if before != nil {
		before.closeUnused()
	}
	return other, nil
}

// release closes a used connection if another one has replaced it.
func (c *Client) release(conn *Conn) {
	c.turn.Lock(context.Background())
	defer c.turn.Unlock()
	if c.conn != conn {
		conn.closeUnused()
	}
}

// connection returns the connection, and makes one if necessary.
func (c *Client) connection(ctx context.Context) (*Conn, error) {
	if err := c.turn.Lock(ctx); err != nil {
		return nil, err
	}
	defer c.turn.Unlock()
	if c.closed {
		return nil, errBroken
	}
	if c.conn == nil {
		conn, err := Dial(ctx, c.socket)
		if err != nil {
			return nil, err
		}
		c.conn = conn
	}
	return c.conn, nil
}

// drop forgets a connection that has broken.
func (c *Client) drop(conn *Conn) {
	conn.Close()
	c.turn.Lock(context.Background())
	defer c.turn.Unlock()
	if c.conn == conn {
		c.conn = nil
	}
}
