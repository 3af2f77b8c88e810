package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
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
	maxGreeting = 256     // connections that are not identified yet, and clients in their greeting
	defaultPort = 44321   // of a collector
	hostShare   = 2       // one address may have 1/2 of maxGreeting and of MaxClients
	never       = 1 << 62 // as IdleTime: no client is disconnected to make room for another
)

// Time limits. A client must send its greeting and the address within greetTimeout. A collector
// must accept the connection within connectTimeout. After one side has closed its half of the
// connection, the other side may go on for closeTimeout.
const (
	greetTimeout   = 10 * time.Second
	connectTimeout = 5 * time.Second
	closeTimeout   = 10 * time.Second
)

// A Proxy connects PCP's clients to collectors. Its zero value is ready for use and connects them
// only to the collector of this computer. It is safe for concurrent use after its fields are set,
// and must not be copied.
type Proxy struct {
	// Allow reports whether clients may connect to a host and port. The host is a name or an
	// address, as the client sent it. Allow may be called concurrently. Nil allows "localhost" and
	// loopback addresses, on port 44321. If Allow returns true for all hosts, as PCP's pmproxy
	// does, any client can use this computer as a relay to every host that this computer can reach.
	Allow func(host string, port int) bool
	// DialContext connects to a collector. Its ctx ends after 5 seconds. Nil means that of a
	// net.Dialer.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is the configuration for connections that begin with a TLS handshake, of PCP's clients
	// and of others. If TLS is nil, such connections are closed.
	TLS *tls.Config
	// RequireTLS refuses web requests without TLS, except on unix sockets, with HTTP status 400. It
	// does not affect PCP's clients, which negotiate TLS with the collector.
	RequireTLS bool
	// MaxClients limits the clients that are connected to collectors at a time. Any further client
	// is refused. One IPv4 address, or one IPv6 network of 64 bits, may have half of them. 0 means
	// 4096.
	MaxClients int
	// Log receives a warning when a client is refused or a collector cannot be reached, at most one
	// a second. Nil means slog.Default().
	Log *slog.Logger

	mu     sync.Mutex
	conns  map[net.Conn]context.CancelFunc // of clients
	closed bool
	wait   sync.WaitGroup // for the clients in conns

	greetTimeout, connectTimeout time.Duration // set by tests; 0 means the constants

	limits   sync.Once
	greeting connlimit.Conns
	clients  connlimit.Conns

	warned atomic.Int64 // when the latest warning was logged, in Unix seconds
}

// Serve serves PCP's clients that connect to l, and closes all other connections. A temporary
// failure to accept, such as a lack of descriptors, delays later clients by up to a second. When l
// is closed or fails otherwise, Serve closes l and returns the error of its Accept, such as
// net.ErrClosed. Connected clients are served until they end, or until Proxy.Close.
func (p *Proxy) Serve(l net.Listener) error {
	others := p.Listener(l)
	defer others.Close()
	for {
		c, err := connlimit.Accept(context.Background(), others, connlimit.Temporary)
		if err != nil {
			return err
		}
		c.Close()
	}
}

// Close disconnects all clients and waits until they are served no more. Later clients are refused.
// Close does not close listeners. It always returns nil.
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

// setLimits sets the limits of connections.
func (p *Proxy) setLimits() {
	most := cmp.Or(p.MaxClients, 4096)
	p.greeting.Max, p.greeting.MaxPerHost = maxGreeting, maxGreeting/hostShare
	p.clients.Max, p.clients.MaxPerHost, p.clients.IdleTime = most, max(most/hostShare, 1), never
}

// begin registers a client's connection and returns its context, or nil after Close. The connection
// is closed when the context ends, through Close or end.
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

// end ends the context of a client's connection and unregisters it.
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
