package exposition_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

const (
	text004     = "text/plain; version=0.0.4; charset=utf-8"
	om100       = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	prometheus2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	prometheus3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4," +
		"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)

// serve sends a request to a handler of a source with few metrics.
func serve(t *testing.T, h *exposition.Handler, method, target string, header ...string) *http.Response {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func handler(src *pmapitest.Source) *exposition.Handler {
	return &exposition.Handler{Reader: &export.Reader{Context: src.Context()}}
}

func disks(t testing.TB) *pmapitest.Source {
	src := source(t)
	add(src, pmapitest.Metric[uint64]{Name: "disk.dev.read", InDom: src.InDom("sda", "sdb"), Sem: pdu.SemCounter, Units: pdu.UnitCount}, 1, 2)
	return src
}

// TestNegotiation: the format is that of the parameter, or the one that the scraper prefers.
func TestNegotiation(t *testing.T) {
	h := handler(disks(t))
	asPCP := handler(disks(t))
	asPCP.Plain = exposition.PCP
	const om, plain, pcp = `disk_dev_read_total{instname="sda"} 1`, `disk_dev_read_total{instid="0",instname="sda"} 1`, `disk_dev_read{instid="0",instname="sda"} 1`
	for _, test := range []struct {
		h                     *exposition.Handler
		query, accept         string
		wantType, wantContent string
	}{
		{h, "", "", text004, plain},
		{h, "", "*/*", text004, plain},
		{h, "", "text/html", text004, plain},
		{h, "", prometheus2, om100, om},
		{h, "", "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", text004, plain},
		{h, "", prometheus3, om100 + "; escaping=underscores", om},
		{h, "", strings.ReplaceAll(prometheus3, "allow-utf-8", "underscores"), om100 + "; escaping=underscores", om},
		{h, "", strings.ReplaceAll(prometheus3, "allow-utf-8", "dots"), om100 + "; escaping=underscores", om},
		{h, "", strings.ReplaceAll(prometheus3, "allow-utf-8", "values"), om100 + "; escaping=underscores", om},
		{h, "", "text/plain;version=1.0.0;escaping=allow-utf-8", "text/plain; version=1.0.0; charset=utf-8; escaping=underscores", plain},
		{h, "", `Text/Plain; Version="0.0.4"; q=0.3, Application/OpenMetrics-Text; q=0.2`, text004, plain},
		{h, "", "text/plain;q=0, application/openmetrics-text;q=0.001", om100, om},
		{h, "", "text/plain;q=2, application/openmetrics-text;q=0.1", om100, om},
		{h, "", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8", om100, om},
		{h, "?format=openmetrics", "text/plain", om100, om},
		{h, "?format=prometheus", prometheus3, text004, plain},
		{h, "?format=pcp", prometheus3, text004, pcp},
		{asPCP, "", "", text004, pcp},
		{asPCP, "", prometheus2, om100, om},
		{asPCP, "?format=prometheus", "", text004, plain},
	} {
		r := serve(t, test.h, "GET", "/metrics"+test.query, "Accept", test.accept)
		got := body(t, r)
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != test.wantType || !strings.Contains(got, "\n"+test.wantContent+"\n") {
			t.Errorf("%s %q: %d %s\n%s", test.query, test.accept, r.StatusCode, r.Header.Get("Content-Type"), got)
		}
		format := exposition.Prometheus
		switch {
		case strings.HasPrefix(test.wantType, "application"):
			format = exposition.OpenMetrics
		case test.wantContent == pcp:
			format = exposition.PCP
		}
		p, err := parsePage(got, format, strings.HasPrefix(test.wantContent, "{"))
		if err != nil {
			t.Errorf("%v in\n%s", err, got)
		} else if p.samples["pcp_gateway_scrape_duration_seconds"] == "" && test.wantContent != pcp {
			t.Error("no duration of the scrape")
		}
	}
	if r := serve(t, h, "GET", "/metrics?format=xml"); r.StatusCode != 400 {
		t.Errorf("a format that there is not: %d %s", r.StatusCode, body(t, r))
	}
}

// A hello is a View with a greeting.
type hello struct{ host string }

func (h hello) AppendPage(_ context.Context, b []byte, s exposition.Style) ([]byte, error) {
	return fmt.Appendf(b, "hello{host=%q,format=\"%d\"} 1\n", h.host, s.Format), nil
}

// TestViews: a view uses the context of the handler, and does not replace the page of all metrics.
func TestViews(t *testing.T) {
	h := handler(disks(t))
	h.Views = map[string]exposition.View{"hello": func(c *pmapi.Context) exposition.Pager { return hello{c.HostName(t.Context())} }}
	for range 2 {
		r := serve(t, h, "GET", "/metrics?view=hello", "Accept", prometheus2)
		if got := body(t, r); got != "hello{host=\"pmapitest\",format=\"0\"} 1\n" || r.Header.Get("Content-Type") != om100 {
			t.Errorf("%v\n%s", r.Header, got)
		}
	}
	if got := body(t, serve(t, h, "GET", "/metrics")); !strings.Contains(got, "\ndisk_dev_read_total{") {
		t.Errorf("without a view:\n%s", got)
	}
	if r := serve(t, h, "GET", "/metrics?view=other"); r.StatusCode != 400 {
		t.Errorf("a view that there is not: %d %s", r.StatusCode, body(t, r))
	}
}

// TestCollisionLog: a collision of names is logged only once.
func TestCollisionLog(t *testing.T) {
	src := disks(t)
	add(src, pmapitest.Metric[int32]{Name: "a.b"}, 1)
	add(src, pmapitest.Metric[int32]{Name: "a_b"}, 1)
	h := handler(src)
	var log strings.Builder
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	for range 3 {
		serve(t, h, "GET", "/metrics")
	}
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "count=1 metrics=a_b\n") {
		t.Errorf("log:\n%s", got)
	}
}

func TestMethods(t *testing.T) {
	h := handler(disks(t))
	r := serve(t, h, "HEAD", "/metrics")
	if n := r.Header.Get("Content-Length"); r.StatusCode != 200 || n == "" || n == "0" || body(t, r) != "" || r.Header.Get("Content-Type") != text004 {
		t.Errorf("HEAD: %d, %v", r.StatusCode, r.Header)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE"} {
		if r := serve(t, h, method, "/metrics"); r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, %v", method, r.StatusCode, r.Header)
		}
	}
}

func TestGzip(t *testing.T) {
	h := handler(disks(t))
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "deflate, GZIP": true, "gzip;q=0": false, "gzip; q=0.000": false, "br, gzip;q=0.5": true, "identity": false, "xgzip": false,
	} {
		r := serve(t, h, "GET", "/metrics", "Accept-Encoding", accept)
		if got := r.Header.Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("%q: %v", accept, r.Header)
		}
		var page io.Reader = r.Body
		if want {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			page = z
		}
		text, err := io.ReadAll(page)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsePage(string(text), exposition.Prometheus, false); err != nil {
			t.Errorf("%q: %v", accept, err)
		}
	}
}

// TestSourceAway: the status tells that the source is unreachable. Later there are pages again.
func TestSourceAway(t *testing.T) {
	src := disks(t)
	src.AutoReconnect = true
	h := handler(src)
	first := body(t, serve(t, h, "GET", "/metrics"))
	src.Break(io.ErrUnexpectedEOF)
	for range 2 {
		if r := serve(t, h, "GET", "/metrics"); r.StatusCode != 503 || body(t, r) == "" {
			t.Errorf("the source is away: %d", r.StatusCode)
		}
	}
	src.Restore()
	if r := serve(t, h, "GET", "/metrics"); r.StatusCode != 200 || own(body(t, r)) != own(first) {
		t.Errorf("the source is back: %d", r.StatusCode)
	}
}

// TestConcurrentScrapes: each concurrent scraper gets a whole page in its format.
func TestConcurrentScrapes(t *testing.T) {
	src := disks(t)
	server := httptest.NewServer(handler(src))
	defer server.Close()
	var scrapers sync.WaitGroup
	for i := range 20 {
		scrapers.Go(func() {
			format := []exposition.Format{exposition.OpenMetrics, exposition.Prometheus, exposition.PCP}[i%3]
			for range 5 {
				r, err := http.Get(server.URL + "/?format=" + []string{"openmetrics", "prometheus", "pcp"}[i%3])
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err == nil {
					_, err = parsePage(string(text), format, false)
				}
				if err != nil {
					t.Errorf("%v in\n%s", err, text)
				}
			}
		})
	}
	scrapers.Wait()
}

// TestScraperLeaves: a scraper that disconnects neither stops others nor makes them read all
// metadata again.
func TestScraperLeaves(t *testing.T) {
	var lookups atomic.Int32
	hold, release := make(chan chan struct{}, 1), make(chan struct{})
	src := &pmapitest.Source{Start: noon}
	src.OnRequest = func(_ context.Context, r pmapitest.Request) error {
		if r.Method == "Lookup" {
			lookups.Add(1)
		}
		if r.Method != "Fetch" {
			return nil
		}
		select {
		case held := <-hold:
			close(held)
			<-release
		default:
		}
		return nil
	}
	defer src.Close()
	add(src, pmapitest.Metric[uint32]{Name: "a"}, 1)
	h := handler(src)
	serve(t, h, "GET", "/metrics")
	before := lookups.Load()

	ctx, leave := context.WithCancel(t.Context())
	held, gone := make(chan struct{}), make(chan struct{})
	hold <- held
	go func() {
		defer close(gone)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/metrics", nil))
	}()
	<-held
	waiting, stop := context.WithCancel(t.Context())
	stop()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(waiting, "GET", "/metrics", nil)) // stops waiting for its turn
	if w.Code != 503 {
		t.Errorf("a scraper that has left while it waited: %d", w.Code)
	}
	leave()
	close(release)
	<-gone
	if r := serve(t, h, "GET", "/metrics"); r.StatusCode != 200 || !strings.Contains(body(t, r), "\na 1\n") {
		t.Errorf("the next scraper: %d", r.StatusCode)
	}
	if after := lookups.Load(); after != before {
		t.Errorf("%d lookups, %d before", after, before)
	}
}

// TestAllocs: from the second time on, a page of 1,200 metrics is written without an allocation.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s, e := manyMetrics(t)
	b := e.Append(nil, s)
	if n := testing.AllocsPerRun(10, func() { b = e.Append(b[:0], s) }); n != 0 {
		t.Errorf("%v allocations for a page", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	s, e := manyMetrics(b)
	page := e.Append(nil, s)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		page = e.Append(page[:0], s)
	}
}

// manyMetrics returns a snapshot of 1,200 metrics, a third of them with 4 instances, some with
// strings.
func manyMetrics(t testing.TB) (*export.Snapshot, *exposition.Encoder) {
	src := source(t)
	src.Labels = `{"hostname":"web1"}`
	d := src.InDom("sda", "sdb", "sdc", "sdd")
	for i := range 400 {
		add(src, pmapitest.Metric[uint64]{Name: fmt.Sprintf("disk.m%d", i), InDom: d, Sem: pdu.SemCounter, Units: pdu.SpaceKByte, Text: "of disks"}, 1, 2000, 3e6, 4e9)
		add(src, pmapitest.Metric[float64]{Name: fmt.Sprintf("load.m%d", i), Units: pdu.TimeMSec}, float64(i)/3)
		if i%10 == 0 {
			add(src, pmapitest.Metric[string]{Name: fmt.Sprintf("other.m%d", i), Sem: pdu.SemDiscrete}, "version 1")
		} else {
			add(src, pmapitest.Metric[int32]{Name: fmt.Sprintf("other.m%d", i)}, int32(i))
		}
	}
	s, err := (&export.Reader{Context: src.Context()}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, &exposition.Encoder{}
}
