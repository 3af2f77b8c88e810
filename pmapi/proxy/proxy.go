package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
)

const (
	maxGreeting = 256     // connections that have not said yet what they are
	defaultPort = 44321   // of a collector
	hostShare   = 2       // one address may have 1/2 of maxGreeting and of MaxClients
	never       = 1 << 62 // an IdleTime: no connection to a collector is closed for another
)

// Time limits. A client must send its greeting within greetTimeout, and a collector accept the
// connection within connectTimeout. After one side has ended its part of the connection, the
// other may go on for closeTimeout.
const (
	greetTimeout   = 10 * time.Second
	connectTimeout = 5 * time.Second
	closeTimeout   = 10 * time.Second
)

// A Proxy serves connections. Its zero value connects clients to the collector of this computer
// alone. It is safe for concurrent use after its fields are set, and must not be copied.
type Proxy struct {
	// Allow says whether clients may connect to a host, which is a name or an address as the client
	// has it, and port. Nil allows the collector of this computer, on the default port. If Allow
	// returns true for all hosts, as PCP's pmproxy does, any client can use this computer as a
	// relay to any host that it can reach.
	Allow func(host string, port int) bool
	// DialContext connects to a collector; nil means net.Dialer's.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS, if not nil, serves clients that begin with a TLS handshake. Inside TLS, either kind of
	// client may follow. If TLS is nil, such connections are closed.
	TLS *tls.Config
	// RequireTLS refuses requests for a web server without TLS, except on unix sockets. It does not
	// concern PCP's clients, which agree on TLS with the collector.
	RequireTLS bool
	// MaxClients limits the connections to collectors; one more is closed. One IP address may have
	// half of them. 0 means 4096.
	MaxClients int
	// Log receives why clients have been refused; nil means slog.Default.
	Log *slog.Logger

	mu     sync.Mutex
	conns  map[net.Conn]context.CancelFunc // of clients
	closed bool
	wait   sync.WaitGroup // for them

	greetTimeout, connectTimeout time.Duration // set by tests; 0 means the constants

	limits   sync.Once
	greeting connlimit.Conns
	clients  connlimit.Conns

	warned atomic.Int64 // when a refusal was logged, in Unix seconds
}

// Serve serves the clients of l, until l is closed or fails; other connections than those of PCP's
// clients are closed. It closes l.
func (p *Proxy) Serve(l net.Listener) error {
	others := p.Listener(l)
	defer others.Close()
	for {
		c, err := others.Accept()
		if err == nil {
			c.Close()
			continue
		}
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
			return err
		}
	}
}

// Close closes all connections to collectors, and waits until they are. It does not close
// listeners. It always returns nil.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, cancel := range p.conns {
		cancel()
	}
	p.mu.Unlock()
	p.wait.Wait()
	return nil
}

// setLimits completes the limits of connections.
func (p *Proxy) setLimits() {
	most := cmp.Or(p.MaxClients, 4096)
	p.greeting.Max, p.greeting.MaxPerHost = maxGreeting, maxGreeting/hostShare
	p.clients.Max, p.clients.MaxPerHost, p.clients.IdleTime = most, max(most/hostShare, 1), never
}

// begin returns the context of a client's connection, which Close ends, or nil after Close. At its
// end the connection is closed.
func (p *Proxy) begin(c net.Conn) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() { c.Close() })
	if p.conns == nil {
		p.conns = make(map[net.Conn]context.CancelFunc)
	}
	p.conns[c] = cancel
	p.wait.Add(1)
	return ctx
}

// end undoes begin.
func (p *Proxy) end(c net.Conn) {
	p.mu.Lock()
	p.conns[c]()
	delete(p.conns, c)
	p.mu.Unlock()
	p.wait.Done()
}

func (p *Proxy) allows(host string, port int) bool {
	if p.Allow != nil {
		return p.Allow(host, port)
	}
	addr, err := netip.ParseAddr(host)
	return port == defaultPort && (strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback())
}

func (p *Proxy) dial(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.connectTimeout, connectTimeout))
	defer cancel()
	if p.DialContext != nil {
		return p.DialContext(ctx, "tcp", addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

func (p *Proxy) log() *slog.Logger {
	if p.Log != nil {
		return p.Log
	}
	return slog.Default()
}
