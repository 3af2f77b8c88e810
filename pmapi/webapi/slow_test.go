package webapi_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// manyInstances is the number of instances of t.many, so that its values make a reply of a
// megabyte.
const manyInstances = 30_000

// serveMany serves t.many. Clients have limited time for a request, and as much for its reply. The
// buffers of connections are small. The function open returns the number of open connections.
func serveMany(t *testing.T, limit time.Duration) (s server, open func() int64) {
	t.Helper()
	src := newSource()
	names := make([]string, manyInstances)
	values := make([]int32, manyInstances)
	for i := range names {
		names[i] = fmt.Sprint("instance", i)
	}
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "t.many", InDom: src.InDom(names...)}).Set(values...)
	g := webapi.Limit(&webapi.Gateway{Local: sourceOf(src.Context), AllowStore: true}, webapi.Limits{MaxReply: 4 << 20, RequestTimeout: time.Minute})
	var conns atomic.Int64
	h := httptest.NewUnstartedServer(g)
	h.Config.ReadTimeout, h.Config.WriteTimeout = limit, limit
	h.Config.ConnState = func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			conns.Add(1)
			_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		case http.StateClosed, http.StateHijacked:
			conns.Add(-1)
		}
	}
	h.Start()
	t.Cleanup(func() {
		h.Close()
		g.Close()
	})
	return server{url: h.URL, addr: h.Listener.Addr().String(), isOur: true}, conns.Load
}

// A client that does not read its reply or send its body is disconnected. It delays no other
// client, not even in the same context. If all requests are slow, the test repeats with more time
// for slow clients. That would not help if they delayed others.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	var delayed error
	for limit := 8 * time.Second; limit < time.Minute; limit *= 2 {
		if delayed = slowClients(t, limit); delayed == nil {
			return
		}
	}
	t.Error(delayed)
}

// slowClients gives clients limited time. It returns an error if another client is delayed.
func slowClients(t *testing.T, limit time.Duration) error {
	s, open := serveMany(t, limit)
	id := s.open(t, "polltimeout=60")
	for _, request := range []string{
		"GET /pmapi/" + id + "/fetch?names=t.many HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /pmapi/" + id + "/indom?name=t.many HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /metrics?names=t.many HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /pmapi/" + id + "/metrics?names=t.many HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /pmapi/" + id + "/store?name=t.write_me HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n1",
		"POST /pmapi/" + id + "/derive HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na.b =\r\n",
		"GET /pmapi/" + id + "/fetch?names=t.max HTTP/1.1\r\nHost: x\r\nX-Slow: ",
	} {
		c := s.connect(t)
		if err := c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		c.send(request)
	}
	for _, path := range []string{"/pmapi/" + id + "/fetch?names=t.max", "/metrics?names=t.max", "/pmapi/" + id + "/metrics?names=t.max"} {
		begin := time.Now()
		r := s.get(t, path)
		if took := time.Since(begin); took > limit {
			return fmt.Errorf("%s: a reply after %v", path, took)
		}
		if r.status != http.StatusOK {
			t.Errorf("%s: %d %.200s", path, r.status, r.body)
		}
	}
	begin := time.Now()
	for open() > 0 && time.Since(begin) < limit+22*time.Second {
		time.Sleep(10 * time.Millisecond)
	}
	if n := open(); n > 0 {
		t.Errorf("%d connections are open after %v", n, time.Since(begin))
	}
	if r := s.get(t, "/pmapi/"+id+"/fetch?names=t.write_me"); !strings.Contains(r.body, `"value":7}`) {
		t.Errorf("half a body has been stored: %s", r.body)
	}
	return nil
}

// TestManySlowClients has clients that do not read their replies. When the replies reach their
// memory limit, the gateway refuses further ones until clients disconnect.
func TestManySlowClients(t *testing.T) {
	t.Parallel()
	s, _ := serveMany(t, time.Minute) // so long that all connect before the first is disconnected
	id := s.open(t, "polltimeout=60")
	size := len(s.get(t, "/pmapi/"+id+"/fetch?names=t.many").body)
	granted := 16 << 20 / size
	if granted > 40 {
		t.Fatalf("a reply of %d bytes is too short for the test", size)
	}
	refused := 0
	var clients []*rawConn
	for range granted + 5 {
		c := s.connect(t)
		clients = append(clients, c)
		if err := c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		c.send("GET /pmapi/" + id + "/fetch?names=t.many HTTP/1.1\r\nHost: x\r\n\r\n")
		status := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(c.in, status); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(status), "503") {
			refused++
		}
	}
	if refused == 0 || refused > 10 {
		t.Errorf("%d of %d have been refused, want 5 and those that the writers of others have not left yet", refused, granted+5)
	}
	if r := s.get(t, "/pmapi/"+id+"/fetch?names=t.max"); r.status != http.StatusOK {
		t.Errorf("a short reply: %d %s", r.status, r.body)
	}
	for _, c := range clients {
		c.Close()
	}
	begin := time.Now()
	for s.get(t, "/pmapi/"+id+"/fetch?names=t.many").status != http.StatusOK && time.Since(begin) < 30*time.Second {
		time.Sleep(50 * time.Millisecond)
	}
	if took := time.Since(begin); took >= 30*time.Second {
		t.Errorf("no long reply within %v", took)
	}
}
