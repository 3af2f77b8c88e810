package webapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// A server is a gateway under test: ours, or pmproxy.
type server struct {
	url   string
	addr  string
	host  string // host specification of the collector
	isOur bool
}

// A reply is the reply to a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// serve serves a gateway until the test ends.
func serve(t testing.TB, g *webapi.Gateway) server {
	t.Helper()
	s := httptest.NewServer(g)
	t.Cleanup(func() {
		s.Close()
		g.Close()
	})
	return server{url: s.URL, addr: s.Listener.Addr().String(), isOur: true}
}

// startPMProxy runs PCP's pmproxy without a key server.
func startPMProxy(t testing.TB) server {
	t.Helper()
	addr := pcptest.StartPMProxy(t)
	return server{url: "http://" + addr, addr: addr}
}

// do makes a request.
func (s server) do(t testing.TB, method, path, body string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	tr := new(http.Transport) // a separate connection: after an error pmproxy no longer answers on some
	defer tr.CloseIdleConnections()
	res, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

func (s server) get(t testing.TB, path string) reply {
	t.Helper()
	return s.do(t, "GET", path, "")
}

// open opens a context and returns its number.
func (s server) open(t testing.TB, query string) string {
	t.Helper()
	r := s.get(t, "/pmapi/context?"+query)
	var c struct{ Context uint32 }
	if err := json.Unmarshal([]byte(r.body), &c); err != nil || r.status != http.StatusOK {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return strconv.FormatUint(uint64(c.Context), 10)
}

// hostspec returns the parameter that names the collector.
func (s server) hostspec() string { return "hostspec=" + url.QueryEscape("pcp://"+s.host) }

// sourceOf returns open as a function for Sources.
func sourceOf(open func() *pmapi.Context) func(context.Context) (*pmapi.Context, error) {
	return func(context.Context) (*pmapi.Context, error) { return open(), nil }
}
