package httpserver

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// Connections that send nothing, and those that are idle after a request, do not keep a client out.
func TestIdleConnections(t *testing.T) {
	const most = 16
	srv := newServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "page") }), slog.New(slog.DiscardHandler), most)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	defer func() {
		srv.Close()
		<-done
	}()
	dialer := new(net.Dialer)
	if runtime.GOOS == "linux" { // where this is another host to the limits
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	get := func() {
		r, err := client.Get("http://" + ln.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		r.Body.Close()
	}
	var idle []net.Conn
	pcptest.Attack(t, func() {
		for i := range pcptest.AttackSize(3*most, 4000) {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			}
			idle = append(idle, c)
		}
	}, get)
	defer func() {
		for _, c := range idle {
			c.Close()
		}
	}()
	get()
	pcptest.Retry(t, func() string {
		open := 0
		for _, c := range idle {
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				open++
			}
		}
		if open > most/hostShare {
			return fmt.Sprintf("%d idle connections are open, want at most %d", open, most/hostShare)
		}
		return ""
	})
}
