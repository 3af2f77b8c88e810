package mistakes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/proxy"
	"github.com/pcp-go/pcp/pmapi/webapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// ended is the text that the test writes to the terminal after a program has ended.
const ended = "\x00"

// Test makes the mistakes of one program, on a terminal and in a directory with files. It checks
// the text that the user sees. main runs the program in this process and returns its exit status.
func Test(t *testing.T, program string, main func(args []string) (status int)) {
	p := newPlaces(t)
	// SIGTERM must end the programs and not the test.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	defer signal.Stop(signals)
	some := false
	for _, m := range table {
		if m.program != program {
			continue
		}
		some = true
		t.Run(m.name, func(t *testing.T) {
			t.Chdir(p.newDir(t))
			for _, name := range []string{"PCP_RUN_DIR", "PCP_TMP_DIR", "PCP_LOG_DIR"} {
				t.Setenv(name, ".")
			}
			t.Setenv("PCP_DERIVED_CONFIG", "")
			t.Setenv("PCP_TLSCONF_PATH", m.tls)
			t.Setenv("PMLOGGER_PORT", "0")
			t.Setenv("TZ", "UTC")
			status, shown := onTerminal(t, m, func() int { return main(strings.Fields(p.expand(m.args))) })
			rest := shown
			for _, want := range m.want {
				_, after, ok := strings.Cut(rest, p.expand(want))
				if !ok {
					t.Errorf("%s %s: status %d, shown:\n%s\nwant %q in\n%s", program, p.expand(m.args), status, shown, p.expand(want), rest)
					break
				}
				rest = after
			}
		})
	}
	if !some {
		t.Errorf("the table has no mistakes with %s", program)
	}
}

// onTerminal runs a program whose output is a terminal, and returns the text on the terminal.
func onTerminal(t *testing.T, m mistake, run func() int) (status int, shown string) {
	user, program := pty.Open(t)
	read := make(chan string, 1)
	go func() {
		var all strings.Builder
		buf := make([]byte, 4096)
		for until := m.until; ; {
			n, err := user.Read(buf)
			all.Write(buf[:n])
			text := all.String()
			if until != "" && strings.Contains(text, until) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
				until = ""
			}
			if err != nil || strings.Contains(text, ended) {
				read <- strings.ReplaceAll(text, "\r\n", "\n")
				return
			}
		}
	}()
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = program, program
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	status = run()
	fmt.Fprint(program, ended)
	return status, <-read
}

// places are the values of the variables of a command line.
type places struct {
	vars map[string]string
}

// expand replaces the variables of a text:
//
//	$COLLECTOR  a collector with the metric demo.load, as HOST:PORT
//	$SECURE     one with TLS, whose certificate is that of another host
//	$GATEWAY    a gateway that lets clients connect to no collector
//	$BUSY       a port that is in use
//	$FREE       a port that is not in use
//	$PMCD       options of a pmcd in the foreground
//	$LOGGER     options of a pmlogger that makes one record
//	$CA         the certificate of an authority
//	$CERT       a certificate
//	$KEY        the key of another one
func (p *places) expand(text string) string {
	return os.Expand(text, func(name string) string { return p.vars[name] })
}

func newPlaces(t *testing.T) *places {
	t.Helper()
	ca := tlstest.NewCA(t, "ca")
	cert := ca.Issue(t, "web1", tlstest.Leaf{Hosts: []string{"web1.example"}})
	other := ca.Issue(t, "web2", tlstest.Leaf{})
	collector := serveCollector(t, nil)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { busy.Close() })
	_, port, _ := net.SplitHostPort(busy.Addr().String())
	p := &places{map[string]string{
		"COLLECTOR": collector,
		"SECURE":    serveCollector(t, &tls.Config{Certificates: []tls.Certificate{cert.TLS}}),
		"GATEWAY":   serveGateway(t),
		"BUSY":      port,
		"FREE":      strconv.Itoa(pcptest.FreePort(t)),
		"CA":        ca.CertFile,
		"CERT":      cert.CertFile,
		"KEY":       other.KeyFile,
	}}
	p.vars["PMCD"] = "-f -p " + p.vars["FREE"] + " -s socket -l - -n pmns"
	p.vars["LOGGER"] = "-s 1 -h " + collector + " -l -"
	return p
}

// newDir returns a directory with the files, the archive web1, and two damaged copies. The last
// bytes are missing from the volume of cut and from the metadata of cutmeta.
func (p *places) newDir(t *testing.T) string {
	t.Helper()
	dir := pcptest.ShortDir(t)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(p.expand(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	im, err := logimport.New(filepath.Join(dir, "web1"), archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err == nil {
		_, err = im.AddMetric("demo.load", pdu.Desc{Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
	}
	start := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{start, start.Add(time.Minute)} {
		if err == nil {
			err = errors.Join(im.PutText("demo.load", "", "1"), im.Write(at))
		}
	}
	if err == nil {
		err = im.Close()
	}
	for base, damaged := range map[string]string{"cut": ".0", "cutmeta": ".meta"} {
		for _, suffix := range []string{".0", ".meta", ".index"} {
			var b []byte
			if err == nil {
				b, err = os.ReadFile(filepath.Join(dir, "web1"+suffix))
			}
			if suffix == damaged {
				b = b[:max(0, len(b)-4)]
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, base+suffix), b, 0o600)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serveCollector serves the metric demo.load and returns HOST:PORT.
func serveCollector(t *testing.T, config *tls.Config) string {
	t.Helper()
	a := &pmda.Agent{Name: "demo", Domain: 250}
	pmda.Register(a, pmda.Metric[float64]{Name: "demo.load", Sem: pdu.SemInstant,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (float64, error) { return 1, nil }})
	srv := &collector.Server{TLS: config}
	if err := srv.Add(a); err != nil {
		t.Fatal(err)
	}
	return serve(t, func(ctx context.Context, l net.Listener) error { return srv.Serve(ctx, l) })
}

// serveGateway serves HTTP and PCP's clients on one port, as pmproxy does.
func serveGateway(t *testing.T) string {
	t.Helper()
	gw := &webapi.Gateway{Dialer: &pmapi.Dialer{}, Allow: []string{"localhost"}}
	t.Cleanup(func() { gw.Close() })
	clients := &proxy.Proxy{Allow: gw.MayConnect}
	t.Cleanup(func() { clients.Close() })
	srv := &http.Server{Handler: gw}
	return serve(t, func(ctx context.Context, l net.Listener) error {
		defer context.AfterFunc(ctx, func() { srv.Close() })()
		if err := srv.Serve(clients.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// serve runs a server until the test ends and returns its address.
func serve(t *testing.T, run func(context.Context, net.Listener) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return "localhost:" + port
}
