package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
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
