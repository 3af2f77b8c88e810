package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// First bytes of a connection, which identify its protocol.
const (
	startsGreeting  = 'p'  // of "pmproxy-client 1"; the methods of HTTP are in capital letters
	startsHandshake = 0x16 // the type of TLS handshake records
)

// Listener returns a listener for a web server. It accepts the connections of l that do not come
// from PCP's clients. Connections with TLS have finished their handshake when Accept returns them.
// The Proxy itself serves PCP's clients that connect while the listener is open, until they end, or
// until Proxy.Close. Closing the listener closes l.
func (p *Proxy) Listener(l net.Listener) net.Listener {
	s := &listener{Listener: l, p: p, others: make(chan net.Conn), failed: make(chan error)}
	s.open, s.end = context.WithCancel(context.Background())
	go s.run()
	return s
}

// A listener is the result of Proxy.Listener. It passes PCP's clients to the Proxy and other
// connections to Accept.
type listener struct {
	net.Listener
	p      *Proxy
	others chan net.Conn
	failed chan error
	open   context.Context // ends with Close
	end    context.CancelFunc
}

func (s *listener) run() {
	for {
		c, err := s.Listener.Accept()
		if err == nil {
			go s.sort(c)
			continue
		}
		select {
		case s.failed <- err: // the caller of Accept decides when to try again
		case <-s.open.Done():
			return
		}
	}
}

// Accept waits for the next connection that does not come from a PCP client.
func (s *listener) Accept() (net.Conn, error) {
	select {
	case c := <-s.others:
		return c, nil
	case err := <-s.failed:
		return nil, err
	case <-s.open.Done():
		return nil, net.ErrClosed
	}
}

// Close closes the listener and all connections that are not yet identified, or identified but not
// yet accepted.
func (s *listener) Close() error {
	s.end()
	return s.Listener.Close()
}

// sort reads the first bytes of a connection and passes it to the Proxy or to Accept.
func (s *listener) sort(raw net.Conn) {
	p := s.p
	p.limits.Do(p.setLimits)
	limit := p.greeting.Add(raw)
	defer limit.Remove() // limit is never nil: if there are too many, Add closes another connection
	deadline := time.Now().Add(cmp.Or(p.greetTimeout, greetTimeout))
	_ = raw.SetDeadline(deadline)
	stop := context.AfterFunc(s.open, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	c, err := peek(raw)
	secure := err == nil && c.start[0] == startsHandshake && p.TLS != nil
	if secure {
		c, err = peek(tls.Server(c, p.TLS))
	}
	if _, local := raw.(*net.UnixConn); local {
		secure = true
	}
	switch {
	case !stop() || err != nil:
		c.Close()
	case c.start[0] == startsGreeting:
		p.serve(c, limit)
	case c.start[0] == startsHandshake:
		p.refuse(c, errors.New("there is no certificate for TLS"))
		c.Close()
	case p.RequireTLS && !secure:
		p.refuse(c, errors.New("a request for the web server without TLS"))
		replyNeedTLS(raw)
	default:
		limit.Remove()
		_ = c.SetDeadline(time.Time{})
		select {
		case s.others <- c:
		case <-s.open.Done():
			c.Close()
		}
	}
}

// replyNeedTLS replies to a request without TLS and closes the connection. Before it closes, it
// reads what the client still sends, because the system would otherwise discard the reply.
func replyNeedTLS(c net.Conn) {
	defer c.Close()
	if _, err := c.Write([]byte(needTLS)); err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, maxDrained) // until the client closes, or the deadline passes
	}
}

// maxDrained limits the bytes that are read of a refused request.
const maxDrained = 64 << 10

// needTLS is the reply to a request without TLS if RequireTLS is set.
const needTLS = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nThis server requires TLS: use https.\n"

// maxStart limits the bytes that are read to identify a connection. A whole greeting and address
// usually fit.
const maxStart = 64

// A peeked is a connection whose first bytes have been read.
type peeked struct {
	net.Conn
	start []byte // Read returns these first
}

// peek reads the first bytes of a connection, at least one. Read returns them again.
func peek(c net.Conn) (*peeked, error) {
	b := make([]byte, maxStart)
	n, err := c.Read(b)
	if n > 0 {
		err = nil // the next Read returns it again
	} else if err == nil {
		err = errors.New("nothing was read")
	}
	return &peeked{c, b[:n]}, err
}

func (c *peeked) Read(b []byte) (int, error) {
	if len(c.start) > 0 {
		n := copy(b, c.start)
		c.start = c.start[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}
