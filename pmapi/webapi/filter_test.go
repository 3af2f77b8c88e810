package webapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// The parameter filter drops metrics whose names match patterns, or match as the parameter match
// says.
func TestFilter(t *testing.T) {
	s := newGateway(t)
	const all = "t.colour t.double t.float t.inf t.max t.min t.nan t.write_me"
	for _, c := range []struct{ query, want string }{
		{"", all},
		{"filter=", all},
		{"filter=t.max", "t.colour t.double t.float t.inf t.min t.nan t.write_me"},
		{"filter=t.m*,t.[n-w]*,no.such", "t.colour t.double t.float t.inf"},
		{"filter=max", all},
		{"filter=t.m&match=exact", all},
		{"filter=t.max,t.min&match=exact", "t.colour t.double t.float t.inf t.nan t.write_me"},
		{"filter=t.m*&match=exact", all},
		{"filter=m&match=regex", "t.colour t.double t.float t.inf t.nan"},
		{"filter=^t%5C.(m|d),x$&match=regex", "t.colour t.float t.inf t.nan t.write_me"},
		{"filter=ma&match=regex&times=true", "t.colour t.double t.float t.inf t.min t.nan t.write_me"},
		{"filter=[z-a]", all},
		{"filter=*", ""},
		{"filter=t.max&filter=t.min", "t.colour t.double t.float t.inf t.min t.nan t.write_me"},
		{"names=t.max,t.min&filter=t.max", "t.min"},
		{"target=t.max&filter=t.max", ""},
		{"match=regex", all},
	} {
		r := s.get(t, "/metrics?"+c.query)
		var names []string
		for line := range strings.Lines(r.body) {
			if f := strings.Fields(line); f[0] == "#" && f[1] == "PCP5" && strings.HasPrefix(f[2], "t.") {
				names = append(names, f[2])
			}
		}
		if got := strings.Join(slices.Sorted(slices.Values(names)), " "); got != c.want || r.status != http.StatusOK {
			t.Errorf("%s: %d: %s, want %s", c.query, r.status, got, c.want)
		}
	}
	for query, want := range map[string]string{
		"filter=t.max&match=bad":              "bad - invalid 'match' parameter value",
		"match=":                              " - invalid 'match' parameter value",
		"filter=(&match=regex":                "( - invalid regular expression",
		"filter=" + strings.Repeat("a", 2000): "pattern too long",
		"filter=" + strings.Repeat("(a?){1000}", 50) + "&match=regex": "pattern too long",
	} {
		if r := s.get(t, "/metrics?"+query); !strings.Contains(r.body, `"message":"`+want) || r.status != http.StatusBadRequest {
			t.Errorf("%.80s: %d %s", query, r.status, r.body)
		}
	}
}

// A pattern that is slow on many names takes at most half the time of a request. The other half
// suffices for the rest, even on a busy machine.
func TestSlowFilter(t *testing.T) {
	src := newSource()
	long := strings.Repeat("a", 200)
	for i := range 300 {
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: fmt.Sprintf("many.%s%d", long, i)}).Set(1)
	}
	g := webapi.Limit(&webapi.Gateway{Local: sourceOf(src.Context)}, webapi.Limits{RequestTimeout: time.Second})
	s := serve(t, g)
	begin := time.Now()
	r := s.get(t, "/metrics?match=regex&filter="+strings.Repeat("(?:a?){900}", 2)+"x")
	if r.status != http.StatusBadRequest || !strings.Contains(r.body, "the filter takes too long") {
		t.Errorf("%d %.200s", r.status, r.body)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if r := s.get(t, "/metrics?names=t.max&filter=x"); r.status != http.StatusOK || !strings.Contains(r.body, "\nt_max{") {
		t.Errorf("afterwards: %d %.200s", r.status, r.body)
	}
}

// HEAD returns the status and the type of GET, and has no effect.
func TestHead(t *testing.T) {
	s := newGateway(t)
	id := s.open(t, "polltimeout=60")
	for _, c := range []struct {
		path   string
		status int
		kind   string
	}{
		{"/", 200, "text/html; charset=utf-8"},
		{"/page/main.js", 200, "text/javascript; charset=utf-8"},
		{"/page/nosuch", 404, "application/json"},
		{"/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"},
		{"/metrics?format=openmetrics", 200, "application/openmetrics-text; version=1.0.0; charset=utf-8"},
		{"/metrics?format=xml", 400, "application/json"},
		{"/metrics?a=%ZZ", 400, "application/json"},
		{"/pmapi/" + id + "/_metrics", 200, "text/plain; version=0.0.4; charset=utf-8"},
		{"/pmapi/" + id + "/derive?name=x.y&expr=t.max", 200, "application/json"},
		{"/pmapi/context", 200, "application/json"},
		{"/live/events?names=t.max", 200, "text/event-stream"},
		{"/live/sources", 200, "application/json"},
		{"/series/ping", 400, "application/json"},
		{"/nosuch", 404, "application/json"},
	} {
		r := s.do(t, http.MethodHead, c.path, "")
		if r.status != c.status || r.header.Get("Content-Type") != c.kind || r.body != "" {
			t.Errorf("%s: %d %v %q", c.path, r.status, r.header, r.body)
		}
	}
	page := s.get(t, "/page/main.js")
	if head := s.do(t, http.MethodHead, "/page/main.js", ""); head.header.Get("Content-Length") != fmt.Sprint(len(page.body)) {
		t.Errorf("%v, but GET has %d bytes", head.header, len(page.body))
	}
	if r := s.get(t, "/pmapi/"+id+"/fetch?names=x.y"); !strings.HasSuffix(r.body, `"values":[]}`+"\r\n") {
		t.Errorf("HEAD has defined a metric: %s", r.body)
	}
}
