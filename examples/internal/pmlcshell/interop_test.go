package pmlcshell_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

var all = flag.Bool("all", false, "run all scripts with all pairs of clients and loggers")

// loggerConf is the initial configuration of the loggers.
const loggerConf = `log mandatory on every 500 msec { sample.colour [ "red" ] sample.bin [ 100 200 ] }
log advisory on every 200 msec { sample.drift sample.load }
log mandatory on once { sample.long.one }
log mandatory off { sample.long.ten }
[access]
disallow .* : all;
disallow :* : all;
allow localhost : all;
allow local:* : all;
`

// A running logger, with its process identifier, port and directory.
type running struct {
	pid, port int
	dir       string
	env       []string
}

func (r running) socket() string { return pmlc.SocketPath(filepath.Join(r.dir, "run"), r.pid) }

// newDir makes the directories of a logger.
func newDir(t *testing.T) running {
	t.Helper()
	dir := pcptest.ShortDir(t)
	for _, sub := range []string{"run", "tmp/pmlogger", "log"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	port := pcptest.FreePort(t)
	return running{port: port, dir: dir, env: []string{"PCP_TMP_DIR=" + filepath.Join(dir, "tmp"), "PCP_RUN_DIR=" + filepath.Join(dir, "run"),
		"PCP_LOG_DIR=" + filepath.Join(dir, "log"), "PMLOGGER_LOCAL=1", "PMLOGGER_PORT=" + strconv.Itoa(port), "HOME=" + dir, "TZ=UTC"}}
}

// startC starts a C pmlogger.
func startC(t *testing.T, host string) running {
	t.Helper()
	r := newDir(t)
	conf := filepath.Join(r.dir, "conf")
	if err := os.WriteFile(conf, []byte(loggerConf), 0o644); err != nil {
		t.Fatal(err)
	}
	p := pcptest.Start(t, pcptest.Daemon{Path: "pmlogger", Args: []string{"-h", host, "-c", conf, "-l", filepath.Join(r.dir, "log", "pmlogger.log"),
		filepath.Join(r.dir, "a")}, Env: r.env, Dir: r.dir, Addr: net.JoinHostPort("localhost", strconv.Itoa(r.port))})
	r.pid = p.PID()
	return r
}

// startOurs runs a logger and its server in this process.
func startOurs(t *testing.T, host string) running {
	t.Helper()
	r := newDir(t)
	r.pid = os.Getpid()
	ctx, cancel := context.WithCancel(t.Context())
	conf, err := logconf.Options{}.Parse("conf", strings.NewReader(loggerConf))
	if err != nil {
		t.Fatal(err)
	}
	access, err := pmlc.NewAccess(conf.Rules)
	if err != nil {
		t.Fatal(err)
	}
	src, err := pmapi.Dial(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	l, err := logger.Options{Config: loggerConf, Base: filepath.Join(r.dir, "a")}.New(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	listeners, port, err := pmlc.Listen(ctx, pmlc.ListenOptions{Port: r.port, Local: true, Dir: filepath.Join(r.dir, "run")})
	if err != nil {
		t.Fatal(err)
	}
	r.port = port
	if err := pmlc.WriteMap(pmlc.MapDir(filepath.Join(r.dir, "tmp")), pmlc.Process{PID: r.pid, Port: port, Host: "h", Archive: "/a"}, false); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() { done <- l.Run(ctx) }()
	go func() { done <- (&pmlc.Server{Logger: l, Source: host, Access: access}).Serve(ctx, listeners...) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
		src.Close()
	})
	return r
}

// settle waits until everything is recorded that the configuration asks for.
func (r running) settle(t *testing.T, host string) {
	t.Helper()
	src, err := pmapi.Dial(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ids, err := src.Lookup(t.Context(), []string{"sample.colour", "sample.bin", "sample.drift", "sample.load", "sample.long.one"})
	if err != nil {
		t.Fatal(err)
	}
	targets := []logger.Target{{PMID: ids[0], Insts: []pdu.InstID{0}}, {PMID: ids[1], Insts: []pdu.InstID{100, 200}}}
	for _, id := range ids[2:] {
		targets = append(targets, logger.Target{PMID: id, Insts: []pdu.InstID{pdu.NoInst}})
	}
	pcptest.Retry(t, func() string {
		c, err := pmlc.Dial(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)))
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		states, err := c.Enquire(t.Context(), targets)
		if err != nil {
			return err.Error()
		}
		for _, s := range states {
			for _, v := range s.Values {
				if !v.InLog || !v.Available {
					return fmt.Sprintf("%v of %v is not recorded", v.Inst, s.PMID)
				}
			}
		}
		return ""
	})
}

// volatile matches the parts that differ between two runs.
var volatile = []struct {
	*regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(current time|last log entry|log started) .*\d\d:\d\d:\d\d\.\d+ \d+`), "$1 TIME"},
	{regexp.MustCompile(`log size         \d+`), "log size N"},
	{regexp.MustCompile(`(log volume       |New log volume )\d+`), "${1}V"},
	{regexp.MustCompile(`\((\d+\.\d{3,}|PM_INDOM_NULL)\)`), "(NULL)"}, // pmlc prints any number for no instance domain
}

// transcript returns a client's output for a script, on both streams.
func (r running) transcript(t *testing.T, client, script string, args ...string) string {
	t.Helper()
	noPort := strconv.Itoa(pcptest.FreePort(t))
	mask := strings.NewReplacer("SOCKET", r.socket(), "NOPORT", noPort, "PORT", strconv.Itoa(r.port), "PID", strconv.Itoa(r.pid))
	unmask := strings.NewReplacer(r.socket(), "SOCKET", filepath.Base(r.dir), "DIR", noPort, "NOPORT", strconv.Itoa(r.port), "PORT", strconv.Itoa(r.pid), "PID")
	argv := append([]string{"sh", "-c", `exec "$0" "$@" 2>&1`, client}, args...)
	out, _, status := pcptest.Run(t, r.env, mask.Replace(script), argv...)
	for _, v := range volatile {
		out = v.ReplaceAllString(out, v.with)
	}
	return unmask.Replace(out) + fmt.Sprintf("exit status %d\n", status)
}

// TestInteropTranscripts compares what C's pmlc and ours print of scripts, with C's pmlogger and
// ours.
func TestInteropTranscripts(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "pmcd", "pmlogger", "pmlc")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	ours, theirs := pcptest.Build(t, "./examples/pmlc"), pcptest.Tool(t, "pmlc")
	scripts, err := filepath.Glob("testdata/*.pmlc")
	if err != nil {
		t.Fatal(err)
	}
	type pair struct {
		name   string
		client string
		start  func(*testing.T, string) running
	}
	pairs := []pair{{"our client, our logger", ours, startOurs}, {"our client, C's logger", ours, startC}, {"C's client, our logger", theirs, startOurs}}
	if !*all {
		scripts, pairs = []string{"testdata/requests.pmlc"}, pairs[:1]
	}
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			run := func(client string, start func(*testing.T, string) running) string {
				r := start(t, pmcd.Host())
				r.settle(t, pmcd.Host())
				return r.transcript(t, client, "sleep 100\n"+string(text), "-e")
			}
			pcptest.Retry(t, func() string {
				want := run(theirs, startC)
				for _, tt := range pairs {
					if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(run(tt.client, tt.start), "\n")); diff != "" {
						return fmt.Sprintf("%s (-C +ours):\n%s", tt.name, diff)
					}
				}
				return ""
			})
		})
	}
}
