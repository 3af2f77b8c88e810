package export_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A sentHost is a host whose live and archived metrics are sent to receivers: a counter, a gauge in
// milliseconds, and a counter of two disks.
type sentHost struct {
	name string
	base uint64 // added to its values
}

var sentHosts = []sentHost{{"web1", 1000}, {"db1", 2000}}

// The number of samples sent for each host.
const (
	liveSamples     = 3
	archivedSamples = 5
)

// live returns a context on the host.
func (h sentHost) live(t *testing.T) *pmapi.Context {
	src := &pmapitest.Source{Host: h.name, Labels: fmt.Sprintf(`{"hostname":%q}`, h.name)}
	t.Cleanup(func() { src.Close() })
	n := uint64(0)
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "app.requests", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(time.Time, pdu.Instance) (uint64, error) { n++; return h.base + n, nil }})
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "app.wait", Units: pdu.TimeMSec}).Set(h.base)
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.dev.read", InDom: src.InDom("sda", "sdb"), Sem: pdu.SemCounter, Units: pdu.UnitCount}).Set(h.base, h.base+7)
	c := src.Context()
	t.Cleanup(func() { c.Close() })
	return c
}

// archived returns a context on an archive of the host, which covers the last hour but one.
func (h sentHost) archived(t *testing.T) *pmapi.Context {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), h.name)
	im, err := logimport.New(path, archive.WriterOptions{Label: archive.Label{Host: h.name, TimeZone: "UTC"}})
	check(err)
	disks := pdu.MakeInDom(logimport.Domain, 0)
	add := func(name string, d pdu.Desc) {
		_, err := im.AddMetric(name, d)
		check(err)
	}
	add("app.requests", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount})
	add("app.wait", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant, Units: pdu.TimeMSec})
	add("disk.dev.read", pdu.Desc{Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter, Units: pdu.UnitCount})
	check(im.AddInstance(disks, "sda", 0))
	check(im.AddInstance(disks, "sdb", 1))
	start := time.Now().Add(-2 * time.Hour).Truncate(time.Second)
	for n := range archivedSamples {
		check(im.PutText("app.requests", "", fmt.Sprint(h.base+uint64(n)+1)))
		check(im.PutText("app.wait", "", fmt.Sprint(h.base)))
		check(im.PutText("disk.dev.read", "sda", fmt.Sprint(h.base)))
		check(im.PutText("disk.dev.read", "sdb", fmt.Sprint(h.base+7)))
		check(im.Write(start.Add(time.Duration(n) * time.Minute)))
	}
	check(im.Close())
	c, err := pmapi.Open(t.Context(), path)
	check(err)
	t.Cleanup(func() { c.Close() })
	return c
}

// A stored is a series as a receiver stores it.
type stored struct {
	count int
	max   float64
}

// checkStored compares the series of a receiver with those sent. A job is live or archived.
func checkStored(t *testing.T, get func(name, host, job, inst string) stored) {
	t.Helper()
	for job, samples := range map[string]int{"live": liveSamples, "archived": archivedSamples} {
		for _, h := range sentHosts {
			base := float64(h.base)
			for _, want := range []struct {
				name, inst string
				max        float64
			}{
				{"app_requests_total", "", base + float64(samples)},
				{"app_wait_seconds", "", base / 1000},
				{"disk_dev_read_total", "sda", base},
				{"disk_dev_read_total", "sdb", base + 7},
			} {
				pcptest.Retry(t, func() string {
					if got := get(want.name, h.name, job, want.inst); got != (stored{samples, want.max}) {
						return fmt.Sprintf("%s of %s, %s, instance %q: %+v, want %+v", want.name, h.name, job, want.inst, got, stored{samples, want.max})
					}
					return ""
				})
			}
		}
	}
}

// writeRemotely sends the live and archived metrics of both hosts.
func writeRemotely(t *testing.T, endpoint string) {
	t.Helper()
	for _, h := range sentHosts {
		exporter := func(c *pmapi.Context, job string) *remotewrite.Exporter {
			return &remotewrite.Exporter{Reader: &export.Reader{Context: c}, Endpoint: endpoint, Interval: 20 * time.Millisecond, Samples: liveSamples,
				Labels: []export.Label{{Name: "job", Value: job}}}
		}
		past := exporter(h.archived(t), "archived")
		past.Samples = 0
		if err := past.Backfill(t.Context(), export.BackfillOptions{}); err != nil {
			t.Fatal(err)
		}
		now := exporter(h.live(t), "live")
		if err := now.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range []export.Stats{past.Stats(), now.Stats()} {
			if s.Sent != s.Read || s.Failed.Points+s.Dropped.Points > 0 {
				t.Errorf("%s: %+v", h.name, s)
			}
		}
	}
}

// checkPrometheus checks a receiver over the API of Prometheus.
func checkPrometheus(t *testing.T, p *pcptest.Prometheus) {
	t.Helper()
	checkStored(t, func(name, host, job, inst string) stored {
		series := fmt.Sprintf(`(%s{instance=%q,job=%q,instname=%q}[1d])`, name, host, job, inst)
		return stored{int(p.Value(t, "count_over_time"+series)), p.Value(t, "max_over_time"+series)}
	})
}

// TestInteropPrometheusReceives: Prometheus stores the live and archived metrics of two hosts.
func TestInteropPrometheusReceives(t *testing.T) {
	p := pcptest.StartPrometheus(t, "storage: {tsdb: {out_of_order_time_window: 2d}}\n", "--web.enable-remote-write-receiver")
	writeRemotely(t, p.URL()+"/api/v1/write")
	checkPrometheus(t, p)
}

// TestInteropVictoriaMetricsReceives: VictoriaMetrics stores the live and archived metrics of two
// hosts.
func TestInteropVictoriaMetricsReceives(t *testing.T) {
	p := pcptest.StartVictoriaMetrics(t)
	writeRemotely(t, p.URL()+"/api/v1/write")
	p.Flush(t)
	checkPrometheus(t, p)
}

// TestInteropInfluxDBReceives: InfluxDB stores the live and archived metrics of two hosts.
func TestInteropInfluxDBReceives(t *testing.T) {
	db := pcptest.StartInfluxDB(t)
	writeRemotely(t, db.RemoteWriteURL())
	checkStored(t, func(name, host, job, inst string) (s stored) {
		rows := db.Query(t, fmt.Sprintf(`SELECT count(value), max(value) FROM "%s" WHERE instance='%s' AND job='%s' AND instname='%s'`, name, host, job, inst))
		if len(rows) == 1 {
			s.count, s.max = int(rows[0][0].(float64)), rows[0][1].(float64)
		}
		return s
	})
	if rows := db.Query(t, "SHOW MEASUREMENTS"); !strings.Contains(fmt.Sprint(rows), "target_info") && len(rows) < 3 {
		t.Errorf("measurements %v", rows)
	}
}
