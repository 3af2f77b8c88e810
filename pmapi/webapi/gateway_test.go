package webapi_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// newSource returns a source with values that are difficult to encode.
func newSource() *pmapitest.Source {
	s := &pmapitest.Source{Host: "made.up", Labels: `{"hostname":"made.up"}`, Start: time.Unix(1700000000, 1433126)}
	colours := s.InDom("red", "a b", `ü"\`)
	pmapitest.Add(s, pmapitest.Metric[float64]{Name: "t.double", Text: "a \"text\"\nof two lines"}).Set(0.1)
	pmapitest.Add(s, pmapitest.Metric[float64]{Name: "t.nan"}).Set(math.NaN())
	pmapitest.Add(s, pmapitest.Metric[float64]{Name: "t.inf"}).Set(math.Inf(-1))
	pmapitest.Add(s, pmapitest.Metric[float32]{Name: "t.float"}).Set(3.58)
	pmapitest.Add(s, pmapitest.Metric[uint64]{Name: "t.max", Sem: pdu.SemCounter, Units: pdu.SpaceKByte}).Set(math.MaxUint64)
	pmapitest.Add(s, pmapitest.Metric[int64]{Name: "t.min"}).Set(math.MinInt64)
	pmapitest.Add(s, pmapitest.Metric[string]{Name: "t.text"}).Set("grüße\t\xff\x7f\n\"\\")
	pmapitest.Add(s, pmapitest.Metric[[]byte]{Name: "t.bytes"}).Set([]byte("a\x00b\x00"))
	pmapitest.Add(s, pmapitest.Metric[int32]{Name: "t.none"})
	pmapitest.Add(s, pmapitest.Metric[int32]{Name: "t.colour", InDom: colours}).Set(1, 2, 3)
	pmapitest.Add(s, pmapitest.Metric[int32]{Name: "t.wrong"}).Fail(pdu.ErrPermission)
	pmapitest.Add(s, pmapitest.Metric[uint32]{Name: "t.write_me"}).Set(7)
	return s
}

// newGateway serves metrics of newSource.
func newGateway(t testing.TB, options ...func(*webapi.Gateway)) server {
	src := newSource()
	g := &webapi.Gateway{Local: sourceOf(src.Context), AllowStore: true}
	for _, o := range options {
		o(g)
	}
	return serve(t, g)
}

// Values are encoded as JSON.
func TestValues(t *testing.T) {
	s := newGateway(t)
	id := s.open(t, "polltimeout=60")
	for name, want := range map[string]string{
		"t.double": `[{"instance":null,"value":0.1}]}`,
		"t.nan":    `[{"instance":null,"value":null}]}`,
		"t.inf":    `[{"instance":null,"value":null}]}`,
		"t.float":  `[{"instance":null,"value":3.58}]}`,
		"t.max":    `[{"instance":null,"value":18446744073709551615}]}`,
		"t.min":    `[{"instance":null,"value":-9223372036854775808}]}`,
		"t.text":   `[{"instance":null,"value":"grüße\u0009\uFFFD\u007F\u000A\u0022\u005C"}]}`,
		"t.bytes":  `[{"instance":null,"value":"a\u0000b\u0000"}]}`,
		"t.none":   `[]}`,
		"t.wrong":  `[],"error":"No permission to perform requested operation"}`,
		"t.colour": `[{"instance":0,"value":1},{"instance":1,"value":2},{"instance":2,"value":3}]}`,
	} {
		r := s.get(t, "/pmapi/"+id+"/fetch?names="+name)
		_, got, _ := strings.Cut(r.body, `"name":"`+name+`","instances":`)
		if got != want+"]}\r\n" || !json.Valid([]byte(r.body)) {
			t.Errorf("%s: %s, want %s", name, r.body, want)
		}
		if !strings.Contains(r.body, `"timestamp":1700000000.001433126,`) {
			t.Errorf("%s: %s: the time", name, r.body)
		}
	}
	// Row A7 of the checklist. An empty element is ignored.
	r := s.get(t, "/pmapi/"+id+"/fetch?names=t.max,t.max,,t.max")
	if n := strings.Count(r.body, `{"pmid":"400.0.4","name":"t.max","instances":[{"instance":null,"value":18446744073709551615}]}`); n != 3 || !json.Valid([]byte(r.body)) {
		t.Errorf("%s", r.body)
	}
}

// The value of a parameter may contain "=", and a body may come in several segments.
func TestParameters(t *testing.T) {
	s := newGateway(t)
	id := s.open(t, "polltimeout=60")
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/derive?expr=x.y%20=%20t.write_me%0A", "", `"success":true`},
		{"GET", "/fetch?names=x.y", "", `"value":7`},
		{"POST", "/derive", "a.b t.max\n", "incomplete expression"},
		{"GET", "/derive?name=t.max&expr=t.min", "", "there is a metric of this name"},
		{"GET", "/derive?name=1x&expr=t.min", "", "Syntax Error"},
		{"GET", "/fetch?names=t.m%ZZ", "", "invalid encoding"},
		{"GET", "/fetch?" + strings.Repeat("a&", 100), "", "too many parameters"},
		{"GET", "/indom?name=t.colour&iname=%C3%BC%22%5C", "", `"name":"ü\u0022\u005C"`},
		{"GET", "/indom?name=t.colour&iname=a+b&client=x+y", "", `"client":"x y"`},
		{"GET", "/indom?name=t.colour&iname=(&match=regex", "", "invalid regular expression"},
		{"GET", "/indom?name=t.colour&iname=[&match=glob", "", `"instances":[]`},
		{"GET", "/indom?name=t.colour&iname=[!a]?d&match=glob", "", `"name":"red"`},
		{"GET", "/indom?name=t.colour&iname=" + strings.Repeat("a", 2000) + "&match=glob", "", "pattern too long"},
		{"GET", "/indom?name=t.colour&instance=x", "", "invalid 'instance'"},
		{"POST", "/store", "name=a&value=1", "bad parameters passed"},
		{"GET", "/store?name=t.colour&value=1&iname=puce", "", "failed to store value to metric t.colour: Unknown or illegal instance identifier"},
		{"GET", "/store?name=t.write_me&value=99999999999", "", "Numerical result out of range"},
		{"GET", "/store?name=t.write_me&value=-1", "", "Numerical result out of range"},
		{"GET", "/store?name=t.write_me", "", "required parameter is missing"},
		{"GET", "/store?name=t.write_me&value=5", "", `"success":true`},
		{"GET", "/fetch?name=t.write_me", "", `"value":5`},
		{"POST", "/store?pmid=400.0.11", "6", `"success":true`},
		{"GET", "/store?name=t.colour&value=9&iname=a+b", "", `"success":true`},
		{"GET", "/fetch?names=t.colour", "", `"instances":[{"instance":0,"value":1},{"instance":2,"value":3},{"instance":1,"value":9}]`},
		{"POST", "/store?name=t.text", strings.Repeat("x", 2<<20), "request body too long"},
		{"GET", "/metric?names=,t.max", "", `"metrics":[{"name":"t.max"`},
		{"GET", "/metric?pmid=400.0.4", "", `"metrics":[{"name":"t.max"`},
		{"GET", "/metric?pmids=400.0.4,1.2.3", "", `{"name":"1.2.3","message":"failed to lookup metric name","success":false}`},
		{"GET", "/children?prefix=t.", "", "child traversal failed - "},
		{"GET", "/fetch?context=abc&names=t.max", "", `{"message":"invalid context identifier: abc","success":false}`},
	} {
		r := s.do(t, c.method, "/pmapi/"+id+c.path, c.body)
		if !strings.Contains(r.body, c.want) || !json.Valid([]byte(r.body)) {
			t.Errorf("%s %.100s: %s, want %s", c.method, c.path, r.body, c.want)
		}
	}
}

// Requests that crash pmproxy or that it does not serve.
func TestTransport(t *testing.T) {
	s := newGateway(t)
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"DELETE", "/pmapi/context", 405, "method not allowed"},
		{"TRACE", "/pmapi/context", 405, "method not allowed"},
		{"POST", "/pmapi/fetch?names=t.max", 405, "method not allowed"},
		{"GET", "/pmapi/contextXYZ", 404, "no handler for URL"},
		{"GET", "/pmapi/", 404, "no handler for URL"},
		{"GET", "/pmapi/x/fetch?names=t.max", 404, "no handler for URL"},
		{"GET", "/pmapi/1/2/fetch?names=t.max", 404, "no handler for URL"},
		{"HEAD", "/nosuch", 404, ""},
		{"GET", "/series/query?expr=x", 400, `{"message":"there is no store of time series here`},
		{"POST", "/search/text", 400, `{"message":"there is no store of time series here`},
		{"OPTIONS", "/pmapi/derive", 200, ""},
		{"GET", "/pmapi/%63ontext", 200, `"context":`},
	} {
		r := s.do(t, c.method, c.path, "")
		if r.status != c.status || !strings.Contains(r.body, c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.body)
		}
		if c.status == 405 && r.header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s %s: %v", c.method, c.path, r.header)
		}
	}
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	read := func(want string) {
		t.Helper()
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%v: %s, want %s", err, b, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	write("GET /pmapi/fetch HTTP/1.1\r\nHost: x\r\n\r\nGET /pmapi/fetch?names=t.max HTTP/1.1\r\nHost: x\r\n\r\n")
	read("names")
	read("t.max")
	write("GET /pmapi/fetch?na")
	write("mes=t.min HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	read("t.min")
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after Connection: close: %v", err)
	}
}

// Contexts expire, and are limited for each client and in total.
func TestContexts(t *testing.T) {
	s := newGateway(t, func(g *webapi.Gateway) { webapi.Limit(g, webapi.Limits{MaxContextsPerClient: 3}) })
	var ids []string
	for range 3 {
		ids = append(ids, s.open(t, "polltimeout=60"))
	}
	if r := s.get(t, "/pmapi/context"); r.status != http.StatusTooManyRequests {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, id := range ids {
		if r := s.get(t, "/pmapi/"+id+"/fetch?names=t.max"); r.status != http.StatusOK {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	s = newGateway(t, func(g *webapi.Gateway) { webapi.Limit(g, webapi.Limits{MaxContexts: 2}) })
	id := s.open(t, "polltimeout=0")
	s.open(t, "polltimeout=1e300")
	if r := s.get(t, "/pmapi/context"); r.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, why := range []string{"expired|unknown", "unknown"} { // it may have been swept already
		if r := s.get(t, "/pmapi/"+id+"/fetch?names=t.max"); r.status != http.StatusBadRequest || !regexp.MustCompile("("+why+") context identifier: "+id).MatchString(r.body) {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if id2 := s.open(t, "polltimeout=+1"); id2 == id {
		t.Errorf("the number %s again", id)
	}
	for _, bad := range []string{"-1", "nan", "1s", "1_0", "0x", "1%20"} {
		if r := s.get(t, "/pmapi/context?polltimeout="+bad); !strings.Contains(r.body, "invalid timeout") {
			t.Errorf("%s: %s", bad, r.body)
		}
	}
}

// Each of many concurrent requests of one context gets its own reply.
func TestConcurrent(t *testing.T) {
	s := newGateway(t)
	id := s.open(t, "polltimeout=60")
	var wg sync.WaitGroup
	for i := range 8 {
		name := []string{"t.max", "t.min", "t.colour", "t.text"}[i%4]
		wg.Go(func() {
			for range 50 {
				r, err := http.Get(s.url + "/pmapi/" + id + "/fetch?names=" + name)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err != nil || strings.Count(string(b), `"pmid"`) != 1 || !strings.Contains(string(b), name) || !json.Valid(b) {
					t.Errorf("%v: %s", err, b)
				}
			}
		})
	}
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()
}

// Clients cannot make the gateway connect to a collector that is not allowed.
func TestAllow(t *testing.T) {
	dialled := ""
	dialer := &pmapi.Dialer{DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
		dialled = addr
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("refused for the test")}
	}}
	for _, c := range []struct {
		allow []string
		specs string
		want  bool
	}{
		{nil, "localhost 127.0.0.1 pcp://localhost:44321 pcps://[::1] localhost?container=x", true},
		{nil, "localhost:44322 web1 unix: unix:///tmp/s local: localhost@proxy:1 localhost,web1 127.0.0.1.evil.com [::1]:1 localhost:44321,22 ?x", false},
		{[]string{"web1", "*.example.com:44321", "db:*", "[::2]:7", "unix://run/s", "a@b"}, "web1 WEB1 x.example.com db:22 [::2]:7 unix:///run/s a@b web1:44321", true},
		{[]string{"web1", "*.example.com:44321", "[::2]:7", "unix://run/s", "a@b"}, "localhost web1:22 x.y.example.com example.com web2 10.0.0.1 [::2] unix:///run/t a@c web1@b a", false},
		{[]string{"*:*"}, "10.0.0.1 x.y.z:1 [::1]:22", true},
		{[]string{"*:*"}, "unix:///run/s a@b", false},
	} {
		s := serve(t, &webapi.Gateway{Allow: c.allow, Dialer: dialer})
		for spec := range strings.FieldsSeq(c.specs) {
			dialled = ""
			r := s.get(t, "/pmapi/context?hostspec="+strings.NewReplacer("?", "%3F", "[", "%5B", "]", "%5D").Replace(spec))
			if refused := r.status == http.StatusForbidden || r.status == http.StatusBadRequest && regexp.MustCompile(`\^|host source`).MatchString(r.body); refused == c.want || refused && dialled != "" {
				t.Errorf("%v, %s: %d %s, dialled %q", c.allow, spec, r.status, r.body, dialled)
			}
		}
	}
}

// A page of another origin neither reads nor stores unless it is listed.
func TestOrigins(t *testing.T) {
	s := newGateway(t, func(g *webapi.Gateway) { g.Origins = []string{"https://grafana"} })
	id := s.open(t, "polltimeout=60")
	for _, c := range []struct {
		header, value, origin string
		status                int
	}{
		{"Origin", "https://evil", "", 403},
		{"Sec-Fetch-Site", "cross-site", "", 403},
		{"Sec-Fetch-Site", "same-origin", "", 200},
		{"Origin", "https://grafana", "https://grafana", 200},
		{"Origin", "http://" + s.addr, "", 200},
	} {
		r := s.do(t, "GET", "/pmapi/"+id+"/store?name=t.write_me&value=1", "", c.header, c.value)
		if r.status != c.status || r.header.Get("Access-Control-Allow-Origin") != c.origin {
			t.Errorf("%v: %d %v", c, r.status, r.header)
		}
		if with := r.header.Get("Access-Control-Allow-Credentials"); (with != "") != (c.origin != "") {
			t.Errorf("%v: credentials %q", c, with)
		}
		p := s.do(t, "OPTIONS", "/pmapi/derive", "", c.header, c.value, "Access-Control-Request-Method", "POST")
		if methods := p.header.Get("Access-Control-Allow-Methods"); (methods != "") != (c.origin != "") || p.header.Get("Access-Control-Allow-Origin") != c.origin {
			t.Errorf("%v: preflight: %v", c, p.header)
		}
	}
}

// A page that reached the gateway by another host name does not store unless its origin is listed.
func TestRebinding(t *testing.T) {
	s := newGateway(t, func(g *webapi.Gateway) { g.Origins = []string{"http://metrics.example:44322"} })
	id := s.open(t, "polltimeout=60")
	for _, c := range []struct {
		host   string
		status int
	}{
		{"evil.example:44322", 403}, {"evil.example", 403}, {"127.0.0.1.evil.example", 403}, {"localhost.evil.example:44322", 403},
		{"metrics.example:44322", 200}, {"localhost:44322", 200}, {"127.0.0.1:44322", 200}, {"[::1]:44322", 200}, {"[::1]", 200},
	} {
		for _, header := range []string{"", "same-origin"} {
			r, err := http.NewRequest("GET", "http://"+s.addr+"/pmapi/"+id+"/store?name=t.write_me&value=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = c.host
			r.Header.Set("Origin", "http://"+c.host)
			if header != "" {
				r.Header.Set("Sec-Fetch-Site", header)
			}
			reply, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			reply.Body.Close()
			if reply.StatusCode != c.status {
				t.Errorf("%s %s: %d, want %d", c.host, header, reply.StatusCode, c.status)
			}
		}
	}
}

// A context reconnects to its collector, and keeps its profile and its derived metrics.
func TestReconnect(t *testing.T) {
	src := newSource()
	s := serve(t, &webapi.Gateway{Local: sourceOf(src.Context)})
	id := s.open(t, "polltimeout=60")
	want := func(path, re string) {
		t.Helper()
		if r := s.get(t, "/pmapi/"+id+path); !regexp.MustCompile(re).MatchString(r.body) {
			t.Errorf("%s: %s, want %s", path, r.body, re)
		}
	}
	want("/derive?name=x.y&expr=t.write_me*2", `"success":true`)
	want("/profile?expr=del&name=t.colour&iname=red", `"success":true`)
	want("/profile?expr=add&name=t.colour&iname=a+b", `"success":true`)
	want("/fetch?names=x.y,t.colour", `"value":14.*\[\{"instance":1,"value":2\}\]`)
	src.Break(pdu.ErrIPC)
	want("/fetch?names=x.y", `IPC protocol failure`)
	want("/fetch?names=x.y", `cannot reconnect context: `)
	src.Restore()
	want("/fetch?names=x.y,t.colour", `"value":14.*\[\{"instance":1,"value":2\}\]`)
}

// A gateway serves below a path of another server.
func Example() {
	src := newSource()
	gw := &webapi.Gateway{Local: sourceOf(src.Context)}
	defer gw.Close()
	mux := http.NewServeMux()
	mux.Handle("/pcp/", http.StripPrefix("/pcp", gw))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/pcp/pmapi/_fetch?names=t.max", nil))
	fmt.Println(strings.ReplaceAll(w.Body.String(), "[", "[\n  "))
	// Output:
	// {"timestamp":{"s":1700000000,"us":1433},"values":[
	//   {"pmid":1677721604,"name":"t.max","instances":[
	//   {"instance":-1,"value":18446744073709551615}]}]}
}

// Prometheus scrapes a page of the same program.
func Example_prometheus() {
	src := newSource()
	gw := &webapi.Gateway{Local: sourceOf(src.Context)}
	defer gw.Close()
	mux := http.NewServeMux()
	mux.Handle("/metrics", gw)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/metrics?names=t.colour", nil))
	fmt.Print(w.Body)
	// Output:
	// # PCP5 t.colour 400.0.9 32 400.1 instant none
	// # TYPE t_colour gauge
	// t_colour{hostname="made.up",instid="0",instname="red"} 1
	// t_colour{hostname="made.up",instid="1",instname="a b"} 2
	// t_colour{hostname="made.up",instid="2",instname="ü\"\\"} 3
}

// TestMetrics checks the text for Prometheus: sorted labels, valid escapes, and one family for each
// unique name.
func TestMetrics(t *testing.T) {
	src := newSource()
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "t.a.b", Labels: `{"k":"a\"b","n":{"x":[1,2]},"z":null,"u":"ü"}`}).Set(1)
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "t.a_b"}).Set(2)
	s := serve(t, webapi.Limit(&webapi.Gateway{Local: sourceOf(src.Context)}, webapi.Limits{MaxContexts: 1}))
	for range 3 { // they share a context
		r := s.get(t, "/metrics?names=t.a,t.a_b,t.a.b,no.such,t.colour,t.nan,t.inf,t.float,t.text,t.none,t.double,t.max&times=true")
		const want = `# PCP5 t.a.b 400.0.12 32 PM_INDOM_NULL instant none
# TYPE t_a_b gauge
t_a_b{hostname="made.up",k="a\"b",n_x="[1,2]",u="ü"} 1 1700000000001
# PCP5 t.a_b 400.0.13 32 PM_INDOM_NULL instant none
# TYPE t_a_b_2 gauge
t_a_b_2{hostname="made.up"} 2 1700000000001
# PCP5 t.colour 400.0.9 32 400.1 instant none
# TYPE t_colour gauge
t_colour{hostname="made.up",instid="0",instname="red"} 1 1700000000001
t_colour{hostname="made.up",instid="1",instname="a b"} 2 1700000000001
t_colour{hostname="made.up",instid="2",instname="ü\"\\"} 3 1700000000001
# PCP5 t.nan 400.0.1 double PM_INDOM_NULL instant none
# TYPE t_nan gauge
t_nan{hostname="made.up"} NaN 1700000000001
# PCP5 t.inf 400.0.2 double PM_INDOM_NULL instant none
# TYPE t_inf gauge
t_inf{hostname="made.up"} -Inf 1700000000001
# PCP5 t.float 400.0.3 float PM_INDOM_NULL instant none
# TYPE t_float gauge
t_float{hostname="made.up"} 3.58 1700000000001
# PCP5 t.double 400.0.0 double PM_INDOM_NULL instant none
# HELP t_double a "text"\nof two lines
# TYPE t_double gauge
t_double{hostname="made.up"} 0.1 1700000000001
# PCP5 t.max 400.0.4 u64 PM_INDOM_NULL counter Kbyte
# TYPE t_max counter
t_max{hostname="made.up"} 18446744073709551615 1700000000001
`
		if r.body != want || r.header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
			t.Fatalf("%v\n%s\nwant\n%s", r.header, r.body, want)
		}
	}
}

// Scrapes share a context, which clients cannot use otherwise. After its connection is lost or its
// archive has ended, the next scrape opens another one.
func TestScrapes(t *testing.T) {
	src := newSource()
	var opened []*pmapi.Context
	away := false
	open := func(context.Context) (*pmapi.Context, error) {
		if away {
			return nil, pdu.ErrIPC
		}
		opened = append(opened, src.Context())
		return opened[len(opened)-1], nil
	}
	s := serve(t, webapi.Limit(&webapi.Gateway{Local: open}, webapi.Limits{MaxNames: 11, MaxReply: 1000}))
	const accept = "application/openmetrics-text"
	for i, c := range []struct {
		path   string
		status int
		want   string
		opened int
	}{
		{"/metrics?names=t.double", 200, "\nt_double 0.1\n", 1},
		{"/metrics?names=t.max&format=pcp", 200, "\nt_max{hostname=\"made.up\"} 18446744073709551615\n", 1},
		{"/metrics?names=t.colour&format=prometheus&times=true", 200, "\nt_colour{instid=\"0\",instname=\"red\"} 1 1700000000001\n", 1},
		{"/metrics?view=node", 413, "exceeds 1000 bytes", 1},
		{"/metrics?view=hello", 400, "there is no such view: hello, but node", 1},
		{"/metrics?format=xml", 400, "format is none of", 1},
		{"/metrics?names=t.nosuch", 400, `{"message":"'t.nosuch' - Unknown metric name","success":false}`, 1},
		{"/metrics?names=t.nosuch,t.double", 200, "\nt_double 0.1\n", 1},
		{"/metrics", 400, "too many metrics", 1},
		{"/metrics?names=t.double,t.colour,t.text,t.min,t.max,t.nan,t.inf", 413, "exceeds 1000 bytes", 1},
		{"/metrics?names=t.double&lost", 200, "\nt_double 0.1\n", 2},
		{"/metrics?names=t.max&lost&away", 503, `{"message":"cannot connect to PMCD: `, 2},
		{"/metrics?names=t.double", 200, "\nt_double 0.1\n", 3},
	} {
		if strings.Contains(c.path, "&lost") {
			opened[len(opened)-1].Close()
		}
		away = strings.Contains(c.path, "&away")
		if r := s.do(t, "GET", c.path, "", "Accept", accept); r.status != c.status || !strings.Contains("\n"+r.body, c.want) {
			t.Errorf("%d %s: %d %s", i, c.path, r.status, r.body)
		}
		if len(opened) != c.opened {
			t.Errorf("%d %s: %d contexts have been opened, want %d", i, c.path, len(opened), c.opened)
		}
	}
	id := s.open(t, "polltimeout=60")
	for range 2 { // the older interface, also after a change of the context
		if r := s.get(t, "/pmapi/"+id+"/_metrics?names=t.max,x.y"); !strings.Contains(r.body, "# PCP t.max counter Kbyte\n# TYPE t:max counter\nt:max{") {
			t.Error(r.body)
		}
		s.get(t, "/pmapi/"+id+"/derive?name=x.y&expr=t.max")
	}
	if r := s.get(t, "/pmapi/"+id+"/metrics?names=x.y"); !strings.Contains(r.body, "\nx_y{") {
		t.Error(r.body)
	}
	r := s.do(t, "GET", "/metrics?names=t.max", "", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !strings.Contains(string(text), "\nt_max{") || !strings.Contains(strings.Join(r.header.Values("Vary"), ", "), "Accept-Encoding") {
		t.Errorf("%v %s", err, text)
	}
}

// After the end of an archive, scrapes start again at its beginning.
func TestScrapeArchive(t *testing.T) {
	const path = "../../examples/internal/pmstat/testdata/archive/host"
	s := serve(t, &webapi.Gateway{Sources: map[string]func(context.Context) (*pmapi.Context, error){
		"busy": func(ctx context.Context) (*pmapi.Context, error) { return pmapi.Open(ctx, path) }}})
	begun := map[string]int{}
	for range 100 {
		r := s.get(t, "/metrics?hostspec=busy&names=kernel.all.load&times=true")
		if r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if begun[r.body]++; begun[r.body] == 2 && len(begun) > 2 {
			return
		}
	}
	t.Errorf("%d records and no end", len(begun))
}

// A page of 1,200 metrics needs at most 60 allocations besides those of the source.
func TestScrapeAllocs(t *testing.T) {
	src := newSource()
	for i := range 1200 {
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: fmt.Sprintf("many.m%d", i), Sem: pdu.SemCounter, Units: pdu.SpaceKByte}).Set(uint64(i))
	}
	c := src.Context()
	defer c.Close()
	names, err := c.Traverse(t.Context(), "many")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := c.Lookup(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	var values pdu.Result
	bySource := testing.AllocsPerRun(10, func() {
		if err := c.Fetch(t.Context(), ids, &values); err != nil {
			t.Fatal(err)
		}
	})
	g := &webapi.Gateway{Local: sourceOf(src.Context)}
	defer g.Close()
	for _, accept := range []string{"", "application/openmetrics-text"} {
		r := httptest.NewRequest("GET", "/metrics?names=many", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, r); strings.Count(w.Body.String(), "\n") < 3*1200 {
			t.Fatalf("%d %.1000s", w.Code, w.Body)
		}
		body := w.Body
		if n := testing.AllocsPerRun(10, func() {
			body.Reset()
			w := httptest.NewRecorder()
			w.Body = body
			g.ServeHTTP(w, r)
		}); n > bySource+60 {
			t.Errorf("Accept %q: %v allocations, %v of them by the source", accept, n, bySource)
		}
	}
}
