package webapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// FuzzQuery makes requests with arbitrary parameters. Each must get one JSON reply and leave the
// context usable.
func FuzzQuery(f *testing.F) {
	for _, endpoint := range []string{"context", "_context", "metric", "fetch", "_fetch", "indom", "_indom", "children", "profile", "store", "derive", "x/../fetch"} {
		for _, query := range []string{"", "names=t.max,t.colour", "name=t.colour&iname=[!a-z]*&match=glob", "name=t.colour&iname=(&match=regex", "pmid=400.0.4",
			"expr=add&name=t.colour&instance=1", "name=x.y&expr=rate(t.max)", "hostspec=localhost&polltimeout=1e9&client=%ff", "context=1&context=2", "indom=999.1"} {
			f.Add(endpoint, query)
		}
	}
	src := newSource()
	g := webapi.Limit(&webapi.Gateway{Local: sourceOf(src.Context), AllowStore: true}, webapi.Limits{MaxContexts: 4})
	f.Cleanup(func() { g.Close() })
	f.Fuzz(func(t *testing.T, endpoint, query string) {
		request(t, g, "GET", endpoint, query, "")
		request(t, g, "POST", endpoint, query, "x")
	})
}

// FuzzLive watches metrics and reads an archive with arbitrary parameters.
func FuzzLive(f *testing.F) {
	for _, query := range []string{"", "names=t.max@2,t.colour,nosuch&interval=0.001", "names=t.max@&interval=1e300", "names=a@256,,b@1@2&interval=NaN",
		"hostspec=busy&names=kernel.all.load@3&count=2&step=1e9", "hostspec=busy&names=kernel.all.load&count=1000&start=9e9&step=1e-9", "hostspec=busy",
		"hostspec=web1&names=x", "hostname=localhost&names=%00", "hostspec=busy&names=kernel.all.load&count=-1&start=-1"} {
		f.Add(query, "1-1")
	}
	src := newSource()
	g := &webapi.Gateway{Local: sourceOf(src.Context), Sources: map[string]func(context.Context) (*pmapi.Context, error){"busy": func(ctx context.Context) (*pmapi.Context, error) {
		return pmapi.Open(ctx, "../../examples/internal/pmstat/testdata/archive/host")
	}}}
	f.Cleanup(func() { g.Close() })
	f.Fuzz(func(t *testing.T, query, lastID string) {
		for _, path := range []string{"/live/past", "/live/sources"} {
			r := httptest.NewRequest("GET", "/", nil)
			r.URL = &url.URL{Path: path, RawQuery: query}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if w.Code < 200 || w.Code > 599 || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %q: %d %q", path, query, w.Code, w.Body)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
		r.URL = &url.URL{Path: "/live/events", RawQuery: query}
		r.Header.Set("Last-Event-ID", lastID)
		w := &firstEvents{ResponseRecorder: httptest.NewRecorder(), stop: stop}
		g.ServeHTTP(w, r)
		for line := range strings.Lines(w.Body.String()) {
			if data, ok := strings.CutPrefix(line, "data: "); w.Code == http.StatusOK && ok && !json.Valid([]byte(data)) {
				t.Errorf("%q: %s", query, line)
			}
		}
	})
}

// firstEvents disconnects after the first event of values or of a failure.
type firstEvents struct {
	*httptest.ResponseRecorder
	stop context.CancelFunc
}

func (w *firstEvents) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("}\n\n")) && !bytes.HasPrefix(b, []byte("event: meta")) {
		w.stop()
	}
	return w.ResponseRecorder.Write(b)
}

func (w *firstEvents) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// FuzzBody stores and derives with an arbitrary body, and leaves the context usable.
func FuzzBody(f *testing.F) {
	for _, body := range []string{"", "1", "-1", "a.b = t.max\n# c\r\n;x=1&y=2", "x", "a.b=rate(", "a = b ? c : d\n", "0x7fffffffffffffff", "nan", "\xff\x00"} {
		f.Add(body)
	}
	src := newSource()
	const many = 100_000 // more than 2.5 seconds allow
	g := webapi.Limit(&webapi.Gateway{Local: sourceOf(src.Context), AllowStore: true}, webapi.Limits{MaxContexts: many, MaxContextsPerClient: many})
	f.Cleanup(func() { g.Close() })
	f.Fuzz(func(t *testing.T, body string) {
		id := open(t, g) // definitions stay in a context
		for _, query := range []string{"", "name=x.y", "name=t.write_me", "name=t.text", "name=t.double", "name=t.colour&iname=red"} {
			request(t, g, "POST", id+"/derive", query, body)
			request(t, g, "POST", id+"/store", query, body)
		}
		request(t, g, "GET", id+"/fetch", "names=x.y,t.write_me,t.text,t.double", "")
		request(t, g, "GET", id+"/children", "", "")
	})
}

// open opens a context that expires soon, and returns its number.
func open(t *testing.T, g *webapi.Gateway) string {
	t.Helper()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest("GET", "/pmapi/_context?polltimeout=1", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return strings.Trim(w.Body.String(), `{"contex:}`+"\r\n")
}

// request makes a request and checks that the reply is valid.
func request(t *testing.T, g *webapi.Gateway, method, endpoint, query, body string) {
	t.Helper()
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.URL = &url.URL{Path: "/pmapi/" + endpoint, RawQuery: query}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code < 200 || w.Code > 599 || w.Header().Get("Content-Type") != "application/json" || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s %q %q: %d %q", method, endpoint, query, w.Code, w.Body)
	}
	if success := !strings.Contains(w.Body.String(), `"success":false}`); (w.Code == http.StatusOK) != success && endpoint != "metric" {
		t.Errorf("%s %q %q: %d %q", method, endpoint, query, w.Code, w.Body)
	}
}
