package readme

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestPrograms builds every Go program of the README, each in a module of its
// own, as a reader would, and runs it for what it is. The tests of one chapter are in one module.
func TestPrograms(t *testing.T) {
	text := rootFile(t, "README.md")
	seen := map[string]int{}
	tests := map[string][]string{} // by chapter
	for i, p := range goBlock.FindAllStringSubmatchIndex(text, -1) {
		src := text[p[2]:p[3]]
		kind, run := "monitor", runMonitor
		switch {
		case strings.Contains(src, "*testing.T"):
			before := text[:p[0]]
			chapter, _, _ := strings.Cut(before[strings.LastIndex(before, "\n## ")+1:], "\n")
			tests[chapter] = append(tests[chapter], src)
			seen["test"]++
			continue
		case strings.Contains(src, "record.Create("):
			shows, _, _ := strings.Cut(text[p[1]:], "\n## ")
			kind, run = "record mode", func(t *testing.T, src string) { runRecordMode(t, src, shows) }
		case strings.Contains(src, "pmapi.Open("):
			kind, run = "archive", runArchive
		case strings.Contains(src, ".OpenSource("):
			kind, run = "any source", runAnySource
		case strings.Contains(src, "mmv.Registry"):
			shows, _, _ := strings.Cut(text[p[1]:], "```go\n")
			kind, run = "instrumented", func(t *testing.T, src string) { runInstrumented(t, src, shows) }
		case strings.Contains(src, "logger.Run("):
			kind, run = "recorder", runRecorder
		case strings.Contains(src, "local.Open("):
			kind, run = "local", runLocal
		case strings.Contains(src, "trace.Client"):
			kind, run = "traced", runTraced
		case strings.Contains(src, "pmdatrace.New"):
			kind, run = "trace agent", runTraceAgent
		case strings.Contains(src, "collector.Server"):
			kind, run = "collector", runCollector
		case strings.Contains(src, "pmda.Main("):
			kind, run = "agent", runAgent
		}
		seen[kind]++
		t.Run(fmt.Sprint(i+1, " ", kind), func(t *testing.T) { run(t, src) })
	}
	for chapter, sources := range tests {
		t.Run(strings.TrimPrefix(chapter, "## "), func(t *testing.T) { runTests(t, sources) })
	}
	for _, kind := range []string{"monitor", "any source", "archive", "agent", "collector", "local", "recorder", "record mode", "instrumented", "traced", "trace agent", "test"} {
		if seen[kind] == 0 {
			t.Errorf("the README has programs for %v, and none of kind %s", seen, kind)
		}
	}
}

// build makes a program, in a module of its own that uses this one.
func build(t *testing.T, src string) (program string) {
	t.Helper()
	dir := module(t, "main.go", src)
	program = filepath.Join(dir, "reader")
	runGo(t, dir, "vet", "-mod=mod", ".")
	runGo(t, dir, "build", "-mod=mod", "-o", program, ".")
	return program
}

// runTests runs tests, each of which is a source file of one module, and each of which takes no time: theirs is virtual.
func runTests(t *testing.T, sources []string) {
	dir := module(t, "main_test.go", sources[0])
	for i, src := range sources[1:] {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("more%d_test.go", i)), []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runGo(t, dir, "vet", "-mod=mod", ".")
	out := runGo(t, dir, "test", "-mod=mod", "-v", ".")
	passed := regexp.MustCompile(`(?m)^--- PASS: \w+ \((.*)s\)$`).FindAllStringSubmatch(out, -1)
	if len(passed) < len(sources) {
		t.Errorf("%d tests of %d have run:\n%s", len(passed), len(sources), out)
	}
	for _, p := range passed {
		if took, err := strconv.ParseFloat(p[1], 64); err != nil || took > 4 {
			t.Errorf("took %s s (%v):\n%s", p[1], err, out)
		}
	}
}

// runGo runs the go command in a directory, and returns what it prints.
func runGo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// module makes a module that uses this one, with one source file.
func module(t *testing.T, file, src string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string]string{
		file:     src,
		"go.sum": rootFile(t, "go.sum"),
		"go.mod": strings.ReplaceAll(rootFile(t, "go.mod"), "module github.com/pcp-go/pcp", "module example.com/reader") +
			"\nrequire github.com/pcp-go/pcp v0.0.0\nreplace github.com/pcp-go/pcp => " + moduleRoot(t) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// somewhere replaces the address in a program by one with a free port.
func somewhere(t *testing.T, src string) (there, addr string) {
	t.Helper()
	addr = fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	there = regexp.MustCompile(`"localhost(:\d+)?"`).ReplaceAllLiteralString(src, `"`+addr+`"`)
	if there == src {
		t.Fatalf("no address in the program:\n%s", src)
	}
	return there, addr
}

// runMonitor runs a program that prints what examples/pmcd has.
func runMonitor(t *testing.T, src string) {
	if runtime.GOOS != "linux" && strings.Contains(src, "kernel.") {
		t.Skip("it needs the metrics of a Linux kernel")
	}
	src, addr := somewhere(t, src)
	_, port, _ := strings.Cut(addr, ":")
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"), Args: []string{"-p", port, "-s", filepath.Join(pcptest.ShortDir(t), "s")},
		Dir: t.TempDir(), Addr: addr, Greets: true})
	p := pcptest.Start(t, pcptest.Daemon{Path: build(t, src)})
	want := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d .*\d`)
	within(t, "two samples", func() error {
		if n := len(want.FindAllString(p.Log(), -1)); n < 2 {
			return fmt.Errorf("%d samples:\n%s", n, p.Log())
		}
		return nil
	})
	// One that prints the errors of its items says why there is no rate at first.
	if why := "a rate takes two samples"; strings.Contains(src, "forks.Err()") && !strings.Contains(p.Log(), why) {
		t.Errorf("it does not print %q:\n%s", why, p.Log())
	}
	if bad := regexp.MustCompile(`(?i)error|unknown|panic`).FindString(p.Log()); bad != "" {
		t.Errorf("it prints %q:\n%s", bad, p.Log())
	}
}

// archivePath is an archive that is recorded for tests.
func archivePath(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../archive/testdata/v3")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// replace replaces what a program has to have.
func replace(t *testing.T, src string, pairs ...string) string {
	t.Helper()
	for p := range slices.Chunk(pairs, 2) {
		if !strings.Contains(src, p[0]) {
			t.Fatalf("the program does not have %s", p[0])
		}
		src = strings.ReplaceAll(src, p[0], p[1])
	}
	return src
}

// runArchive runs a program that reads an archive.
func runArchive(t *testing.T, src string) {
	src = replace(t, src, `"/var/log/pcp/pmlogger/web1"`, strconv.Quote(archivePath(t)), "kernel.all.load", "sample.bin",
		"time.Minute", "100*time.Millisecond")
	want, least := " 300\n", 5
	if strings.Contains(src, ".Columns(") {
		want, least = "above 4 in 10 of 11 minutes\n", 9
	} else {
		src = replace(t, src, "1 minute", "bin-300")
	}
	out, errs, status := pcptest.Run(t, nil, "", build(t, src))
	if rows := strings.Count(out, want); status != 0 || errs != "" || rows < least {
		t.Errorf("exit status %d, %d rows, %s\n%s", status, rows, errs, out)
	}
}

// runLocal runs a program that has the agent of Linux.
func runLocal(t *testing.T, src string) {
	program := build(t, src)
	if runtime.GOOS != "linux" {
		return
	}
	out, errs, status := pcptest.Run(t, nil, "", program)
	if !regexp.MustCompile(`^\d+(\.\d+)? <nil>\n$`).MatchString(out) || status != 0 || errs != "" {
		t.Errorf("exit status %d, %s\n%s", status, errs, out)
	}
}

// runAnySource runs a program on a collector, as a monitor, and then on two sources that have the same metric, a collector and
// an archive, with nothing else changed than the name of the source.
func runAnySource(t *testing.T, src string) {
	runMonitor(t, src)
	src = replace(t, src, "kernel.all.load", "sample.bin", "1 minute", "bin-300", "time.Second", "100*time.Millisecond")
	a := &pmda.Agent{Name: "sample", Domain: 400}
	pmda.Register(a, pmda.Metric[uint32]{Name: "sample.bin", InDom: a.AddInDom("bin", "bin-300"),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 300, nil }})
	s := &collector.Server{}
	if err := s.Add(a); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	row := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d 300\.00 <nil>$`)
	for _, source := range []string{ln.Addr().String(), archivePath(t)} {
		p := pcptest.Start(t, pcptest.Daemon{Path: build(t, replace(t, src, `"localhost"`, strconv.Quote(source)))})
		within(t, "five rows of "+source, func() error {
			if n := len(row.FindAllString(p.Log(), -1)); n < 5 {
				return fmt.Errorf("%d rows:\n%s", n, p.Log())
			}
			return nil
		})
	}
}

// runAgent runs an agent as pmcd does.
func runAgent(t *testing.T, src string) {
	event := func() {}
	if strings.Contains(src, "NewEventQueue") { // one for each request
		var addr string
		src, addr = somewhere(t, src)
		event = func() {
			if r, err := http.Get("http://" + addr + "/"); err == nil {
				r.Body.Close()
			}
		}
	}
	program := build(t, src)
	s := &collector.Server{AgentHelloTimeout: time.Minute} // a busy machine starts processes slowly
	t.Cleanup(func() { s.Close() })
	domain := regexp.MustCompile(`Domain: +(\d+)`).FindStringSubmatch(src)
	if domain == nil {
		t.Fatal("no domain")
	}
	conf := filepath.Join(t.TempDir(), "pmcd.conf")
	if err := os.WriteFile(conf, []byte("cache "+domain[1]+" pipe binary "+program+" -d "+domain[1]+" -l "+program+".log\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := pmcdconf.Load(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.StartAgent(cfg.Agents[0]); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var d pdu.Domain
	fmt.Sscan(domain[1], &d)
	// Names come from pmcd's own files here: pminfo gets the PMID.
	within(t, "a value", func() error {
		event()
		return hasValue(t, c, pdu.MakePMID(d, 0, 0))
	})
}

// runCollector runs a program with a collector, and fetches all its metrics.
func runCollector(t *testing.T, src string) {
	src, addr := somewhere(t, src)
	pcptest.Start(t, pcptest.Daemon{Path: build(t, src), Addr: addr, Greets: true})
	c, err := pmapi.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if labels, err := c.ContextLabels(t.Context()); err != nil || labels.String() == "" {
		t.Errorf("context labels %v, %v", labels, err)
	} else if id, err := os.ReadFile("/etc/machine-id"); err == nil && !strings.Contains(labels.String(), strings.TrimSpace(string(id))) {
		t.Errorf("context labels %v without the machine's id", labels)
	}
	names, err := c.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, name := range names {
		if strings.HasPrefix(name, "pmcd.") {
			continue
		}
		ids, err := c.Lookup(t.Context(), []string{name})
		if err != nil {
			t.Fatal(err)
		}
		if hasValue(t, c, ids[0]) == nil {
			own++
		}
	}
	if own == 0 {
		t.Errorf("no metric of its own has a value, of %d names", len(names))
	}
}

// hasValue fetches a metric.
func hasValue(t *testing.T, c *pmapi.Context, id pdu.PMID) error {
	var r pdu.Result
	if err := c.Fetch(t.Context(), []pdu.PMID{id}, &r); err != nil {
		return err
	}
	if s := r.At(0); s.Err() != nil || s.Len() == 0 {
		return fmt.Errorf("%v has %d values: %w", id, s.Len(), s.Err())
	}
	return nil
}

// within waits for something to come true.
func within(t *testing.T, what string, is func() error) {
	t.Helper()
	var err error
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(50 * time.Millisecond) {
		if err = is(); err == nil {
			return
		}
	}
	t.Errorf("%s: %v", what, err)
}

// TestLook runs the lines of the README that look at the collector with the tools
// that are here. Of what they print, the lines without values are as it shows.
func TestLook(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it shows metrics of a Linux kernel")
	}
	text := rootFile(t, "README.md")
	port := fmt.Sprint(pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"), Args: []string{"-p", port, "-s", filepath.Join(pcptest.ShortDir(t), "s")},
		Dir: t.TempDir(), Addr: "localhost:" + port, Greets: true})
	lines := regexp.MustCompile(`(?m)^\$ go run \./(examples/\w+) (-h localhost .*)\n((?:[^$`+"`"+`].*\n|\n)*)`).FindAllStringSubmatch(text, -1)
	if len(lines) < 5 {
		t.Fatalf("found %d lines", len(lines))
	}
	for _, l := range lines {
		args, _, _ := strings.Cut(l[2], " #")
		args = strings.Replace(args, "localhost", "localhost:"+port, 1)
		out, errs, status := pcptest.Run(t, nil, "", append([]string{pcptest.Build(t, "./"+l[1])}, strings.Fields(args)...)...)
		if status != 0 || errs != "" || out == "" {
			t.Errorf("%s %s: exit status %d\n%s%s", l[1], args, status, out, errs)
		}
		for shown := range strings.Lines(l[3]) {
			if shown == "\n" || strings.HasPrefix(shown, "host:") || regexp.MustCompile(`\d *\n|value|\d\.`).MatchString(shown) {
				continue
			}
			if !strings.Contains(out, shown) {
				t.Errorf("%s %s prints no line %q:\n%s", l[1], args, shown, out)
			}
		}
	}
}
