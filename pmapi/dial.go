package pmapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/pdu"
)

// Dial opens a context on a collector with the defaults of a Dialer; see
// Dialer.Dial. The counterpart of pmNewContext(3).
func Dial(ctx context.Context, spec string) (*Context, error) { return new(Dialer).Dial(ctx, spec) }

// Dial opens a context on the collector that a host specification names:
//
//	web1.example.com             a host, at its default port
//	web1:44321,4321              a host, and ports to try in this order
//	[fe80::1]:44321              an address and a port
//	web1:44321@proxy:44322       through a pmproxy
//	unix:///run/pcp/pmcd.socket  a unix socket; "unix:" is Dialer.Socket
//	local:                       Dialer.Socket, or else TCP on this computer
//	pcps://web1?container=db     with TLS, for metrics of a container
//
// Attributes follow a question mark, with "&" between them and values encoded as in URLs: username,
// password, realm, method (of the login), container, secure and others. Unknown ones are ignored.
// The syntax is that of the option -h of PCP's tools. The C library accepts an empty name in
// brackets or after '@' and a port above 65535; here they are errors.
//
// With AutoReconnect, Dial also succeeds if no connection can be made now. Requests then fail until
// one is made. Dial still fails for a bad specification, and when ctx has ended.
//
// Errors name the host and the port, or the path of the socket. They are:
//
//   - pdu.ErrNotHost for an empty specification
//   - a *SpecError for a syntax error, and EINVAL for a value that cannot be decoded
//   - EHOSTUNREACH (syscall.EHOSTUNREACH) for a host without an address
//   - pdu.ErrTimeout if there is no connection within ConnectTimeout, or no handshake within
//     HandshakeTimeout
//   - pdu.ErrPermission or pdu.ErrConnLimit if the collector refuses the client
//   - pdu.ErrIPC if the peer closes the connection in the handshake, or is no collector
//   - errors.ErrUnsupported for compression, and if the collector lacks the requested TLS, login or
//     container
//   - an error of package sasl if the login fails
//   - pdu.ErrTLS if the TLS handshake fails, such as for a certificate that is not trusted
//   - pdu.ErrNotConn if tls.conf cannot be used
//   - pdu.ErrNeedClientCert if the collector requires a client certificate and TLS is not enforced
//   - any other error that the network reports
//
// If the collector refuses the client's certificate, the first request fails instead of Dial.
func (d *Dialer) Dial(ctx context.Context, spec string) (*Context, error) {
	n := d.complete()
	h, err := parseHost(spec)
	if err != nil {
		return nil, &OpError{Op: "dial", Err: &badHostError{spec, err}}
	}
	n.identity = n.newIdentity(h)
	open, err := n.opener(h)
	if err == error(pdu.ErrNotHost) {
		return nil, &OpError{Op: "dial", Err: &badHostError{spec, err}}
	}
	if err != nil {
		return nil, &OpError{Op: "dial", Host: hostspec.WithoutPassword(spec), Err: err}
	}
	name := h.Host.Name
	switch {
	case h.Protocol == hostspec.Unix && h.Path == "":
		name = n.Socket
	case h.Protocol == hostspec.Unix:
		name = h.Path
	case h.Protocol == hostspec.Local:
		name = "localhost"
	case len(h.Host.Ports) > 0: // there may be another collector on the same host
		return n.openHost(ctx, name, h.Host.String(), open)
	}
	return n.openHost(ctx, name, name, open)
}

// opener returns an opener for the collector that a specification names.
func (n Dialer) opener(h hostspec.Spec) (opener, error) {
	if _, compress := h.Attr("compress"); compress {
		return nil, fmt.Errorf("%w: there is no compression yet", pdu.ErrUnsupported)
	}
	n.secureFor(h)
	path := h.Path
	if path == "" {
		path = n.Socket
	}
	socket := func(ctx context.Context) (*link, error) { return n.connect(ctx, "unix", path) }
	switch {
	case h.Protocol == hostspec.Unix:
		return socket, nil
	case h.Protocol == hostspec.Local:
		tcp := n.tcp(hostspec.HostPort{Name: "localhost"}, nil)
		return func(ctx context.Context) (*link, error) {
			l, noSocket := socket(ctx)
			if noSocket == nil || ctx.Err() != nil {
				return l, noSocket
			}
			l, err := tcp(ctx)
			if err != nil && ctx.Err() == nil {
				err = localError{tcp: err, socket: noSocket}
			}
			return l, err
		}, nil
	case h.Host.Name == "":
		return nil, pdu.ErrNotHost
	}
	proxies := h.Proxies
	if len(proxies) == 0 && n.Proxy != "" {
		proxy, err := parseHost(n.Proxy)
		if err != nil {
			return nil, err
		}
		proxies = []hostspec.HostPort{proxy.Host}
	}
	return n.tcp(h.Host, proxies), nil
}

// tcp returns an opener that connects to the first port of a host that accepts a connection. If
// there are proxies, it connects through the first one and ignores the others.
func (n Dialer) tcp(host hostspec.HostPort, proxies []hostspec.HostPort) opener {
	ports := host.Ports
	if len(ports) == 0 {
		ports = n.Ports
	}
	return func(ctx context.Context) (l *link, err error) {
		for _, port := range ports {
			if len(proxies) > 0 {
				l, err = n.through(proxies[0]).connect(ctx, host.Name, strconv.Itoa(port))
			} else {
				l, err = n.connect(ctx, "tcp", net.JoinHostPort(host.Name, strconv.Itoa(port)))
			}
			if err == nil || ctx.Err() != nil {
				break
			}
		}
		return l, err
	}
}

// connectOnce makes one connection and greets the collector.
func (n Dialer) connectOnce(ctx context.Context, network, addr string) (*link, error) {
	dialing, cancel := limited(ctx, n.ConnectTimeout)
	defer cancel()
	conn, err := n.DialContext(dialing, network, addr)
	if err != nil {
		return nil, dialError(ctx, dialing, addr, "no connection in time", err)
	}
	if n.HandshakeTimeout != 0 {
		cancel()
		dialing, cancel = limited(ctx, n.HandshakeTimeout)
		defer cancel()
	}
	l, err := newLink(dialing, network, conn, n)
	if err != nil {
		return nil, dialError(ctx, dialing, addr, "no greeting in time", err)
	}
	l.addr = addr
	return l, nil
}

// limited returns a context that ends with ctx or, if limit is greater than 0, after limit.
func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(ctx, limit)
	}
	return context.WithCancel(ctx)
}

// A proxied connects through a pmproxy.
type proxied struct {
	Dialer
	proxy string
}

func (n Dialer) through(proxy hostspec.HostPort) proxied {
	port := defaultProxyPort
	if len(proxy.Ports) > 0 {
		port = proxy.Ports[0]
	}
	return proxied{n, net.JoinHostPort(proxy.Name, strconv.Itoa(port))}
}

// connect makes a connection to the proxy, which connects it to the collector.
func (p proxied) connect(ctx context.Context, host, port string) (*link, error) {
	n := p.Dialer
	n.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := p.DialContext(ctx, "tcp", p.proxy)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		err = greetProxy(conn, host, port)
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			conn.Close()
			return nil, fmt.Errorf("proxy %s: %w", p.proxy, err)
		}
		return conn, nil
	}
	return n.connect(ctx, "tcp", net.JoinHostPort(host, port))
}

// greetProxy sends a pmproxy the address to connect to. It reads the greeting of pmproxy byte by
// byte, because the bytes after it are the collector's.
func greetProxy(conn net.Conn, host, port string) error {
	if _, err := conn.Write([]byte("pmproxy-client 1\n")); err != nil {
		return err
	}
	line, err := bufio.NewReaderSize(&oneByte{conn, 64}, 16).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.TrimSuffix(line, "\n") != "pmproxy-server 1" {
		return fmt.Errorf("%w: no pmproxy, its greeting is %q", pdu.ErrIPC, line)
	}
	_, err = conn.Write([]byte(host + " " + port + "\n"))
	return err
}

// oneByte reads byte by byte, up to a limit.
type oneByte struct {
	conn net.Conn
	left int
}

func (o *oneByte) Read(b []byte) (int, error) {
	if o.left--; o.left < 0 {
		return 0, fmt.Errorf("%w: no pmproxy, its greeting is too long", pdu.ErrIPC)
	}
	return o.conn.Read(b[:1])
}
