package pdutest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// A Peer is the far end of a connection, for the steps of a script. Only the goroutine of the
// script may use it.
type Peer struct {
	Conn *pdu.Conn
	// Stream is the stream below Conn, for a step that closes it or wraps it with Upgrade.
	Stream net.Conn
}

// Receive waits for the next PDU and decodes it into new memory.
func (p *Peer) Receive() (pdu.Header, pdu.PDU, error) {
	h, body, err := p.Conn.Read()
	if err != nil {
		return h, nil, err
	}
	v, err := pdu.Decode(h.Kind, bytes.Clone(body))
	return h, v, err
}

// A Step is one step of a script. If it returns an error the test fails and the
// script ends.
type Step func(p *Peer) error

// errHungUp ends a script without a failure, after either end has closed the connection.
var errHungUp = errors.New("hung up")

// Serve runs a script at the far end of a connection and returns the near end.
// At the end of the test it closes the near end, if the test has not, and waits
// for the script.
//
// The connection is a net.Pipe: a write blocks until the other end has read all of it.
func Serve(t testing.TB, script ...Step) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		if err := play(far, script); err != nil && !(t.Failed() && closed(err)) {
			t.Errorf("pdutest: %v", err)
		}
	}()
	t.Cleanup(func() {
		near.Close()
		<-done
	})
	return near
}

// play runs a script and waits for the end of the connection.
func play(far net.Conn, script []Step) error {
	p := &Peer{Conn: pdu.NewConn(far), Stream: far}
	for i, step := range script {
		switch err := step(p); {
		case errors.Is(err, errHungUp):
			if i+1 < len(script) {
				return fmt.Errorf("step %d of %d comes after the end of the connection", i+2, len(script))
			}
			return nil
		case err != nil:
			return fmt.Errorf("step %d of %d: %w", i+1, len(script), err)
		}
	}
	switch h, got, err := p.Receive(); {
	case err == nil:
		return fmt.Errorf("after the last step, unexpected\n%s", lines("+ ", describe(h.From, got)))
	case err != io.EOF:
		return fmt.Errorf("after the last step: %w", err)
	}
	return nil
}

// closed reports whether the near end is gone.
func closed(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) }
