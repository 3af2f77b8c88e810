package webapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// A server is a gateway that is tested: ours, or pmproxy.
type server struct {
	url   string
	addr  string
	host  string // spec of the collector
	isOur bool
}

// A reply is what a server has replied.
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
	pcptest.Need(t, "pmproxy")
	dir := pcptest.ShortDir(t)
	conf := filepath.Join(dir, "pmproxy.conf")
	text := "[pmproxy]\npcp.enabled = true\nhttp.enabled = true\nredis.enabled = false\n[redis]\nenabled = false\n[discover]\nenabled = false\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", pcptest.FreePort(t))
	_, port, _ := strings.Cut(addr, ":")
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Tool(t, "pmproxy"), Dir: dir, Addr: addr,
		Env:  []string{"PCP_RUN_DIR=" + dir, "PCP_LOG_DIR=" + dir, "PCP_TMP_DIR=" + dir},
		Args: []string{"-f", "-t", "-A", "-i", "127.0.0.1", "-p", port, "-s", filepath.Join(dir, "p"), "-c", conf, "-l", filepath.Join(dir, "log"), "-U", u.Username}})
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
	tr := new(http.Transport) // a connection of its own: pmproxy no longer answers on some after an error
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

// hostspec is the parameter that names the collector.
func (s server) hostspec() string { return "hostspec=" + url.QueryEscape("pcp://"+s.host) }

// sourceOf opens contexts.
func sourceOf(open func() *pmapi.Context) func(context.Context) (*pmapi.Context, error) {
	return func(context.Context) (*pmapi.Context, error) { return open(), nil }
}
