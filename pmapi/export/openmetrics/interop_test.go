package openmetrics_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/openmetrics"
)

var scrapeFor = flag.Duration("prometheus", 3*time.Second, "for how long Prometheus scrapes a handler")

// tool is the path of one of Prometheus' programs, without which the test is skipped: .ci/install-pcp does not install them.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip("the test needs Prometheus: ", err)
	}
	return path
}

// realHandler serves the metrics of C's collector and its agents.
func realHandler(t *testing.T, agents ...string) (*openmetrics.Handler, *pcptest.PMCD) {
	t.Helper()
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: agents})
	c, err := pmapi.Dial(t.Context(), pmcd.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &openmetrics.Handler{Reader: &export.Reader{Context: c}}, pmcd
}

// Pages of C's collector with its agents are what their formats demand.
func TestInteropPages(t *testing.T) {
	h, _ := realHandler(t, "pmcd", "linux", "sample", "proc")
	for name, accept := range map[string]string{"openmetrics": prometheus2, "utf8": prometheus3, "prometheus": "", "pcp": ""} {
		target := "/metrics"
		format := openmetrics.OpenMetrics
		switch name {
		case "prometheus":
			format = openmetrics.Prometheus
		case "pcp":
			format, target = openmetrics.PCP, "/metrics?format=pcp"
		}
		text := body(t, serve(t, h, "GET", target, "Accept", accept))
		p, err := parsePage(text, format, name == "utf8")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.families) < 500 || len(p.samples) < 1000 {
			t.Errorf("%s: %d families, %d samples", name, len(p.families), len(p.samples))
		}
	}
}

// namesOfPCP are what promtool dislikes of names and texts, which are PCP's.
var namesOfPCP = regexp.MustCompile(`no help text|should not contain abbreviated units|use base unit|should not (have|use) "_(total|count|sum|bucket|info)"|` +
	`metric names should (not contain ':'|be written in 'snake_case')|should not include type|counter metrics should have "_total" suffix`)

// TestInteropPromtool: promtool reads the page, and its remarks are about names of PCP alone.
func TestInteropPromtool(t *testing.T) {
	promtool := tool(t, "promtool")
	h, _ := realHandler(t, "pmcd", "linux", "sample", "proc")
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	page := body(t, serve(t, h, "GET", "/metrics"))
	cmd.Stdin = strings.NewReader(page)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) { // 3 means remarks
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if !namesOfPCP.MatchString(line) {
			t.Error(strings.TrimSpace(line))
		}
	}
}

// A real Prometheus scrapes without an error, and its rates are those of pmval.
func TestInteropPrometheus(t *testing.T) {
	program := tool(t, "prometheus")
	h, pmcd := realHandler(t, "pmcd", "linux", "sample")
	h.Times = true // which rates are exact with
	server := httptest.NewServer(h)
	defer server.Close()
	dir := t.TempDir()
	interval := "3s" // also what a scrape may take: the machine may have other work
	if *scrapeFor > 30*time.Second {
		interval = "5s"
	}
	config := fmt.Sprintf("scrape_configs:\n- job_name: pcp\n  scrape_interval: %s\n  scrape_timeout: %[1]s\n  static_configs:\n  - targets: ['%s']\n",
		interval, strings.TrimPrefix(server.URL, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + strconv.Itoa(pcptest.FreePort(t))
	p := pcptest.Start(t, pcptest.Daemon{
		Path: program, Addr: addr,
		Args: []string{"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + addr},
	})
	begin := time.Now()
	value := func(query string) float64 { return ask(t, addr, query) }
	for deadline := begin.Add(time.Minute + *scrapeFor); value("sum(count_over_time(up[1h]))") < 3 || time.Since(begin) < *scrapeFor; {
		if time.Now().After(deadline) {
			t.Fatalf("too few scrapes:\n%s", p.Log())
		}
		time.Sleep(100 * time.Millisecond) // between questions
	}
	scrapes, good := value("sum(count_over_time(up[1h]))"), value("sum(sum_over_time(up[1h]))")
	samples := value("sum(scrape_samples_scraped)")
	t.Logf("%v of %v scrapes, %v samples each", good, scrapes, samples)
	if good < scrapes || samples < 500 {
		t.Errorf("%v of %v scrapes, %v samples each", good, scrapes, samples)
	}
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, "scrape") && (strings.Contains(line, "level=warn") || strings.Contains(line, "level=error")) {
			t.Error(strings.TrimSpace(line))
		}
	}
	out, _, _ := pcptest.Run(t, nil, "", "pmval", "-h", pmcd.Host(), "-s", "2", "-t", "1", "-f", "4", "sample.milliseconds")
	lines := strings.Fields(out)
	want, err := strconv.ParseFloat(lines[len(lines)-1], 64)
	if err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if got := value("deriv(sample_milliseconds_seconds_total[1h])"); got < 0.9*want || got > 1.1*want {
		t.Errorf("the rate is %v, and %v by pmval", got, want)
	}
}

// ask is the value of a query that has one; 0 if it has none.
func ask(t *testing.T, addr, query string) float64 {
	t.Helper()
	r, err := http.Get("http://" + addr + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer); err != nil || r.StatusCode != 200 && r.StatusCode != 503 {
		if r.StatusCode == 503 {
			return 0 // it is starting
		}
		t.Fatalf("%s: %v\n%s", query, err, text)
	}
	if len(answer.Data.Result) != 1 {
		return 0
	}
	v, err := strconv.ParseFloat(fmt.Sprint(answer.Data.Result[0].Value[1]), 64)
	if err != nil {
		t.Fatalf("%s: %s", query, text)
	}
	return v
}
