package nodeview_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
	"github.com/pcp-go/pcp/pmapi/internal/nodeview"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 500e6, time.UTC)

// handler returns a handler for a context.
func handler(c *pmapi.Context) *exposition.Handler {
	return &exposition.Handler{Reader: &export.Reader{Context: c}, Views: map[string]exposition.View{"node": nodeview.New}}
}

// get returns a page of a handler, without the metrics that all pages have.
func get(t testing.TB, h *exposition.Handler, query, accept string) string {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics?"+query, nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	page, _, found := strings.Cut(w.Body.String(), "# HELP node_scrape_collector_success")
	if !found {
		t.Fatalf("no node_scrape_collector_success in\n%s", page)
	}
	return page
}

// samples returns the lines of a page except the comments.
func samples(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "node_time_seconds") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func source(t testing.TB) *pmapitest.Source {
	src := &pmapitest.Source{Start: noon}
	t.Cleanup(func() { src.Close() })
	return src
}

// add adds a metric with a value for each instance.
func add[T pmapitest.Value](src *pmapitest.Source, m pmapitest.Metric[T], values ...T) *pmapitest.Metric[T] {
	metric := pmapitest.Add(src, m)
	metric.Set(values...)
	return metric
}

// TestFormats compares a page in each format, with metrics in unusual units.
func TestFormats(t *testing.T) {
	src := source(t)
	cpus := src.InDom("cpu0", "cpu1")
	add(src, pmapitest.Metric[uint64]{Name: "kernel.percpu.cpu.user", InDom: cpus, Sem: pdu.SemCounter, Units: pdu.TimeMSec}, 1001, 20)
	add(src, pmapitest.Metric[uint64]{Name: "kernel.percpu.cpu.idle", InDom: cpus, Sem: pdu.SemCounter, Units: pdu.TimeSec}, 7, 8)
	add(src, pmapitest.Metric[uint64]{Name: "mem.physmem", Units: pdu.SpaceMByte}, 2)
	add(src, pmapitest.Metric[uint64]{Name: "mem.util.free", Units: pdu.TimeSec}, 2) // not a unit of size
	add(src, pmapitest.Metric[uint64]{Name: "mem.vmstat.pgfault", Sem: pdu.SemCounter, Units: pdu.UnitCount}, 1<<40)
	h := handler(src.Context())
	for _, test := range []struct{ accept, want string }{
		{"text/plain", `# HELP node_cpu_seconds_total Time that a CPU was in a mode
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 7
node_cpu_seconds_total{cpu="1",mode="idle"} 8
node_cpu_seconds_total{cpu="0",mode="user"} 1.001
node_cpu_seconds_total{cpu="1",mode="user"} 0.02
# HELP node_memory_MemTotal_bytes MemTotal of /proc/meminfo
# TYPE node_memory_MemTotal_bytes gauge
node_memory_MemTotal_bytes 2097152
# HELP node_vmstat_pgfault pgfault of /proc/vmstat
# TYPE node_vmstat_pgfault untyped
node_vmstat_pgfault 1099511627776
# HELP node_time_seconds The time of the values, in seconds since 1970
# TYPE node_time_seconds gauge
node_time_seconds 1.7672688005e+09
`},
		{"application/openmetrics-text", `# HELP node_cpu_seconds Time that a CPU was in a mode
# TYPE node_cpu_seconds counter
node_cpu_seconds_total{cpu="0",mode="idle"} 7
node_cpu_seconds_total{cpu="1",mode="idle"} 8
node_cpu_seconds_total{cpu="0",mode="user"} 1.001
node_cpu_seconds_total{cpu="1",mode="user"} 0.02
# HELP node_memory_MemTotal_bytes MemTotal of /proc/meminfo
# TYPE node_memory_MemTotal_bytes gauge
node_memory_MemTotal_bytes 2097152
# HELP node_vmstat_pgfault pgfault of /proc/vmstat
# TYPE node_vmstat_pgfault unknown
node_vmstat_pgfault 1099511627776
# HELP node_time_seconds The time of the values, in seconds since 1970
# TYPE node_time_seconds gauge
node_time_seconds 1.7672688005e+09
`},
	} {
		if diff := cmp.Diff(test.want, get(t, h, "view=node", test.accept)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.accept, diff)
		}
	}
	// A name is the same in each escaping.
	dots := get(t, h, "view=node", "text/plain;version=1.0.0;escaping=dots")
	if !strings.Contains(dots, "\n"+`node_cpu_seconds_total{cpu="0",mode="user"} 1.001`+"\n") {
		t.Error("with escaping=dots:\n", dots)
	}
}

// TestJoins tests labels from other metrics of the same or another instance domain, omitted
// samples, and changing values.
func TestJoins(t *testing.T) {
	src := source(t)
	volumes := src.InDom("vg-root", "vg-gone")
	add(src, pmapitest.Metric[uint64]{Name: "disk.dm.blkread", InDom: volumes, Sem: pdu.SemCounter, Units: pdu.UnitCount}, 3, 4)
	add(src, pmapitest.Metric[string]{Name: "hinv.map.dmname", InDom: volumes}, "/dev/dm-0", "")
	files := src.InDom("/dev/vda", "/dev/vdb", "/dev/loop3")
	add(src, pmapitest.Metric[uint64]{Name: "filesys.free", InDom: files, Units: pdu.SpaceKByte}, 1, 2, 3)
	dir := add(src, pmapitest.Metric[string]{Name: "filesys.mountdir", InDom: files}, "/", "/proc/x", "/snap")
	memory := src.InDom("/run", "/dev/shm")
	add(src, pmapitest.Metric[uint64]{Name: "tmpfs.free", InDom: memory, Units: pdu.SpaceKByte}, 5, 6)
	interfaces, addresses := src.InDom("lo", "eth0"), src.InDom("eth0", "lo", "eth1")
	add(src, pmapitest.Metric[uint32]{Name: "network.interface.type", InDom: interfaces}, 0, 1)
	add(src, pmapitest.Metric[uint32]{Name: "network.interface.mtu", InDom: interfaces, Units: pdu.SpaceByte}, 1500, 1400)
	add(src, pmapitest.Metric[uint32]{Name: "network.interface.running", InDom: interfaces}, 1, 1)
	add(src, pmapitest.Metric[uint32]{Name: "network.interface.virtual", InDom: interfaces}, 1, 0)
	add(src, pmapitest.Metric[uint32]{Name: "network.interface.duplex", InDom: interfaces}, 0, 2)
	add(src, pmapitest.Metric[string]{Name: "network.interface.hw_addr", InDom: addresses}, "0:1", "0:0", "0:2")
	h := handler(src.Context())
	const before = `node_disk_read_bytes_total{device="dm-0"} 1536
node_filesystem_avail_bytes{device="tmpfs",fstype="tmpfs",mountpoint="/run"} 5120
node_filesystem_free_bytes{device="/dev/vda",fstype="unknown",mountpoint="DIR"} 1024
node_filesystem_free_bytes{device="tmpfs",fstype="tmpfs",mountpoint="/run"} 5120
node_network_info{address="0:0",device="lo",duplex="unknown"} 1
node_network_info{address="0:1",device="eth0",duplex="full"} 1
node_network_mtu_bytes{device="lo"} 1500
node_network_mtu_bytes{device="eth0"} 1400
node_network_protocol_type{device="eth0"} 1
node_network_up{device="eth0"} 1
`
	for _, mounted := range []string{"/", `/a "b\`} {
		dir.Set(mounted, "/proc/x", "/snap")
		want := strings.ReplaceAll(before, "DIR", strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(mounted))
		for range 2 {
			if diff := cmp.Diff(want, samples(get(t, h, "view=node", ""))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", mounted, diff)
			}
		}
	}
	dir.Set("/new", "/", "/")
	if page := samples(get(t, h, "view=node", "")); !strings.Contains(page, `mountpoint="/new"} 1024`) || !strings.Contains(page, `"/dev/vdb",fstype="unknown",mountpoint="/"} 2048`) {
		t.Error("after another mount:\n", page)
	}
}

// TestNothing: a page without known metrics has no family of the host.
func TestNothing(t *testing.T) {
	src := source(t)
	add(src, pmapitest.Metric[uint64]{Name: "kernel.percpu.cpu.user", Sem: pdu.SemCounter, Units: pdu.TimeMSec}, 1) // the table expects instances
	if page := samples(get(t, handler(src.Context()), "view=node", "")); page != "" {
		t.Error(page)
	}
}

// TestNFS: NFS requests have node_exporter's method names. Methods that PCP confuses, and Null of
// servers, are omitted.
func TestNFS(t *testing.T) {
	src := source(t)
	add(src, pmapitest.Metric[uint32]{Name: "nfs3.server.reqs", InDom: src.InDom("null", "readdir+"), Sem: pdu.SemCounter, Units: pdu.UnitCount}, 1, 2)
	add(src, pmapitest.Metric[uint32]{Name: "nfs4.client.reqs", InDom: src.InDom("null", "server_caps", "secinfononam"), Sem: pdu.SemCounter, Units: pdu.UnitCount}, 3, 4, 5)
	add(src, pmapitest.Metric[uint32]{Name: "rpc.server.io_read", Sem: pdu.SemCounter, Units: pdu.SpaceByte}, 6)
	want := `node_nfs_requests_total{method="Null",proto="4"} 3
node_nfs_requests_total{method="ServerCaps",proto="4"} 4
node_nfsd_disk_bytes_read_total 6
node_nfsd_requests_total{method="ReadDirPlus",proto="3"} 2
`
	if diff := cmp.Diff(want, samples(get(t, handler(src.Context()), "view=node", ""))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
