//go:build unix

package collector

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A memoryNet has listeners and agents in this process, connected by pipes in memory, so that a
// chaos run needs neither sockets nor real time.
type memoryNet struct {
	mu     sync.Mutex
	agents map[pdu.Domain]*memoryAgent // those that run
	port   int
}

// A memoryListener is a net.Listener that clients dial with its dial.
type memoryListener struct {
	net    *memoryNet
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *memoryNet) listen() *memoryListener {
	return &memoryListener{net: n, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 44321}
}

// A memoryConn is one end of a pipe, with the address of its client.
type memoryConn struct {
	net.Conn
	client net.Addr
}

func (c memoryConn) LocalAddr() net.Addr  { return c.client }
func (c memoryConn) RemoteAddr() net.Addr { return c.client }

func (l *memoryListener) dial() (net.Conn, error) {
	l.net.mu.Lock()
	l.net.port++
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: l.net.port}
	l.net.mu.Unlock()
	near, far := net.Pipe()
	select {
	case l.conns <- memoryConn{far, addr}:
		return memoryConn{near, addr}, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// A memoryAgent is an agent that runs as if in another process.
type memoryAgent struct {
	conn net.Conn
	in   *buffered // what the collector has sent

	mu    sync.Mutex
	until time.Time // when it is no longer stopped
}

// dialAgent starts the agent of a domain, and connects to it.
func (c *chaos) dialAgent(ctx context.Context, network, addr string) (net.Conn, error) {
	_, port, _ := net.SplitHostPort(addr)
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	d := pdu.Domain(n)
	near, far := net.Pipe()
	a := &memoryAgent{conn: far, in: newBuffered(far)}
	c.memory.mu.Lock()
	c.memory.agents[d] = a
	c.memory.mu.Unlock()
	go func() {
		program := agentProgram{
			domain: d, timeout: c.timeout, seed: c.seed, correct: !c.badRemote(d), in: a, out: a, exit: func(int) { far.Close() },
			fault: func(kind faultKind, lasts time.Duration) { c.faultLog.addFault(d, kind, time.Now(), lasts) },
		}
		program.run(context.Background())
		far.Close()
	}()
	return near, nil
}

// Read waits while the agent is stopped.
func (a *memoryAgent) Read(b []byte) (int, error) {
	n, err := a.in.Read(b)
	a.waitStopped()
	return n, err
}

func (a *memoryAgent) Write(b []byte) (int, error) {
	a.waitStopped()
	return a.conn.Write(b)
}

func (a *memoryAgent) waitStopped() {
	for {
		a.mu.Lock()
		left := time.Until(a.until)
		a.mu.Unlock()
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}

// stop keeps the agent from doing anything for some time.
func (a *memoryAgent) stop(lasts time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if until := time.Now().Add(lasts); until.After(a.until) {
		a.until = until
	}
}

// buffered reads a stream in the background, as a kernel does for a process.
type buffered struct {
	mu   sync.Mutex
	more *sync.Cond
	data []byte
	err  error
}

func newBuffered(r io.Reader) *buffered {
	b := &buffered{}
	b.more = sync.NewCond(&b.mu)
	go func() {
		chunk := make([]byte, 4096)
		for {
			n, err := r.Read(chunk)
			b.mu.Lock()
			b.data = append(b.data, chunk[:n]...)
			b.err = err
			b.mu.Unlock()
			b.more.Signal()
			if err != nil {
				return
			}
		}
	}()
	return b
}

func (b *buffered) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && b.err == nil {
		b.more.Wait()
	}
	if len(b.data) == 0 {
		return 0, b.err
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}
