package pmapi_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// loginServer serves the users root and joe with the password secret, over TCP and a unix socket.
// Only root has an account.
func loginServer(t *testing.T, s *collector.Server) (port, socket string) {
	t.Helper()
	v, err := sasl.NewVerifier("secret")
	if err != nil {
		t.Fatal(err)
	}
	s.Users, s.Logger = sasl.Map{"root": v, "joe/x": v}, slog.New(slog.DiscardHandler)
	s.LookupAccount = func(user string) (uid, gid int, err error) {
		if user == "root" {
			return 0, 0, nil
		}
		return 0, 0, errors.New("unknown")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(pcptest.ShortDir(t), "s")
	local, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, ln, local) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port, socket
}

// works reports whether a context can be used.
func works(t *testing.T, c *pmapi.Context) error {
	t.Helper()
	_, err := c.Lookup(t.Context(), []string{"pmcd.version"})
	return err
}

func TestLogin(t *testing.T) {
	open, socket := loginServer(t, &collector.Server{})
	closed, closedSocket := loginServer(t, &collector.Server{CredsRequired: true})
	for _, test := range []struct {
		spec string
		want pdu.Error
	}{
		{open, 0},
		{open + "?user=root&pass=secret", 0},
		{open + "?username=root&password=sec%72et&method=SCRAM-SHA-256", 0},
		{open + "?user=joe%2Fx&pass=secret", 0},
		{open + "?user=root&pass=secret/more&user=bob", 0}, // a slash ends the list
		{open + "?user=root&pass=secret&realm=here&userauth", 0},
		{open + "?user=root&pass=bad", sasl.ErrAuth},
		{open + "?user=root", sasl.ErrAuth}, // an empty password
		{open + "?pass=secret", sasl.ErrParam},
		{open + "?authorise", sasl.ErrParam},
		{open + "?user=bob&pass=secret", sasl.ErrNoUser},
		{open + "?user=root&pass=secret&method=plain", sasl.ErrNoMechanism}, // unencrypted
		{open + "?user=root&pass=secret&authmeth=digest-md5", sasl.ErrNoMechanism},
		{open + "?user=root&pass=secret&container=web", 0},
		{open + "?container=" + strings.Repeat("x", 255), 0},
		{open + "?container=%00", -22},
		{closed, sasl.ErrParam},
		{closed + "?user=root&pass=secret", 0},
		{closed + "?user=joe%2Fx&pass=secret", pdu.ErrPermission},
		{closed + "?container=web&user=root&pass=secret", 0},
		{socket, 0},
		{socket + "?user=root&pass=secret&method=plain", 0},
		{socket + "?user=root&pass=secret&method=LOGIN", 0},
		{socket + "?user=root&pass=secret", 0},
		{socket + "?user=root&pass=bad&method=plain", sasl.ErrAuth},
		{closedSocket, 0},
		{closedSocket + "?user=joe%2Fx&pass=secret&method=plain", pdu.ErrPermission},
	} {
		spec := "127.0.0.1:" + test.spec
		if test.spec[0] == '/' {
			spec = "unix:/" + test.spec
		}
		c, err := pmapi.Dial(t.Context(), spec)
		if pdu.FromError(err) != test.want {
			t.Errorf("%s: %v, want %v", spec, err, test.want)
		}
		if c != nil {
			if err := works(t, c); err != nil {
				t.Errorf("%s: %v", spec, err)
			}
			c.Close()
		}
	}
	srv := &collector.Server{CredsRequired: true, Logger: slog.New(slog.DiscardHandler)}
	defer srv.Close()
	c, err := (&pmapi.Dialer{Container: "web"}).Local(t.Context(), srv)
	if err != nil || works(t, c) != nil {
		t.Fatalf("in process: %v", err)
	}
	c.Close()
}

// TestAskLogin checks when AskLogin is called, for what, and how often. The collector does not wait
// meanwhile.
func TestAskLogin(t *testing.T) {
	port, _ := loginServer(t, &collector.Server{CredsRequired: true})
	host := "127.0.0.1:" + port
	gone := errors.New("gone")
	for _, test := range []struct {
		name, attrs string
		answer      pmapi.Login
		err         error
		want        error
		asked       []pmapi.Login
	}{
		{"all", "", pmapi.Login{User: "root", Password: "secret"}, nil, nil, []pmapi.Login{{Host: host}}},
		{"the password", "?user=root", pmapi.Login{User: "root", Password: "secret"}, nil, nil, []pmapi.Login{{host, "root", ""}}},
		{"the user", "?pass=secret", pmapi.Login{User: "root", Password: "secret"}, nil, nil, []pmapi.Login{{host, "", "secret"}}},
		{"nothing", "?user=root&pass=secret", pmapi.Login{}, nil, nil, nil},
		{"a wrong answer", "", pmapi.Login{User: "root", Password: "bad"}, nil, sasl.ErrAuth, []pmapi.Login{{Host: host}}},
		{"no answer", "", pmapi.Login{}, nil, sasl.ErrParam, []pmapi.Login{{Host: host}}},
		{"an error", "", pmapi.Login{}, gone, gone, []pmapi.Login{{Host: host}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked []pmapi.Login
			d := &pmapi.Dialer{AskLogin: func(_ context.Context, l *pmapi.Login) error {
				asked = append(asked, *l)
				l.User, l.Password = test.answer.User, test.answer.Password
				return test.err
			}}
			c, err := d.Dial(t.Context(), host+test.attrs)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if c == nil {
				return
			}
			defer c.Close()
			if err := works(t, c); err != nil {
				t.Error(err)
			}
			if err := c.Reconnect(t.Context()); err != nil || works(t, c) != nil {
				t.Errorf("again: %v", err)
			}
			if len(asked) != len(test.asked) {
				t.Error("asked again")
			}
		})
	}
	open, _ := loginServer(t, &collector.Server{})
	d := &pmapi.Dialer{AskLogin: func(context.Context, *pmapi.Login) error { return gone }}
	c, err := d.Dial(t.Context(), "127.0.0.1:"+open)
	if err != nil {
		t.Fatalf("where nobody has to log in: %v", err)
	}
	c.Close()
}

// With an impostor as the collector, the client does not reveal the password, does not wait
// forever, and does not confuse messages.
func TestLoginHostile(t *testing.T) {
	offer := func(list string, then func(p *pdutest.Peer)) func(p *pdutest.Peer) {
		return func(p *pdutest.Peer) {
			p.Conn.Write(0, pdu.Challenge{Version: 2, Features: pdu.FeatureAuth})
			p.Receive()
			p.Conn.Write(0, pdu.Attr{Value: []byte(list)})
			then(p)
		}
	}
	answers := func(pdus ...pdu.PDU) func(p *pdutest.Peer) {
		return func(p *pdutest.Peer) {
			for _, q := range pdus {
				if _, _, err := p.Receive(); err != nil {
					return
				}
				p.Conn.Write(0, q)
			}
			p.Receive()
		}
	}
	challenge := func(text string) pdu.PDU { return pdu.Attr{Value: []byte(text)} }
	for _, test := range []struct {
		name string
		peer func(p *pdutest.Peer)
		want pdu.Error
	}{
		{"the password in the clear", offer("PLAIN LOGIN", func(p *pdutest.Peer) {
			if h, _, err := p.Receive(); err == nil {
				panic("the client sent " + h.Kind.String())
			}
		}), sasl.ErrNoMechanism},
		{"nothing", offer("", answers()), sasl.ErrNoMechanism},
		{"no SCRAM", offer("SCRAM-SHA-256", answers(challenge("x"))), sasl.ErrProtocol},
		{"many iterations", offer("SCRAM-SHA-256", func(p *pdutest.Peer) {
			_, q, err := p.Receive()
			if err != nil {
				return
			}
			_, nonce, _ := strings.Cut(string(q.(*pdu.Attr).Value), ",r=")
			p.Conn.Write(0, challenge("r="+nonce+"x,s=AAAA,i=2000000000"))
			p.Receive()
		}), sasl.ErrProtocol},
		{"no password", offer("SCRAM-SHA-256", func(p *pdutest.Peer) {
			_, q, err := p.Receive()
			if err != nil {
				return
			}
			_, nonce, _ := strings.Cut(string(q.(*pdu.Attr).Value), ",r=")
			p.Conn.Write(0, challenge("r="+nonce+"x,s=AAAA,i=4096"))
			p.Receive()
			p.Conn.Write(0, challenge("v=AAAA"))
			p.Receive()
		}), sasl.ErrServer},
		{"a refusal", offer("SCRAM-SHA-256", answers(pdu.Status{Code: sasl.ErrNoUser})), sasl.ErrNoUser},
		{"a success", offer("SCRAM-SHA-256", answers(pdu.Status{})), pdu.ErrIPC},
		{"a change", offer("SCRAM-SHA-256", answers(pdu.Status{Code: 1})), pdu.ErrIPC},
		{"another PDU", offer("SCRAM-SHA-256", answers(pdu.TextReply{})), pdu.ErrIPC},
		{"silence", offer("SCRAM-SHA-256", func(p *pdutest.Peer) {
			for {
				if _, _, err := p.Receive(); err != nil {
					return
				}
			}
		}), pdu.ErrTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := pmapi.Dialer{DialContext: serve(t, test.peer), ConnectTimeout: time.Minute}
			if test.name == "silence" {
				d.ConnectTimeout = 50 * time.Millisecond
			}
			c, err := d.Dial(t.Context(), "there?user=root&pass=secret")
			if c != nil {
				c.Close()
			}
			if pdu.FromError(err) != test.want {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// Each context of a Dialer has a separate identity.
func TestLoginConcurrently(t *testing.T) {
	port, _ := loginServer(t, &collector.Server{CredsRequired: true})
	var d pmapi.Dialer
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			password := []string{"secret", "bad"}[i%2]
			c, err := d.Dial(t.Context(), "127.0.0.1:"+port+"?user=root&pass="+password)
			if (err == nil) != (password == "secret") {
				t.Errorf("%s: %v", password, err)
			}
			if c != nil {
				c.Close()
			}
		})
	}
	wg.Wait()
}

// Errors contain no passwords, because programs log errors.
func TestNoPasswordInErrors(t *testing.T) {
	for _, spec := range []string{"pcp://h?username=u&password=secret&compress", "pcp://h:bad?username=u&pass=secret",
		"pcp://h?password=secret%zz", "pcp://?user=u&pass=secret", "pcp://h@p:x?password=secret"} {
		_, err := pmapi.Dial(t.Context(), spec)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// A password goes only to a collector that has shown who it is, unless the method says so.
func TestNoClearPasswordToStrangers(t *testing.T) {
	v, err := sasl.NewVerifier("secret")
	if err != nil {
		t.Fatal(err)
	}
	self := tlstest.SelfSigned(t, "mallory", tlstest.Leaf{})
	addr, _ := securely(t, func(s *collector.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{self.TLS}}
		s.Users, s.Mechanisms, s.CredsRequired = sasl.Map{"root": v}, []string{"PLAIN"}, true
	})
	d := &pmapi.Dialer{TLS: &tls.Config{InsecureSkipVerify: true}}
	c, err := d.Dial(t.Context(), "pcps://"+addr+"?username=root&password=secret")
	if !errors.Is(err, sasl.ErrNoMechanism) {
		t.Errorf("error %v", err)
	}
	if err == nil {
		c.Close()
	}
	if _, err := d.Dial(t.Context(), "pcps://"+addr); !errors.Is(err, sasl.ErrParam) {
		t.Errorf("without a user: error %v", err)
	}
	if c, err = d.Dial(t.Context(), "pcps://"+addr+"?username=root&password=secret&method=plain"); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
}
