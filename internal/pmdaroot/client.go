package pmdaroot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pcp-go/pcp/internal/ctxlock"
	"github.com/pcp-go/pcp/pdu"
)

// timeout limits an exchange, whatever its context says.
const timeout = 3 * time.Second

// A Client asks pmdaroot for containers. It connects when it has something to ask, or before with
// Connect, and again when the connection has broken. No call takes longer than some seconds. Safe for
// concurrent use.
type Client struct {
	socket string

	turn   ctxlock.Mutex // guards what follows
	conn   *Conn         // nil if there is none
	closed bool
}

// NewClient makes a Client for a socket, which is root.socket in the directory pmcd of $PCP_VAR_DIR.
func NewClient(socket string) *Client { return &Client{socket: socket, turn: ctxlock.New()} }

// Connect connects, for a program that cannot do so later since it gives up root's privileges.
func (c *Client) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := c.connection(ctx)
	return err
}

// Close closes the connection for good.
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
// connects again.
func (c *Client) ask(ctx context.Context, kind Kind, container string) (int32, string, error) {
	body, err := containerBody(container)
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for again := true; ; again = false {
		conn, err := c.connection(ctx)
		if err != nil {
			return 0, "", fmt.Errorf("%w: %w", pdu.ErrNotConn, err)
		}
		reply, files, err := conn.Exchange(ctx, kind, body, containerLen)
		CloseFiles(files)
		if err == nil {
			return parseContainer(reply)
		}
		if !errors.Is(err, errBroken) {
			return 0, "", err
		}
		c.drop(conn)
		if !again {
			return 0, "", err
		}
	}
}

// connection is the connection, made if there is none.
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
