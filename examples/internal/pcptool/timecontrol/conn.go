package timecontrol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// A Conn is a client's connection to a time control server. One goroutine at a time may call
// Receive, and one the other methods.
type Conn struct {
	nc   net.Conn
	in   [headerLen + MaxData]byte
	have int // bytes of the next message in in
	out  []byte

	deadline ctxwait.Deadline // of reads
}

// How long the parts of Dial and Start, and writes, may take.
const (
	handshakeTimeout = 30 * time.Second
	writeTimeout     = 10 * time.Second
	maxPortLine      = 64 // bytes of what a server prints
)

// A HandshakeError is the error of a server that does not accept a client: Err is EMSGSIZE for an
// answer of another length, EPROTO for another answer, ENOSYS for a server of another kind of
// source, or what the network reports.
type HandshakeError struct {
	Started bool // by Start
	Err     error
}

// Error says that it was the handshake, and why.
func (e *HandshakeError) Error() string { return "timecontrol: handshake: " + e.Err.Error() }

// Unwrap returns Err.
func (e *HandshakeError) Unwrap() error { return e.Err }

// A StartError is the error of a server that cannot be started.
type StartError struct{ Err error }

// Error says that it was the start, and why.
func (e *StartError) Error() string { return "timecontrol: start pmtime: " + e.Err.Error() }

// Unwrap returns Err.
func (e *StartError) Unwrap() error { return e.Err }

// Dial connects to the server on a port of this computer, and says what the client is: its source,
// interval, position, window and zone; the command of set is always CommandSet. Errors:
// *HandshakeError. The counterpart of pmTimeConnect(3) with a port.
func Dial(ctx context.Context, port int, set Message) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, &HandshakeError{Err: err}
	}
	c, err := NewConn(ctx, nc, set)
	if err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// NewConn makes a Conn of a connection. On an error, which is a *HandshakeError, it does not close
// the connection.
func NewConn(ctx context.Context, nc net.Conn, set Message) (*Conn, error) {
	c := newConn(nc)
	set.Command = CommandSet
	if err := c.handshake(ctx, &set); err != nil {
		return nil, &HandshakeError{Err: err}
	}
	return c, nil
}

func newConn(nc net.Conn) *Conn {
	return &Conn{nc: nc, deadline: ctxwait.Deadline{Set: nc.SetReadDeadline}}
}

func (c *Conn) handshake(ctx context.Context, set *Message) error {
	if err := c.send(set); err != nil {
		return err
	}
	length := len(c.out)
	var ack Message
	n, err := c.receive(ctx, &ack)
	switch {
	case err != nil:
		return err
	case n != length:
		return syscall.EMSGSIZE
	case ack.Command != CommandAck:
		return syscall.EPROTO
	case ack.Source != set.Source:
		return syscall.ENOSYS
	}
	return c.Show(true) // a server waits for a message before it sends steps
}

// Start starts a server and connects to it: the program pmtime of PATH, with "-a" for SourceArchive
// or "-h". It ends when its last client has gone. Errors: *StartError, *HandshakeError. The
// counterpart of pmTimeConnect(3) without a port.
func Start(ctx context.Context, set Message) (*Conn, error) {
	option := "-h"
	if set.Source == SourceArchive {
		option = "-a"
	}
	cmd := exec.Command("pmtime", option) // it may outlive this client, if it has others
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, &StartError{err}
	}
	port, err := readPort(ctx, out)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, &StartError{err}
	}
	out.Close()
	_ = cmd.Process.Release()
	c, err := Dial(ctx, port, set)
	if h, ok := errors.AsType[*HandshakeError](err); ok {
		h.Started = true
	}
	return c, err
}

// readPort reads the line that contains a server's port, "port=43334".
func readPort(ctx context.Context, out io.ReadCloser) (int, error) {
	defer context.AfterFunc(ctx, func() { out.Close() })()
	var line []byte
	b := make([]byte, 1)
	for len(line) < maxPortLine {
		if _, err := io.ReadFull(out, b); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return 0, fmt.Errorf("no port: %w", err)
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "port=")
	port, err := strconv.ParseUint(text, 10, 16)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is not a port: %w", line, pdu.ErrIPC)
	}
	return int(port), nil
}

// Receive waits for the next message of the server. After an error of ctx it may be called again.
// Other errors are io.EOF if the server has gone, and pdu.ErrIPC for a malformed message. It is the
// counterpart of pmTimeRecv(3).
func (c *Conn) Receive(ctx context.Context) (Message, error) {
	var m Message
	_, err := c.receive(ctx, &m)
	return m, err
}

// receive returns the length of the message, too.
func (c *Conn) receive(ctx context.Context, m *Message) (int, error) {
	c.deadline.Start(ctx, time.Time{})
	defer c.deadline.Stop()
	for {
		length, err := headerLen, error(nil)
		if c.have >= headerLen {
			length, err = messageLen(c.in[:])
		}
		if err == nil && c.have == length {
			break
		}
		if err == nil {
			var n int
			n, err = io.ReadFull(c.nc, c.in[c.have:length])
			c.have += n
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		default:
			return 0, err
		}
	}
	length := c.have
	c.have = 0
	return length, m.Decode(c.in[:length])
}

func (c *Conn) send(m *Message) (err error) {
	if c.out, err = m.Append(c.out[:0]); err != nil {
		return err
	}
	return c.write()
}

// write writes the message in out.
func (c *Conn) write() error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.nc.Write(c.out)
	return err
}

// Ack acknowledges the CommandStep of a position, once it is done. The counterpart of
// pmTimeSendAck(3).
func (c *Conn) Ack(position time.Time) error {
	return c.send(&Message{Command: CommandAck, Position: position})
}

// Show asks the server to show its window, or to hide it. The counterpart of pmTimeShowDialog(3).
func (c *Conn) Show(visible bool) error {
	m := Message{Command: CommandHide}
	if visible {
		m.Command = CommandShow
	}
	return c.send(&m)
}

// Close closes the connection. A server without other clients ends. The counterpart of
// pmTimeDisconnect(3).
func (c *Conn) Close() error {
	c.deadline.Close()
	return c.nc.Close()
}
