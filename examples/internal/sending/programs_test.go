package sending_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
)

// The same tests are for both programs.
var programs = []string{"pcp2prometheus", "pcp2otlp"}

func forEach(t *testing.T, test func(t *testing.T, program string)) {
	for _, name := range programs {
		t.Run(name, func(t *testing.T) { test(t, pcptest.Build(t, "./examples/"+name)) })
	}
}

// collector is the address of ours.
func collector(t *testing.T) string {
	port := strconv.Itoa(pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmcd"),
		Args: []string{"-p", port, "-s", filepath.Join(pcptest.ShortDir(t), "s")}, Dir: t.TempDir(), Addr: "localhost:" + port, Greets: true})
	return "localhost:" + port
}

// A receiver takes requests.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	status func(n int) int // of the request n, which is taken if that is 200; nil means 200
	header []http.Header
	bodies [][]byte // that were taken
}

func (r *receiver) answer(status func(n int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// got is the headers of all requests, and the bodies of those that were taken.
func (r *receiver) got() ([]http.Header, [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.header), slices.Clone(r.bodies)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	status := http.StatusOK
	if r.status != nil {
		status = r.status(len(r.header))
	}
	r.header = append(r.header, req.Header)
	if status == http.StatusOK && err == nil {
		r.bodies = append(r.bodies, body)
	}
	w.WriteHeader(status)
}

func (r *receiver) requests() int {
	header, _ := r.got()
	return len(header)
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// run runs a program to its end.
func run(t *testing.T, argv ...string) (stderr string, status int) {
	t.Helper()
	stdout, stderr, status := pcptest.Run(t, nil, "", argv...)
	if stdout != "" {
		t.Errorf("%v: on standard output: %s", argv[1:], stdout)
	}
	return stderr, status
}

// output collects the output of a running program.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, b...)
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// interrupt runs a program until something is so, and ends it then.
func interrupt(t *testing.T, so func(stderr string) bool, argv ...string) (stderr string, status int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = pcptest.Env()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var text output
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); !so(text.String()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("nothing happens")
			break
		}
	}
	cancel()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return text.String(), cmd.ProcessState.ExitCode()
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a host has is sent with labels and logins.
func TestLive(t *testing.T) {
	host := collector(t)
	secret := writeFile(t, "pass:word\nmore\n")
	forEach(t, func(t *testing.T, program string) {
		for login, args := range map[string][]string{
			"":                       nil,
			"Basic bWU6cGFzczp3b3Jk": {"--user=me", "--password-file=" + secret},
			"Bearer pass:word":       {"--bearer-file=" + secret},
			"Other x: y":             {"--header=Authorization: Other x: y"},
		} {
			to := receive(t)
			argv := append([]string{program, "-h", host, "-u", to.URL + "/x", "-s", "2", "-t", "10msec", "-v", "-l", "site=north", "--header", "X-Scope-OrgID:tenant"}, args...)
			stderr, status := run(t, append(argv, "pmcd.numagents")...)
			if status != 0 || !strings.Contains(stderr, " in 2 messages sent, 0 points rejected, 0 refused, 0 dropped, 0 wait") {
				t.Errorf("%s: status %d, %s", login, status, stderr)
			}
			header, bodies := to.got()
			for _, h := range header {
				if h.Get("Authorization") != login || h.Get("X-Scope-OrgID") != "tenant" {
					t.Errorf("%s: %v", login, h)
				}
			}
			if len(bodies) != 2 || !bytes.Contains(bodies[0], []byte("numagents")) || !bytes.Contains(bodies[0], []byte("north")) {
				t.Errorf("%s: %q", login, bodies)
			}
		}

		to := receive(t)
		to.answer(func(n int) int { return []int{503, 400, 200}[n] })
		stderr, status := run(t, program, "-h", host, "-u", to.URL, "-s", "2", "-t", "10msec", "pmcd.numagents")
		if _, bodies := to.got(); status != 1 || !strings.Contains(stderr, "points were not taken") || len(bodies) != 1 {
			t.Errorf("refused: status %d, %d bodies, %s", status, len(bodies), stderr)
		}
		if stderr, status := run(t, program, "-h", host, "-u", to.URL, "-s", "1", "no.such.metric"); status != 1 || !strings.Contains(stderr, "no values were read") || !strings.Contains(stderr, "no.such.metric") {
			t.Errorf("no metric: status %d, %s", status, stderr)
		}
		// -T ends the program.
		to = receive(t)
		if stderr, status := run(t, program, "-h", host, "-u", to.URL, "-T", "1sec", "-t", "10msec", "pmcd.numagents"); status != 0 {
			t.Errorf("-T: status %d, %s", status, stderr)
		}
	})
}

// A second signal ends a program that waits for a receiver.
func TestSecondSignal(t *testing.T) {
	host := collector(t)
	forEach(t, func(t *testing.T, program string) {
		asked, end := make(chan struct{}, 100), make(chan struct{})
		to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			asked <- struct{}{}
			<-end
		}))
		defer to.Close()
		defer close(end)
		cmd := exec.CommandContext(t.Context(), program, "-h", host, "-u", to.URL, "-t", "10msec", "pmcd.numagents")
		cmd.Env = append(pcptest.Env(), "OTEL_EXPORTER_OTLP_TIMEOUT=0")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		<-asked
		cmd.Process.Signal(os.Interrupt)
		<-asked // by the last attempt
		for {
			cmd.Process.Signal(os.Interrupt)
			select {
			case err := <-ended:
				if err == nil || err.Error() != "signal: interrupt" {
					t.Error("it ends with", err)
				}
				return
			case <-time.After(100 * time.Millisecond): // one that comes very soon may be part of the first
			}
		}
	})
}

// A receiver is trusted if it is certified, and sees the certificate that it asks for.
func TestTLS(t *testing.T) {
	host := collector(t)
	ca, other := tlstest.NewCA(t, "authority"), tlstest.NewCA(t, "other")
	client := ca.Issue(t, "client", tlstest.Leaf{})
	to := &receiver{}
	to.Server = httptest.NewUnstartedServer(to)
	to.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, "server", tlstest.Leaf{}).TLS}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}
	to.Config.ErrorLog = log.New(io.Discard, "", 0)
	to.StartTLS()
	defer to.Close()
	forEach(t, func(t *testing.T, program string) {
		argv := func(args ...string) []string {
			return append([]string{program, "-h", host, "-u", to.URL, "-s", "1", "pmcd.numagents"}, args...)
		}
		for _, args := range [][]string{{"--cacert=" + ca.CertFile}, {"--insecure"}} {
			before := to.requests()
			if stderr, status := run(t, argv(append(args, "--cert="+client.CertFile, "--key="+client.KeyFile)...)...); status != 0 || to.requests() != before+1 {
				t.Errorf("%v: status %d, %s", args, status, stderr)
			}
		}
		before := to.requests()
		for _, args := range [][]string{
			{"--cacert=" + ca.CertFile},
			{"--cert=" + client.CertFile, "--key=" + client.KeyFile},
			{"--cacert=" + other.CertFile, "--cert=" + client.CertFile, "--key=" + client.KeyFile},
		} {
			away := func(stderr string) bool { return strings.Contains(stderr, "receiver is away") }
			if stderr, status := interrupt(t, away, argv(args...)...); status != 1 || !strings.Contains(stderr, "1 points were not taken") && !strings.Contains(stderr, "2 points were not taken") {
				t.Errorf("%v: status %d, %s", args, status, stderr)
			}
		}
		if to.requests() != before {
			t.Error("metrics were sent to one that is not trusted, or that does not trust")
		}
	})
}

// What could not be sent waits in the directory for the next run.
func TestQueue(t *testing.T) {
	host := collector(t)
	forEach(t, func(t *testing.T, program string) {
		addr := "127.0.0.1:" + strconv.Itoa(pcptest.FreePort(t))
		dir := filepath.Join(t.TempDir(), "queue")
		argv := []string{program, "-h", host, "-u", "http://" + addr, "-v", "--queue=" + dir, "--queue-size=1", "-t", "10msec", "-s", "3", "pmcd.numagents"}
		waiting := func() int {
			files, _ := filepath.Glob(filepath.Join(dir, "*.message"))
			return len(files)
		}
		if stderr, status := interrupt(t, func(string) bool { return waiting() == 3 }, argv...); status != 0 || !strings.Contains(stderr, "\n0 points in 0 messages sent") {
			t.Errorf("away: status %d, %s", status, stderr)
		}
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		to := &receiver{}
		to.Server = httptest.NewUnstartedServer(to)
		to.Listener.Close()
		to.Listener = ln
		to.Start()
		defer to.Close()
		stderr, status := run(t, argv...)
		if _, bodies := to.got(); status != 0 || len(bodies) != 6 || waiting() != 0 {
			t.Errorf("back: status %d, %d requests, %d wait, %s", status, len(bodies), waiting(), stderr)
		}
	})
}

var start = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// recording is an archive of a counter in 40 records, a minute apart, of a host in Japan.
func recording(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "web1")
	im, err := logimport.New(path, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "JST-9"}})
	if err != nil {
		t.Fatal(err)
	}
	try := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = im.AddMetric("c", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount})
	try(err)
	for n := range 40 {
		try(im.PutText("c", "", fmt.Sprint(n)))
		try(im.Write(start.Add(time.Duration(n) * time.Minute)))
	}
	try(im.Close())
	return path
}

var sent = regexp.MustCompile(`(?m)^(\d+) points in (\d+) messages sent`)

// An archive is sent whole, or what is in the time window, and where one run ends the next one goes
// on.
func TestArchive(t *testing.T) {
	path := recording(t)
	forEach(t, func(t *testing.T, program string) {
		points := func(to *receiver, args ...string) (n int) {
			t.Helper()
			stderr, status := run(t, append([]string{program, "-a", path, "-u", to.URL, "-v"}, args...)...)
			m := sent.FindStringSubmatch(stderr)
			if status != 0 || m == nil {
				t.Fatalf("%v: status %d, %s", args, status, stderr)
			}
			n, _ = strconv.Atoi(m[1])
			if last := `sent up to 2026-11-23 12:39:00 JST (100%): `; args[0] == "-z" && len(args) == 1 && !strings.Contains(stderr, last) {
				t.Errorf("no %q in %s", last, stderr)
			}
			return n
		}
		to := receive(t)
		all := points(to, "-z")
		if all < 41 { // and the end
			t.Errorf("%d points of 40 records", all)
		}
		// Five records, without the series' end.
		window := points(to, "-z", "-S", "@2026-11-23 12:05:00", "-T", "@2026-11-23 12:09:00")
		if same := points(to, "-Z", "UTC", "-S", "@2026-11-23 03:05:00", "-T", "@2026-11-23 03:09:00"); same != window || window < 5 || window > 10 {
			t.Errorf("%d and %d points of 5 records", window, same)
		}

		state := filepath.Join(t.TempDir(), "state")
		half := points(to, "--state="+state, "-T", "20min")
		if rest := points(to, "--state="+state); half == 0 || half+rest != all {
			t.Errorf("%d points, then %d, of %d", half, rest, all)
		}
		if again := points(to, "--state="+state); again != 0 {
			t.Errorf("%d points again", again)
		}

		to.answer(func(int) int { return 400 })
		if stderr, status := run(t, program, "-a", path, "-u", to.URL); status != 1 || !strings.Contains(stderr, "message refused") {
			t.Errorf("refused: status %d, %s", status, stderr)
		}
		if stderr, status := run(t, program, "-a", path, "-u", to.URL, "--skip-refused"); status != 1 || !strings.Contains(stderr, fmt.Sprintf("%d points were not taken", all)) {
			t.Errorf("all refused: status %d, %s", status, stderr)
		}
		if stderr, status := run(t, program, "-a", path, "-u", to.URL, "no.such"); status != 1 || !strings.Contains(stderr, "no values were read") {
			t.Errorf("no metric: status %d, %s", status, stderr)
		}

		to = receive(t)
		to.answer(func(int) int { return 503 })
		state = filepath.Join(t.TempDir(), "state")
		if stderr, status := interrupt(t, func(string) bool { return to.requests() > 0 }, program, "-a", path, "-u", to.URL, "--state="+state); status != 1 || !strings.Contains(stderr, "interrupted; the same command goes on from here") {
			t.Errorf("interrupted: status %d, %s", status, stderr)
		}
		to.answer(nil)
		if rest := points(to, "--state="+state); rest != all {
			t.Errorf("%d points after the interruption, of %d", rest, all)
		}
	})
}

// TestBadOptions checks that programs report errors in their command lines without secrets.
func TestBadOptions(t *testing.T) {
	path, empty, secret := recording(t), writeFile(t, "\nsecret"), writeFile(t, "secret")
	forEach(t, func(t *testing.T, program string) {
		for _, test := range []struct {
			args, want string
			usage      bool
		}{
			{"-?", "Usage: " + filepath.Base(program) + " [options] [metricname ...]", true},
			{"--nonsense", "unrecognized option '--nonsense'", true},
			{"-s 0x", "-s", true},
			{"-t never", "-t", true},
			{"-h a -a b", "", true},
			{"-a " + path + " -s 1", "-s and -t are for hosts", true},
			{"-a " + path + " -t 1", "-s and -t are for hosts", true},
			{"-a " + path + " --queue q", "--queue is for hosts", true},
			{"--state s", "--state and --skip-refused are for archives", true},
			{"--skip-refused", "--state and --skip-refused are for archives", true},
			{"--queue-size 0", "--queue-size requires a positive number of megabytes", true},
			{"-l x", `--label "x": want NAME=VALUE`, true},
			{"-l =x", "want NAME=VALUE", true},
			{"--header secret", "--header: want 'NAME: VALUE'", true},
			{"--user me", "--user and --password-file go together", true},
			{"--password-file " + secret, "--user and --password-file go together", true},
			{"--user me --password-file " + secret + " --bearer-file " + secret, "at most one of --user, --bearer-file and a header Authorization allowed", true},
			{"--bearer-file " + secret + " --header Authorization:secret", "at most one of", true},
			{"--bearer-file " + empty, "the first line is empty", false},
			{"--bearer-file /no/such/file", "/no/such/file", false},
			{"--cacert /no/such/file", "/no/such/file", false},
			{"--cacert " + empty, "from " + empty + ": no certificate is in it", false},
			{"--cert " + empty, "a certificate and its key go together", false},
			{"--cert " + empty + " --key " + empty, "from " + empty, false},
			{"-a /no/such/archive", "/no/such/archive", false},
			{"-a " + path + " -u ftp://me:secret@host", "want http:// or https://", false},
			{"-a " + path + " --state " + empty, "is no state", false},
		} {
			stderr, status := run(t, append([]string{program}, strings.Fields(test.args)...)...)
			if status != 1 || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "Usage:") != test.usage || strings.Contains(stderr, "secret") {
				t.Errorf("%s: status %d, %s", test.args, status, stderr)
			}
		}
	})
}
