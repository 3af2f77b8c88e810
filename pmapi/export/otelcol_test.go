package export_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
)

// sendOTLP sends the live and archived metrics of both hosts.
func sendOTLP(t *testing.T, endpoint string) {
	t.Helper()
	for _, h := range sentHosts {
		exporter := func(c *pmapi.Context, job string) *otlp.Exporter {
			return &otlp.Exporter{Reader: &export.Reader{Context: c}, Endpoint: endpoint, Interval: 20 * time.Millisecond,
				Resource: []export.Label{{Name: "service.name", Value: job}}}
		}
		past, now := exporter(h.archived(t), "archived"), exporter(h.live(t), "live")
		if err := past.Backfill(t.Context(), export.BackfillOptions{}); err != nil {
			t.Fatal(err)
		}
		now.Samples = liveSamples
		if err := now.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range []export.Stats{past.Stats(), now.Stats()} {
			if s.Sent != s.Read || s.Failed.Points+s.Dropped.Points > 0 || s.Rejected > 0 {
				t.Errorf("%s: %+v", h.name, s)
			}
		}
	}
}

// detail is a line of the debugexporter with verbosity "detailed": a heading or a field.
var detail = regexp.MustCompile(`^(?:     -> )?([A-Za-z.#]+)(?::? (.*))?$`)

// collected returns the output of the debugexporter, by metric, unit, host, job and instance.
func collected(log string) map[[5]string]stored {
	all := map[[5]string]stored{}
	var host, id, job, name, unit, inst string
	for line := range strings.Lines(log) {
		m := detail.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		text := strings.TrimSuffix(strings.TrimPrefix(m[2], "Str("), ")")
		switch m[1] {
		case "host.name":
			host = text
		case "service.instance.id":
			id = text
		case "service.name":
			job = text
		case "Name":
			name, unit = text, ""
		case "Unit":
			unit = text
		case "NumberDataPoints":
			inst = ""
		case "instname":
			inst = text
		case "Value":
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || id != host {
				continue
			}
			key := [5]string{name, unit, host, job, inst}
			all[key] = stored{all[key].count + 1, max(all[key].max, v)}
		}
	}
	return all
}

// TestInteropCollectorReceives sends the live and archived metrics of two hosts to an OpenTelemetry
// Collector.
func TestInteropCollectorReceives(t *testing.T) {
	program := pcptest.OTelCollector(t)
	addr := "127.0.0.1:" + strconv.Itoa(pcptest.FreePort(t))
	file := filepath.Join(t.TempDir(), "otelcol.yaml")
	config := fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: '%s'}}}}
exporters: {debug: {verbosity: detailed, use_internal_logger: false}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}
`, addr)
	if err := os.WriteFile(file, []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	p := pcptest.Start(t, pcptest.Daemon{Path: program, Args: []string{"--config=" + file}, Addr: addr})
	sendOTLP(t, "http://"+addr)
	names := map[string][2]string{"app_requests_total": {"app.requests", "{count}"}, "app_wait_seconds": {"app.wait", "s"}, "disk_dev_read_total": {"disk.dev.read", "{count}"}}
	checkStored(t, func(name, host, job, inst string) stored {
		return collected(p.Log())[[5]string{names[name][0], names[name][1], host, job, inst}]
	})
}
