package nodeview_test

import (
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
)

var scrapeFor = flag.Duration("prometheus", 3*time.Second, "for how long Prometheus scrapes a handler")

// realHandler serves the metrics of C's collector and its Linux agent.
func realHandler(t *testing.T) (*exposition.Handler, *pcptest.PMCD) {
	t.Helper()
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux"}})
	c, err := pmapi.Dial(t.Context(), pmcd.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return handler(c), pmcd
}

// compared lists the series that dashboards use most. They must be equal in both. The test compares
// other series too.
var compared = strings.Fields(`node_boot_time_seconds node_context_switches_total node_cpu_guest_seconds_total node_cpu_seconds_total
	node_disk_io_now node_disk_io_time_seconds_total node_disk_io_time_weighted_seconds_total node_disk_read_bytes_total
	node_disk_read_time_seconds_total node_disk_reads_completed_total node_disk_reads_merged_total node_disk_write_time_seconds_total
	node_disk_writes_completed_total node_disk_writes_merged_total node_disk_written_bytes_total node_entropy_available_bits
	node_filefd_allocated node_filefd_maximum node_filesystem_avail_bytes node_filesystem_files node_filesystem_files_free
	node_filesystem_free_bytes node_filesystem_readonly node_filesystem_size_bytes node_forks_total node_intr_total node_load1 node_load15 node_load5
	node_memory_Active_anon_bytes node_memory_Active_bytes node_memory_Active_file_bytes node_memory_AnonPages_bytes
	node_memory_Buffers_bytes node_memory_Cached_bytes node_memory_CommitLimit_bytes node_memory_Committed_AS_bytes node_memory_Dirty_bytes
	node_memory_HugePages_Total node_memory_Hugepagesize_bytes node_memory_Inactive_bytes node_memory_KernelStack_bytes
	node_memory_Mapped_bytes node_memory_MemAvailable_bytes node_memory_MemFree_bytes node_memory_MemTotal_bytes node_memory_PageTables_bytes
	node_memory_SReclaimable_bytes node_memory_Shmem_bytes node_memory_Slab_bytes node_memory_SwapCached_bytes node_memory_SwapFree_bytes
	node_memory_SwapTotal_bytes node_memory_VmallocUsed_bytes node_memory_Writeback_bytes node_netstat_Icmp_InMsgs node_netstat_IpExt_InOctets
	node_netstat_Tcp_ActiveOpens node_netstat_Tcp_CurrEstab node_netstat_Tcp_InSegs node_netstat_Tcp_OutSegs node_netstat_Tcp_RetransSegs
	node_netstat_TcpExt_ListenDrops node_netstat_Udp_InDatagrams node_netstat_Udp_OutDatagrams node_network_mtu_bytes
	node_network_receive_bytes_total node_network_receive_drop_total node_network_receive_errs_total node_network_receive_packets_total
	node_network_transmit_bytes_total node_network_transmit_drop_total node_network_transmit_errs_total node_network_transmit_packets_total
	node_network_up node_pressure_cpu_waiting_seconds_total node_pressure_io_stalled_seconds_total node_pressure_io_waiting_seconds_total
	node_pressure_memory_stalled_seconds_total node_pressure_memory_waiting_seconds_total node_procs_blocked node_procs_running node_sockstat_TCP_alloc node_sockstat_TCP_inuse node_sockstat_UDP_inuse node_sockstat_sockets_used
	node_softnet_processed_total node_time_seconds node_uname_info node_vmstat_pgfault node_vmstat_pgmajfault node_vmstat_pgpgin node_vmstat_pgpgout`)

// look holds the series of a page, without labels that PCP lacks, memory devices, and mounts that
// other programs change meanwhile.
type look struct {
	types, help map[string]string
	values      map[string]float64
}

var (
	unknownLabels = regexp.MustCompile(`,?(domainname|fstype|broadcast|ifalias|operstate|duplex)="[^"]*"`)
	notCompared   = regexp.MustCompile(`^node_scrape_|device="z?ram\d|mountpoint="/(tmp|mnt)/`)

	// partial matches families that PCP has only in part.
	partial = regexp.MustCompile(`^node_network_(up|protocol_type)`)
)

func read(t *testing.T, page string) look {
	t.Helper()
	l := look{map[string]string{}, map[string]string{}, map[string]float64{}}
	for line := range strings.Lines(page) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# TYPE "):
			l.types[words[2]] = words[3]
		case strings.HasPrefix(line, "# HELP "):
			l.help[words[2]] = line
		case !notCompared.MatchString(line):
			space := strings.LastIndexByte(line, ' ')
			v, err := strconv.ParseFloat(strings.TrimSpace(line[space:]), 64)
			if err != nil {
				t.Fatal(err)
			}
			series := strings.Replace(unknownLabels.ReplaceAllString(line[:space], ""), "{,", "{", 1)
			l.values[series] = v
		}
	}
	return l
}

// TestInteropNodeExporter: families that both have are of one type and have the same series. Each
// value is at least once between those of node_exporter before and after, or within 2 % of that.
func TestInteropNodeExporter(t *testing.T) {
	program := pcptest.Optional(t, "prometheus-node-exporter")
	h, _ := realHandler(t)
	addr := "127.0.0.1:" + strconv.Itoa(pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: program, Addr: addr, Args: []string{
		"--web.listen-address=" + addr, "--web.disable-exporter-metrics", "--collector.netdev.device-exclude=^$", // the default upstream, but not in Debian
		"--collector.filesystem.mount-points-exclude=^/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)($|/)"}})
	theirs := func() look {
		r, err := http.Get("http://" + addr + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, string(text))
	}
	var before, ours, after look
	wrong := map[string]string{} // series that were never right, with the last error
	right := map[string]bool{}
	for round := 0; round < 100 && (round == 0 || len(wrong) > 0); round++ {
		before, ours, after = theirs(), read(t, get(t, h, "view=node", "")), theirs()
		clear(wrong)
		compare(before, ours, after, right, wrong)
	}
	for series, how := range wrong {
		t.Error(series, how)
	}
	for name, kind := range ours.types {
		if k, ok := after.types[name]; ok && k != kind {
			t.Errorf("%s is %s, not %s", name, kind, k)
		}
		if text := ours.help[name]; text == "" || text == after.help[name] {
			t.Errorf("%s has the help %q", name, text)
		}
	}
	for _, name := range compared {
		if ours.types[name] == "" && after.types[name] != "" {
			t.Error(name, "is missing")
		}
	}
	t.Logf("%d series of %d families, node_exporter has %d of %d", len(ours.values), len(ours.types), len(after.values), len(after.types))
	if len(right) < 200 {
		t.Errorf("only %d series are the same", len(right))
	}
}

// compare records the series that were right at least once, and the errors of the others.
func compare(before, ours, after look, right map[string]bool, wrong map[string]string) {
	family := func(series string) string {
		name, _, _ := strings.Cut(series, "{")
		return name
	}
	for series, v := range ours.values {
		if after.types[family(series)] == "" {
			continue // node_exporter is older, or the collector is off by default
		}
		a, ok1 := before.values[series]
		b, ok2 := after.values[series]
		lowest, highest := min(a, b), max(a, b)
		slack := 0.02*max(math.Abs(lowest), math.Abs(highest)) + 0.02
		switch {
		case right[series], ok1 && ok2 && v >= lowest-slack && v <= highest+slack:
			right[series] = true
		case !ok1 && !ok2:
			wrong[series] = "node_exporter does not have"
		default:
			wrong[series] = fmt.Sprintf("is %v, between %v and %v", v, a, b)
		}
	}
	for series := range after.values {
		if _, ok := ours.values[series]; !ok && ours.types[family(series)] != "" && !right[series] && !partial.MatchString(series) {
			wrong[series] = "only node_exporter has"
		}
	}
}

// remarks matches promtool's remarks about names of node_exporter.
var remarks = regexp.MustCompile(`should be written in 'snake_case'|use base unit "bytes" instead of "bits"|should not include type|should not have "_(total|info)"`)

// TestInteropPromtool: promtool accepts the page, and remarks only on names of node_exporter.
func TestInteropPromtool(t *testing.T) {
	promtool := pcptest.Optional(t, "promtool")
	h, _ := realHandler(t)
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics?view=node", nil))
	cmd.Stdin = w.Body
	out, _ := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !remarks.MatchString(line) {
			t.Error(strings.TrimSpace(line))
		}
	}
}

// TestInteropPrometheus: Prometheus scrapes the view without an error, in its preferred format and
// in its older one. The CPU times are between those of the kernel before and after.
func TestInteropPrometheus(t *testing.T) {
	pcptest.Optional(t, "prometheus")
	h, _ := realHandler(t)
	server := httptest.NewServer(h)
	defer server.Close()
	before := cpuSeconds(t)
	interval := "3s" // also the time limit of a scrape, for a busy machine
	if *scrapeFor > 30*time.Second {
		interval = "5s"
	}
	config := "scrape_configs:\n"
	for _, job := range []struct{ name, params string }{{"node", "{view: [node]}"}, {"text", "{view: [node], format: [prometheus]}"}, {"pcp", "{}"}} {
		config += fmt.Sprintf("- job_name: %s\n  scrape_interval: %s\n  scrape_timeout: %[2]s\n  params: %s\n  static_configs:\n  - targets: ['%s']\n",
			job.name, interval, job.params, strings.TrimPrefix(server.URL, "http://"))
	}
	p := pcptest.StartPrometheus(t, config)
	begin := time.Now()
	value := func(query string) float64 { return p.Value(t, query) }
	for deadline := begin.Add(time.Minute + *scrapeFor); value("min(count_over_time(up[1h]))") < 2 || value("count(up)") < 3 || time.Since(begin) < *scrapeFor; {
		if time.Now().After(deadline) {
			t.Fatalf("too few scrapes:\n%s", p.Log())
		}
		time.Sleep(100 * time.Millisecond) // between queries
	}
	scrapes, good := value("sum(count_over_time(up[1h]))"), value("sum(sum_over_time(up[1h]))")
	samples := value(`min(scrape_samples_scraped{job!="pcp"})`)
	t.Logf("%v of %v scrapes, %v samples each", good, scrapes, samples)
	if good < scrapes || samples < 250 {
		_, targets := p.Get(t, "targets")
		t.Errorf("%v of %v scrapes, %v samples each; the last ones: %s", good, scrapes, samples, targets)
	}
	if text := p.Complaints("scrape"); text != "" {
		t.Error(text)
	}
	after := cpuSeconds(t)
	for _, job := range []string{"node", "text"} {
		series := `_over_time(node_cpu_seconds_total{job="` + job + `"}[1h]))`
		first, last := value("sum(min"+series), value("sum(max"+series)
		if slack := 1.0; first < before-slack || last > after+slack || last <= first {
			t.Errorf("%s: the CPUs' seconds go from %v to %v, and in the kernel from %v to %v", job, first, last, before, after)
		}
	}
}

// cpuSeconds returns the time of all CPUs in all modes, as the kernel reports it.
func cpuSeconds(t *testing.T) (sum float64) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for _, ticks := range strings.Fields(line)[1:9] { // the guest times that follow are included in user and nice
		v, err := strconv.ParseFloat(ticks, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v / 100
	}
	return sum
}
