package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
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
	get := serve(t, "-f", "-t", "-A", "--archive=busy=../pmstat/testdata/archive/host", "-l", filepath.Join(t.TempDir(), "log"))
	for path, want := range map[string]string{
		"/":             `src="page/main.js"`,
		"/live/sources": `{"sources":["busy"],"hosts":[]}`,
		"/pmapi/fetch?hostspec=busy&names=kernel.all.load":             `"name":"kernel.all.load","instances":[{"instance":1,`,
		"/pmapi/indom?hostspec=busy&name=kernel.all.load":              `"name":"15 minute"`,
		"/pmapi/context?hostspec=../pmstat/testdata/archive/host":      `not allowed`,
		"/pmapi/context?hostspec=example.com":                          `not allowed`,
		"/pmapi/context?hostspec=pcp%3A%2F%2Fuser%40example.com%3A443": `not allowed`,
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
		if got := get(scheme, "/series/ping"); got != "{\"success\":false}\r\n" {
			t.Errorf("%s: %q", scheme, got)
		}
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
		if got := get("http", "/series/ping"); got != "{\"success\":false}\r\n" {
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
		{"-T 0", 1, "-T requires"},
		{"x", 1, `unexpected argument "x"`},
		{"-i 256.0.0.1", 1, "256.0.0.1"},
	} {
		var stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(c.args), &stderr); status != c.status || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit status %d, %s, want %d, %s", c.args, status, stderr.String(), c.status, c.want)
		}
	}
}
