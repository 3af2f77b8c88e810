package proxy_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pmapi/proxy"
)

// TestMain fails the package if a test leaves a goroutine of this module.
func TestMain(m *testing.M) { os.Exit(pcptest.RunTests(m, "pcp-go/pcp/")) }

const greeting, answer = "pmproxy-client 1\n", "pmproxy-server 1\n"

// start serves a proxy on a free port until the test ends, and returns its address and log.
func start(t testing.TB, p *proxy.Proxy) (addr string, log *pcptest.LogBuffer) {
	t.Helper()
	log = new(pcptest.LogBuffer)
	p.Log = log.Logger(0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, p, l), log
}

// serve serves a proxy until the test ends, and returns the address of the listener.
func serve(t testing.TB, p *proxy.Proxy, l net.Listener) (addr string) {
	t.Helper()
	ended := make(chan error)
	go func() { ended <- p.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		p.Close()
	})
	return l.Addr().String()
}

func anywhere(string, int) bool { return true }

// dial connects to a server until the test ends.
func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// through connects to a server through a proxy.
func through(t testing.TB, c net.Conn, addr string) net.Conn {
	t.Helper()
	host, port, _ := net.SplitHostPort(addr)
	if _, err := fmt.Fprintf(c, "%s%s %s\n", greeting, host, port); err != nil {
		t.Fatal(err)
	}
	expect(t, c, answer)
	return c
}

func expect(t testing.TB, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c, got)
	if string(got[:n]) != want {
		t.Fatalf("got %q, %v, want %q", got[:n], err, want)
	}
}

// closes checks that the server closes a connection without sending anything more.
func closes(t testing.TB, c net.Conn) {
	t.Helper()
	b, err := io.ReadAll(c)
	if e, ok := errors.AsType[net.Error](err); len(b) > 0 || ok && e.Timeout() {
		t.Fatalf("%q, %v, want the end of the connection", b, err)
	}
}

// echo is a server that echoes its input and reports the end of it.
func echo(c net.Conn) {
	io.WriteString(c, "hello ")
	io.Copy(c, c)
	io.WriteString(c, "end")
}

// TestPass: each direction passes much data, and then the end of the stream.
func TestPass(t *testing.T) {
	p := &proxy.Proxy{Allow: anywhere}
	addr, _ := start(t, p)
	server := pcptest.Serve(t, echo)
	for _, early := range []string{"", "said before the answer "} {
		c := dial(t, addr)
		host, port, _ := net.SplitHostPort(server)
		fmt.Fprintf(c, "%s%s %s\n%s", greeting, host, port, early)
		expect(t, c, answer+"hello "+early)
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		go func() {
			c.Write(data)
			c.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, append(data, "end"...)) {
			t.Fatalf("%d bytes came back, %v, want %d", len(got), err, len(data)+3)
		}
	}
}

// TestRefused sends invalid greetings, also in pieces.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", 400)
	for _, c := range []struct{ say, want, log string }{
		{"pmproxy-client 2\n", "", "pmproxy-client 2"},
		{"pmproxy-client 1\r\n", "", "is no greeting"},
		{"pmproxy\n", "", "is no greeting"},
		{"p" + long, "", "longer than 300 bytes"},
		{greeting + "web1\n", answer, "is no address"},
		{greeting + "web1 \n", answer, "is no address"},
		{greeting + " 44321\n", answer, "is no address"},
		{greeting + "\n", answer, "is no address"},
		{greeting + "web1  44321\n", answer, "is no address"},
		{greeting + "web1 0\n", answer, "is no address"},
		{greeting + "web1 65536\n", answer, "is no address"},
		{greeting + "web1 -1\n", answer, "is no address"},
		{greeting + "web1\t 44321\n", answer, "is no address"},
		{greeting + "/run/x 44321\n", answer, "is no address"},
		{greeting + long, answer, "longer than 300 bytes"},
		{greeting + "web1 44321\n", answer, `may not connect to \"web1\", port 44321`},
		{greeting + "127.0.0.1 22\n", answer, "port 22"},
		{greeting + "10.0.0.1 44321\n", answer, "10.0.0.1"},
		{"\x16\x03\x01", "", "no certificate"},
		{"GET / HTTP/1.0\r\n\r\n", "", ""}, // Serve closes it
	} {
		p := &proxy.Proxy{}
		addr, log := start(t, p)
		conn := dial(t, addr)
		io.WriteString(conn, c.say)
		if c.want != "" {
			expect(t, conn, c.want)
		}
		closes(t, conn)
		if got := log.String(); !strings.Contains(got, c.log) || (got == "") != (c.log == "") {
			t.Errorf("%q: log %s, want %s", c.say, got, c.log)
		}
	}
}

// TestLocal: the collector of this computer is allowed by default, under all its names. Here no
// process listens there.
func TestLocal(t *testing.T) {
	dialed := make(chan string, 1)
	p := &proxy.Proxy{DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
		dialed <- addr
		return nil, fmt.Errorf("%s %s", network, addr)
	}}
	addr, log := start(t, p)
	for _, host := range []string{"localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1"} {
		c := dial(t, addr)
		through(t, c, net.JoinHostPort(host, "44321"))
		closes(t, c)
		select {
		case got := <-dialed:
			if want := net.JoinHostPort(host, "44321"); got != want {
				t.Errorf("%s is dialed, want %s", got, want)
			}
		default:
			t.Errorf("%s is refused: %s", host, log)
		}
	}
	if !strings.Contains(log.String(), "tcp localhost:44321") {
		t.Error(log)
	}
}

// TestHang: a client that sends too little, and a client whose collector hangs, are disconnected
// in time. Others are served meanwhile.
func TestHang(t *testing.T) {
	server := pcptest.Serve(t, echo)
	p := &proxy.Proxy{Allow: anywhere,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if strings.HasPrefix(addr, "hangs:") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}}
	p.SetTimeouts(50*time.Millisecond, 50*time.Millisecond)
	addr, _ := start(t, p)
	var hanging []net.Conn
	for _, say := range []string{"", "p", greeting[:5], greeting, greeting + "web1", greeting + "hangs 1\n"} {
		c := dial(t, addr)
		io.WriteString(c, say)
		hanging = append(hanging, c)
	}
	slow := dial(t, server) // the tests' own server may be slow, the proxy must wait for it
	expect(t, slow, "hello ")
	for _, c := range hanging {
		io.Copy(io.Discard, c) // until the proxy ends it
	}
}

// TestMaxClients: a client above the limit of an address is refused, and accepted once another
// has gone.
func TestMaxClients(t *testing.T) {
	p := &proxy.Proxy{Allow: anywhere, MaxClients: 4} // 2 of an address
	addr, _ := start(t, p)
	server := pcptest.Serve(t, echo)
	var clients []net.Conn
	for range 2 {
		c := through(t, dial(t, addr), server)
		expect(t, c, "hello ")
		clients = append(clients, c)
	}
	closes(t, through(t, dial(t, addr), server))
	clients[0].Close()
	pcptest.Retry(t, func() string { // until the proxy has seen that
		if _, err := io.ReadFull(through(t, dial(t, addr), server), make([]byte, len("hello "))); err != nil {
			return err.Error()
		}
		return ""
	})
}

// TestSilentClients: clients that send nothing do not keep others out.
func TestSilentClients(t *testing.T) {
	addr, _ := start(t, &proxy.Proxy{Allow: anywhere})
	server := pcptest.Serve(t, echo)
	var silent []net.Conn
	for i := range 160 {
		c := dial(t, addr)
		if i%2 == 0 {
			io.WriteString(c, greeting)
		}
		silent = append(silent, c)
	}
	expect(t, through(t, dial(t, addr), server), "hello ")
	pcptest.Retry(t, func() string {
		open := 0
		for _, c := range silent {
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				open++
			}
		}
		if open > 128 {
			return fmt.Sprintf("%d silent clients of an address are connected, want at most 128", open)
		}
		return ""
	})
}

// TestClose: Close disconnects all clients, also a client whose collector has not replied. Later
// clients are refused.
func TestClose(t *testing.T) {
	server := pcptest.Serve(t, echo)
	dialing := make(chan struct{}, 1)
	p := &proxy.Proxy{Allow: anywhere, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == server {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		dialing <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	addr, _ := start(t, p)
	served := through(t, dial(t, addr), server)
	expect(t, served, "hello ")
	waits := through(t, dial(t, addr), "hangs:1")
	<-dialing
	p.Close()
	closes(t, served)
	closes(t, waits)
	c := dial(t, addr)
	io.WriteString(c, greeting)
	closes(t, c)
}

// TestNoDescriptors: a listener that cannot accept for want of descriptors serves clients later.
func TestNoDescriptors(t *testing.T) {
	server := pcptest.Serve(t, echo)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, &proxy.Proxy{Allow: anywhere}, &exhausted{Listener: l, failures: 3})
	expect(t, through(t, dial(t, addr), server), "hello ")
}

// exhausted is a listener whose first calls of Accept fail.
type exhausted struct {
	net.Listener
	failures int
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.failures--; l.failures >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: os.NewSyscallError("accept", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestRequireTLS: with RequireTLS a web server gets no requests without TLS. PCP's clients are
// not affected.
func TestRequireTLS(t *testing.T) {
	cert := tlstest.SelfSigned(t, "self", tlstest.Leaf{})
	pair, err := tls.LoadX509KeyPair(cert.CertFile, cert.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy.Proxy{Allow: anywhere, TLS: &tls.Config{Certificates: []tls.Certificate{pair}}, RequireTLS: true, Log: slog.New(slog.DiscardHandler)}
	defer p.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page") })}
	ended := make(chan error)
	go func() { ended <- srv.Serve(p.Listener(l)) }()
	defer func() {
		srv.Close()
		<-ended
	}()
	addr := l.Addr().String()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for scheme, want := range map[string]string{"http": "400 This server requires TLS: use https.\n", "https": "200 page"} {
		r, err := client.Get(scheme + "://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if text := fmt.Sprint(r.StatusCode, " ", string(got)); err != nil || text != want {
			t.Errorf("%s: %q, %v, want %q", scheme, text, err, want)
		}
	}
	expect(t, through(t, dial(t, addr), pcptest.Serve(t, echo)), "hello ")
}

// TestListener: a web server uses the same port, and both are available with TLS as well.
func TestListener(t *testing.T) {
	cert := tlstest.NewCA(t, "ca").Issue(t, "server", tlstest.Leaf{})
	pair, err := tls.LoadX509KeyPair(filepath.Clean(cert.CertFile), filepath.Clean(cert.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy.Proxy{Allow: anywhere, TLS: &tls.Config{Certificates: []tls.Certificate{pair}}}
	defer p.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })}
	ended := make(chan error)
	go func() { ended <- srv.Serve(p.Listener(l)) }()
	addr := l.Addr().String()

	body := strings.Repeat("body ", 1000)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, scheme := range []string{"http", "https"} {
		r, err := client.Post(scheme+"://"+addr, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(got) != body {
			t.Errorf("%s: %d bytes, %v", scheme, len(got), err)
		}
	}
	server := pcptest.Serve(t, echo)
	for _, c := range []net.Conn{dial(t, addr), tls.Client(dial(t, addr), &tls.Config{InsecureSkipVerify: true})} {
		expect(t, through(t, c, server), "hello ")
		io.WriteString(c, "and on")
		expect(t, c, "and on")
		c.(interface{ CloseWrite() error }).CloseWrite()
		expect(t, c, "end")
	}
	silent := dial(t, addr)
	served := through(t, dial(t, addr), server)
	expect(t, served, "hello ")
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	closes(t, silent)
	io.WriteString(served, "goes on")
	expect(t, served, "goes on")
}

// TestLog: many refusals leave one line a second in the log.
func TestLog(t *testing.T) {
	p := &proxy.Proxy{}
	addr, log := start(t, p)
	began := time.Now()
	for range 50 {
		c := dial(t, addr)
		io.WriteString(c, "pmproxy-client 3\n")
		closes(t, c)
	}
	if got, most := strings.Count(log.String(), "\n"), int(time.Since(began)/time.Second)+2; got == 0 || got > most {
		t.Errorf("%d lines, want 1 to %d", got, most)
	}
}
