package trace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/tracewire"
)

// A link is a connection that the agent has accepted. A goroutine reads from it to notice its end.
type link struct {
	conn   net.Conn
	limit  int // of a batch, in bytes
	acks   chan tracewire.Ack
	done   chan struct{} // closed when the reader has ended
	err    error         // why the reader ended; set before done is closed
	stop   chan struct{} // closed by close
	served bool          // an Ack arrived
	unhook func() bool
}

// connect connects to the agent and waits until it accepts. The end of ctx closes the connection.
func (c *Client) connect(ctx context.Context) (*link, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	d := tracewire.NewDecoder(conn)
	if err := c.greet(ctx, conn, d); err != nil {
		unhook()
		conn.Close()
		return nil, err
	}
	l := &link{conn: conn, limit: batchLimit(conn), unhook: unhook,
		acks: make(chan tracewire.Ack), done: make(chan struct{}), stop: make(chan struct{})}
	go l.read(d)
	return l, nil
}

// batchLimit returns how many bytes fit into a TCP segment of a connection.
func batchLimit(conn net.Conn) int {
	n := maxSegment(conn)
	if n < align(tracewire.DataLen(MaxTag)) {
		return smallBatch
	}
	return min(n, maxBatch)
}

func (l *link) read(d *tracewire.Decoder) {
	defer close(l.done)
	for {
		ack, err := readAck(d)
		if err == nil && ack.Code < 0 {
			err = Error(ack.Code)
		}
		if err != nil {
			l.err = err
			return
		}
		select {
		case l.acks <- ack:
		case <-l.stop:
			return
		}
	}
}

// broken reports whether the connection has ended or carried an unexpected Ack.
func (l *link) broken() bool {
	select {
	case <-l.done:
		return true
	case <-l.acks:
		return true
	default:
		return false
	}
}

// exchange writes a batch and waits for its Ack. It returns written false if the agent has received
// nothing of the batch.
func (l *link) exchange(batch []byte, kind tracewire.Kind, timeout time.Duration) (written bool, err error) {
	if err := l.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return false, err
	}
	if n, err := l.conn.Write(batch); err != nil {
		return n > 0, err
	}
	select {
	case ack := <-l.acks:
		if ack.Code != int32(kind) {
			return true, fmt.Errorf("ack %d, want %d: %w", ack.Code, kind, ErrIPC)
		}
	case <-l.done:
		if errors.Is(l.err, os.ErrDeadlineExceeded) {
			return true, fmt.Errorf("no answer within %v: %w", timeout, ErrTimeout)
		}
		return true, l.err
	}
	l.served = true
	return true, l.conn.SetDeadline(time.Time{})
}

// close ends the connection and waits for its reader.
func (l *link) close() {
	l.unhook()
	close(l.stop)
	l.conn.Close()
	<-l.done
}
