package readme

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// The programs of README.md are compiled into the test program: the function NAME of NAME_test.go
// is the function main of a program. The test program runs it when programVar names it, with the
// address of addressVar in place of the one in README.md.
const (
	programVar = "README_PROGRAM"
	addressVar = "README_ADDRESS"
)

// maxProgram is the maximum number of lines of a program.
const maxProgram = 20

var (
	programs = map[string]func(){
		"read": read, "agent": agent, "instrument": instrument, "embed": embed, "record": record, "replay": replay,
	}
	address = os.Getenv(addressVar)
)

func TestMain(m *testing.M) {
	if run := programs[os.Getenv(programVar)]; run != nil {
		run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var (
	goBlock     = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	addressText = regexp.MustCompile(`"localhost(:\d+)?"`)
	dialCall    = regexp.MustCompile(`pmapi\.Dial\(.*?\), address\)`)
	openCall    = regexp.MustCompile("`(pmapi\\.Open\\(.*?\\), .*?\\))`")
)

// TestPrograms compares the programs of README.md with the functions that TestRun runs.
func TestPrograms(t *testing.T) {
	text := rootFile(t, "README.md")
	var sources []string
	for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
		if n := strings.Count(block[1], "\n"); n > maxProgram {
			t.Errorf("a program has %d lines, want at most %d:\n%s", n, maxProgram, block[1])
		}
		sources = append(sources, addressText.ReplaceAllString(block[1], "address"))
	}
	names := []string{"read", "agent", "instrument", "embed", "record", "replay"}
	if open := openCall.FindStringSubmatch(text); open == nil || len(sources) != len(names)-1 {
		t.Fatalf("found %d programs and the call %q for the replay, want %d programs", len(sources), open, len(names)-1)
	} else { // The replay is the first program with another source.
		sources = append(sources, dialCall.ReplaceAllLiteralString(sources[0], open[1]))
	}
	for i, name := range names {
		file := name + "_test.go"
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Replace(sources[i], "package main\n", "package readme\n", 1)
		got = strings.Replace(got, "func main() {", "func "+name+"() {", 1)
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
			t.Errorf("program %d differs from %s (-file +README.md):\n%s", i+1, file, d)
		}
	}
}

// stampedLoad matches a row of the first program: the time of the sample and the value.
const stampedLoad = `(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d 0\.25 <nil>$`

// TestRun runs the programs in processes of the test program, with a collector in this process.
func TestRun(t *testing.T) {
	t.Run("read", func(t *testing.T) {
		p := start(t, "read", pcptest.Daemon{}, serveLoad(t))
		within(t, func() error { return match(p.Log(), stampedLoad) })
	})
	t.Run("agent", runAgent)
	t.Run("instrument", runInstrument)
	t.Run("embed", func(t *testing.T) {
		addr := freeAddress(t)
		start(t, "embed", pcptest.Daemon{Addr: addr, Greets: true}, addr)
		c, err := pmapi.Dial(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n, err := fetch(t, c, "go.goroutines"); n == 0 || err != nil {
			t.Errorf("go.goroutines is %d, %v", n, err)
		}
	})
	t.Run("record", func(t *testing.T) {
		dir := t.TempDir()
		start(t, "record", pcptest.Daemon{Dir: dir}, serveLoad(t))
		within(t, func() error { // The archive grows while another program replays it.
			_, log, _ := pcptest.RunIn(t, dir, []string{programVar + "=replay"}, "", testProgram(t))
			return match(log, stampedLoad)
		})
	})
}

// runAgent runs the agent under a collector.
func runAgent(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "pmcd.conf")
	log := filepath.ToSlash(conf) + ".log"
	line := fmt.Sprintf("cache 400 pipe binary %s -d 400 -l %s\n", testProgram(t), log)
	if err := os.WriteFile(conf, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := pmcdconf.Load(conf)
	if err != nil {
		t.Fatal(err)
	}
	s := &collector.Server{AgentHelloTimeout: time.Minute} // A busy machine starts processes slowly.
	t.Cleanup(func() { s.Close() })
	t.Setenv(programVar, "agent")
	if err := s.StartAgent(cfg.Agents[0]); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var r pdu.Result // The agent's name space is in a file, so the test asks for the PMID.
	if err := c.Fetch(t.Context(), []pdu.PMID{pdu.MakePMID(400, 0, 0)}, &r); err != nil {
		t.Fatal(err)
	}
	if r.At(0).Err() != nil || r.At(0).Len() != 1 {
		t.Errorf("the agent returns %d values, %v", r.At(0).Len(), r.At(0).Err())
	}
}

// runInstrument sends a request to the instrumented program and reads its file.
func runInstrument(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	start(t, "instrument", pcptest.Daemon{Addr: addr, Env: []string{"PCP_TMP_DIR=" + dir}}, addr)
	reply, err := http.Get("http://" + addr + "/order")
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	c := local(t, pmdammv.New(pmdammv.Options{Dir: filepath.Join(dir, "mmv")}))
	if n, err := fetch(t, c, "mmv.shop.orders"); n != 1 || err != nil {
		t.Errorf("mmv.shop.orders is %d, %v", n, err)
	}
}

// testProgram returns the path of the test program.
func testProgram(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(program)
}

// start starts a program of README.md with an address.
func start(t *testing.T, name string, d pcptest.Daemon, addr string) *pcptest.Process {
	t.Helper()
	d.Path = testProgram(t)
	d.Env = append(d.Env, programVar+"="+name, addressVar+"="+addr)
	return pcptest.Start(t, d)
}

// freeAddress returns an address that a program can listen on.
func freeAddress(t *testing.T) string {
	return fmt.Sprintf("127.0.0.1:%d", pcptest.FreePort(t))
}

// local returns a context on a collector in this process with one agent.
func local(t *testing.T, a *pmda.Agent) *pmapi.Context {
	t.Helper()
	s := &collector.Server{}
	t.Cleanup(func() { s.Close() })
	if err := s.Add(a); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// serveLoad serves a load average of 0.25 on every operating system and returns the address.
func serveLoad(t *testing.T) string {
	t.Helper()
	a := &pmda.Agent{Name: "kernel", Domain: 400}
	pmda.Register(a, pmda.Metric[float32]{
		Name: "kernel.all.load", InDom: a.AddInDom("loads", "1 minute"),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (float32, error) { return 0.25, nil },
	})
	s := &collector.Server{}
	if err := s.Add(a); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), ln) }()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return ln.Addr().String()
}

// fetch returns the value of a metric without instances.
func fetch(t *testing.T, c *pmapi.Context, metric string) (uint64, error) {
	g := c.Group()
	v := pmapi.Add[uint64](g, metric, pmapi.Scale("instant"))
	if _, err := g.Fetch(t.Context()); err != nil {
		return 0, err
	}
	return v.Value()
}

// match reports whether a text matches an expression.
func match(text, expr string) error {
	if !regexp.MustCompile(expr).MatchString(text) {
		return fmt.Errorf("no line matches %s:\n%s", expr, text)
	}
	return nil
}

// within repeats a check until it succeeds, for at most a minute.
func within(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Error(err)
}
