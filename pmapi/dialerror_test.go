package pmapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
)

// listenTCP accepts connections on a TCP port of this computer, until the test ends, and returns
// the port. f serves each.
func listenTCP(t *testing.T, f func(c *net.TCPConn)) (port string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				f(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { ln.Close(); all.Wait() })
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port
}

// A badPeer is a peer that is no collector, or a collector that refuses the client.
type badPeer struct {
	name  string
	serve func(c *net.TCPConn)
	code  pdu.Error // of the error of Dial; the C tools print its text
}

// wait waits until the client has closed the connection.
func wait(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }

var badPeers = []badPeer{
	{"closes", func(*net.TCPConn) {}, pdu.ErrIPC},
	{"resets", func(c *net.TCPConn) { _ = c.SetLinger(0) }, pdu.ErrIPC},
	{"closes within the greeting", func(c *net.TCPConn) { _, _ = c.Write(frame(pdu.Challenge{Version: 2})[:7]) }, pdu.ErrIPC},
	{"is a web server", func(c *net.TCPConn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, pdu.ErrIPC},
	{"greets with another PDU", func(c *net.TCPConn) { _, _ = c.Write(frame(pdu.TextReply{Text: "x"})); wait(c) }, pdu.ErrIPC},
	{"refuses", func(c *net.TCPConn) {
		// The first PDU of a connection has the codes of PCP 1.x.
		b := frame(pdu.Challenge{Version: pdu.ProtocolVersion})
		binary.BigEndian.PutUint32(b[pdu.HeaderLen:], 0xfffffbed) // -1043
		_, _ = c.Write(b)
		wait(c)
	}, pdu.ErrConnLimit},
}

// Errors of Dial name the host and the port, or the path of the socket.
func TestDialErrors(t *testing.T) {
	t.Setenv("GODEBUG", "netdns=go") // an unknown host needs no server
	closed := closedPort(t)
	socket := filepath.Join(pcptest.ShortDir(t), "s")
	d := &pmapi.Dialer{Socket: socket, Ports: []int{mustAtoi(t, closed)}, ConnectTimeout: time.Minute}
	type test struct {
		name, spec string
		code       pdu.Error
		names      []string // each is in the text
	}
	tests := []test{
		{"refused", "127.0.0.1:" + closed, -111, []string{"127.0.0.1:" + closed, "refused"}},
		{"refused by the default port", "127.0.0.1", -111, []string{"127.0.0.1:" + closed}},
		{"no such host", "no-such-host.invalid:4711", -113, []string{"no-such-host.invalid:4711"}},
		{"no socket", "unix:", -2, []string{socket}},
		{"neither socket nor port", "local:", -111, []string{socket, ":" + closed}},
	}
	for _, p := range badPeers {
		port := listenTCP(t, p.serve)
		tests = append(tests, test{p.name, "127.0.0.1:" + port, p.code, []string{"127.0.0.1:" + port}})
	}
	for _, tt := range tests {
		_, err := d.Dial(t.Context(), tt.spec)
		if code := pdu.FromError(err); code != tt.code {
			t.Errorf("%s: code %d (%v), want %d", tt.name, code, err, tt.code)
		}
		for _, name := range tt.names {
			if !strings.Contains(fmt.Sprint(err), name) {
				t.Errorf("%s: %v, want %q in it", tt.name, err, name)
			}
		}
		if op, ok := errors.AsType[*pmapi.OpError](err); !ok || op.Op != "dial" {
			t.Errorf("%s: %#v", tt.name, err)
		}
	}
}

func mustAtoi(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The tools of PCP print the same error for a peer that is no collector.
func TestDialErrorsAsC(t *testing.T) {
	pcptest.Need(t, "pminfo")
	for _, p := range badPeers {
		host := "127.0.0.1:" + listenTCP(t, p.serve)
		_, stderr, _ := pcptest.Run(t, nil, "", "pminfo", "-h", host, "pmcd.version")
		if p.name == "resets" && strings.Contains(stderr, "Connection refused") {
			continue // the tool saw the reset before the connection
		}
		if want := fmt.Sprintf("Cannot connect to PMCD on host \"%s\": %v\n", host, p.code); !strings.HasSuffix(stderr, want) {
			t.Errorf("%s: %q, want %q at its end", p.name, stderr, want)
		}
	}
}

// A context that has lost its connection names it, and says why there is no new one.
func TestLostErrorText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const addr = "web1:4711"
		down := false
		dial := serve(t, func(p *pdutest.Peer) { _ = pdutest.AcceptClient(allFeatures)(p) })
		for _, reconnects := range []bool{false, true} {
			d := pmapi.Dialer{AutoReconnect: reconnects, DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
				if down {
					return nil, &net.OpError{Op: "dial", Net: network, Addr: namedAddr(to), Err: errors.New("connection refused")}
				}
				return dial(ctx, network, to)
			}}
			down = false
			c, err := d.Dial(t.Context(), addr)
			if err != nil {
				t.Fatal(err)
			}
			down = true
			texts := []string{"connection to " + addr + " lost: ", "connection to " + addr + " lost: "}
			if reconnects {
				texts[1] = "pmapi: connect to web1:4711: dial tcp " + addr + ": connection refused (next try in "
			}
			for _, text := range texts {
				if _, err = c.Lookup(t.Context(), []string{"x"}); !strings.Contains(fmt.Sprint(err), text) || !errors.Is(err, pdu.ErrIPC) {
					t.Errorf("%v, want %q in it", err, text)
				}
			}
			err = c.Reconnect(t.Context())
			if text := fmt.Sprint(err); !strings.Contains(text, "dial tcp "+addr+": connection refused") || strings.Contains(text, "timed out") {
				t.Errorf("Reconnect: %v", err)
			}
			c.Close()
		}
	})
}

type namedAddr string

func (namedAddr) Network() string  { return "tcp" }
func (a namedAddr) String() string { return string(a) }

// silent makes connections to a peer that never sends anything.
func silent(t *testing.T) dialFunc {
	return serve(t, func(p *pdutest.Peer) { _, _ = io.Copy(io.Discard, p.Stream) })
}

// The handshake may take as long as HandshakeTimeout or, without it, the rest of ConnectTimeout.
func TestHandshakeTimeout(t *testing.T) {
	const connecting = 3 * time.Second
	for _, tt := range []struct {
		dialer pmapi.Dialer
		want   time.Duration
	}{
		{pmapi.Dialer{}, pmapi.DefaultConnectTimeout},
		{pmapi.Dialer{ConnectTimeout: 20 * time.Second}, 20 * time.Second},
		{pmapi.Dialer{HandshakeTimeout: 10 * time.Second}, connecting + 10*time.Second},
		{pmapi.Dialer{ConnectTimeout: 20 * time.Second, HandshakeTimeout: 10 * time.Second}, connecting + 10*time.Second},
		{pmapi.Dialer{ConnectTimeout: 2 * time.Second, HandshakeTimeout: 10 * time.Second}, 2 * time.Second},
		{pmapi.Dialer{HandshakeTimeout: -1}, time.Hour}, // the limit of the caller's context
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			d, peer := tt.dialer, silent(t)
			d.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				select {
				case <-time.After(connecting):
					return peer(ctx, network, addr)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			start := time.Now()
			_, err := d.Dial(ctx, "web1")
			if took := time.Since(start); took != tt.want || pdu.FromError(err) != pdu.ErrTimeout {
				t.Errorf("%v %v: %v after %v, want %v", tt.dialer.ConnectTimeout, tt.dialer.HandshakeTimeout, err, took, tt.want)
			}
			if tt.want != time.Hour && !strings.Contains(fmt.Sprint(err), "web1:44321: no ") {
				t.Errorf("%v: it does not name the port", err)
			}
		})
	}
}

// With the environment of PCP's tools, "local:" waits 10 seconds for each of two greetings, as they
// do, with any PMCD_CONNECT_TIMEOUT.
func TestHandshakeTimeoutFromEnv(t *testing.T) {
	clearEnv(t)
	t.Setenv("PMCD_CONNECT_TIMEOUT", "20")
	t.Setenv("PMCD_REQUEST_TIMEOUT", "30")
	d, err := pmapi.DialerFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		d.DialContext = silent(t)
		start := time.Now()
		_, err := d.Dial(t.Context(), "local:")
		if took := time.Since(start); took != 20*time.Second || pdu.FromError(err) != pdu.ErrTimeout {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// Errors and the log tell two collectors on one host apart: they have the port if one is named.
func TestSourceInErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"web1:27001":       "web1:27001",
		"web1:27001,27002": "web1:27001,27002",
		"[::1]:27001":      "[::1]:27001",
		"web1:27001@proxy": "web1:27001",
		"web1":             "web1",
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			d := pmapi.Dialer{AutoReconnect: true, Logger: slog.New(slog.NewTextHandler(&log, nil)), DialContext: func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("not today")
			}}
			c, err := d.Dial(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Lookup(t.Context(), []string{"x"})
			if op, ok := errors.AsType[*pmapi.OpError](err); !ok || op.Host != want || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q as its host", spec, err, want)
			}
			if !strings.Contains(log.String(), " host="+want+" ") {
				t.Errorf("%q: log %q, want host=%s", spec, &log, want)
			}
			if name, _, _ := strings.Cut(spec, ":2"); c.HostName(t.Context()) != strings.Trim(name, "[]") {
				t.Errorf("%q: the host is called %q", spec, c.HostName(t.Context()))
			}
		})
	}
}
