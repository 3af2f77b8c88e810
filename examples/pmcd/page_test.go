package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// With -w there is a page of the metrics; the collector serves without one if the address is taken.
func TestPage(t *testing.T) {
	addr := fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	first, _, _ := start(t, nil, "-w", addr)
	for path, want := range map[string]string{
		"/":                                 "page/main.js",
		"/page/main.js":                     "new Page()",
		"/pmapi/fetch?names=pmcd.numagents": `"name":"pmcd.numagents","instances":[{"instance":null,"value":`,
		"/metrics?names=pmproxy.gateway.live.viewers":               "\npmproxy_gateway_live_viewers{",
		"/pmapi/fetch?names=pmcd.numagents&hostspec=localhost:1":    "host is not allowed: localhost:1: the gateway's list of hosts",
		"/pmapi/fetch?names=pmcd.numagents&hostspec=localhost:4330": "host is not allowed",
		"/pmapi/store?name=pmcd.control.debug&value=1":              "a store needs a login",
		"/pmapi/_store?name=pmcd.control.debug&value=1":             "a store needs a login",
	} {
		pcptest.Retry(t, func() string { // it may not listen yet
			r, err := http.Get("http://" + addr + path)
			if err != nil {
				return err.Error()
			}
			defer r.Body.Close()
			if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), want) {
				return fmt.Sprintf("%s: %s, want %s: %v", path, b, want, err)
			}
			return ""
		})
	}
	second, _, _ := start(t, nil, "-w", addr)
	pcptest.Retry(t, func() string {
		if !strings.Contains(second.Log(), "no page of metrics") {
			return "the log of a collector whose port for the page is taken: " + second.Log()
		}
		return ""
	})
	if strings.Contains(first.Log(), "no page of metrics") {
		t.Error(first.Log())
	}
}

// TestDefaultProcesses: the collector without a configuration shows processes to a client with a
// known user, and only their number to others.
func TestDefaultProcesses(t *testing.T) {
	pcptest.Need(t, "/proc/self/stat")
	_, host, socket := start(t, nil)
	for _, test := range []struct {
		host string
		sees bool
	}{{"unix:" + socket, true}, {host, false}} {
		c, err := pmapi.Dial(t.Context(), test.host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ids, err := c.Lookup(t.Context(), []string{"proc.nprocs", "proc.psinfo.pid"})
		if err != nil {
			t.Fatal(err)
		}
		var r pdu.Result
		if err := c.Fetch(t.Context(), ids, &r); err != nil {
			t.Fatal(err)
		}
		if n := r.At(0).Len(); n != 1 {
			t.Errorf("%s: %d values of proc.nprocs", test.host, n)
		}
		switch all := r.At(1); {
		case test.sees && all.Len() == 0:
			t.Errorf("%s: no processes: %v", test.host, all.Err())
		case !test.sees && !errors.Is(all.Err(), pdu.ErrPermission):
			t.Errorf("%s: %d processes, error %v", test.host, all.Len(), all.Err())
		}
	}
}

// The log says who sees a page that listens beyond this computer.
func TestWhoSees(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1": "", "::1": "", "0.0.0.0": "each client that reaches 0.0.0.0:44323", "::": "each client", "192.0.2.1": "each client"} {
		got := whoSees(&net.TCPAddr{IP: net.ParseIP(addr), Port: 44323})
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
}
