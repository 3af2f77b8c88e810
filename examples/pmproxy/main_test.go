package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
)

// serve runs the program and returns a client's view of it.
func serve(t *testing.T, args ...string) (get func(scheme, path string) string) {
	t.Helper()
	port := pcptest.FreePort(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	var stderr bytes.Buffer
	go func() { ended <- run(ctx, append(args, "-p", fmt.Sprint(port)), &stderr) }()
	t.Cleanup(func() {
		stop()
		if status := <-ended; status != 0 || stderr.Len() > 0 {
			t.Errorf("exit status %d: %s", status, stderr.String())
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return func(scheme, path string) (body string) {
		t.Helper()
		pcptest.Retry(t, func() string { // it may not listen yet
			r, err := client.Get(fmt.Sprintf("%s://localhost:%d%s", scheme, port, path))
			if err != nil {
				return err.Error()
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return err.Error()
			}
			body = string(b)
			return ""
		})
		return body
	}
}

// An archive is served by the name that it has been given, and nothing else that a client names.
func TestArchive(t *testing.T) {
	t.Setenv("PCP_TLSCONF_PATH", "")
	get := serve(t, "-f", "-t", "-A", "--archive=busy=../internal/pmstat/testdata/archive/host", "-l", filepath.Join(t.TempDir(), "log"))
	for path, want := range map[string]string{
		"/":             `src="page/main.js"`,
		"/live/sources": `{"sources":["busy"],"hosts":[]}`,
		"/pmapi/fetch?hostspec=busy&names=kernel.all.load":                 `"name":"kernel.all.load","instances":[{"instance":1,`,
		"/pmapi/indom?hostspec=busy&name=kernel.all.load":                  `"name":"15 minute"`,
		"/pmapi/context?hostspec=../internal/pmstat/testdata/archive/host": `not allowed`,
		"/pmapi/context?hostspec=example.com":                              `not allowed`,
		"/pmapi/context?hostspec=pcp%3A%2F%2Fuser%40example.com%3A443":     `not allowed`,
	} {
		if got := get("http", path); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// With a certificate the port serves HTTPS beside HTTP.
func TestTLS(t *testing.T) {
	c := tlstest.SelfSigned(t, "self", tlstest.Leaf{})
	path := filepath.Join(t.TempDir(), "tls.conf")
	if err := os.WriteFile(path, fmt.Appendf(nil, "tls-cert-file = %s\ntls-key-file = %s\n", c.CertFile, c.KeyFile), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_TLSCONF_PATH", path)
	get := serve(t)
	for _, scheme := range []string{"https", "http"} {
		if got := get(scheme, "/series/ping"); !strings.Contains(got, "no store of time series") {
			t.Errorf("%s: %q", scheme, got)
		}
	}
	get = serve(t, "--tls-only")
	for scheme, want := range map[string]string{"https": "no store of time series", "http": "requires TLS"} {
		if got := get(scheme, "/series/ping"); !strings.Contains(got, want) {
			t.Errorf("--tls-only, %s: %q, want %q", scheme, got, want)
		}
	}
	t.Setenv("PCP_TLSCONF_PATH", "")
	var stderr strings.Builder
	if status := run(t.Context(), []string{"-p", "0", "--tls-only"}, &stderr); status != 1 || !strings.Contains(stderr.String(), "--tls-only needs a certificate") {
		t.Errorf("--tls-only without a certificate: status %d, %s", status, &stderr)
	}
}

// A client that sends headers without end is refused when they are too long, and others are served.
func TestHeaders(t *testing.T) {
	t.Setenv("PCP_TLSCONF_PATH", "")
	socket := filepath.Join(t.TempDir(), "s")
	get := serve(t, "-s", socket)
	get("http", "/series/ping") // both listen
	for _, header := range []string{"A: " + strings.Repeat("x", 4<<20) + "\r\n", strings.Repeat("A: b\r\n", 1<<20)} {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		sent := make(chan struct{})
		go func() { // the server need not read it to its end
			defer close(sent)
			_, _ = io.WriteString(c, "GET /series/ping HTTP/1.1\r\nHost: x\r\n"+header)
		}()
		line, err := bufio.NewReader(c).ReadString('\n')
		if want := "HTTP/1.1 431 Request Header Fields Too Large\r\n"; line != want {
			t.Errorf("%q, %v, want %q", line, err, want)
		}
		if got := get("http", "/series/ping"); !strings.Contains(got, "no store of time series") {
			t.Errorf("another client: %q", got)
		}
		c.Close()
		<-sent
	}
}

// Mistakes in the command line, and ports that are taken.
func TestUsage(t *testing.T) {
	t.Setenv("PCP_TLSCONF_PATH", "")
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"-?", 0, "--allow=HOST"},
		{"-p x", 1, "-p requires a positive numeric argument"},
		{"--archive=x", 1, "NAME=PATH"},
		{"--archive=x=nosuch -T 1 -p 0", 1, "nosuch"},
		{"-T 0", 1, "bad -T interval format"},
		{"x", 1, `unexpected argument "x"`},
		{"-i 256.0.0.1", 1, "256.0.0.1"},
	} {
		var stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(c.args), &stderr); status != c.status || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit status %d, %s, want %d, %s", c.args, status, stderr.String(), c.status, c.want)
		}
	}
}

// TestConfig checks that the configuration file selects the protocols and the certificate.
func TestConfig(t *testing.T) {
	c := tlstest.SelfSigned(t, "self", tlstest.Leaf{})
	t.Setenv("PCP_TLSCONF_PATH", "")
	path := filepath.Join(t.TempDir(), "pmproxy.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf("# comment\n[redis]\nservers = localhost:6379\n\n[ pmproxy ]\ncertificates = %s\nprivate_key = %s # of it\nkeepalive = 45\npcp.enabled = true\n", c.CertFile, c.KeyFile))
	get := serve(t, "-c", path, "-h", "nosuch.invalid", "-r", "6379", "-L", "0x10000", "-U", "nosuch", "-f")
	for _, scheme := range []string{"https", "http"} {
		if got := get(scheme, "/series/ping"); !strings.Contains(got, "no store of time series") {
			t.Errorf("%s: %q", scheme, got)
		}
	}
	for text, want := range map[string]string{
		"[pmproxy]\nx":                                  ":2: no = in \"x\"",
		"\n[pmproxy\n":                                  ":2: section \"[pmproxy\" does not end",
		"[pmproxy]\npcp.enabled = yes":                  `:2: pcp.enabled is true or false, not "yes"`,
		"[pmproxy]\ncertificates = " + c.CertFile:       "needs tls-key-file",
		"[pmproxy]\ncertificates=/no\nprivate_key = /x": "/no",
	} {
		write(text)
		fatal := filepath.Join(t.TempDir(), "fatal")
		var stderr bytes.Buffer
		status := run(t.Context(), []string{"-p", "0", "-T", "1", "-c", path, "-x", fatal}, &stderr)
		if got, err := os.ReadFile(fatal); status != 1 || err != nil || stderr.Len() > 0 || !strings.Contains(string(got), want) {
			t.Errorf("%q: exit status %d, %s, %v, %s", text, status, got, err, stderr.String())
		}
	}
}

// What a client hears: bytes of requests that begin so, until the server closes the connection or
// has replied.
func dialogue(t *testing.T, path, said string) string {
	t.Helper()
	var heard string
	pcptest.Retry(t, func() string { // it may not listen yet
		c, err := net.Dial("unix", path)
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		_, _ = io.WriteString(c, said) // the answer says whether it has arrived
		b := make([]byte, 8)
		n, _ := io.ReadFull(c, b)
		heard = string(b[:n])
		return ""
	})
	return heard
}

// With -d, or if the configuration says so, only one of the two protocols is served.
func TestOneProtocol(t *testing.T) {
	t.Setenv("PCP_TLSCONF_PATH", "")
	dir := t.TempDir()
	const pcp, http = "pmproxy-client 1\n", "GET /series/ping HTTP/1.0\r\n\r\n"
	for i, c := range []struct {
		config    string
		args      []string
		pcp, http string // what each hears
	}{
		{"", nil, "pmproxy-", "HTTP/1.0"},
		{"", []string{"-d"}, "pmproxy-", ""},
		{"", []string{"-d", "-t"}, "pmproxy-", "HTTP/1.0"},
		{"[pmproxy]\nhttp.enabled=false\n", nil, "pmproxy-", ""},
	} {
		socket, config := filepath.Join(dir, fmt.Sprint("s", i)), filepath.Join(dir, fmt.Sprint("c", i))
		if err := os.WriteFile(config, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan int)
		go func() {
			ended <- run(ctx, append([]string{"-c", config, "-s", socket, "-p", fmt.Sprint(pcptest.FreePort(t))}, c.args...), io.Discard)
		}()
		if gotPCP, gotHTTP := dialogue(t, socket, pcp), dialogue(t, socket, http); gotPCP != c.pcp || gotHTTP != c.http {
			t.Errorf("%q %v: %q and %q, want %q and %q", c.config, c.args, gotPCP, gotHTTP, c.pcp, c.http)
		}
		stop()
		if status := <-ended; status != 0 {
			t.Errorf("%q %v: exit status %d", c.config, c.args, status)
		}
	}
}

// With pcp.enabled = false no client is passed on to a collector, though that is allowed.
func TestNoPCP(t *testing.T) {
	t.Setenv("PCP_TLSCONF_PATH", "")
	collector := pcptest.Serve(t, func(c net.Conn) { _, _ = io.WriteString(c, "welcome!") })
	_, port, err := net.SplitHostPort(collector)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for enabled, want := range map[string]string{"true": "welcome!", "false": ""} {
		config, socket := filepath.Join(dir, "c"+enabled), filepath.Join(dir, "s"+enabled)
		if err := os.WriteFile(config, []byte("[pmproxy]\npcp.enabled="+enabled+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		serve(t, "-c", config, "-s", socket, "--allow", "localhost:*")
		dialogue(t, socket, "GET / HTTP/1.0\r\n\r\n") // it listens
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "pmproxy-client 1\nlocalhost "+port+"\n"); err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(io.LimitReader(c, int64(len("pmproxy-server 1\n")+len(want)))) // a connection that is reset has ended, too
		if string(got) != "pmproxy-server 1\n"+want {
			t.Errorf("pcp.enabled=%s: %q", enabled, got)
		}
	}
}

// With -F the program notes its process identifier and tells the service manager of its states, and
// it becomes the user of -U or fails.
func TestService(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("services of Windows are others")
	}
	t.Setenv("PCP_TLSCONF_PATH", "")
	dir := t.TempDir()
	t.Setenv("PCP_RUN_DIR", dir)
	states, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "notify"))
	pid := filepath.Join(dir, "pmproxy.pid")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- run(ctx, []string{"-F", "-p", "0"}, io.Discard) }()
	state := func() string {
		b := make([]byte, 100)
		n, err := states.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got, want := state(), fmt.Sprintf("READY=1\nMAINPID=%d", os.Getpid()); got != want {
		t.Errorf("state %q, want %q", got, want)
	}
	if got, err := os.ReadFile(pid); string(got) != fmt.Sprint(os.Getpid()) {
		t.Errorf("%s: %q, %v", pid, got, err)
	}
	stop()
	if got := state(); got != "STOPPING=1" {
		t.Errorf("state %q at the end", got)
	}
	if status := <-ended; status != 0 {
		t.Errorf("exit status %d", status)
	}
	var stderr bytes.Buffer
	status := run(t.Context(), []string{"-F", "-p", "0", "-U", "no-such-user"}, &stderr)
	if status != 1 || !strings.Contains(stderr.String(), "no-such-user") {
		t.Errorf("exit status %d, %s", status, stderr.String())
	}
	if _, err := os.Stat(pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", pid, err)
	}
}

// Usage that both refuse is refused in the same words.
func TestInteropUsage(t *testing.T) {
	pcptest.Need(t, "pmproxy")
	for _, args := range []string{"-L x", "-L 0", "-L -5", "-L 0x", "-r x", "-r -1", "-p x", "-f -F", "-T x", "-T 1fortnight", "-z", "-h", "--nosuch", "--config"} {
		words := strings.Fields(args)
		_, theirs, status := pcptest.Run(t, nil, "", append([]string{"pmproxy"}, words...)...)
		var ours bytes.Buffer
		if got := run(t.Context(), words, &ours); got != 1 || status != 1 && !strings.Contains(theirs, "option") { // one that it does not know is no failure to PCP
			t.Errorf("%s: exit status %d, PCP's %d", args, got, status)
		}
		want, _, _ := strings.Cut(theirs, "Usage:")
		if got, _, _ := strings.Cut(ours.String(), "Usage:"); got != want {
			t.Errorf("%s: %q, PCP's %q", args, got, want)
		}
	}
}
