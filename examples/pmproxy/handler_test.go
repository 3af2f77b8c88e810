package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// The program counts what it serves, refuses and receives.
func TestOwnMetrics(t *testing.T) {
	t.Setenv("PCP_TLSCONF_PATH", "")
	get := serve(t, "--archive=busy=../internal/pmstat/testdata/archive/host", "--push="+t.TempDir(), "--push-from=192.0.2.1")
	get("http", "/page/main.js")
	get("http", "/pmapi/context?hostspec=busy&polltimeout=300")
	get("http", "/pmapi/context?hostspec=busy&polltimeout=0.001")
	get("http", "/pmapi/context?hostspec=example.com")
	get("http", "/pmapi/1234567890/fetch?names=kernel.all.load")
	get("http", "/nosuch")
	get("http", "/logger/meta/5")
	zero := regexp.MustCompile(`(?m)^.* 0\n|^#.*\n`)
	var page string
	pcptest.Retry(t, func() string { // until a context has expired
		page = zero.ReplaceAllString(get("http", "/metrics/gateway?format=openmetrics"), "")
		if !strings.Contains(page, "pmproxy_gateway_contexts_expired_total") {
			return page
		}
		return ""
	})
	for _, want := range []string{
		`pmproxy_gateway_requests_total{agent="pmproxy",instname="/page/::2xx",route="/page/",status="2xx"} 1`,
		`pmproxy_gateway_requests_total{agent="pmproxy",instname="/pmapi/context::2xx",route="/pmapi/context",status="2xx"} 2`,
		`pmproxy_gateway_requests_total{agent="pmproxy",instname="/pmapi/context::4xx",route="/pmapi/context",status="4xx"} 1`,
		`pmproxy_gateway_requests_total{agent="pmproxy",instname="/pmapi/fetch::4xx",route="/pmapi/fetch",status="4xx"} 1`,
		`pmproxy_gateway_requests_total{agent="pmproxy",instname="none::4xx",route="none",status="4xx"} 1`,
		`pmproxy_gateway_refused_total{agent="pmproxy",instname="forbidden",reason="forbidden"} 1`,
		`pmproxy_gateway_contexts_opened_total{agent="pmproxy"} 2`,
		`pmproxy_gateway_contexts_expired_total{agent="pmproxy"} 1`,
		`pmproxy_gateway_contexts_open{agent="pmproxy"} 1`,
		`pmproxy_gateway_request_seconds_bucket{agent="pmproxy",le="+Inf"} 6`,
		`pmproxy_gateway_request_seconds_count{agent="pmproxy"} 6`,
		`pmproxy_gateway_push_refused_total{agent="pmproxy"} 1`,
	} {
		if !strings.Contains("\n"+page, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if !strings.Contains(page, "pmproxy_gateway_request_seconds_sum{") {
		t.Errorf("no sum in\n%s", page)
	}
}

// Derived metrics are those that the tools have, in archives and on hosts.
func TestDerived(t *testing.T) {
	path := filepath.Join(t.TempDir(), "derived")
	if err := os.WriteFile(path, []byte("own.load = kernel.all.load\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_DERIVED_CONFIG", path)
	get := serve(t, "--archive=busy=../internal/pmstat/testdata/archive/host")
	page := get("http", "/pmapi/fetch?hostspec=busy&names=own.load")
	if !strings.Contains(page, `"name":"own.load","instances":[{"instance":`) {
		t.Error(page)
	}
}
