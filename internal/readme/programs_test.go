package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestPrograms builds every Go program of the README, each in a module of its
// own, as a reader would, and runs it for what it is.
func TestPrograms(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, p := range goBlock.FindAllStringSubmatch(string(text), -1) {
		kind, run := "monitor", runMonitor
		switch src := p[1]; {
		case strings.Contains(src, "collector.Server"):
			kind, run = "collector", runCollector
		case strings.Contains(src, "pmda.Main("):
			kind, run = "agent", runAgent
		case strings.Contains(src, "*testing.T"):
			kind, run = "test", runTest
		}
		seen[kind]++
		t.Run(fmt.Sprint(i+1, " ", kind), func(t *testing.T) { run(t, p[1]) })
	}
	if seen["monitor"] == 0 || seen["agent"] == 0 || seen["collector"] == 0 || seen["test"] == 0 {
		t.Errorf("the README has programs for %v, want some for a monitor, an agent, a collector and a test", seen)
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

// runTest runs a test.
func runTest(t *testing.T, src string) {
	dir := module(t, "main_test.go", src)
	runGo(t, dir, "vet", "-mod=mod", ".")
	if out := runGo(t, dir, "test", "-mod=mod", "-v", "."); !strings.Contains(out, "--- PASS") {
		t.Errorf("no test has run:\n%s", out)
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
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, content := range map[string]string{
		file:     src,
		"go.sum": string(sums),
		"go.mod": strings.ReplaceAll(string(mod), "module github.com/pcp-go/pcp", "module example.com/reader") +
			"\nrequire github.com/pcp-go/pcp v0.0.0\nreplace github.com/pcp-go/pcp => " + root + "\n",
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
	if bad := regexp.MustCompile(`(?i)error|unknown|panic`).FindString(p.Log()); bad != "" {
		t.Errorf("it prints %q:\n%s", bad, p.Log())
	}
}

// runAgent runs an agent as pmcd does.
func runAgent(t *testing.T, src string) {
	program := build(t, src)
	s := &collector.Server{}
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
	within(t, "a value", func() error { return hasValue(t, c, pdu.MakePMID(d, 0, 0)) })
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
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"), Args: []string{"-p", port, "-s", filepath.Join(pcptest.ShortDir(t), "s")},
		Dir: t.TempDir(), Addr: "localhost:" + port, Greets: true})
	lines := regexp.MustCompile(`(?m)^\$ go run \./(examples/\w+) (-h localhost .*)\n((?:[^$`+"`"+`].*\n|\n)*)`).FindAllStringSubmatch(string(text), -1)
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
