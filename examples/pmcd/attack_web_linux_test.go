package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// pageFiles is how many descriptors the program may have open beside those at rest, while clients
// of its page open connections without end: those of the page, and a few more.
const pageFiles = 1024 + 64

// attackPage has one client open connections to the page and leave them idle: PCP's clients and
// another client of the page are served.
func attackPage(addr string) func(s *target) {
	return func(s *target) {
		pcptest.Retry(s.t, func() string { return getPage(addr) }) // it may not listen yet
		time.Sleep(200 * time.Millisecond)                         // until that connection is closed
		s.idleFiles = s.files()                                    // with the port of the page
		quiet := s.quiet(pmcdMetric)
		w := s.watch(pmcdMetric)
		var idle []net.Conn
		defer func() {
			for _, c := range idle {
				c.Close()
			}
		}()
		for i := range size(1500, 12_000) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				s.t.Fatalf("connection %d: %v", i, err)
			}
			idle = append(idle, c)
			if i%2 == 0 {
				io.WriteString(c, "GET /metrics?names=pmcd.numagents HTTP/1.1\r\nHost: x\r\n\r\n")
			}
		}
		pcptest.Retry(s.t, func() string { return getPage(addr) })
		if code, _ := s.connect().fetch(pmcdMetric); code != pdu.Error(0) {
			s.t.Errorf("a PCP client beside idle connections to the page: %v", code)
		}
		if n := s.files() - s.idleFiles; n > pageFiles {
			s.t.Errorf("%d descriptors are open, want at most %d", n, pageFiles)
		}
		w.end()
		s.checkDelay(quiet, w, true) // the attack itself takes a processor
		s.checkMemory(oneClientMemory)
	}
}

// getPage says what is wrong with a reply of the page.
func getPage(addr string) string {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + addr + "/metrics?names=pmcd.numagents")
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
		return fmt.Sprint(r.StatusCode, err)
	}
	return ""
}

// freePage is a free address for the option -w.
func freePage(t *testing.T) string { return fmt.Sprintf("127.0.0.1:%d", pcptest.FreePort(t)) }
