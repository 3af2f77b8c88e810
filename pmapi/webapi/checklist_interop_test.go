package webapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// A row is a request of the checklist with the expected replies of both servers.
type row struct {
	name   string
	method string
	path   string // $HS is the parameter of the collector, $C the number of a context
	body   string
	header []string
	status int
	want   string // a regular expression
	ours   string // for our gateway, if not empty
	ourErr int    // the status of our gateway, if not 0
	skip   string // the server to skip: "pmproxy" or "ours"
}

// jsonError returns a pattern for an error reply. Of is ofC, or empty without a context.
func jsonError(of, message string) string {
	return `^\{` + of + `"message":"` + message + `","success":false\}\r\n$`
}

const (
	ofC      = `"context":$C,`
	success  = `^\{"context":$C,"success":true\}\r\n$`
	labels   = `\{("\w+":"[^"]*",?)+\}`
	hex40    = `"[0-9a-f]{40}"`
	metadata = `"labels":` + labels + `,"text-oneline":"[^"]*","text-help":"[^"]*"\}`
	fetched  = `^\{"context":$C,"timestamp":\d+\.\d+,"values":\[`
)

var rows = []row{
	{name: "1 context", path: "/pmapi/context?$HS", want: `^\{"context":[1-9]\d*,"source":` + hex40 + `,"hostspec":"$HOST","labels":` + labels + `\}\r\n$`},
	{name: "1 hostname", path: "/pmapi/context?$HN", want: `^\{"context":[1-9]\d*,"source":` + hex40},
	{name: "2", path: "/pmapi/context?$HS&client=a%22b", want: `^\{"context":\d+,"client":"a\\u0022b","source"`},
	{name: "3", path: "/pmapi/_context?$HS&client=x", want: `^\{"context":\d+\}\r\n$`},
	{name: "4", path: "/pmapi/context?hostspec=localhost:1", status: 400, want: jsonError("", "cannot connect to PMCD: .*")},
	{name: "5", path: "/pmapi/context?$HS&polltimeout=abc", status: 400, want: jsonError("", "invalid timeout requested in polltime")},
	{name: "6", path: "/pmapi/context?$HS%3Fuser%3Dfoo", status: 401, want: jsonError("", "authentication required")},
	{name: "7", path: "/pmapi/12345/context", status: 400, want: jsonError("", "unknown context identifier: 12345")},
	{name: "8 path", path: "/pmapi/12345/fetch?names=sample.long.one", status: 400, want: jsonError(`"context":12345,`, "unknown context identifier: 12345")},
	{name: "8 parameter", path: "/pmapi/fetch?context=12345&names=sample.long.one", status: 400, want: jsonError(`"context":12345,`, "unknown context identifier: 12345")},
	{name: "9", path: "/pmapi/fetch?$HS&names=sample.long.one", want: `^\{"context":\d+,"timestamp":[\d.]+,"values":\[\{"pmid":"29.0.10","name":"sample.long.one","instances":\[\{"instance":null,"value":1\}\]\}\]\}\r\n$`},
	{name: "10", path: "/pmapi/$C/context", want: `^\{"context":$C,"source":`},
	{name: "10 parameter before path", path: "/pmapi/12345/context?context=$C", want: `^\{"context":$C,"source":`},
	{name: "11", path: "/pmapi/$C/metric?name=sample.long.one", want: `^\{"context":$C,"metrics":\[\{"name":"sample.long.one","series":` + hex40 + `,"pmid":"29.0.10","type":"32","sem":"instant","units":"none",` + metadata + `\]\}\r\n$`},
	{name: "12", path: "/pmapi/$C/metric?name=sample.colour", want: `"pmid":"29.0.5","indom":"29.1","type":"32","sem":"instant","units":"none",` + metadata + `\]\}\r\n$`},
	{name: "13", path: "/pmapi/$C/_metric?name=sample.colour", want: `"pmid":121634821,"indom":121634817,"type"`},
	{name: "14", path: "/pmapi/$C/metric?name=sample.seconds", want: `"type":"u32","sem":"counter","units":"sec",`},
	{name: "15", path: "/pmapi/$C/metric?name=sample.milliseconds", want: `"type":"double","sem":"counter","units":"millisec",`},
	{name: "16", path: "/pmapi/$C/metric?name=no.such", status: 400, want: jsonError(ofC, ".*Unknown metric name")},
	{name: "17", path: "/pmapi/$C/metric?names=no.such,sample.long.one", want: `"metrics":\[\{"name":"no.such","message":"Unknown metric name","success":false\},\{"name":"sample.long.one","series":`},
	{name: "18", path: "/pmapi/$C/metric?prefix=sample.long", want: `"sample.long.one".*"sample.long.ten".*"sample.long.hundred".*"sample.long.million".*"sample.long.write_me"`},
	{name: "19", path: "/pmapi/$C/fetch?names=sample.long.one", want: fetched + `\{"pmid":"29.0.10","name":"sample.long.one","instances":\[\{"instance":null,"value":1\}\]\}\]\}\r\n$`},
	{name: "20", path: "/pmapi/$C/_fetch?names=sample.control", want: `^\{"timestamp":\{"s":\d+,"us":\d+\},"values":\[\{"pmid":121634816,"name":"sample.control","instances":\[\{"instance":-1,"value":-?\d+\}\]\}\]\}\r\n$`},
	{name: "21", path: "/pmapi/$C/fetch?names=sample.string.hullo", want: `"value":"hullo world!"`},
	{name: "22", path: "/pmapi/$C/fetch?names=sample.longlong.million,sample.ulonglong.million", want: `"value":1000000\}.*"value":1000000\}`},
	{name: "23", path: "/pmapi/$C/fetch?names=sample.colour", want: `\[\{"instance":0,"value":\d+\},\{"instance":1,"value":\d+\},\{"instance":2,"value":\d+\}\]`},
	{name: "24 pmid", path: "/pmapi/$C/fetch?pmid=29.0.0", want: `\{"pmid":"29.0.0","name":"sample.control",`},
	{name: "24 decimal", path: "/pmapi/$C/fetch?pmids=121634816", want: `\{"pmid":"29.0.0","name":"sample.control",`},
	{name: "24 hexadecimal", path: "/pmapi/$C/fetch?pmids=0x7400000", want: `\{"pmid":"29.0.0","name":"sample.control",`},
	{name: "25", path: "/pmapi/$C/fetch?names=no.such", want: fetched + `\]\}\r\n$`},
	{name: "26", path: "/pmapi/$C/fetch?names=no.such,sample.control", want: fetched + `\{"pmid":"29.0.0","name":"sample.control","instances":\[[^]]*\]\}\]\}\r\n$`},
	{name: "27 name", path: "/pmapi/$C/fetch?name=no.such", status: 400, want: jsonError(ofC, "bad parameters passed")},
	{name: "27 pmid", path: "/pmapi/$C/fetch?pmid=xyz", status: 400, want: jsonError(ofC, "bad parameters passed")},
	{name: "28", path: "/pmapi/$C/fetch", status: 400, want: `^<html>`, ours: jsonError("", ".*names")},
	{name: "29", path: "/pmapi/$C/fetch?names=sample.control&client=c7", want: `^\{"context":$C,"client":"c7","timestamp"`},
	{name: "30", path: "/pmapi/$C/children?prefix=sample.long", want: `^\{"context":$C,"name":"sample.long","leaf":\["[^]]*\],"nonleaf":\["?[^]]*\]\}\r\n$`},
	{name: "31", path: "/pmapi/$C/children", want: `^\{"context":$C,"name":"","leaf":\[\],"nonleaf":\["[^]]*"sample"[^]]*\]\}\r\n$`},
	{name: "32", path: "/pmapi/$C/children?prefix=sample.control", want: `^\{"context":$C,"name":"sample.control","leaf":\[\],"nonleaf":\[\]\}\r\n$`},
	{name: "33", path: "/pmapi/$C/children?prefix=no.such", status: 400, want: jsonError(ofC, "child traversal failed - Unknown metric name")},
	{name: "34 name", path: "/pmapi/$C/indom?name=sample.colour", want: `^\{"context":$C,"indom":"29.1","labels":` + labels + `,"instances":\[(\{"instance":\d,"name":"\w+","labels":` + labels + `\},?){3}\]\}\r\n$`},
	{name: "34 indom", path: "/pmapi/$C/indom?indom=29.1", want: `^\{"context":$C,"indom":"29.1","labels":`},
	{name: "35", path: "/pmapi/$C/_indom?indom=121634817", want: `^\{"indom":121634817,"labels":`},
	{name: "36", path: "/pmapi/$C/indom?name=sample.colour&iname=red", want: `"instances":\[\{"instance":0,"name":"red","labels":` + labels + `\}\]`},
	{name: "37", path: "/pmapi/$C/indom?name=sample.colour&instance=0,2", want: `"instances":\[(\{"instance":[02],[^}]*\}\},?){2}\]`},
	{name: "38", path: "/pmapi/$C/indom?name=sample.colour&iname=*e*&match=glob", want: `"instances":\[(\{"instance":\d,[^}]*\}\},?){3}\]`},
	{name: "39", path: "/pmapi/$C/indom?name=sample.colour&iname=%5Er&match=regex", want: `"instances":\[\{"instance":0,"name":"red","labels":` + labels + `\}\]`},
	{name: "40", path: "/pmapi/$C/indom?name=sample.colour&iname=puce", want: `"instances":\[\]\}\r\n$`},
	{name: "41", path: "/pmapi/$C/indom?name=sample.colour&match=bad", status: 400, want: jsonError(ofC, `bad - invalid 'match' parameter value`)},
	{name: "42", path: "/pmapi/$C/indom?name=sample.control", status: 400, want: jsonError(ofC, ".*metric has null indom")},
	{name: "43", path: "/pmapi/$C/indom?indom=xyz", status: 400, want: jsonError(ofC, "failed to lookup indom xyz")},
	{name: "44", path: "/pmapi/$C/profile?expr=del", want: success},
	{name: "45", path: "/pmapi/$C/fetch?names=sample.colour", want: `"instances":\[\]\}\]\}`},
	{name: "A17 nothing selected", path: "/pmapi/$C/profile?expr=add&name=sample.colour&iname=nomatch", want: success, skip: "pmproxy"},
	{name: "A17", path: "/pmapi/$C/fetch?names=sample.colour", want: `"instances":\[\]\}\]\}`, skip: "pmproxy"},
	{name: "46", path: "/pmapi/$C/profile?expr=add&name=sample.colour&iname=green", want: success},
	{name: "47", path: "/pmapi/$C/fetch?names=sample.colour", want: `"instances":\[\{"instance":1,"value":\d+\}\]\}\]\}`},
	{name: "48", path: "/pmapi/$C/profile?expr=add", want: success},
	{name: "48 all", path: "/pmapi/$C/fetch?names=sample.colour", want: `"instances":\[(\{"instance":\d,"value":\d+\},?){3}\]\}\]\}`},
	{name: "49", path: "/pmapi/$C/profile?expr=foo", status: 400, want: jsonError(ofC, `foo - invalid 'expr' parameter value`)},
	{name: "50", path: "/pmapi/$C/store?name=sample.write_me&value=12", want: success},
	{name: "51", path: "/pmapi/$C/fetch?name=sample.write_me", want: `"name":"sample.write_me","instances":\[\{"instance":null,"value":12\}\]`},
	{name: "52", method: "POST", path: "/pmapi/$C/store?name=sample.write_me", body: "13", want: success},
	{name: "52 value", path: "/pmapi/$C/fetch?name=sample.write_me", want: `"name":"sample.write_me","instances":\[\{"instance":null,"value":13\}\]`},
	{name: "53", path: "/pmapi/$C/store?name=sample.write_me&value=abc", status: 400, want: jsonError(ofC, "failed to store value to metric sample.write_me: Unknown or illegal metric type")},
	{name: "54 store", path: "/pmapi/$C/store?name=no.such&value=1", status: 400, want: jsonError(ofC, "no.such - failed to lookup metric")},
	{name: "54 indom", path: "/pmapi/$C/indom?name=no.such", status: 400, want: jsonError(ofC, "no.such - failed to lookup metric")},
	{name: "54 profile", path: "/pmapi/$C/profile?expr=add&name=no.such", status: 400, want: jsonError(ofC, "no.such - failed to lookup metric")},
	{name: "55", path: "/pmapi/$C/store?name=sample.long.one&value=1", status: 400, want: jsonError(ofC, ".*No permission to perform requested operation")},
	{name: "56", path: "/pmapi/$C/derive?name=t.sum&expr=sample.long.one%2Bsample.long.ten", want: success},
	{name: "57", path: "/pmapi/$C/fetch?names=t.sum", want: `"pmid":"511\.\d+\.\d+","name":"t.sum","instances":\[\{"instance":null,"value":11\}\]`},
	{name: "58", path: "/pmapi/$C/derive?name=t.sum&expr=sample.long.one", status: 400, want: jsonError(ofC, `Error: pmAddDerivedMetric\(\\u0022t.sum\\u0022, ...\): returns -12409\\u000ADuplicate per-context derived metric name\\u000A`)},
	{name: "59", path: "/pmapi/$C/derive?name=t.bad&expr=rate(", status: 400, want: jsonError(ofC, `Syntax Error: pmAddDerivedMetric\(\\u0022t.bad\\u0022, ...\)\\u000Arate\(\\u000A    \^\\u000AMetric name expected to follow rate\(\\u000A`)},
	{name: "60", path: "/pmapi/$C/derive?name=t.sem&expr=sample.string.hullo%2B1", status: 400, want: jsonError(ofC, `Semantic Error: pmAddDerivedMetric\(\\u0022t.sem\\u0022, ...\)\\u000Asample.string.hullo\+1\\u000A\^\\u000ANon-arithmetic type for left operand\\u000A`)},
	{name: "61", method: "POST", path: "/pmapi/$C/derive", body: "# c\n\nt.p = sample.long.one * 2\n", want: success},
	{name: "61 value", path: "/pmapi/$C/fetch?names=t.p", want: `"value":2\}`},
	{name: "62", method: "POST", path: "/pmapi/$C/derive", body: "t.q = sample.long.one * 2", status: 400, want: "incomplete expression", ours: success, ourErr: 200},
	{name: "63", path: "/pmapi/$C/derive?name=t.only", status: 400, want: jsonError(ofC, "invalid derive parameters"), ours: jsonError("(ofC)?", "invalid derive parameters")},
	{name: "64", path: "/metrics?$HS&names=sample.long.one", want: `(?m)^# PCP5 sample.long.one 29.0.10 32 PM_INDOM_NULL instant none\n(# HELP .*\n)?# TYPE sample_long_one gauge\nsample_long_one\{.*\} 1$`},
	{name: "65", path: "/metrics?$HS&names=sample.seconds", want: `(?m)^# TYPE sample_seconds counter$`},
	{name: "66", path: "/metrics?$HS&names=sample.colour", want: `(?m)^sample_colour\{.*\} \d+$`},
	{name: "66 number", path: "/metrics?$HS&names=sample.colour", want: `instid="0"`},
	{name: "66 name", path: "/metrics?$HS&names=sample.colour", want: `instname="red"`},
	{name: "67", path: "/metrics?$HS&names=sample.string.hullo", want: `^$`},
	{name: "68", path: "/metrics?$HS&names=no.such", status: 400, want: jsonError(`("context":\d+,)?`, `'no.such' - Unknown metric name`)},
	{name: "69", path: "/metrics?$HS&names=sample.long.one&times=true", want: `(?m)^sample_long_one\{.*\} 1 \d+$`},
	{name: "70", path: "/pmapi/$C/_metrics?names=sample.long.one", want: `(?m)^# PCP sample.long.one instant none\n(# HELP .*\n)?# TYPE sample:long:one gauge\nsample:long:one\{.*\} 1$`},
	{name: "71", method: "OPTIONS", path: "/pmapi/context", want: "^$"},
	{name: "72", method: "OPTIONS", path: "/pmapi/$C/derive?name=a", header: []string{"Origin", "http://x", "Access-Control-Request-Method", "POST"}, want: "^$"},
	{name: "73", method: "OPTIONS", path: "/pmapi/context", header: []string{"Access-Control-Request-Method", "POST"}, status: 405, want: "^$"},
	{name: "74", method: "HEAD", path: "/pmapi/context", want: "^$"},
	{name: "75", path: "/nosuch", status: 400, want: "^<html>", ourErr: 404, ours: jsonError("", "no handler for URL")},
	{name: "76", path: "/pmapi/context?client=" + strings.Repeat("a", 8300), status: 414, want: "", skip: "ours"},
	{name: "76 ours", path: "/pmapi/context?client=" + strings.Repeat("a", 66000), status: 414, want: jsonError("", ".*"), skip: "pmproxy"},
	{name: "77", path: "/pmapi/$C/metric?names=sample", want: `^\{"context":$C,"metrics":\[\{"name":"sample\.`},
	{name: "78", path: "/series/ping", want: `^\{"success":true\}\r\n$`, ours: `^\{"message":"there is no store of time series.*","success":false\}\r\n$`, ourErr: 400},
}

// newServers starts both gateways beside a collector with the metrics of the checklist.
func newServers(t *testing.T) []server {
	t.Helper()
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	// Without a hostspec, neither may connect to a pmcd of this machine.
	nowhere := &pmapi.Dialer{Ports: []int{1}, Socket: filepath.Join(t.TempDir(), "none")}
	c, ours := startPMProxy(t), serve(t, &webapi.Gateway{Allow: []string{"localhost:*"}, Dialer: nowhere, Origins: []string{"http://x"}, AllowStore: true})
	c.host, ours.host = pmcd.Host(), pmcd.Host()
	return []server{c, ours}
}

// TestInteropChecklist makes the requests of the checklist to pmproxy and to a Gateway, in order,
// because some depend on state that earlier ones left in the context.
func TestInteropChecklist(t *testing.T) {
	for _, s := range newServers(t) {
		fill := s.filler(t)
		for _, r := range rows {
			if s.isOur && r.skip == "ours" || !s.isOur && r.skip == "pmproxy" {
				continue
			}
			checkRow(t, s, r, fill)
		}
	}
}

// filler opens a context, and returns a Replacer for the placeholders of rows.
func (s server) filler(t *testing.T) *strings.Replacer {
	t.Helper()
	context := s.open(t, s.hostspec()+"&polltimeout=300")
	return strings.NewReplacer("$HS", s.hostspec(), "$HN", strings.Replace(s.hostspec(), "hostspec", "hostname", 1), "$C", context, "$HOST", hostname(t), "(ofC)?", `("context":`+context+`,)?`)
}

func hostname(t testing.TB) string {
	out, _, _ := pcptest.Run(t, nil, "", "hostname")
	return regexp.QuoteMeta(strings.TrimSpace(out))
}

func checkRow(t *testing.T, s server, r row, fill *strings.Replacer) {
	t.Helper()
	name, status, want := "pmproxy", r.status, r.want
	if status == 0 {
		status = http.StatusOK
	}
	if s.isOur {
		name = "Gateway"
		if r.ours != "" {
			want = r.ours
		}
		if r.ourErr != 0 {
			status = r.ourErr
		}
	}
	method := r.method
	if method == "" {
		method = http.MethodGet
	}
	got := s.do(t, method, fill.Replace(r.path), r.body, r.header...)
	if got.status != status || !regexp.MustCompile(fill.Replace(want)).MatchString(got.body) {
		t.Errorf("%s %s: %s %s: status %d, want %d; body\n%s\nwant %s", name, r.name, method, r.path, got.status, status, got.body, fill.Replace(want))
	}
	if kind := got.header.Get("Content-Type"); strings.HasPrefix(got.body, "{") && !strings.Contains(kind, "json") && !strings.HasPrefix(r.path, "/series") {
		t.Errorf("%s %s: content type %q", name, r.name, kind)
	}
	if s.isOur && strings.HasPrefix(got.body, "{") && !json.Valid([]byte(got.body)) {
		t.Errorf("%s: no JSON: %s", r.name, got.body)
	}
	checkOptions(t, s, r, got)
}

// checkOptions checks the headers of a reply to OPTIONS.
func checkOptions(t *testing.T, s server, r row, got reply) {
	t.Helper()
	if r.method != http.MethodOptions || r.status != 0 {
		return
	}
	methods := "GET, HEAD, TRACE, OPTIONS"
	derive := strings.Contains(r.path, "derive")
	if derive {
		methods = "GET, HEAD, POST, TRACE, OPTIONS"
		if origin := got.header.Get("Access-Control-Allow-Origin"); origin != "http://x" {
			t.Errorf("%s: origin %q", r.name, origin)
		}
	}
	if s.isOur {
		methods = strings.Replace(methods, "TRACE, ", "", 1)
	}
	if s.isOur && !derive { // the request has no origin
		if got.header.Get("Allow") != methods {
			t.Errorf("%s: %v", r.name, got.header)
		}
		return
	}
	if got.header.Get("Access-Control-Allow-Methods") != methods || got.header.Get("Access-Control-Max-Age") != "86400" {
		t.Errorf("%s: %v", r.name, got.header)
	}
}

// differ lists the metrics that the two servers describe differently. Two have other texts. The
// third is a second name of a metric, and pmproxy has the first name in its series.
var differ = []string{"event.flags", "event.missed", "sample.secret.foo.bar.max.redirect"}

// TestInteropMetadata compares what both reply about every metric, including identities, labels,
// units and texts.
func TestInteropMetadata(t *testing.T) {
	var replies [2]map[string]map[string]any
	for i, s := range newServers(t) {
		var list struct{ Metrics []map[string]any }
		r := s.get(t, "/pmapi/metric?"+s.hostspec())
		if err := json.Unmarshal([]byte(r.body), &list); err != nil {
			t.Fatalf("%v: %.200s", err, r.body)
		}
		replies[i] = map[string]map[string]any{}
		for _, m := range list.Metrics {
			replies[i][fmt.Sprint(m["name"])] = m
		}
	}
	if len(replies[0]) < 200 || len(replies[0]) != len(replies[1]) {
		t.Errorf("%d and %d metrics", len(replies[0]), len(replies[1]))
	}
	for name, c := range replies[0] {
		if slices.Contains(differ, name) {
			continue
		}
		if got, want := fmt.Sprint(replies[1][name]), fmt.Sprint(c); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}
