package pmdaroot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// maxFiles is the greatest number of descriptors that pmdaroot may send at once.
const maxFiles = 16

// A Conn is a connection to pmdaroot. One exchange is made at a time. A reply that comes too late
// is awaited and thrown away by the next exchange: a program that has given up root's privileges
// could not connect again. Safe for concurrent use.
type Conn struct {
	turn     ctxwait.Mutex
	conn     *net.UnixConn
	deadline ctxwait.Deadline
	late     int // replies that nobody waits for any more
	broken   error
}

// Dial connects to pmdaroot at its socket. The program needs root's privileges.
func Dial(ctx context.Context, socket string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	c := newConn(nc.(*net.UnixConn))
	end, _ := ctx.Deadline()
	c.deadline.Start(ctx, end)
	defer c.deadline.Stop()
	if err := c.greeted(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func newConn(nc *net.UnixConn) *Conn {
	c := &Conn{turn: ctxwait.NewMutex(), conn: nc}
	c.deadline.Set = nc.SetDeadline
	return c
}

// greeted reads the PDU that pmdaroot sends first.
func (c *Conn) greeted() error {
	h, _, files, err := c.receive()
	CloseFiles(files)
	if err == nil && (h.kind != Info || h.status != 0) {
		err = fmt.Errorf("pmdaroot has sent type %#x, status %d, want type %#x", h.kind, h.status, Info)
	}
	return err
}

// Close closes the connection. An exchange fails.
func (c *Conn) Close() error {
	c.deadline.Close()
	return c.conn.Close()
}

// isReady reports whether an exchange need not wait for an earlier one.
func (c *Conn) isReady() bool {
	if !c.turn.TryLock() {
		return false
	}
	defer c.turn.Unlock()
	return c.late == 0
}

// closeUnused closes the connection unless an exchange is made.
func (c *Conn) closeUnused() {
	if c.turn.TryLock() {
		defer c.turn.Unlock()
		c.Close()
	}
}

// errBroken means that the stream position is unknown, so the connection must be closed.
var errBroken = errors.New("the connection to pmdaroot is broken")

// Exchange sends a request. It returns the body of the reply, which has at least length bytes, and
// the descriptors that came with it. A status other than 0 is an error, a [pdu.Error]. An error
// that matches errBroken or io.EOF means that the connection is unusable.
func (c *Conn) Exchange(ctx context.Context, kind Kind, body []byte, length int) ([]byte, []*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := c.turn.Lock(ctx); err != nil {
		return nil, nil, err
	}
	defer c.turn.Unlock()
	if c.broken != nil {
		return nil, nil, c.broken
	}
	end, _ := ctx.Deadline()
	c.deadline.Start(ctx, end)
	defer c.deadline.Stop()
	reply, files, err := c.exchange(kind, body, length)
	if c.broken != nil {
		c.Close()
	}
	return reply, files, err
}

func (c *Conn) exchange(kind Kind, body []byte, length int) ([]byte, []*os.File, error) {
	for ; c.late > 0; c.late-- {
		_, _, files, err := c.receive()
		CloseFiles(files)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errEarlier, err)
		}
	}
	if n, err := c.conn.Write(appendPDU(nil, kind, body)); err != nil {
		if n > 0 || !isTimeout(err) {
			err = c.fail(err)
		}
		return nil, nil, err
	}
	h, reply, files, err := c.receive()
	switch {
	case err != nil && c.broken == nil:
		c.late++
	case err != nil:
	case h.kind != kind+1:
		err = c.fail(fmt.Errorf("pmdaroot has sent type %#x, want type %#x", h.kind, kind+1))
	case h.status != 0:
		err = fmt.Errorf("pmdaroot refuses the request: status %d: %w", h.status, pdu.Error(h.status))
	case len(reply) < length:
		err = c.fail(fmt.Errorf("pmdaroot has sent %d bytes of type %#x, want %d", headerLen+len(reply), h.kind, headerLen+length))
	default:
		return reply, files, nil
	}
	CloseFiles(files)
	return nil, nil, err
}

// fail makes an error that of all later exchanges too.
func (c *Conn) fail(err error) error {
	c.broken = fmt.Errorf("%w: %w", errBroken, err)
	return c.broken
}

// receive reads a PDU, and the descriptors that come with it. Unless the error is broken, nothing
// has been read.
func (c *Conn) receive() (h header, body []byte, files []*os.File, err error) {
	b, oob := make([]byte, headerLen), make([]byte, syscall.CmsgSpace(4*maxFiles))
	n, oobn, _, _, err := c.conn.ReadMsgUnix(b, oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil && isTimeout(err) {
		return header{}, nil, nil, err
	}
	if err == nil {
		files, err = receivedFiles(oob[:oobn])
	}
	if err == nil && n < headerLen {
		_, err = io.ReadFull(c.conn, b[n:])
	}
	if err == nil {
		h, err = parseHeader(b)
	}
	if err == nil {
		body = make([]byte, h.length)
		_, err = io.ReadFull(c.conn, body)
	}
	if err != nil {
		CloseFiles(files)
		return header{}, nil, nil, c.fail(err)
	}
	return h, body, files, nil
}

// receivedFiles are the files in the control messages of a read.
func receivedFiles(oob []byte) (files []*os.File, err error) {
	if len(bytes.Trim(oob, "\x00")) == 0 {
		return nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue // it is of another kind
		}
		for _, fd := range fds {
			syscall.SetNonblock(fd, true) // or it could not have deadlines
			files = append(files, os.NewFile(uintptr(fd), "pipe of pmdaroot"))
		}
	}
	return files, nil
}

// CloseFiles closes files that came with a reply.
func CloseFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
