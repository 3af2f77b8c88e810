package exposition_test

import (
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
)

var scrapeFor = flag.Duration("prometheus", 3*time.Second, "for how long Prometheus scrapes a handler")

// realHandler serves the metrics of C's collector and its agents.
func realHandler(t *testing.T, agents ...string) (*exposition.Handler, *pcptest.PMCD) {
	t.Helper()
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: agents})
	c, err := pmapi.Dial(t.Context(), pmcd.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &exposition.Handler{Reader: &export.Reader{Context: c}}, pmcd
}

// TestInteropPages: pages of C's collector with its agents conform to their formats.
func TestInteropPages(t *testing.T) {
	h, _ := realHandler(t, "pmcd", "linux", "sample", "proc")
	for name, accept := range map[string]string{"openmetrics": prometheus2, "utf8": prometheus3, "prometheus": "", "pcp": ""} {
		target := "/metrics"
		format := exposition.OpenMetrics
		switch name {
		case "prometheus":
			format = exposition.Prometheus
		case "pcp":
			format, target = exposition.PCP, "/metrics?format=pcp"
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

// namesOfPCP matches promtool's remarks about the names and texts of PCP.
var namesOfPCP = regexp.MustCompile(`no help text|should not contain abbreviated units|use base unit|should not (have|use) "_(total|count|sum|bucket|info)"|` +
	`metric names should (not contain ':'|be written in 'snake_case')|should not include type|counter metrics should have "_total" suffix`)

// TestInteropPromtool: promtool accepts the page, and remarks only on PCP's names.
func TestInteropPromtool(t *testing.T) {
	promtool := pcptest.Optional(t, "promtool")
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

// TestInteropPrometheus: Prometheus scrapes without an error, and its rates equal those of pmval.
func TestInteropPrometheus(t *testing.T) {
	pcptest.Optional(t, "prometheus")
	h, pmcd := realHandler(t, "pmcd", "linux", "sample")
	h.Times = true // makes rates exact
	server := httptest.NewServer(h)
	defer server.Close()
	interval := "3s" // also the time limit of a scrape, for a busy machine
	if *scrapeFor > 30*time.Second {
		interval = "5s"
	}
	config := fmt.Sprintf("scrape_configs:\n- job_name: pcp\n  scrape_interval: %s\n  scrape_timeout: %[1]s\n  static_configs:\n  - targets: ['%s']\n",
		interval, strings.TrimPrefix(server.URL, "http://"))
	p := pcptest.StartPrometheus(t, config)
	begin := time.Now()
	value := func(query string) float64 { return p.Value(t, query) }
	for deadline := begin.Add(time.Minute + *scrapeFor); value("sum(count_over_time(up[1h]))") < 3 || time.Since(begin) < *scrapeFor; {
		if time.Now().After(deadline) {
			t.Fatalf("too few scrapes:\n%s", p.Log())
		}
		time.Sleep(100 * time.Millisecond) // between queries
	}
	scrapes, good := value("sum(count_over_time(up[1h]))"), value("sum(sum_over_time(up[1h]))")
	samples := value("sum(scrape_samples_scraped)")
	t.Logf("%v of %v scrapes, %v samples each", good, scrapes, samples)
	if good < scrapes || samples < 500 {
		t.Errorf("%v of %v scrapes, %v samples each", good, scrapes, samples)
	}
	if text := p.Complaints("scrape"); text != "" {
		t.Error(text)
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
