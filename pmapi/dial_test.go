package pmapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// listening starts a collector on TCP and on a unix socket, until the test ends.
func listening(t *testing.T) (port, socket string) {
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
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- new(collector.Server).Serve(ctx, tcp, unix) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	_, port, _ = net.SplitHostPort(tcp.Addr().String())
	return port, socket
}

// closedPort returns a port without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(pcptest.FreePort(t))
}

// proxy starts a pmproxy that replies to the client's line with greeting. If to is true, it then
// connects to the requested address. requested returns the clients' lines.
func proxy(t *testing.T, greeting string, to bool) (port string, requested func() []string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var lines []string
	var all sync.WaitGroup
	serve := func(c net.Conn) {
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		r := bufio.NewReader(c)
		hello, _ := r.ReadString('\n')
		io.WriteString(c, greeting)
		target, err := r.ReadString('\n')
		mu.Lock()
		lines = append(lines, hello+target)
		mu.Unlock()
		if err != nil || !to {
			return
		}
		s, err := net.Dial("tcp", strings.ReplaceAll(strings.TrimSpace(target), " ", ":"))
		if err != nil {
			return
		}
		defer s.Close()
		all.Go(func() { io.Copy(c, s); c.Close() })
		io.Copy(s, r)
	}
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() { ln.Close(); all.Wait() })
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port, func() []string { mu.Lock(); defer mu.Unlock(); return lines }
}

// TestDial opens contexts by specifications.
func TestDial(t *testing.T) {
	port, socket := listening(t)
	closed := closedPort(t)
	via, requested := proxy(t, "pmproxy-server 1\n", true)
	impostor, _ := proxy(t, "HTTP/1.1 400 Bad Request\r\n", false)
	chatterer, _ := proxy(t, strings.Repeat("x", 1000), false)
	number := func(port string) (n int) { fmt.Sscan(port, &n); return n }
	d := &pmapi.Dialer{Ports: []int{number(closed), number(port)}, Socket: socket, ConnectTimeout: time.Minute}
	noSocket := *d
	noSocket.Socket += "-not"
	throughProxy := *d
	throughProxy.Proxy = "127.0.0.1:" + via
	throughProxy.Ports = []int{number(port)}
	for _, tt := range []struct {
		spec   string
		dialer *pmapi.Dialer
		want   error  // nil if Dial succeeds
		text   string // part of the error text
	}{
		{"127.0.0.1:" + port, d, nil, ""},
		{"127.0.0.1", d, nil, ""}, // the second of the Dialer's ports
		{"127.0.0.1:" + closed + "," + port, d, nil, ""},
		{"pcp://127.0.0.1:" + port + "/rest", d, nil, ""},
		{"unix:", d, nil, ""},
		{"unix://" + socket, d, nil, ""},
		{"local:", d, nil, ""},
		{"local:", &noSocket, nil, ""}, // over TCP, without a socket
		{"127.0.0.1:" + port + "@127.0.0.1:" + via, d, nil, ""},
		{"127.0.0.1", &throughProxy, nil, ""},
		{"127.0.0.1:" + closed, d, pdu.Error(-111), "connection refused"},
		{"unix:", &noSocket, pdu.Error(-2), "no such file"},
		{"127.0.0.1:" + port + "@127.0.0.1:" + impostor, d, pdu.ErrIPC, `no pmproxy, its greeting is "HTTP/1.1 400 Bad Request`},
		{"127.0.0.1:" + port + "@127.0.0.1:" + chatterer, d, pdu.ErrIPC, "its greeting is too long"},
		{"127.0.0.1:" + closed + "@127.0.0.1:" + via, d, pdu.ErrIPC, ""},
		{"", d, pdu.ErrNotHost, ""},
		{"127.0.0.1:x", d, pdu.ErrGeneric, "non-numeric port"},
		{"pcps://127.0.0.1", d, errors.ErrUnsupported, "the collector has no TLS"},
		{"pcps://127.0.0.1?secure=relaxed", d, nil, ""},
		{"127.0.0.1?secure=enforce", d, nil, ""}, // "secure" is ignored without "pcps:"
		{"127.0.0.1?compress", d, errors.ErrUnsupported, "no compression"},
		{"127.0.0.1:" + port + "?container=web", d, nil, ""},
		{"127.0.0.1:" + port + "?container=web%2F1", d, pdu.Error(-22), ""},
		{"127.0.0.1:" + port + "?container", d, pdu.Error(-3), ""},
		{"127.0.0.1:" + port + "?container=" + strings.Repeat("x", 256), d, pdu.Error(-22), ""},
		{"127.0.0.1:" + port + "?user=me&pass=it", d, errors.ErrUnsupported, ""},
	} {
		c, err := tt.dialer.Dial(t.Context(), tt.spec)
		if c != nil {
			if name, err := c.Lookup(t.Context(), []string{"pmcd.version"}); err != nil {
				t.Errorf("%s: %v %v", tt.spec, name, err)
			}
			c.Close()
		}
		switch {
		case tt.want == nil && err != nil, tt.want != nil && err == nil:
			t.Errorf("%s: %v, want %v", tt.spec, err, tt.want)
		case err == nil:
		case !errors.Is(err, tt.want) && pdu.FromError(err) != tt.want:
			t.Errorf("%s: %v is code %d, want %v", tt.spec, err, pdu.FromError(err), tt.want)
		case !strings.Contains(err.Error(), tt.text):
			t.Errorf("%s: %v, want %q in it", tt.spec, err, tt.text)
		}
	}
	for i, want := range []string{port, port, closed} {
		if got := requested()[i]; got != "pmproxy-client 1\n127.0.0.1 "+want+"\n" {
			t.Errorf("the proxy got %q", got)
		}
	}
}

// Errors of Dial for bad specifications have one line, which names the mistake.
func TestDialBadSpec(t *testing.T) {
	for spec, want := range map[string]struct {
		text string
		code pdu.Error
	}{
		"":                  {"empty host specification", pdu.ErrNotHost},
		"pcp://":            {`bad host specification "pcp://": it names no host`, pdu.ErrNotHost},
		"localhost:x":       {`bad host specification "localhost:x": non-numeric port at "x"`, pdu.ErrGeneric},
		"localhost:":        {`bad host specification "localhost:": missing port at the end`, pdu.ErrGeneric},
		"web1:99999@p":      {`bad host specification "web1:99999@p": port out of range at "99999@p"`, pdu.ErrGeneric},
		"a\nb:x":            {`bad host specification "a\nb:x": non-numeric port at "x"`, pdu.ErrGeneric},
		"web1?container=%z": {`bad host specification "web1?container=%z": bad encoding in "container=%z"`, -22},
	} {
		_, err := pmapi.Dial(t.Context(), spec)
		if got := fmt.Sprint(err); got != "pmapi: dial: "+want.text || pdu.FromError(err) != want.code {
			t.Errorf("%q: %s (code %d), want %v", spec, got, pdu.FromError(err), want)
		}
	}
}
