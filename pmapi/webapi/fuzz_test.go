package webapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmapi/webapi"
)

// FuzzQuery makes requests with any parameters, of which each has one reply that is JSON, and leaves a context that works.
func FuzzQuery(f *testing.F) {
	for _, endpoint := range []string{"context", "_context", "metric", "fetch", "_fetch", "indom", "_indom", "children", "profile", "store", "derive", "x/../fetch"} {
		for _, query := range []string{"", "names=t.max,t.colour", "name=t.colour&iname=[!a-z]*&match=glob", "name=t.colour&iname=(&match=regex", "pmid=400.0.4",
			"expr=add&name=t.colour&instance=1", "name=x.y&expr=rate(t.max)", "hostspec=localhost&polltimeout=1e9&client=%ff", "context=1&context=2", "indom=999.1"} {
			f.Add(endpoint, query)
		}
	}
	src := newSource()
	g := &webapi.Gateway{Local: sourceOf(src.Context), Limits: webapi.Limits{MaxContexts: 4}}
	f.Cleanup(func() { g.Close() })
	f.Fuzz(func(t *testing.T, endpoint, query string) {
		request(t, g, "GET", endpoint, query, "")
		request(t, g, "POST", endpoint, query, "x")
	})
}

// FuzzBody stores and derives with any body.
func FuzzBody(f *testing.F) {
	for _, body := range []string{"", "1", "-1", "a.b = t.max\n# c\r\n;x=1&y=2", "x", "a.b=rate(", "a = b ? c : d\n", "0x7fffffffffffffff", "nan", "\xff\x00"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		src := newSource() // definitions stay in a context
		g := &webapi.Gateway{Local: sourceOf(src.Context)}
		defer g.Close()
		for _, query := range []string{"", "name=x.y", "name=t.write_me", "name=t.text", "name=t.double", "name=t.colour&iname=red"} {
			request(t, g, "POST", "derive", query, body)
			request(t, g, "POST", "store", query, body)
		}
		request(t, g, "GET", "fetch", "names=x.y,t.write_me,t.text,t.double", "")
	})
}

// request makes a request and checks that the reply is one.
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
