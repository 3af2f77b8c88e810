package pmapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Defaults of a Dialer whose fields are zero.
const (
	defaultPort           = 44321
	defaultProxyPort      = 44322
	defaultSocket         = "/run/pcp/pmcd.socket"
	defaultConnectTimeout = 5 * time.Second
	defaultRequestTimeout = 10 * time.Second
	defaultMaxReply       = 16 << 20
)

var (
	defaultBackoff = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}
	autoBackoff    = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}
)

// A Dialer holds the options of connections to collectors. Its zero value is ready for use.
// It is safe for concurrent use after its fields are set.
type Dialer struct {
	// ConnectTimeout limits the time to make a connection. It includes the handshake unless
	// HandshakeTimeout is set. 0 means 5 seconds, less than 0 no limit.
	ConnectTimeout time.Duration
	// HandshakeTimeout limits the handshake on a new connection. 0 means the rest of
	// ConnectTimeout, less than 0 no limit.
	HandshakeTimeout time.Duration
	// RequestTimeout limits the wait for each reply, from the start of the request's turn or, if a
	// request has several replies, from the previous one. 0 means 10 seconds, less than 0 no limit.
	RequestTimeout time.Duration
	// Backoff has the delays before the next attempt to connect: after the first failure in a row,
	// after the second, and so on. The last delay also applies to all later failures. Nil means 5,
	// 10, 20, 40 and 80 seconds, as in the C library, or with AutoReconnect 1, 2, 5 and 10 seconds.
	// Empty but not nil means no delay.
	Backoff []time.Duration
	// Ports are tried in order if a host is named without a port. No Ports means 44321.
	Ports []int
	// Proxy is the pmproxy for specifications that name no proxy: a host, or a host and a port as
	// in "gate:44322". The default port is 44322. Empty means no proxy.
	Proxy string
	// Socket is the path of the unix socket of "unix:" and "local:". Empty means
	// /run/pcp/pmcd.socket.
	Socket string
	// TLS is the configuration of encrypted connections. If its ServerName is empty, the name of
	// the host is used. Nil means the tls.conf of PCP if DialerFromEnv made the Dialer, and
	// otherwise an empty configuration: the system must trust the collector's certificate, which
	// must be for the name of the host. A collector may request one of Certificates.
	//
	// The specification says whether a connection is encrypted: "pcps://web1" enforces encryption,
	// and "pcps://web1?secure=relaxed" encrypts if the collector can.
	TLS *tls.Config
	// Names, if not nil, replaces the name space of the collector.
	Names *pmns.Tree
	// Derived are definitions of derived metrics. A context uses those defined when it is opened.
	// Nil means no derived metrics.
	Derived *Derived
	// MaxReply is the greatest length of a reply in bytes; 0 means 16 MiB. A longer reply is a
	// *LimitError and ends the connection.
	MaxReply int
	// AutoReconnect makes contexts reconnect automatically; see Gap. This includes the first
	// connection: Dial succeeds without a collector, and until there is a connection, requests fail
	// with pdu.ErrIPC and the reason.
	AutoReconnect bool
	// Counters, if not nil, count the PDUs of all connections.
	Counters *pdu.Counters
	// Trace, if not nil, is called with every PDU: after it is received or, if out is true, before
	// it is sent. It must not keep or change body. Connections of several contexts call it
	// concurrently.
	Trace func(out bool, h pdu.Header, body []byte)
	// Logger receives a record when a context with AutoReconnect loses its connection or cannot
	// make the first one, and another record when it is connected again. Nil means slog.Default().
	// The attribute host is the Host of an OpError.
	Logger *slog.Logger
	// DialContext makes connections; nil means that of a net.Dialer.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// Container is the container for host specifications without one. Empty means no container.
	Container string
	// AskLogin, if not nil, is called if the collector or the host specification requires a login
	// and the specification lacks the user or the password. It must set the empty fields of l. Dial
	// returns its error. The answers also apply to later connections of the context, unless the
	// login fails.
	AskLogin func(ctx context.Context, l *Login) error

	identity *identity     // of the context that is opened
	secure   secureMode    // of connections whose specification does not say
	tlsFile  *tlsconf.File // the source of the TLS configuration if TLS is nil; may be nil
	peer     peer          // set by secureFor
}

// An opener makes a connection to a host.
type opener func(ctx context.Context) (*link, error)

// complete returns d with all defaults.
func (d *Dialer) complete() Dialer {
	n := *d
	n.ConnectTimeout = cmp.Or(n.ConnectTimeout, defaultConnectTimeout)
	n.RequestTimeout = cmp.Or(n.RequestTimeout, defaultRequestTimeout)
	n.Socket = cmp.Or(n.Socket, defaultSocket)
	n.MaxReply = cmp.Or(n.MaxReply, defaultMaxReply)
	if n.Backoff == nil {
		n.Backoff = defaultBackoff
		if n.AutoReconnect {
			n.Backoff = autoBackoff
		}
	}
	if len(n.Ports) == 0 {
		n.Ports = []int{defaultPort}
	}
	n.Backoff, n.Ports = slices.Clone(n.Backoff), slices.Clone(n.Ports)
	if n.Logger == nil {
		n.Logger = slog.Default()
	}
	if n.DialContext == nil {
		n.DialContext = new(net.Dialer).DialContext
	}
	n.identity = n.newIdentity(hostspec.Spec{})
	return n
}

// A ContextDialer makes connections to a collector in this process. A collector.Server
// is one.
type ContextDialer interface {
	// DialContext makes a connection, like DialContext of a net.Dialer. Local calls it with the
	// network "pipe" and the address "local"; both may be ignored.
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// Local opens a context on a collector that runs in this process, such as a collector.Server. It
// needs no socket and uses the defaults of a Dialer. If srv is nil, the error is pdu.ErrArg.
// Package local is the counterpart of PM_CONTEXT_LOCAL in the C library: agents without a
// collector.
func Local(ctx context.Context, srv ContextDialer) (*Context, error) {
	return new(Dialer).Local(ctx, srv)
}

// Local opens a context on a collector that runs in this process, with the options of d;
// see the function Local. Its host is called "local" in errors. The errors are those of
// Dial.
func (d *Dialer) Local(ctx context.Context, srv ContextDialer) (*Context, error) {
	if v := reflect.ValueOf(srv); srv == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, &OpError{Op: "dial", Host: "local", Err: fmt.Errorf("the ContextDialer is nil, want a collector.Server: %w", pdu.ErrArg)}
	}
	n := d.complete()
	n.DialContext, n.secure = srv.DialContext, secureOff
	n.peer = peer{local: true}
	return n.openHost(ctx, "local", "local", func(ctx context.Context) (*link, error) {
		return n.connect(ctx, "pipe", "local")
	})
}

// openHost opens a context on a host. source is its name and the named ports, for errors and the
// log. d is complete.
func (d Dialer) openHost(ctx context.Context, name, source string, open opener) (*Context, error) {
	h, err := newHost(ctx, d, source, open)
	if err != nil {
		return nil, &OpError{Op: "dial", Host: source, Err: err}
	}
	c := newContext(source, withOverlays(h, d.Names, d.Derived))
	c.hostName = name
	if name == "local" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "localhost") {
		if own, err := os.Hostname(); err == nil {
			c.hostName = own
		}
	}
	return c, nil
}
