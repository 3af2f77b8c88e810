package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var scrapeFor = flag.Duration("prometheus", 3*time.Second, "for how long Prometheus scrapes the program")

// jobs returns the scrape_configs of prometheus.yml for a gateway and a host.
func jobs(t *testing.T, gateway, host string) string {
	t.Helper()
	text, err := os.ReadFile("prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	pcp := regexp.MustCompile(`(?m)^- job_name: pcp .*$`).ReplaceAllString(string(text), "$0\n  params: {times: ['true']}") // which rates are exact with
	return strings.NewReplacer("localhost:44322", gateway, "web1:44321", host).Replace(pcp)
}

// dashboardMetrics are those of grafana-pcp's dashboard "PCP Prometheus Host Overview".
var dashboardMetrics = strings.Fields(`kernel_all_load mem_util_free mem_util_cached mem_util_used mem_physmem
	kernel_percpu_cpu_user kernel_percpu_cpu_sys kernel_all_pswitch kernel_all_runnable
	mem_vmstat_pgfault mem_vmstat_pgmajfault
	network_interface_in_bytes network_interface_out_bytes network_interface_in_drops
	network_interface_out_drops network_interface_in_packets network_interface_out_packets
	network_tcp_timeouts network_tcp_listendrops network_tcp_listenoverflows network_tcp_retranssegs
	network_tcp_fastretrans network_tcp_slowstartretrans network_tcp_synretrans
	disk_dev_read_rawactive disk_dev_write_rawactive disk_dev_read disk_dev_write
	disk_dev_read_bytes disk_dev_write_bytes disk_dev_avactive`)

// A real Prometheus scrapes the program in all of its views without an error, and its rates are
// those of pmval.
func TestInteropPrometheus(t *testing.T) {
	program := pcptest.Optional(t, "prometheus")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux", "sample"}})
	gateway, addr := fmt.Sprint("127.0.0.1:", pcptest.FreePort(t)), fmt.Sprint("127.0.0.1:", pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmproxy"), Args: []string{"-i", "127.0.0.1", "-p", gateway[len("127.0.0.1:"):], "--allow=" + pmcd.Host()},
		Addr: gateway, Dir: t.TempDir(), Env: []string{"PCP_TLSCONF_PATH=", fmt.Sprint("PMCD_PORT=", pmcd.Port())}})
	interval := "3s" // also what a scrape may take: the machine may have other work
	if *scrapeFor > 30*time.Second {
		interval = "5s"
	}
	// The first page of a view asks the collector about each metric. On a busy machine, that takes
	// longer than an interval.
	for _, query := range []string{"times=true", "view=node", "view=node&hostspec=" + pmcd.Host(), "format=pcp&names=kernel,mem,network,disk,hinv"} {
		warm(t, "http://"+gateway+"/metrics?"+query)
	}
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: %s, scrape_timeout: %[1]s}\n", interval) + jobs(t, gateway, pmcd.Host())
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	p := pcptest.Start(t, pcptest.Daemon{Path: program, Addr: addr,
		Args: []string{"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + addr}})
	begin := time.Now()
	value := func(query string) float64 { return ask(t, addr, query) }
	for deadline := begin.Add(time.Minute + *scrapeFor); value("min(count_over_time(up[1h]))") < 2 || value("count(up)") < 5 || time.Since(begin) < *scrapeFor; {
		if time.Now().After(deadline) {
			t.Fatalf("too few scrapes:\n%s", p.Log())
		}
		time.Sleep(100 * time.Millisecond) // between questions
	}
	for job, least := range map[string]float64{"pcp": 1000, "node": 250, "hosts": 250, "gateway": 50, "dashboards": 500} {
		of := `{job="` + job + `"}`
		scrapes, good := value("count_over_time(up"+of+"[1h])"), value("sum_over_time(up"+of+"[1h])")
		samples := value("scrape_samples_scraped" + of)
		t.Logf("%s: %v of %v scrapes, %v samples each", job, good, scrapes, samples)
		if good < scrapes || samples < least {
			t.Errorf("%s: %v of %v scrapes, %v samples each", job, good, scrapes, samples)
		}
	}
	for _, metric := range dashboardMetrics {
		of := metric + `{job="dashboards",hostname!=""}`
		if strings.HasPrefix(metric, "disk_dev_") && value("count("+of+")") == 0 && value("hinv_ndisk"+`{job="dashboards"}`) == 0 {
			continue
		}
		if value("count("+of+")") == 0 || value("count(rate("+of+"[1h]))") == 0 {
			t.Errorf("the dashboard has no %s", metric)
		}
	}
	if got, want := value(`mem_physmem{job="dashboards"}`), value(`mem_physmem_bytes{job="pcp"}`); got != want/1024 {
		t.Errorf("mem_physmem is %v, want %v / 1024", got, want)
	}
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, "scrape") && (strings.Contains(line, "level=warn") || strings.Contains(line, "level=error")) {
			t.Error(strings.TrimSpace(line))
		}
	}
	if n := value(`pmproxy_gateway_requests_total{route="/metrics",status="2xx"}`); n < 2 {
		t.Errorf("the gateway has counted %v requests", n)
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

// warm reads a page until it is there, for a minute at most.
func warm(t *testing.T, page string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		r, err := http.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err == nil && r.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s, %v\n%.1000s", page, r.Status, err, text)
		}
	}
}

// ask returns the value of a query, or 0 if the query has no value.
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
	if r.StatusCode == http.StatusServiceUnavailable {
		return 0 // it is starting
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || r.StatusCode != http.StatusOK {
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
