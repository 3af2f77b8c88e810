package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
)

// The greetings of client and proxy.
const (
	clientGreeting = "pmproxy-client 1"
	proxyGreeting  = "pmproxy-server 1"
)

// maxLine limits a line of a client, in bytes: a DNS name has at most 253, a port 5.
const maxLine = 300

// serve serves one of PCP's clients. Its connection has the deadline of the greeting, and counts
// against maxGreeting until the greeting is over.
func (p *Proxy) serve(c *peeked, greeting *connlimit.Conn) {
	ctx := p.begin(c)
	if ctx == nil {
		c.Close()
		return
	}
	defer p.end(c)
	host, port, err := greet(c)
	greeting.Remove()
	if err == nil && !p.allows(host, port) {
		err = fmt.Errorf("clients may not connect to %q, port %d", host, port)
	}
	if err != nil {
		p.refuse(c, err)
		return
	}
	limit := p.clients.Add(c)
	if limit == nil {
		p.refuse(c, errors.New("too many clients"))
		return
	}
	defer limit.Remove()
	_ = c.SetDeadline(time.Time{})
	collector, err := p.dial(ctx, net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		p.warn("collector is not reached", c, err)
		return
	}
	defer collector.Close()
	defer context.AfterFunc(ctx, func() { collector.Close() })()
	connect(c, collector)
}

func (p *Proxy) refuse(c net.Conn, err error) {
	p.warn("client is refused", c, err)
}

// warn logs the failure of a client. It logs at most once a second, because any client can cause
// failures.
func (p *Proxy) warn(msg string, client net.Conn, err error) {
	now, last := time.Now().Unix(), p.warned.Load()
	if now != last && p.warned.CompareAndSwap(last, now) {
		p.log().Warn(msg, slog.String("client", remote(client)), slog.Any("err", err))
	}
}

// greet exchanges greetings with a client and returns the address that the client wants.
func greet(c *peeked) (host string, port int, err error) {
	line, err := c.line()
	if err == nil && line != clientGreeting {
		err = fmt.Errorf("%q is no greeting", line)
	}
	if err != nil {
		return "", 0, err
	}
	if _, err := c.Write([]byte(proxyGreeting + "\n")); err != nil {
		return "", 0, err
	}
	if line, err = c.line(); err != nil {
		return "", 0, err
	}
	return parseAddress(line)
}

// parseAddress reads "HOST PORT".
func parseAddress(line string) (host string, port int, err error) {
	host, digits, _ := strings.Cut(line, " ")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || host == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' }) {
		return "", 0, fmt.Errorf("%q is no address: want a host, a space and a port", line)
	}
	return host, int(n), nil
}

// line reads a line and returns it without the newline. Bytes after the newline stay in c.start.
func (c *peeked) line() (string, error) {
	for {
		if line, rest, ok := bytes.Cut(c.start, []byte("\n")); ok {
			c.start = rest
			return string(line), nil
		}
		if len(c.start) >= maxLine {
			return "", fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		b := make([]byte, maxLine)
		n, err := c.Conn.Read(b[:maxLine-len(c.start)])
		c.start = append(c.start, b[:n]...)
		if n == 0 && err != nil {
			return "", fmt.Errorf("no whole line: %w", err)
		}
	}
}

// connect copies bytes between client and collector until both have ended their streams or one has
// failed.
func connect(client *peeked, collector net.Conn) {
	if len(client.start) > 0 {
		if _, err := collector.Write(client.start); err != nil {
			return
		}
		client.start = nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pass(client.Conn, collector)
	}()
	pass(collector, client.Conn)
	<-ended
}

// pass copies one direction. After its end the other direction may go on for closeTimeout; after an
// error it ends at once.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	limit := time.Now().Add(closeTimeout)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		limit = time.Unix(1, 0)
	}
	_ = to.SetDeadline(limit)
	_ = from.SetDeadline(limit)
}

// remote names a client in the log. A client of a unix socket has no address, so the address of the
// socket stands for it.
func remote(c net.Conn) string { return cmp.Or(c.RemoteAddr().String(), c.LocalAddr().String()) }
