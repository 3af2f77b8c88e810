package pmapi_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// securely starts a collector on TCP and on a unix socket, until the test ends. change sets its
// options.
func securely(t testing.TB, change func(s *collector.Server)) (addr, socket string) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(pcptest.ShortDir(t), "s")
	unix, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no unix sockets: ", err)
	}
	s := new(collector.Server)
	change(s)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, tcp, unix) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return tcp.Addr().String(), socket
}

// serverTLS returns the configuration of a collector with a certificate of an authority. It also
// requests certificates of this authority from clients.
func serverTLS(t testing.TB, ca *tlstest.CA, l tlstest.Leaf) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, "server", l).TLS}, ClientCAs: ca.Pool(), ClientAuth: tls.VerifyClientCertIfGiven}
}

// request connects and makes a request. It also reports whether the name of the metric was sent
// unencrypted.
func request(t *testing.T, d *pmapi.Dialer, spec string) (inClear bool, err error) {
	t.Helper()
	counted := *d
	var sent strings.Builder
	counted.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &recordedConn{c, &sent}, nil
	}
	c, err := counted.Dial(t.Context(), spec)
	if err != nil {
		return false, err
	}
	defer c.Close()
	_, err = c.Lookup(t.Context(), []string{"pmcd.version"})
	return strings.Contains(sent.String(), "pmcd.version"), err
}

// A recordedConn keeps what is written.
type recordedConn struct {
	net.Conn
	w io.Writer
}

func (c *recordedConn) Write(p []byte) (int, error) {
	c.w.Write(p)
	return c.Conn.Write(p)
}

// TestSecure checks which clients request TLS of a collector with TLS and of one without.
func TestSecure(t *testing.T) {
	ca := tlstest.NewCA(t, "ca")
	with, withSocket := securely(t, func(s *collector.Server) {
		s.TLS = serverTLS(t, ca, tlstest.Leaf{Hosts: []string{"127.0.0.1", hostname(t)}})
	})
	without, withoutSocket := securely(t, func(*collector.Server) {})
	for _, test := range []struct {
		prefix, attrs         string
		secure                pmapi.Secure
		encrypted, refusedOff bool // by a collector with TLS, and by one without
	}{
		{"", "", pmapi.SecureOff, false, false},
		{"pcp://", "?secure", pmapi.SecureOff, false, false},
		{"pcp://", "?secure=enforce", pmapi.SecureOff, false, false},
		{"pcps://", "", pmapi.SecureOff, true, true},
		{"pcps://", "?secure", pmapi.SecureOff, true, true},
		{"pcps://", "?secure=enforce", pmapi.SecureOff, true, true},
		{"pcps://", "?secure=relaxed", pmapi.SecureOff, true, false},
		{"pcps://", "?secure=relaxed", pmapi.SecureEnforce, true, false}, // the specification wins
		{"pcps://", "?secure=other", pmapi.SecureOff, true, true},
		{"", "", pmapi.SecureRelaxed, true, false},
		{"", "", pmapi.SecureEnforce, true, true},
		{"unix:", "", pmapi.SecureOff, false, false},
		{"unix:", "", pmapi.SecureRelaxed, true, false},
		{"unix:", "", pmapi.SecureEnforce, true, true},
	} {
		d := &pmapi.Dialer{TLS: &tls.Config{RootCAs: ca.Pool()}}
		d.SetSecure(test.secure)
		of := func(addr, socket string) string {
			if test.prefix == "unix:" {
				addr = socket
			}
			return test.prefix + addr + test.attrs
		}
		spec := of(with, withSocket)
		if clear, err := request(t, d, spec); err != nil || clear == test.encrypted {
			t.Errorf("%s, %d: in clear: %v, %v", spec, test.secure, clear, err)
		}
		spec = of(without, withoutSocket)
		if _, err := request(t, d, spec); errors.Is(err, errors.ErrUnsupported) != test.refusedOff || (err != nil) != test.refusedOff {
			t.Errorf("%s without TLS, %d: %v", spec, test.secure, err)
		}
	}
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	return name
}

// Errors of certificates and handshakes have the codes and texts of the C library.
func TestSecureErrors(t *testing.T) {
	ca, stranger := tlstest.NewCA(t, "ca"), tlstest.NewCA(t, "stranger")
	serve := func(l tlstest.Leaf) string {
		addr, _ := securely(t, func(s *collector.Server) { s.TLS = serverTLS(t, ca, l) })
		return "pcps://" + addr
	}
	usual, elsewhere, expired := serve(tlstest.Leaf{}), serve(tlstest.Leaf{Hosts: []string{"other.example.org"}}), serve(tlstest.Leaf{Expired: true})
	forClients := serve(tlstest.Leaf{Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	required, _ := securely(t, func(s *collector.Server) {
		s.TLS, s.RequireClientCert = serverTLS(t, ca, tlstest.Leaf{}), true
	})
	peers := map[string]func(net.Conn){
		"refuses": func(c net.Conn) { pdu.NewConn(c).Write(0, pdu.Status{Code: pdu.ErrNotConn}) },
		"closes": func(c net.Conn) {
			pdu.NewConn(c).Write(0, pdu.Status{})
			io.ReadFull(c, make([]byte, 16))
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		},
		"says nothing": func(c net.Conn) { pdu.NewConn(c).Write(0, pdu.Status{}); io.Copy(io.Discard, c) },
		"speaks clear": func(c net.Conn) {
			pdu.NewConn(c).Write(0, pdu.Status{})
			pdu.NewConn(c).Write(0, pdu.DescReq{})
			io.Copy(io.Discard, c)
		},
		"says other things": func(c net.Conn) { pdu.NewConn(c).Write(0, pdu.DescReq{}) },
	}
	fake := func(what string) string {
		return "pcps://" + pcptest.Serve(t, func(c net.Conn) {
			p := pdu.NewConn(c)
			p.Write(0, pdu.Challenge{Version: pdu.ProtocolVersion, Features: pdu.FeatureSecure | pdu.FeatureSecureAck})
			if _, _, err := p.Read(); err == nil {
				peers[what](c)
			}
		})
	}
	good := &tls.Config{RootCAs: ca.Pool()}
	cert := func(c *tlstest.Cert) *tls.Config {
		return &tls.Config{RootCAs: ca.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.TLS, nil }}
	}
	for _, test := range []struct {
		name, spec string
		config     *tls.Config
		want       pdu.Error
		text       string
	}{
		{"good", usual, good, 0, ""},
		{"no configuration", usual, nil, pdu.ErrTLS, "unknown authority"},
		{"another authority", usual, &tls.Config{RootCAs: stranger.Pool()}, pdu.ErrTLS, "unknown authority"},
		{"expired", expired, good, pdu.ErrTLS, "expired"},
		{"the certificate of another host", elsewhere, good, pdu.ErrTLS, "127.0.0.1"},
		{"that of a client", forClients, good, pdu.ErrTLS, "incompatible key usage"},
		{"anything goes", expired, &tls.Config{InsecureSkipVerify: true}, 0, ""},
		{"TLS 1.1", usual, &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, pdu.ErrTLS, "protocol version"},
		{"a certificate", usual, cert(ca.Issue(t, "c", tlstest.Leaf{})), 0, ""},
		{"a bad certificate", usual, cert(stranger.Issue(t, "c", tlstest.Leaf{})), pdu.ErrIPC, "unknown certificate authority"},
		{"none where one is required", "pcps://" + required, good, pdu.ErrIPC, "certificate required"},
		{"one where it is required", "pcps://" + required, cert(ca.Issue(t, "c", tlstest.Leaf{})), 0, ""},
		{"no TLS where a certificate is required", "pcp://" + required, good, pdu.ErrNeedClientCert, ""},
		{"TLS if it is there, likewise", "pcps://" + required + "?secure=relaxed", good, pdu.ErrNeedClientCert, ""},
		{"no TLS, of this computer", "pcp://" + strings.Replace(required, "127.0.0.1", "localhost", 1), good, 0, ""},
		{"refused", fake("refuses"), good, pdu.ErrNotConn, "refuses TLS"},
		{"closed", fake("closes"), good, -107, "closed the connection"},
		{"clear", fake("speaks clear"), good, pdu.ErrTLS, ""},
		{"no acknowledgement", fake("says other things"), good, pdu.ErrIPC, ""},
		{"silent", fake("says nothing"), good, pdu.ErrTimeout, "no greeting in time"},
	} {
		d := &pmapi.Dialer{TLS: test.config}
		if test.want == pdu.ErrTimeout {
			d.HandshakeTimeout = 50 * time.Millisecond
		}
		_, err := request(t, d, test.spec)
		if code := pdu.FromError(err); err == nil && test.want != 0 || code != test.want || err != nil && !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v (%d), want %d, %q", test.name, err, code, test.want, test.text)
		}
	}
}

// A context that reconnects automatically does so with TLS.
func TestSecureReconnect(t *testing.T) {
	ca := tlstest.NewCA(t, "ca")
	addr, _ := securely(t, func(s *collector.Server) { s.TLS = serverTLS(t, ca, tlstest.Leaf{}) })
	var conns []net.Conn
	d := &pmapi.Dialer{AutoReconnect: true, TLS: &tls.Config{RootCAs: ca.Pool()}, Backoff: []time.Duration{time.Nanosecond},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			conns = append(conns, c)
			return c, err
		}}
	c, err := d.Dial(t.Context(), "pcps://"+addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		conns[len(conns)-1].Close()
		for try := 0; ; try++ {
			if _, err = c.Lookup(t.Context(), []string{"pmcd.version"}); err == nil || try == 10 {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(conns) < 4 {
		t.Errorf("%d connections", len(conns))
	}
}

// Requests end early on a connection with TLS.
func TestSecureCancel(t *testing.T) {
	ca := tlstest.NewCA(t, "ca")
	addr, _ := securely(t, func(s *collector.Server) { s.TLS = serverTLS(t, ca, tlstest.Leaf{}) })
	c, err := (&pmapi.Dialer{TLS: &tls.Config{RootCAs: ca.Pool()}}).Dial(t.Context(), "pcps://"+addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Microsecond)
		if _, err := c.Lookup(ctx, []string{"pmcd.version"}); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, pdu.ErrIPC) {
			t.Fatal(err)
		}
		cancel()
	}
}

// A stuckConn sends nothing while *stuck is set. When that context ends, a write fails as if a
// deadline had passed.
type stuckConn struct {
	net.Conn
	stuck *context.Context
}

func (c stuckConn) Write(p []byte) (int, error) {
	if *c.stuck == nil {
		return c.Conn.Write(p)
	}
	<-(*c.stuck).Done()
	return 0, &net.OpError{Op: "write", Net: "tcp", Err: os.ErrDeadlineExceeded}
}

// TestSecureWriteDeadline: TLS can send nothing more after a deadline has passed during a write.
// The request fails with its deadline, and the next one has a new connection, or fails as without a
// connection.
func TestSecureWriteDeadline(t *testing.T) {
	ca := tlstest.NewCA(t, "ca")
	addr, _ := securely(t, func(s *collector.Server) { s.TLS = serverTLS(t, ca, tlstest.Leaf{}) })
	for _, auto := range []bool{true, false} {
		var stuck context.Context
		d := &pmapi.Dialer{TLS: &tls.Config{RootCAs: ca.Pool()}, AutoReconnect: auto, Logger: slog.New(slog.DiscardHandler)}
		d.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return stuckConn{c, &stuck}, err
		}
		c, err := d.Dial(t.Context(), "pcps://"+addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		look := func(ctx context.Context) error {
			_, err := c.Lookup(ctx, []string{"pmcd.hostname"})
			return err
		}
		if err := look(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		stuck = ctx
		if err := look(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("automatic %v: stuck: %v", auto, err)
		}
		stuck = nil
		switch err := look(t.Context()); {
		case auto && err != nil:
			t.Errorf("after that: %v", err)
		case !auto && !errors.Is(err, pdu.ErrIPC):
			t.Errorf("after that, without another connection: %v", err)
		}
		if err := c.Reconnect(t.Context()); err != nil {
			t.Error(err)
		}
		if err := look(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
