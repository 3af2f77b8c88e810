package webapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// traced maps each row of the checklist about a defect of pmproxy to its test: a file, relative to
// this directory, and a function. A function of this package that tests several rows contains their
// numbers.
var traced = map[string][2]string{
	"A1": {"defects_test.go", "TestDefects"}, "A2": {"defects_test.go", "TestDefects"}, "A3": {"defects_test.go", "TestDefects"},
	"A4": {"defects_test.go", "TestDefects"}, "A5": {"defects_test.go", "TestDefects"}, "A6": {"defects_test.go", "TestDefects"},
	"A7": {"grafana_interop_test.go", "TestInteropDefects"}, "A8": {"grafana_interop_test.go", "TestInteropDefects"},
	"A9": {"grafana_interop_test.go", "TestInteropDefects"}, "A10": {"defects_test.go", "TestDefects"},
	"A11": {"grafana_interop_test.go", "TestInteropDefects"}, "A12": {"grafana_interop_test.go", "TestInteropDefects"},
	"A13": {"grafana_interop_test.go", "TestInteropDefects"}, "A14": {"defects_test.go", "TestDefects"},
	"A15": {"grafana_interop_test.go", "TestInteropDefects"}, "A16": {"grafana_interop_test.go", "TestInteropDefects"},
	"A17": {"checklist_interop_test.go", "TestInteropChecklist"}, "A18": {"grafana_interop_test.go", "TestInteropDefects"},
	"A19": {"defects_test.go", "TestDefects"}, "A20": {"defects_test.go", "TestDefects"}, "A21": {"defects_test.go", "TestDefects"},
	"A22": {"grafana_interop_test.go", "TestInteropLogin"}, "A23": {"gateway_test.go", "TestContexts"}, "A24": {"gateway_test.go", "TestAllow"},
	"A25": {"defects_test.go", "TestDefects"}, "A26": {"defects_test.go", "TestDefects"}, "A27": {"defects_test.go", "TestDefects"},
	"A28": {"defects_test.go", "TestDefects"}, "A29": {"defects_test.go", "TestDefects"},
	"A30": {"../internal/exposition/encode_test.go", "TestGolden"}, "A31": {"../export/otlp/random_test.go", "TestRandom"},
	"A32": {"../export/otlp/exporter_test.go", "TestSending"}, "A33": {"../export/remotewrite/encode_test.go", "TestRandom"},
	"A34": {"defects_test.go", "TestDefects"}, "A35": {"../../archive/push/receiver_test.go", "TestNames"},
	"A36": {"../../archive/push/receiver_test.go", "TestNames"}, "A37": {"../../archive/push/receiver_test.go", "TestReplies"},
	"A38": {"../../archive/push/pmlogger_test.go", "TestInteropPMLoggerRestarted"}, "A39": {"../../archive/push/receiver_test.go", "TestReplies"},
	"A40": {"defects_test.go", "TestDefects"},
}

// Each row has an existing test.
func TestTraced(t *testing.T) {
	for n := 1; n <= 40; n++ {
		row := fmt.Sprint("A", n)
		where, ok := traced[row]
		if !ok {
			t.Errorf("%s has no test", row)
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(where[0]))
		if err != nil {
			t.Error(err)
			continue
		}
		_, body, ok := strings.Cut(string(text), "\nfunc "+where[1]+"(")
		if !ok {
			t.Errorf("%s: there is no %s in %s", row, where[1], where[0])
		}
		body, _, _ = strings.Cut(body, "\n}\n")
		if strings.HasSuffix(where[1], "Defects") && !regexp.MustCompile(`\b`+row+`\b`).MatchString(body) {
			t.Errorf("%s is not in %s", row, where[1])
		}
	}
	if len(traced) != 40 {
		t.Errorf("%d rows", len(traced))
	}
}

// TestDefects tests rows of the checklist about defects of pmproxy, on a source with synthetic
// metrics.
func TestDefects(t *testing.T) {
	for row, test := range map[string]func(*testing.T, server, string){
		"A1":  badRegexp,
		"A2":  storeForm,
		"A3":  pipelined,
		"A4":  splitLine,
		"A5":  splitBody,
		"A6":  oneReply,
		"A10": notANumber,
		"A14": profileStays,
		"A19": preflightOfDerive,
		"A20": notAllowed,
		"A21": closes,
		"A25": openMetrics,
		"A26": constantPage,
		"A27": escapedLabel,
		"A28": twoFamilies,
		"A29": timesOfPage,
		"A34": noStoreOfSeries,
		"A40": thousandFetches,
	} {
		t.Run(row, func(t *testing.T) {
			s := newGateway(t)
			id := s.open(t, "polltimeout=60")
			test(t, s, id)
			if r := s.get(t, "/pmapi/"+id+"/fetch?names=t.double"); r.status != 200 || !strings.Contains(r.body, `"value":0.1}`) {
				t.Errorf("afterwards: %d %s", r.status, r.body)
			}
		})
	}
}

// isFailure checks that a reply is an error in JSON.
func isFailure(t *testing.T, r reply) {
	t.Helper()
	var v struct{ Success *bool }
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.status != 400 || v.Success == nil || *v.Success {
		t.Errorf("%d %s, %v", r.status, r.body, err)
	}
}

func badRegexp(t *testing.T, s server, id string) {
	for _, pattern := range []string{"(", "[", "*", "a{99999}", strings.Repeat("(", 1000), strings.Repeat("(a*)*", 300)} {
		isFailure(t, s.get(t, "/pmapi/"+id+"/indom?name=t.colour&match=regex&iname="+pattern))
	}
	begun := time.Now() // other engines take exponential time
	if r := s.get(t, "/pmapi/"+id+"/indom?name=t.colour&match=regex&iname="+strings.Repeat("(a%7Caa)%2B", 100)+"$"); r.status != 200 || time.Since(begun) > 2*time.Second {
		t.Errorf("after %v: %d %.200s", time.Since(begun), r.status, r.body)
	}
}

func storeForm(t *testing.T, s server, id string) {
	isFailure(t, s.do(t, "POST", "/pmapi/"+id+"/store", "name=a&value=1"))
}

// A rawConn sends requests that net/http cannot.
type rawConn struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

// connect opens a connection.
func (s server) connect(t *testing.T) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &rawConn{c, t, bufio.NewReader(c)}
}

// send sends segments separately.
func (c *rawConn) send(segments ...string) {
	c.t.Helper()
	for _, s := range segments {
		if _, err := io.WriteString(c, s); err != nil {
			c.t.Fatal(err)
		}
	}
}

// expect reads a reply.
func (c *rawConn) expect(status int, want string) *http.Response {
	c.t.Helper()
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != status || !strings.Contains(string(b), want) {
		c.t.Errorf("%v: %d %s, want %d %s", err, r.StatusCode, b, status, want)
	}
	return r
}

func pipelined(t *testing.T, s server, id string) {
	c := s.connect(t)
	c.send("GET /pmapi/" + id + "/fetch?names=t.max HTTP/1.1\r\nHost: x\r\n\r\nGET /pmapi/" + id + "/fetch?names=t.min HTTP/1.1\r\nHost: x\r\n\r\n")
	c.expect(200, `"name":"t.max"`)
	c.expect(200, `"name":"t.min"`)
}

func splitLine(t *testing.T, s server, id string) {
	c := s.connect(t)
	c.send("GET /pmapi/"+id+"/fetch?na", "mes=t.max HTTP/1.1\r\nHo", "st: x\r\n\r\n")
	c.expect(200, `"name":"t.max"`)
}

func splitBody(t *testing.T, s server, id string) {
	c := s.connect(t)
	c.send("POST /pmapi/" + id + "/store?name=t.write_me HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if line, err := c.in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" { // the server waits for the body now
		t.Errorf("%q, %v", line, err)
	}
	_, _ = c.in.ReadString('\n')
	c.send("12", "345")
	c.expect(200, `"success":true`)
	if r := s.get(t, "/pmapi/"+id+"/fetch?names=t.write_me"); !strings.Contains(r.body, `"value":12345}`) {
		t.Error(r.body)
	}
}

func oneReply(t *testing.T, s server, _ string) {
	c := s.connect(t)
	c.send("GET /pmapi/fetch HTTP/1.1\r\nHost: x\r\n\r\n")
	c.expect(400, `"success":false}`)
	c.send("GET /pmapi/fetch?names=t.max HTTP/1.1\r\nHost: x\r\n\r\n")
	c.expect(200, `"name":"t.max"`)
}

func notANumber(t *testing.T, s server, id string) {
	if r := s.get(t, "/pmapi/"+id+"/fetch?names=t.nan,t.inf"); !json.Valid([]byte(r.body)) || strings.Count(r.body, `"value":null}`) != 2 {
		t.Error(r.body)
	}
}

func profileStays(t *testing.T, s server, id string) {
	for _, path := range []string{"profile?expr=del&name=t.colour", "profile?expr=add&name=t.colour&instance=0,1", "store?name=t.colour&value=9&instance=2", "store?name=t.colour&value=8&iname=red"} {
		if r := s.get(t, "/pmapi/"+id+"/"+path); !strings.Contains(r.body, `"success":true`) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	r := s.get(t, "/pmapi/"+id+"/fetch?names=t.colour")
	if strings.Count(r.body, `"value":`) != 2 || !strings.Contains(r.body, `{"instance":0,"value":8}`) || !strings.Contains(r.body, `{"instance":1,"value":2}`) {
		t.Error(r.body)
	}
}

func preflightOfDerive(t *testing.T, s server, _ string) {
	r := s.do(t, "OPTIONS", "/pmapi/derive", "", "Origin", "http://x", "Access-Control-Request-Method", "POST")
	if r.status != 200 || r.body != "" || !strings.Contains(r.header.Get("Allow"), "POST") {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
}

func notAllowed(t *testing.T, s server, _ string) {
	if r := s.do(t, "DELETE", "/pmapi/context", ""); r.status != 405 || r.header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("%d %v", r.status, r.header)
	}
}

func closes(t *testing.T, s server, id string) {
	c := s.connect(t)
	c.send("GET /pmapi/" + id + "/fetch?names=t.max HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if r := c.expect(200, `"name":"t.max"`); !r.Close {
		t.Errorf("the reply does not say that it is the last: %v", r.Header)
	}
	if _, err := c.in.ReadByte(); err != io.EOF {
		t.Errorf("the connection is open: %v", err)
	}
}

func openMetrics(t *testing.T, s server, _ string) {
	r := s.do(t, "GET", "/metrics?names=t", "", "Accept", "application/openmetrics-text;version=1.0.0")
	if r.header.Get("Content-Type") != "application/openmetrics-text; version=1.0.0; charset=utf-8" || !strings.HasSuffix(r.body, "\n# EOF\n") ||
		!regexp.MustCompile(`(?m)^# TYPE t_max_bytes counter$`).MatchString(r.body) || !regexp.MustCompile(`(?m)^t_max_bytes_total(\{.*\})? \d`).MatchString(r.body) {
		t.Errorf("%v\n%s", r.header, r.body)
	}
}

func constantPage(t *testing.T, s server, _ string) {
	const accept = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
	took := regexp.MustCompile(`(?m)^(pcp_gateway_scrape_duration_seconds) .*$`) // its value differs
	page := func() string {
		return took.ReplaceAllString(s.do(t, "GET", "/metrics", "", "Accept", accept).body, "$1 1")
	}
	first, second := page(), page()
	if first != second || !strings.Contains(first, "\nt_colour{") {
		t.Errorf("%s\nand then\n%s", first, second)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(first) {
		if i := strings.LastIndexByte(line, ' '); !strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "# TYPE") {
			line = line[:i]
		}
		if seen[line] {
			t.Errorf("twice: %s", line)
		}
		seen[line] = true
	}
}

func escapedLabel(t *testing.T, s server, _ string) {
	if r := s.get(t, "/metrics?names=t.colour"); !strings.Contains(r.body, `instname="ü\"\\"} 3`) {
		t.Error(r.body)
	}
}

func twoFamilies(t *testing.T, s server, id string) {
	for _, name := range []string{"q.a_b", "q.a.b"} {
		s.get(t, "/pmapi/"+id+"/derive?name="+name+"&expr=t.double")
	}
	r := s.get(t, "/pmapi/"+id+"/metrics?names=q")
	if strings.Count(r.body, "# TYPE ") != 2 || strings.Count(r.body, "# TYPE q_a_b ") != 1 {
		t.Error(r.body)
	}
}

func timesOfPage(t *testing.T, s server, _ string) {
	if r := s.get(t, "/metrics?names=t.double&times=true"); !strings.HasSuffix(r.body, "} 0.1 1700000000001\n") { // the time of the source
		t.Error(r.body)
	}
}

func noStoreOfSeries(t *testing.T, s server, _ string) {
	begun := time.Now()
	for _, path := range []string{"/series/query?expr=x", "/series/ping", "/series/nosuch", "/search/text?query=x"} {
		for _, method := range []string{"GET", "POST"} {
			if r := s.do(t, method, path, ""); r.status != 400 || !strings.HasPrefix(r.body, `{"message":"there is no store of time series here`) || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s: %d %v %q", method, path, r.status, r.header, r.body)
			}
		}
	}
	if d := time.Since(begun); d > 8*time.Second {
		t.Errorf("eight replies took %v", d)
	}
}

// thousandFetches makes a thousand concurrent fetches in one context. Each must return the values
// of exactly its metrics.
func thousandFetches(t *testing.T, s server, id string) {
	values := map[string]string{"t.double": "0.1", "t.float": "3.58", "t.max": "18446744073709551615", "t.min": "-9223372036854775808", "t.nan": "null", "t.write_me": "7"}
	names := []string{"t.double", "t.float", "t.max", "t.min", "t.nan", "t.write_me"}
	tr := &http.Transport{MaxConnsPerHost: 200, MaxIdleConnsPerHost: 200}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range 1000 {
		mine := []string{names[i%6], names[(i/6)%6]}
		want := `"values":[`
		for k, name := range mine {
			want += [...]string{"", ","}[k] + `{"pmid":"$","name":"` + name + `","instances":[{"instance":null,"value":` + values[name] + `}]}`
		}
		wg.Go(func() {
			<-start
			r, err := client.Get(fmt.Sprintf("%s/pmapi/%s/fetch?names=%s&client=%d", s.url, id, strings.Join(mine, ","), i))
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			got := regexp.MustCompile(`"pmid":"[\d.]+"`).ReplaceAllString(string(b), `"pmid":"$"`)
			if err != nil || !json.Valid(b) || !strings.HasPrefix(got, fmt.Sprintf(`{"context":%s,"client":"%d","timestamp":`, id, i)) || !strings.HasSuffix(got, want+"]}\r\n") {
				t.Errorf("%v: %s, want %s", err, got, want)
			}
		})
	}
	close(start)
	wg.Wait()
}

// Ten thousand idle contexts expire in time, and one with a longer timeout does not.
func TestManyIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const contexts = 10_000
		src, opened, closed := newSource(), 0, 0
		g := webapi.Limit(&webapi.Gateway{Local: func(context.Context) (*pmapi.Context, error) {
			opened++
			return src.Context(), nil
		}}, webapi.Limits{MaxContexts: contexts, MaxContextsPerClient: contexts})
		defer g.Close()
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			g.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w
		}
		kept := strings.Trim(get("/pmapi/_context?polltimeout=300").Body.String(), `{"contex:}`+"\r\n")
		var ids []string
		for range contexts - 1 {
			ids = append(ids, strings.Trim(get("/pmapi/_context?polltimeout=30").Body.String(), `{"contex:}`+"\r\n"))
		}
		if w := get("/pmapi/context"); w.Code != http.StatusServiceUnavailable || opened != contexts {
			t.Errorf("one more: %d %s, %d are open", w.Code, w.Body, opened)
		}
		time.Sleep(33 * time.Second)
		for _, id := range ids {
			if w := get("/pmapi/" + id + "/fetch?names=t.double"); strings.Contains(w.Body.String(), "unknown context identifier: "+id) {
				closed++
			}
		}
		if closed != contexts-1 {
			t.Errorf("%d have been closed", closed)
		}
		if w := get("/pmapi/" + kept + "/fetch?names=t.double"); w.Code != 200 {
			t.Errorf("the one that has more time: %d %s", w.Code, w.Body)
		}
		if w := get("/pmapi/context"); w.Code != 200 {
			t.Errorf("a new one: %d %s", w.Code, w.Body)
		}
	})
}
