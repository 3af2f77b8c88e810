package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A scraped is a server that is scraped, and what that has cost.
type scraped struct {
	process   *pcptest.Process
	url       string
	families  int
	samples   int
	own       time.Duration // of the server
	collector time.Duration // of the collector and its agents meanwhile
}

// BenchmarkInteropScrape scrapes PCP's pmproxy, this one, its view of node_exporter's names, and a
// real node_exporter in turns, ten scrapes each, and compares the time of the CPUs. It knows the
// time to a hundredth of a second, so it needs a -benchtime of some 20x.
//
// The ratios "pmproxy" are of a scrape, and "node" of a sample, of all metrics and of the view, to
// that of node_exporter. The gateways are counted alone; with "+pmcd" what the collector, PCP's
// with its agents, spends for them is counted too: node_exporter reads the kernel itself.
func BenchmarkInteropScrape(b *testing.B) {
	exporter := pcptest.Optional(b, "prometheus-node-exporter")
	for name, header := range map[string]http.Header{
		"text":       {"Accept-Encoding": {"identity"}},
		"prometheus": {"Accept": {"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}, "Accept-Encoding": {"gzip"}},
	} {
		b.Run("accept="+name, func(b *testing.B) { benchmarkScrape(b, exporter, header) })
	}
}

func benchmarkScrape(b *testing.B, exporter string, header http.Header) {
	const scrapes = 10
	pmcd := pcptest.StartPMCD(b, pcptest.Config{Shipped: []string{"pmcd", "linux", "sample"}})
	port := fmt.Sprint("PMCD_PORT=", pmcd.Port())
	start := func(d pcptest.Daemon, path string) *scraped {
		return &scraped{process: pcptest.Start(b, d), url: "http://" + d.Addr + path}
	}
	addr := func() string { return fmt.Sprint("127.0.0.1:", pcptest.FreePort(b)) }
	c := start(pcptest.PMProxy(b, port), "/metrics")
	at := addr()
	ours := start(pcptest.Daemon{Path: pcptest.Build(b, "./examples/pmproxy"), Args: []string{"-i", "127.0.0.1", "-p", at[len("127.0.0.1:"):]}, Addr: at, Dir: b.TempDir(),
		Env: []string{"PCP_TLSCONF_PATH=", port}}, "/metrics")
	view := &scraped{process: ours.process, url: ours.url + "?view=node"}
	at = addr()
	node := start(pcptest.Daemon{Path: exporter, Addr: at, Args: []string{"--web.listen-address=" + at, "--web.disable-exporter-metrics"}}, "/metrics")
	all := []*scraped{c, ours, view, node}
	for _, s := range all {
		s.scrape(b, header) // which reads metadata
	}
	b.ResetTimer()
	for range b.N {
		for _, s := range all {
			own, collector := s.process.CPU(), pmcd.CPU()
			for range scrapes {
				s.scrape(b, header)
			}
			s.own += s.process.CPU() - own
			s.collector += pmcd.CPU() - collector
		}
	}
	n := float64(b.N * scrapes)
	for name, s := range map[string]*scraped{"pmproxy": c, "gateway": ours, "view": view, "node_exporter": node} {
		b.Logf("%-13s %4d families, %4d samples, %6.2f ms a scrape, and of the collector %6.2f ms", name, s.families, s.samples,
			s.own.Seconds()*1e3/n, s.collector.Seconds()*1e3/n)
	}
	sum := func(s *scraped) time.Duration { return s.own + s.collector }
	perSample := func(d time.Duration, s *scraped) float64 { return d.Seconds() / float64(s.samples) }
	b.ReportMetric(ours.own.Seconds()/c.own.Seconds(), "pmproxy")
	b.ReportMetric(sum(ours).Seconds()/sum(c).Seconds(), "pmproxy+pmcd")
	b.ReportMetric(perSample(ours.own, ours)/perSample(node.own, node), "node")
	b.ReportMetric(perSample(sum(ours), ours)/perSample(node.own, node), "node+pmcd")
	b.ReportMetric(perSample(view.own, view)/perSample(node.own, node), "view/node")
	b.ReportMetric(perSample(sum(view), view)/perSample(node.own, node), "view/node+pmcd")
}

// scrape makes a scrape.
func (s *scraped) scrape(b *testing.B, header http.Header) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.url, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header = header
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			b.Fatal(err)
		}
	}
	s.families, s.samples = 0, 0
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "# TYPE "):
			s.families++
		case !strings.HasPrefix(line, "#"):
			s.samples++
		}
	}
	if err := lines.Err(); err != nil || r.StatusCode != http.StatusOK || s.samples == 0 {
		b.Fatalf("%s: %s, %d samples, %v", s.url, r.Status, s.samples, err)
	}
}
