package collector_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

const secureAck = pdu.FeatureSecure | pdu.FeatureSecureAck

// A secured is a collector with TLS, and the authority of its certificate.
type secured struct {
	*collector.Server
	ca   *tlstest.CA
	addr string // TCP
}

// newSecured starts a collector with one agent, after change has modified it.
func newSecured(t testing.TB, change func(s *collector.Server)) *secured {
	t.Helper()
	ca := tlstest.NewCA(t, "ca")
	s := &collector.Server{TLS: &tls.Config{
		Certificates: []tls.Certificate{ca.Issue(t, "server", tlstest.Leaf{}).TLS},
		ClientCAs:    ca.Pool(), ClientAuth: tls.VerifyClientCertIfGiven,
	}}
	if change != nil {
		change(s)
	}
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	return &secured{s, ca, collectortest.ServeTCP(t, s)}
}

// client returns the TLS configuration of a client.
func (s *secured) client(certs ...*tlstest.Cert) *tls.Config {
	c := &tls.Config{RootCAs: s.ca.Pool(), ServerName: "127.0.0.1"}
	for _, cert := range certs {
		c.Certificates = append(c.Certificates, cert.TLS)
	}
	return c
}

// upgrade starts TLS on a new connection.
func upgrade(g *collectortest.Client, features pdu.Features, config *tls.Config) (*collectortest.Client, *tls.Conn, error) {
	g.Receive()
	g.Send(pdu.Creds{Version: pdu.ProtocolVersion, Features: features})
	if features&pdu.FeatureSecureAck != 0 {
		if got := g.Receive(); got != "success" {
			return nil, nil, errors.New(got)
		}
	}
	c := tls.Client(g.Net, config)
	if err := c.Handshake(); err != nil {
		return nil, nil, err
	}
	return collectortest.NewClient(g.T, c), c, nil
}

// dial returns a client with TLS.
func (s *secured) dial(t testing.TB, config *tls.Config) *collectortest.Client {
	t.Helper()
	g, _, err := upgrade(collectortest.DialTCP(t, s.addr), secureAck, config)
	if err != nil {
		t.Fatal(err)
	}
	g.Send(pdu.SetProfile{})
	return g
}

var aDesc = pdu.DescReq{PMID: pdu.MakePMID(10, 0, 1)}

const aDescribed = "{Desc:{PMID:10.0.1 Type:U32 InDom:PM_INDOM_NULL Sem:instant Units:}}"

// TestSecureChallenge checks that the challenge is that of C pmcd, except that it offers a login
// only if there are users.
func TestSecureChallenge(t *testing.T) {
	server := tlstest.SelfSigned(t, "server", tlstest.Leaf{})
	config := &tls.Config{Certificates: []tls.Certificate{server.TLS}}
	for _, test := range []struct {
		name string
		s    *collector.Server
		want string
	}{
		{"neither", &collector.Server{}, "challenge 0xe40"},
		{"TLS", &collector.Server{TLS: config}, "challenge 0xe51"},
		{"certificates without TLS", &collector.Server{RequireClientCert: true}, "challenge 0xec0"},
		{"both", &collector.Server{TLS: config, RequireClientCert: true}, "challenge 0xed1"},
	} {
		collectortest.CloseAtEnd(t, test.s)
		if got := collectortest.Dial(t, test.s).Receive(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestSecure checks TLS over every kind of connection, in the versions that PCP supports, with
// and without an acknowledgement.
func TestSecure(t *testing.T) {
	s := newSecured(t, nil)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, f := range []pdu.Features{pdu.FeatureSecure, secureAck, secureAck | pdu.FeatureCertRequired} {
			config := s.client()
			config.MaxVersion = version
			config.ClientSessionCache = noTickets{t, nil}
			g, c, err := upgrade(collectortest.DialTCP(t, s.addr), f, config)
			if err != nil {
				t.Errorf("%s, %#x: %v", tls.VersionName(version), int(f), err)
				continue
			}
			if got := c.ConnectionState().Version; got != version {
				t.Errorf("version %s, want %s", tls.VersionName(got), tls.VersionName(version))
			}
			for range 2 {
				if got := g.Request(aDesc); got != aDescribed {
					t.Errorf("%s, %#x: %s", tls.VersionName(version), int(f), got)
				}
			}
		}
	}
	g, _, err := upgrade(collectortest.Dial(t, s), secureAck, s.client())
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Request(aDesc); got != aDescribed {
		t.Errorf("in this process: %s", got)
	}
}

// noTickets is the session cache of a client that expects no ticket. A ticket would be an
// additional write in each handshake.
type noTickets struct {
	t *testing.T
	tls.ClientSessionCache
}

func (noTickets) Get(string) (*tls.ClientSessionState, bool) { return nil, false }
func (n noTickets) Put(_ string, s *tls.ClientSessionState) {
	if s != nil {
		n.t.Error("a ticket")
	}
}

// TestSecureUnix checks TLS on a unix socket, also with credentials required. C pmcd does not
// answer in that case.
func TestSecureUnix(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no unix sockets")
	}
	s := newSecured(t, nil)
	path := filepath.Join(pcptest.ShortDir(t), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	other := &collector.Server{TLS: s.TLS}
	served := make(chan error)
	go func() { served <- other.Serve(t.Context(), ln) }()
	defer func() {
		other.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for _, f := range []pdu.Features{secureAck, secureAck | pdu.FeatureCredsRequired} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		g, _, err := upgrade(collectortest.NewClient(t, conn), f, s.client())
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Request(pdu.ChildReq{Name: "nothing"}); got != "error: "+pdu.ErrName.Error() {
			t.Errorf("%#x: %s", int(f), got)
		}
	}
}

// TestClientCertificates checks which client certificates are accepted, in both versions of TLS.
// With RequireClientCert even clients of this host need one. In TLS 1.3 a client learns of a
// refusal at its first request.
func TestClientCertificates(t *testing.T) {
	optional := newSecured(t, nil)
	required := newSecured(t, func(s *collector.Server) { s.RequireClientCert = true })
	requiredElsewhere := newSecured(t, func(s *collector.Server) {
		s.RequireClientCert = true
		inner := s.TLS
		s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return inner, nil }}
	})
	client, server := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, s := range []*secured{optional, required, requiredElsewhere} {
		for _, test := range []struct {
			name  string
			cert  *tlstest.Cert
			ok    bool
			alert string
		}{
			{"none", nil, s == optional, "certificate required"},
			{"for clients", s.ca.Issue(t, "c1", tlstest.Leaf{Usages: client}), true, ""},
			{"for anything", s.ca.Issue(t, "c2", tlstest.Leaf{}), true, ""},
			{"for servers", s.ca.Issue(t, "c3", tlstest.Leaf{Usages: server}), false, "bad certificate"},
			{"expired", s.ca.Issue(t, "c4", tlstest.Leaf{Expired: true}), false, "expired certificate"},
			{"self-signed", tlstest.SelfSigned(t, "c5", tlstest.Leaf{}), false, "unknown certificate authority"},
			{"of another authority", tlstest.NewCA(t, "other").Issue(t, "c6", tlstest.Leaf{}), false, "unknown certificate authority"},
		} {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				config := s.client()
				config.MaxVersion = version
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					if test.cert == nil {
						return new(tls.Certificate), nil
					}
					return &test.cert.TLS, nil // with any issuer
				}
				g, _, err := upgrade(collectortest.DialTCP(t, s.addr), secureAck, config)
				if err == nil {
					g.Conn.Write(0, aDesc) // the collector may have closed the connection
					_, _, err = g.Read()
				}
				switch {
				case test.ok && err != nil:
					t.Errorf("%s, %s: %v", test.name, tls.VersionName(version), err)
				case !test.ok && err == nil:
					t.Errorf("%s, %s: accepted", test.name, tls.VersionName(version))
				case !test.ok && version == tls.VersionTLS13 && !strings.Contains(err.Error(), test.alert):
					t.Errorf("%s: %v, want %s", test.name, err, test.alert)
				}
			}
		}
	}
}

// TestRequireClientCert checks that, if certificates are required, a client of another host
// without TLS is denied everything. C pmcd serves it.
func TestRequireClientCert(t *testing.T) {
	s := newSecured(t, func(s *collector.Server) { s.RequireClientCert = true })
	g := collectortest.DialTCP(t, s.addr).Hello()
	if got := g.Request(aDesc); got != aDescribed {
		t.Errorf("of this host, without TLS: %s", got)
	}
	near, far := net.Pipe()
	ln := &oneConn{conns: make(chan net.Conn, 1), addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 44321}}
	ln.conns <- remoteConn{far, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 5}}
	other := collectortest.CloseAtEnd(t, &collector.Server{TLS: s.TLS, RequireClientCert: true})
	go other.Serve(t.Context(), ln)
	g = collectortest.NewClient(t, near)
	g.Receive()
	if got, want := g.Request(helloPDU), "error: "+pdu.ErrNeedClientCert.Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, p := range everyRequest() {
		if got, want := g.Request(p), "error: "+pdu.ErrPermission.Error(); got != want {
			t.Errorf("%v: %s", p.Kind(), got)
		}
	}
	g.Send(pdu.Creds{Version: pdu.ProtocolVersion, Features: secureAck})
	g.Receive()
	c := tls.Client(near, s.client(s.ca.Issue(t, "client", tlstest.Leaf{})))
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if got := collectortest.NewClient(t, c).Request(pdu.ChildReq{Name: "nothing"}); got != "error: "+pdu.ErrName.Error() {
		t.Errorf("with TLS after all: %s", got)
	}
}

// A oneConn is a listener for connections that a test makes.
type oneConn struct {
	conns  chan net.Conn
	addr   net.Addr
	closed atomic.Bool
}

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *oneConn) Close() error {
	if l.closed.CompareAndSwap(false, true) {
		close(l.conns)
	}
	return nil
}

func (l *oneConn) Addr() net.Addr { return l.addr }

// A remoteConn has an address of another host.
type remoteConn struct {
	net.Conn
	remote net.Addr
}

func (c remoteConn) RemoteAddr() net.Addr { return c.remote }

// TestFailedHandshake checks that a failed handshake ends only its own connection.
func TestFailedHandshake(t *testing.T) {
	s := newSecured(t, func(s *collector.Server) { s.WithHandshakeTimeout(50 * time.Millisecond) })
	other := s.dial(t, s.client())
	old := s.client()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	stranger := s.client()
	stranger.RootCAs = tlstest.NewCA(t, "other").Pool()
	for _, test := range []struct {
		name string
		do   func(g *collectortest.Client) string
		want string
	}{
		{"TLS 1.1", handshake(old), "protocol version not supported"},
		{"another authority", handshake(stranger), "certificate signed by unknown authority"},
		{"clear text", func(g *collectortest.Client) string { g.Send(aDesc); return "" }, ""},
		{"nothing", func(*collectortest.Client) string { return "" }, ""},
		{"a part", func(g *collectortest.Client) string { g.SendBytes([]byte{22, 3, 1, 1, 0, 1}); return "" }, ""},
		{"too much", func(g *collectortest.Client) string { g.Net.Write(longHello()); return "" }, ""},
	} {
		g := collectortest.DialTCP(t, s.addr)
		g.Receive()
		g.Send(pdu.Creds{Version: pdu.ProtocolVersion, Features: secureAck})
		g.Receive()
		if got := test.do(g); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		g.Net.SetReadDeadline(time.Now().Add(collectortest.ReplyLimit))
		if _, err := io.Copy(io.Discard, g.Net); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: not closed: %v", test.name, err)
		}
	}
	if got := other.Request(aDesc); got != aDescribed {
		t.Errorf("another client: %s", got)
	}
}

func handshake(config *tls.Config) func(*collectortest.Client) string {
	return func(g *collectortest.Client) string { return fmt.Sprint(tls.Client(g.Net, config).Handshake()) }
}

// longHello is the start of a ClientHello of 16 MiB.
func longHello() []byte {
	record := make([]byte, 5+16384)
	copy(record, []byte{22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff})
	var all []byte
	for range 40 {
		all = append(all, record...)
	}
	return all
}

// TestSecureTwice checks that a client that starts TLS twice is refused, and denied everything
// until valid CREDS arrive.
func TestSecureTwice(t *testing.T) {
	s := newSecured(t, nil)
	g := s.dial(t, s.client())
	if got, want := g.Request(pdu.Creds{Version: 2, Features: secureAck}), "error: "+pdu.ErrIPC.Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := g.Request(aDesc), "error: "+pdu.ErrPermission.Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	g.Send(helloPDU)
	if got := g.Request(aDesc); got != aDescribed {
		t.Error(got)
	}
}

// TestSilentHandshake checks that a client that is silent after the acknowledgement delays
// neither other clients, nor a change of rules, nor the end of the Server.
func TestSilentHandshake(t *testing.T) {
	s := newSecured(t, func(s *collector.Server) { s.WithHandshakeTimeout(-1).Grace = time.Hour })
	silent := collectortest.DialTCP(t, s.addr)
	silent.Receive()
	silent.Send(pdu.Creds{Version: pdu.ProtocolVersion, Features: secureAck})
	silent.Receive()
	if got := s.dial(t, s.client()).Request(aDesc); got != aDescribed {
		t.Error(got)
	}
	s.SetAccess(nil)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, silent.Net); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}

// TestSetTLS checks that the certificate can be replaced, and TLS switched on and off, while
// clients are connected.
func TestSetTLS(t *testing.T) {
	s := newSecured(t, nil)
	before := s.dial(t, s.client())
	next := tlstest.NewCA(t, "next")
	s.SetTLS(&tls.Config{Certificates: []tls.Certificate{next.Issue(t, "server", tlstest.Leaf{}).TLS}})
	if got := before.Request(aDesc); got != aDescribed {
		t.Errorf("before: %s", got)
	}
	if _, _, err := upgrade(collectortest.DialTCP(t, s.addr), secureAck, s.client()); err == nil {
		t.Error("the old certificate is still there")
	}
	g := s.dial(t, &tls.Config{RootCAs: next.Pool(), ServerName: "127.0.0.1"})
	if got := g.Request(aDesc); got != aDescribed {
		t.Errorf("after: %s", got)
	}
	s.SetTLS(nil)
	if got, want := collectortest.DialTCP(t, s.addr).Receive(), "challenge 0xe40"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSecureLong checks long requests and replies, in pieces of any size.
func TestSecureLong(t *testing.T) {
	s := newSecured(t, nil)
	collectortest.Add(t, s, collectortest.NewExactAgent(11))
	g := s.dial(t, s.client())
	var ids []pdu.PMID
	for i := range 2000 {
		ids = append(ids, pdu.MakePMID(11, 0, i%collectortest.ExactItems))
	}
	for range 3 {
		for i, code := range g.FetchExact(ids...) {
			if code != 0 {
				t.Fatalf("%v: %v", ids[i], code)
			}
		}
	}
}

// TestRequireClientCertInProcess checks that a client in this process needs no certificate.
func TestRequireClientCertInProcess(t *testing.T) {
	s := &collector.Server{RequireClientCert: true}
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	collectortest.CloseAtEnd(t, s)
	if got := collectortest.Dial(t, s).Hello().Request(aDesc); got != aDescribed {
		t.Errorf("%s, want %s", got, aDescribed)
	}
}
