package collector_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmns"
)

// serveForTools serves on the loopback interface and on a unix socket until the test ends. It
// returns the argument of -h for each.
func serveForTools(t *testing.T, s *collector.Server) (tcp, unix string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(pcptest.ShortDir(t), "s")
	local, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, ln, local) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "localhost:" + ln.Addr().String()[len("127.0.0.1:"):], "unix://" + path
}

// sameOutput runs a tool against C pmcd and our collector, and compares the outputs. Either
// collector may not have noticed yet that the previous client has disconnected.
func sameOutput(t *testing.T, c, ours string, edit func(string) string, tool string, args ...string) {
	t.Helper()
	run := func(host string) string {
		out, errs, status := pcptest.Run(t, nil, "", append([]string{tool, "-h", host}, args...)...)
		text := strings.ReplaceAll(out+errs, host, "HOST")
		if edit != nil {
			text = edit(text)
		}
		return text + map[bool]string{true: "failed\n"}[status != 0]
	}
	pcptest.Retry(t, func() string {
		want, got := strings.Split(run(c), "\n"), strings.Split(run(ours), "\n")
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Sprintf("%s %q (-C +Go):\n%s", tool, args, diff)
		}
		return ""
	})
}

// TestPMCDInterop checks that names, their order, identifiers, types, domains, semantics, units
// and instances are the same as in C pmcd.
func TestPMCDInterop(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmprobe")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Args: []string{"-t", "5"}})
	host, _ := serveForTools(t, &collector.Server{})
	compare := func(edit func(string) string, tool string, args ...string) {
		t.Helper()
		sameOutput(t, pmcd.Host(), host, edit, tool, args...)
	}
	latencies := regexp.MustCompile(`(?m)^\n?pmcd\.(agent|client)\.latency\..*\n(    .*\n)*`)
	// C pmcd has no latencies.
	withoutOurs := func(s string) string { return latencies.ReplaceAllString(s, "") }
	compare(withoutOurs, "pminfo", "-dm", "pmcd")
	compare(nil, "pminfo", "-f", "pmcd.agent.type", "pmcd.agent.status", "pmcd.agent.fenced", "pmcd.agent.name", "pmcd.control", "pmcd.feature.ipv6", "pmcd.feature.unix_domain_sockets",
		"pmcd.timezone", "pmcd.zoneinfo", "pmcd.hostname", "pmcd.version", "pmcd.services", "pmcd.labels",
		"pmcd.pmie", "pmcd.pmlogger", "pmcd.client.whoami.none")
	if runtime.GOARCH != "386" { // PCP's programs may be those of amd64
		compare(nil, "pminfo", "-f", "pmcd.simabi")
	}
	values := regexp.MustCompile(` value .*`)
	compare(func(s string) string { return values.ReplaceAllString(s, "") }, "pminfo", "-f",
		"pmcd.buf", "pmcd.pdu_in", "pmcd.pdu_out", "pmcd.feature", "pmcd.cputime", "pmcd.datasize", "pmcd.openfds", "pmcd.pid", "pmcd.build")
	numbers := regexp.MustCompile(`(\?|")\d+"?`)
	lines := regexp.MustCompile(`(?m)^pmcd\.client\.latency\..*\n`)
	// The numbers of the clients differ.
	one := func(s string) string { return lines.ReplaceAllString(numbers.ReplaceAllString(s, "N"), "") }
	compare(one, "pmprobe", "-I", "pmcd.client")
	compare(one, "pmprobe", "-i", "pmcd.client")
	compare(nil, "pmprobe", "-I", "pmcd.control", "pmcd.buf", "pmcd.agent.type", "pmcd.agent.status", "pmcd.agent.fenced", "pmcd.agent.name", "pmcd.pmie", "pmcd.cputime")
	compare(nil, "pmprobe", "-i", "pmcd.control", "pmcd.buf", "pmcd.agent.type", "pmcd.agent.status", "pmcd.agent.fenced", "pmcd.agent.name", "pmcd.pmie", "pmcd.cputime")
	dates := regexp.MustCompile(`inst \[.*\] value "\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}"`)
	compare(func(s string) string { return dates.ReplaceAllString(s, "DATE") }, "pminfo", "-f", "pmcd.client.start_date")
	for _, path := range []string{"", "pmcd", "pmcd.pmie.eval"} { // PMNS_CHILD
		compare(withoutOurs, "pminfo", path)
	}
}

// TestPMCDStoreInterop checks that root's stores succeed and fail as with C pmcd.
func TestPMCDStoreInterop(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmstore")
	if os.Getuid() != 0 {
		t.Skip("only root may store into the metrics of a collector")
	}
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Args: []string{"-t", "5"}})
	_, host := serveForTools(t, &collector.Server{})
	// The C collector has had one more client.
	clients := regexp.MustCompile(`pmcd.client.(\w+) inst \[\d+ or "\d+"\]`)
	edit := func(s string) string { return clients.ReplaceAllString(s, "pmcd.client.$1 inst [N]") }
	for _, args := range [][]string{
		{"pmcd.control.debug", "0"}, {"pmcd.control.debug", "abc"}, {"pmcd.control.debug", "3000000000"},
		{"pmcd.control.timeout", "0"}, {"pmcd.control.timeout", "3000000000"}, {"pmcd.control.timeout", "7"}, {"pmcd.control.timeout", "5"},
		{"pmcd.control.traceconn", "2"}, {"pmcd.control.traceconn", "1"}, {"pmcd.control.traceconn", "0"},
		{"pmcd.control.tracepdu", "7"}, {"pmcd.control.tracepdu", "1"}, {"pmcd.control.tracepdu", "0"},
		{"pmcd.control.tracenobuf", "3"}, {"pmcd.control.tracenobuf", "0"},
		{"pmcd.control.tracebufs", "0"}, {"pmcd.control.tracebufs", "20"},
		{"pmcd.control.dumptrace", "5"}, {"pmcd.control.dumpconn", "1"}, {"pmcd.control.sighup", "0"},
		{"pmcd.control.register", "7"}, {"-i", "3", "pmcd.control.register", "42"}, {"-i", "16", "pmcd.control.register", "42"},
		{"pmcd.agent.fenced", "2"}, {"pmcd.agent.fenced", "1"}, {"-i", "pmcd", "pmcd.agent.fenced", "1"},
		{"-i", "none", "pmcd.agent.fenced", "1"}, {"pmcd.agent.fenced", "0"},
		{"pmcd.version", "1"}, {"pmcd.numagents", "1"}, {"pmcd.buf.alloc", "1"}, {"pmcd.pdu_in.total", "1"},
		{"pmcd.client.whoami", "me"}, {"pmcd.client.container", ""}, {"pmcd.client.start_date", "x"},
		{"pmcd.pmie.actions", "1"}, {"pmcd.feature.secure", "1"}, {"pmcd.none", "1"},
	} {
		sameOutput(t, "unix://"+pmcd.Socket(), host, edit, "pmstore", args...)
	}
}

// TestPMCDStoreInteropTCP checks that a client that is not known to be root may only store into
// pmcd.seqnum and the metrics about the client itself. The pmcd of PCP 6.0.3 lets every client
// store.
func TestPMCDStoreInteropTCP(t *testing.T) {
	pcptest.Need(t, "pmstore")
	host, _ := serveForTools(t, &collector.Server{})
	const denied = "pmStore: No permission to perform requested operation"
	for metric, want := range map[string]string{
		"pmcd.control.timeout": denied, "pmcd.control.sighup": denied, "pmcd.agent.fenced": denied,
		"pmcd.seqnum": "old value=2 new value=1", "pmcd.client.whoami": `old value="" new value="1"`, "pmcd.version": "Unknown or illegal metric identifier",
	} {
		out, errs, _ := pcptest.Run(t, nil, "", "pmstore", "-h", host, metric, "1")
		if !strings.Contains(out+errs, want) {
			t.Errorf("store into %s over TCP: %q, want %q", metric, out+errs, want)
		}
	}
}

// TestPMCDRecordersInterop checks that running pmlogger and pmie processes appear as with C pmcd.
func TestPMCDRecordersInterop(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmie", "pmlogger", "pminfo")
	if os.Getuid() != 0 {
		t.Skip("pmie and pmlogger change to the user of -U, which takes root")
	}
	tmp, run := pcptest.ShortDir(t), pcptest.ShortDir(t)
	for _, dir := range []string{"pmlogger", "pmie", "mmv"} {
		if err := os.Mkdir(filepath.Join(tmp, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	work := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := []string{"PCP_TMP_DIR=" + tmp, "PCP_RUN_DIR=" + run}
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Env: env})
	host, _ := serveForTools(t, &collector.Server{TmpDir: tmp, RunDir: run})

	daemon := func(name string, args ...string) {
		t.Helper()
		pcptest.Start(t, pcptest.Daemon{Path: pcptest.Tool(t, name), Args: args, Env: env, Dir: work})
	}
	daemon("pmie", "-P", "-U", "root", "-h", pmcd.Host(), "-l", filepath.Join(work, "pmie.log"), "-t", "10min",
		write("rules", "pmcd.numclients >= 0 -> print \"x\";\npmcd.numagents > 100 -> print \"y\";\n"))
	daemon("pmlogger", "-U", "root", "-h", pmcd.Host(), "-m", "a note", "-l", filepath.Join(work, "pmlogger.log"),
		"-c", write("config", "log mandatory on 10 min { pmcd.pid }\n"), filepath.Join(work, "archive"))
	var out string
	defer func() {
		if t.Failed() {
			t.Logf("pmcd shows of them:\n%s", out)
		}
	}()
	collectortest.Eventually(t, "start of pmie and pmlogger, and the end of the first evaluations,", func() bool {
		before := out
		out, _, _ = pcptest.Run(t, nil, "", "pminfo", "-h", pmcd.Host(), "-f", "pmcd.pmie.eval.actual", "pmcd.pmlogger.port")
		return strings.Contains(out, "primary") && strings.Contains(out, " value ") && !strings.Contains(out, " value 0") &&
			strings.Contains(out, "pmlogger.port\n    inst") && out == before
	})
	sameOutput(t, pmcd.Host(), host, nil, "pminfo", "-f", "pmcd.pmie", "pmcd.pmlogger")
	sameOutput(t, pmcd.Host(), host, nil, "pmprobe", "-I", "pmcd.pmie", "pmcd.pmlogger")
}

// TestPMCDAgentInterop checks that the states of an agent in another process appear as with C
// pmcd, and are in the event trace.
func TestPMCDAgentInterop(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	set := pcptest.Agents(t, "sample")
	for _, kv := range set.Env {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	names, err := pmns.Parse("names", strings.NewReader(set.PMNS))
	if err != nil {
		t.Fatal(err)
	}
	conf, err := pmcdconf.Parse("conf", strings.NewReader(set.Conf))
	if err != nil {
		t.Fatal(err)
	}
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}, Env: []string{"PMCD_RESTART_AGENTS=0"}})
	b := collector.NewFixture(t, &collector.Server{Names: names, NoRestart: true})
	host, _ := serveForTools(t, b.Server)
	b.Store("control.tracebufs", 1000)
	b.Store("control.traceconn", 1)
	if err := b.Configure(conf); err != nil {
		t.Fatal(err)
	}
	b.Store("control.tracepdu", 1)
	// C pmcd learns of the end from a request that fails: status 8. Our collector sees the
	// process exit: status 2.
	edit := func(s string) string { return strings.Replace(s, fmt.Sprint(9<<16|8), fmt.Sprint(9<<16|2), 1) }
	compare := func(args ...string) {
		t.Helper()
		sameOutput(t, pmcd.Host(), host, edit, "pminfo", args...)
	}
	compare("-f", "pmcd.agent.type", "pmcd.agent.status", "pmcd.agent.fenced", "pmcd.agent.name", "pmcd.numagents", "pmcd.seqnum", "sample.long.one")

	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pmcd.PID()))
	var child int
	if _, err2 := fmt.Sscan(string(children), &child); err != nil || err2 != nil {
		t.Skipf("cannot tell which process is the agent of the C collector: %v, %v", err, err2)
	}
	for _, pid := range []int{child, b.AgentPID(29)} {
		if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
			t.Fatalf("cannot kill process %d: %v", pid, err)
		}
	}
	for _, h := range []string{pmcd.Host(), host} {
		collectortest.Eventually(t, "notice of the agent's end by "+h, func() bool {
			pcptest.Run(t, nil, "", "pminfo", "-h", h, "-f", "sample.long.one")
			out, _, _ := pcptest.Run(t, nil, "", "pminfo", "-h", h, "-f", "pmcd.numagents")
			return strings.HasSuffix(strings.TrimSpace(out), "value 1")
		})
	}
	compare("-f", "pmcd.agent.type", "pmcd.agent.status", "pmcd.agent.fenced", "pmcd.agent.name", "pmcd.numagents", "pmcd.seqnum")
	var trace string
	collectortest.Eventually(t, "dump of the trace", func() bool {
		trace += collector.Untimed(strings.Join(b.Log.Take(), "\n"))
		return strings.Contains(trace, "event trace: starting")
	})
	for _, want := range []string{
		`->         Add PMDA: domain=29, infd=\d+, outfd=\d+\n`,
		`->         Xmit: FETCH PDU, fd=\d+\n`,
		`->         Recv: RESULT PDU, fd=\d+, numpmid=1\n`,
		`->         Drop PMDA: domain=29, infd=\d+, outfd=\d+\n`,
	} {
		if !regexp.MustCompile(want).MatchString(trace) {
			t.Errorf("no %q in the trace:\n%s", want, trace)
		}
	}
}
