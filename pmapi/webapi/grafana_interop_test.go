package webapi_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// TestInteropGrafana makes the requests of Grafana's data source PCP Vector: those of a panel,
// those after its context has expired, and those of its editor. It checks the fields that the data
// source reads.
func TestInteropGrafana(t *testing.T) {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	s := serve(t, &webapi.Gateway{Allow: []string{"127.0.0.1:*"}, AllowStore: true})
	spec := url.QueryEscape("pcp://127.0.0.1:" + strconv.Itoa(pmcd.Port()))
	ask := func(path string, status int, want string) map[string]any {
		t.Helper()
		r := s.do(t, "GET", path, "", "Content-Type", "application/json")
		var v map[string]any
		if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.status != status || !regexp.MustCompile(want).MatchString(r.body) {
			t.Fatalf("%s: %v, %d %s, want %d %s", path, err, r.status, r.body, status, want)
		}
		return v
	}
	open := func() string {
		t.Helper()
		v := ask("/pmapi/context?hostspec="+spec+"&polltimeout=0", 200, `"labels":\{.*"hostname"`)
		return strconv.FormatFloat(v["context"].(float64), 'f', 0, 64)
	}
	const derived = "derived_9e107d9d372bb6826bd81d3542a419d6"
	for range 2 { // the context expires in between
		c := strconv.FormatFloat(ask("/pmapi/context?hostspec="+spec+"&polltimeout=11", 200, "labels")["context"].(float64), 'f', 0, 64)
		ask("/pmapi/metric?context="+c+"&names=sample.colour,no.such", 200,
			`"name":"sample.colour","series":"[0-9a-f]{40}","pmid":"29.0.5","indom":"29.1","type":"32","sem":"instant","units":"none","labels":\{.*"name":"no.such","message":"Unknown metric name","success":false`)
		ask("/pmapi/metric?context="+c+"&names=no.such", 400, "Unknown metric name")
		ask("/pmapi/derive?context="+c+"&name="+derived+"&expr="+url.QueryEscape("rate(sample.seconds)"), 200, `"success":true`)
		ask("/pmapi/derive?context="+c+"&name="+derived+"&expr="+url.QueryEscape("rate(sample.seconds)"), 400, `Duplicate per-context derived metric name`)
		ask("/pmapi/fetch?context="+c+"&names=sample.colour,"+derived, 200, `"name":"`+derived+`","instances":\[\]`)
		v := ask("/pmapi/fetch?context="+c+"&names=sample.colour,"+derived, 200, `"name":"sample.colour","instances":\[\{"instance":0,"value":\d+\},.*"name":"`+derived+`","instances":\[\{"instance":null,"value":[\d.e-]+\}\]`)
		if at, ok := v["timestamp"].(float64); !ok || at < 1e9 {
			t.Errorf("timestamp %v", v["timestamp"])
		}
		ask("/pmapi/indom?context="+c+"&name=sample.colour", 200, `\{"instance":0,"name":"red","labels":\{.*"model":"RGB"`)
		ask("/pmapi/indom?context="+c+"&name=sample.seconds", 400, `metric has null indom`)
		ask("/pmapi/store?context="+c+"&name=no.such&value=1", 400, `failed to lookup metric`)
	}
	c := open()
	ask("/pmapi/fetch?context="+c+"&names=sample.colour", 400, "(unknown|expired) context identifier: "+c)
	ask("/pmapi/fetch?hostspec="+spec+"&names=pmcd.version", 200, `"instances":\[\{"instance":null,"value":"6\.\d`)
	ask("/pmapi/children?hostspec="+spec+"&prefix=sample", 200, `"leaf":\[.*"nonleaf":\[.*"long"`)
	ask("/pmapi/metric?hostspec="+spec+"&names="+strings.Repeat("sample.long.one,", 600)+"sample.seconds", 200, `"units":"sec"`) // a long URL
}

// TestInteropDefects makes requests that pmproxy handles wrongly, to a Gateway only.
func TestInteropDefects(t *testing.T) {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	s := serve(t, &webapi.Gateway{Allow: []string{"localhost:*"}, AllowStore: true})
	s.host = pmcd.Host()
	c := s.open(t, s.hostspec()+"&polltimeout=300")
	for _, r := range []struct{ name, path, want string }{
		{"A7", "/fetch?names=sample.long.one,sample.long.one", `"values":\[(\{"pmid":"29.0.10","name":"sample.long.one","instances":\[\{"instance":null,"value":1\}\]\},?){2}\]\}\r\n$`},
		{"A8", "/fetch?names=sample.float.ten", `"values":\[\{"pmid":"29\.0\.\d+","name":"sample.float.ten","instances":\[[^]]*\]\}\]\}\r\n$`},
		{"A9", "/fetch?names=sample.bad.novalues", `"instances":\[\]`},
		{"A12", "/indom?name=sample.bin", `\{"instance":100,"name":"bin-100","labels":\{"agent":"sample","bin":100,`},
		{"A13", "/store?name=sample.colour&value=1&iname=puce", `"success":false`},
		{"A15 refused", "/store?name=sample.write_me&value=99999999999", `Numerical result out of range`},
		{"A15", "/store?name=sample.write_me&value=5", `"success":true`},
		{"A16", "/derive?expr=t.x%20=%20sample.long.one%0A", `"success":true`},
		{"A18", "/metric?pmid=29.0.0", `^[^\[]*\[\{"name":"sample.control",[^\[\]]*\]\}\r\n$`},
		{"events", "/fetch?names=sample.event.records", `"instances":\[.*"value":null`},
	} {
		got := s.get(t, "/pmapi/"+c+r.path)
		if !json.Valid([]byte(got.body)) || !regexp.MustCompile(r.want).MatchString(got.body) {
			t.Errorf("%s: %s, want %s", r.name, got.body, r.want)
		}
	}
	var last float64
	for range 200 { // A11
		var v struct{ Timestamp float64 }
		if err := json.Unmarshal([]byte(s.get(t, "/pmapi/"+c+"/fetch?names=sample.long.one").body), &v); err != nil || v.Timestamp <= last {
			t.Fatalf("%v: %v after %v", err, v.Timestamp, last)
		}
		last = v.Timestamp
	}
}

// TestInteropLogin logs in to a collector with HTTP basic authentication. A request without a login
// gets a challenge.
func TestInteropLogin(t *testing.T) {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	s := serve(t, &webapi.Gateway{Allow: []string{"localhost:*"}})
	s.host = pmcd.Host()
	r := s.get(t, "/pmapi/context?"+s.hostspec()+url.QueryEscape("?user=foo"))
	if r.status != 401 || r.header.Get("WWW-Authenticate") != `Basic realm="pmapi/"` {
		t.Errorf("%d %v", r.status, r.header)
	}
	for _, auth := range []string{"Basic ???", "Basic " + "Zm9v"} {
		if r := s.do(t, "GET", "/pmapi/context?"+s.hostspec(), "", "Authorization", auth); r.status != 401 {
			t.Errorf("%s: %d %s", auth, r.status, r.body)
		}
	}
	if r := s.do(t, "GET", "/pmapi/context?"+s.hostspec(), "", "Authorization", "Bearer x"); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	r = s.do(t, "GET", "/pmapi/context?"+s.hostspec(), "", "Authorization", "Basic Zm9vOmJhcg==")
	if r.status != 401 || !strings.Contains(r.body, `cannot connect to PMCD: Authentication - `) {
		t.Errorf("%d %s", r.status, r.body)
	}
}
